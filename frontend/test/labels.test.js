import assert from "node:assert/strict";
import { test } from "node:test";
import { shores, surroundings, unpacked } from "../src/around.js";
import { projected, shifted } from "../src/cameras.js";
import { least, meant, placed, sizeOf } from "../src/labels.js";
import { places } from "../world.mjs";

const PANE = {
  project: (x, y) => [x, y], width: 400, height: 200, zoom: 9, measure: (name, pixels) => (name.length * pixels) / 2,
}; // prettier-ignore
const place = (name, longitude, latitude, population) => ({ name, longitude, latitude, population });
const named = (list, how = {}) => placed(list, { ...PANE, ...how }).map(({ name }) => name);

test("of two names in one spot the first stands, and one beside it has its place", () => {
  const list = [place("London", 200, 100, 8e6), place("Westminster", 210, 104, 2e5), place("Luton", 200, 160, 2e5)];
  assert.deepEqual(named(list), ["London", "Luton"]);
});

test("names of one's own areas give way by a line, and no further", () => {
  const own = (name, x, y) => ({ ...place(name, x, y, 1e5), own: true });
  const spots = placed([own("West Quay", 200, 100), own("Old Harbour", 220, 101), own("Amber", 210, 102)], PANE);
  assert.deepEqual(spots.map(({ name }) => name), ["West Quay", "Old Harbour", "Amber"]);
  assert.ok(spots[1].y < 90 && spots[1].y > 75 && spots[2].y > 112 && spots[2].y < 130);
  assert.equal(placed([own("A", 200, 100), own("B", 200, 100), own("C", 200, 100), own("D", 200, 100)], PANE).length, 3);
});

test("a name that would be cut off, or stand where something else does, is left out", () => {
  const list = [place("Atop", 200, 3, 1e6), place("Aside", 398, 100, 1e6), place("Outside", 420, 100, 1e6), place("Free", 200, 100, 1e6)];
  assert.deepEqual(named(list), ["Free"]);
  assert.deepEqual(named(list, { taken: [{ left: 150, right: 250, top: 90, bottom: 110 }] }), []);
});

test("small places are named when one is near, but a handful always", () => {
  const list = Array.from({ length: 12 }, (_, k) => place(`v${k}`, 30 + 30 * k, 100, 1000));
  assert.equal(named(list, { zoom: 8 }).length, 8);
  assert.equal(named(list, { zoom: 11.5 }).length, 12);
  assert.equal(least(8.5), 30_000);
  assert.equal(least(9.5), 7_500);
});

test("larger places have larger letters", () => {
  assert.deepEqual([2e6, 1e5, 2e4, 19_999].map((people) => sizeOf(people).name), ["huge", "large", "middle", "small"]);
});

test("a person means the whole name, then its beginning, then a part; accents and case do not matter", () => {
  const list = ["Stratford-upon-Avon", "Ávila", "Ford", "Avon"].map((name) => ({ name }));
  assert.equal(meant(list, "FORD").name, "Ford");
  assert.equal(meant(list, "strat").name, "Stratford-upon-Avon");
  assert.equal(meant(list, "avila").name, "Ávila");
  assert.equal(meant(list, "upon").name, "Stratford-upon-Avon");
  assert.equal(meant(list, "Paris"), undefined);
  assert.equal(meant(list, "  "), undefined);
});

test("a place lies where the camera puts it: the inverse of a shift, also across the antimeridian", () => {
  const camera = { longitude: 179.9, latitude: 51.5, zoom: 9 };
  const { longitude, latitude } = shifted(camera, 70, -30);
  const [x, y] = projected(camera, 800, 400, longitude, latitude);
  assert.ok(Math.abs(x - 470) < 1e-6 && Math.abs(y - 170) < 1e-6);
});

test("lines are unpacked from whole steps", () => {
  assert.deepEqual(unpacked([-1000, 515_000, 3500, -1], 1e4), [[-0.1, 51.5], [0.25, 51.4999]]);
});

test("the edge of what is known is no shore", () => {
  const ring = [[0, 0], [5, 0], [6, 4], [5, 10], [0, 10]];
  assert.deepEqual(shores(ring, [0, 0, 10, 10]), [[[5, 0], [6, 4], [5, 10]]]);
  assert.deepEqual(shores([[0, 0], [10, 0], [10, 10], [0, 10]], [0, 0, 10, 10]), []);
  const cut = [[180, -90], [180, -80], [170, -75]]; // Antarctica at the date line
  assert.deepEqual(shores(cut, [150, -85, 210, -70]), [[[180, -80], [170, -75], [180, -90]]]);
});

test("without anything known nothing is drawn", () => {
  const empty = surroundings({ steps: 1e4, box: [0, 0, 0, 0], land: [], lakes: [], isles: [], rivers: [], borders: [], places: [] });
  assert.deepEqual(empty, { sea: [], land: [], lakes: [], isles: [], shores: [], rivers: [], borders: [], own: [], places: [] });
});

test("places come by population, seats of an administration have at least a town's, ruins are left out", () => {
  const city = (name, featureCode, population) => ({ name, featureCode, population, loc: { coordinates: [1, 2] } });
  assert.deepEqual(places([city("Seat", "PPLA3", 0), city("Big", "PPL", 30_000), city("Ruin", "PPLH", 9e6)]), [
    "Big\t1.0000\t2.0000\t30000",
    "Seat\t1.0000\t2.0000\t20000",
  ]);
});

