import assert from "node:assert/strict";
import { test } from "node:test";
import { Pictures, corners, tilesIn } from "../src/streets.js";

test("the whole world is one picture at the widest zoom", () => {
  assert.deepEqual(tilesIn({ longitude: 0, latitude: 0, zoom: -1 }, 250, 200), [{ x: 0, y: 0, z: 0, turn: 0 }]);
  const [west, south, east, north] = corners({ x: 0, y: 0, z: 0, turn: 0 });
  assert.deepEqual([west, east], [-180, 180]);
  assert.ok(Math.abs(north - 85.0511) < 1e-3 && Math.abs(south + 85.0511) < 1e-3);
});

test("the pictures of a view hold its middle and leave no gap", () => {
  const camera = { longitude: -0.1276, latitude: 51.5072, zoom: 9 };
  const found = tilesIn(camera, 700, 400);
  assert.ok(found.some(({ x, y, z }) => x === 511 && y === 340 && z === 10)); // the picture of London's middle
  const boxes = found.map(corners);
  const width = 700 / ((512 * 2 ** 9) / 360);
  assert.ok(Math.min(...boxes.map(([west]) => west)) <= camera.longitude - width / 2);
  assert.ok(Math.max(...boxes.map(([, , east]) => east)) >= camera.longitude + width / 2);
  assert.ok(found.length <= 20);
});

test("across the antimeridian the pictures go round the world", () => {
  const found = tilesIn({ longitude: 179.9, latitude: 0, zoom: 4 }, 800, 100);
  const beyond = found.filter(({ turn }) => turn === 1);
  assert.ok(beyond.length > 0 && beyond.every(({ x }) => x < 4));
  assert.ok(corners(beyond[0])[0] >= 180);
});

test("larger pictures are asked for one step less deep, and none where they would be too small", () => {
  const camera = { longitude: 0.1, latitude: 51.5, zoom: 9 };
  assert.ok(tilesIn(camera, 300, 300, { side: 512 }).every(({ z }) => z === 9));
  assert.ok(tilesIn(camera, 300, 300, { side: 512, deepest: 7 }).every(({ z }) => z === 7));
  assert.deepEqual(tilesIn(camera, 300, 300, { side: 512, shallowest: 10 }), []);
});

test("pictures of before stay below until all of the new ones have come", async () => {
  const answers = new Map();
  let told = 0;
  const pictures = new Pictures(({ z, x }) => new Promise((give) => answers.set(`${z}/${x}`, give)), () => (told += 1), { side: 512 });
  const wide = { longitude: 0, latitude: 0, zoom: 0 };
  assert.deepEqual(pictures.shown(wide, 100, 100), []);
  answers.get("0/0")("world");
  await Promise.resolve();
  await Promise.resolve();
  assert.equal(told, 1);
  assert.deepEqual(pictures.shown(wide, 100, 100).map(({ image }) => image), ["world"]);
  const near = { longitude: 90, latitude: 30, zoom: 1 };
  assert.deepEqual(pictures.shown(near, 50, 50).map(({ image }) => image), ["world"]);
  answers.get("1/1")("east");
  await Promise.resolve();
  await Promise.resolve();
  assert.deepEqual(pictures.shown(near, 50, 50).map(({ image }) => image), ["east"]);
});

test("a picture that cannot be had is said once and not asked for again", async () => {
  let asked = 0;
  const pictures = new Pictures(async () => { asked += 1; throw new Error("no"); }, () => {}, { side: 512 }); // prettier-ignore
  const wide = { longitude: 0, latitude: 0, zoom: 0 };
  pictures.shown(wide, 100, 100);
  await new Promise((done) => setImmediate(done));
  assert.deepEqual(pictures.shown(wide, 100, 100), []);
  assert.equal(pictures.failed, true);
  assert.equal(asked, 1);
});
