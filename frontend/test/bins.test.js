import assert from "node:assert/strict";
import { test } from "node:test";
import { cellToChildren, cellToParent, gridDisk } from "h3-js";
import { binned, look, meets } from "../src/bins.js";
import { boxOf, fitted } from "../src/cameras.js";
import { geometry, named } from "../src/scene.js";

const numbers = (names) => BigUint64Array.from(names.map((name) => BigInt(`0x${name}`)).sort((a, b) => (a < b ? -1 : 1)));
const sorted = (names) => binned(numbers(names), geometry(numbers(names)));

test("cells below one ancestor four steps up are one bin, and every cell is in one", () => {
  const cells = numbers(gridDisk("88195da49bfffff", 40));
  const bins = binned(cells, geometry(cells));
  const above = new Set([...cells].map((cell) => cellToParent(named(cell), 4)));
  assert.equal(bins.length, above.size);
  assert.ok(bins.length > 1);
  for (const { from, polygons } of bins) {
    const own = [...cells.subarray(from, from + polygons.length)].map((cell) => cellToParent(named(cell), 4));
    assert.equal(new Set(own).size, 1);
  }
  assert.deepEqual(bins.map(({ from }) => from), bins.map((_, at) => bins.slice(0, at).reduce((sum, one) => sum + one.polygons.length, 0)));
  assert.equal(bins.reduce((sum, { polygons }) => sum + polygons.length, 0), 4921);
});

test("the corners of a bin are those of its cells, counted from its first", () => {
  const names = ["88195da49bfffff", "88195da499fffff", "880326b881fffff"];
  const bins = sorted(names);
  const { starts, corners } = geometry(numbers(names));
  assert.deepEqual(bins.map(({ polygons }) => [...polygons.startIndices]), [[0, 7], [0, 7, 14]]);
  assert.deepEqual([...bins[1].edges.attributes.getPath.value], [...corners.subarray(2 * starts[1])]);
  assert.equal(bins[1].polygons.attributes.getPolygon.value, bins[1].edges.attributes.getPath.value);
  assert.deepEqual(sorted([]), []);
});

test("cells coarser than four steps are in bins of the coarsest", () => {
  assert.equal(sorted([...cellToChildren("8019fffffffffff", 2), ...cellToChildren("801ffffffffffff", 2)]).length, 2);
});

test("boxes meet where they touch, across the antimeridian too", () => {
  assert.equal(meets([0, 0, 2, 2], [1, 1, 3, 3]), true);
  assert.equal(meets([0, 0, 2, 2], [2.1, 0, 3, 2]), false);
  assert.equal(meets([0, 0, 2, 2], [-1, 0, -0.1, 2]), false);
  assert.equal(meets([0, 0, 2, 2], [0, 2.1, 2, 3]), false);
  assert.equal(meets([0, 0, 2, 2], [0, -3, 2, -0.1]), false);
  assert.equal(meets([179, 0, 181, 2], [-180.5, 0, -179.5, 2]), true);
  assert.equal(meets([179, 0, 181, 2], [-178.9, 0, -178, 2]), false);
});

test("a bin that left the view stays seen", () => {
  const bins = [{ box: [0, 0, 1, 1] }, { box: [5, 0, 6, 1] }];
  look(bins, [-1, -1, 2, 2]);
  assert.deepEqual(bins.map(({ visible, seen }) => [visible, seen]), [[true, true], [false, false]]);
  look(bins, [4, -1, 7, 2]);
  assert.deepEqual(bins.map(({ visible, seen }) => [visible, seen]), [[false, true], [true, true]]);
});

test("a camera that fits a box shows it and a margin", () => {
  const shown = boxOf(fitted([178, 50, 184, 52], 600, 400), 600, 400);
  const wide = shown[2] - shown[0];
  assert.ok(Math.abs(wide - 6 / 0.92) < 1e-9, String(wide));
  assert.ok(shown[1] < 50 && shown[3] > 52 && shown[3] < 53.5 && shown[1] > 48.5);
  assert.ok(meets(shown, [-177, 50, -176, 51]));
  assert.deepEqual(boxOf({ longitude: 0, latitude: 0, zoom: 0 }, 512, 2048).map(Math.round), [-180, -85, 180, 85]);
});
