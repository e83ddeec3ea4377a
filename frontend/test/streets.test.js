import assert from "node:assert/strict";
import { test } from "node:test";
import { corners, tilesIn } from "../src/streets.js";

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
