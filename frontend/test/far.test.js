import assert from "node:assert/strict";
import { test } from "node:test";
import { cellToBoundary, gridDisk } from "h3-js";
import { away, coarser, polygons, position, saidOf } from "../src/far.js";
import { bounds, geometry, named } from "../src/scene.js";

const numbers = (...names) => BigUint64Array.from(names.map((name) => BigInt(`0x${name}`)).sort((a, b) => (a < b ? -1 : 1)));
const RINGS = { owner: [1, 1, 0], hole: [0, 1, 0], corners: [4, 3, 3] };
const CORNERS = { x: [0, 9e6, 9e6, 0, 1e6, 2e6, 1e6, -1e6, -2e6, -1e6], y: [0, 0, 9e6, 0, 5e5, 5e5, 5e5, 1, 2, 1] };

test("rings become polygons, a hole belongs to the ring before it and starts where that polygon counts it", () => {
  const [first, second] = polygons(RINGS, CORNERS);
  assert.deepEqual([first.owner, first.holeIndices], [1, [8]]);
  assert.deepEqual([...first.positions], [0, 0, 9, 0, 9, 9, 0, 0, 1, 0.5, 2, 0.5, 1, 0.5]);
  assert.deepEqual([second.owner, second.holeIndices], [0, []]);
  assert.deepEqual([...second.positions], [-1, 1e-6, -2, 2e-6, -1, 1e-6]);
  assert.deepEqual(bounds([first, second]), [-2, 0, 9, 9]);
});

test("a coarser hexagon is drawn whole, or as what of it lies inside", () => {
  const cells = numbers("87195da49ffffff", "87195da4dffffff");
  const [cut, whole, ...others] = coarser(cells, polygons({ owner: [1], hole: [0], corners: [3] }, { x: [0, 1, 0], y: [0, 0, 0] }));
  assert.equal(others.length, 0);
  assert.deepEqual([cut.owner, cut.positions.length], [1, 6]);
  assert.equal(whole.owner, 0);
  assert.deepEqual([...whole.positions], cellToBoundary(named(cells[0]), true).flat());
});

test("regions are coloured by their own class and means by the table, and an area keeps its coarser hexagons", () => {
  const scene = { panes: [{}, { far: { kind: "regions" } }, { far: { kind: "means", notes: ["a"] } }] };
  const tables = {
    rings1: RINGS, corners1: CORNERS, rings: { owner: [], hole: [], corners: [] }, corners: { x: [], y: [] },
    parents: { cell: numbers("87195da49ffffff", "87195da4dffffff"), class2: [4, 6], note2: [0, 0] },
  }; // prettier-ignore
  const known = {};
  const [none, regions, means] = away(scene, tables, known);
  assert.equal(none, null);
  assert.deepEqual(regions.polygons.map(regions.classOf), [1, 0]);
  assert.deepEqual(means.polygons.map(means.classOf), [4, 6]);
  assert.equal(away(scene, tables, known)[2].polygons, means.polygons);
  assert.equal(saidOf([none, regions]), "Zoomed out: hexagons of one class are one region");
  assert.equal(saidOf([means, means]), "Zoomed out: each hexagon shows the mean of up to 7");
});

test("a cell is found among numbers by its name, the first and the last too, and another is not", () => {
  const names = gridDisk("88195da49bfffff", 2).sort();
  const cells = numbers(...names);
  assert.deepEqual(names.map((name) => position(cells, name)), names.map((_, at) => at));
  assert.equal(position(cells, "88195da497fffff") >= 0, names.includes("88195da497fffff"));
  assert.equal(position(cells, "8a195da49b27fff"), -1);
  assert.equal(position(cells, "80f3fffffffffff"), -1);
  assert.equal(position(numbers(), "88195da49bfffff"), -1);
});

test("the corners of cells are those of the library, closed, one after the other", () => {
  const { corners, starts, count } = geometry(numbers("88195da49bfffff", "88195da499fffff"));
  assert.deepEqual([count, [...starts]], [2, [0, 7, 14]]);
  assert.deepEqual([...corners.subarray(0, 14)], cellToBoundary("88195da499fffff", true).flat());
});
