import assert from "node:assert/strict";
import { test } from "node:test";
import { ownLayers, surroundings } from "../src/around.js";
import { MOST, NOTHING, added, advice, begun, closed, outlineLayers, shortened } from "../src/outline.js";

const COLOURS = { ink: [0, 0, 0], halo: [255, 255, 255] };
const drawn = (...corners) => corners.reduce(added, begun());

test("corners are added while an outline is drawn, and a corner that repeats the last is none", () => {
  assert.deepEqual(added(NOTHING, [1, 2]), NOTHING);
  assert.deepEqual(drawn([1, 2], [1, 2], [3, 4]).corners, [[1, 2], [3, 4]]);
  assert.deepEqual(shortened(drawn([1, 2], [3, 4])), { on: true, corners: [[1, 2]] });
});

test("no outline has more corners than Python takes", () => {
  const many = Array.from({ length: MOST + 3 }, (_, k) => [k / 1000, k % 2]);
  assert.equal(MOST, 500);
  assert.equal(drawn(...many).corners.length, 500);
});

test("an outline closes with three corners that differ, rounded to a millionth of a degree", () => {
  assert.equal(closed(drawn([0, 0], [1, 0])), undefined);
  assert.equal(closed(drawn([0, 0], [1, 0], [0, 0])), undefined);
  assert.deepEqual(closed(drawn([0.12345678, 0], [1, 0], [1, 1])), [[0.123457, 0], [1, 0], [1, 1]]);
});

test("it is said what comes next", () => {
  assert.match(advice(begun()), /^Click once/);
  assert.match(advice(drawn([0, 0])), /^1 corner: click the next one\. Backspace/);
  assert.match(advice(drawn([0, 0], [1, 0], [1, 1])), /^3 corners: .* closes the outline\.$/);
});

test("the line returns to where it began once it has three corners", () => {
  const line = (outline) => outlineLayers("whole", outline, COLOURS)[1].props.data;
  assert.deepEqual(line(drawn([0, 0])), []);
  assert.deepEqual(line(drawn([0, 0], [1, 0])), [[[0, 0], [1, 0]]]);
  assert.deepEqual(line(drawn([0, 0], [1, 0], [1, 1])), [[[0, 0], [1, 0], [1, 1], [0, 0]]]);
});

test("own layers are unpacked for drawing, and their names stand before the places of the world", () => {
  const around = surroundings({
    steps: 10_000, box: [0, 0, 1, 1], land: [], lakes: [], isles: [], rivers: [], borders: [], places: [["Town", 0.5, 0.5, 9000]],
    own: [{ lines: [[5000, 5000, 100, 0]], points: [[0.1, 0.2]], names: [["Borough", 0.3, 0.4, 60000]] }],
  }); // prettier-ignore
  assert.deepEqual(around.own, [{ lines: [[[0.5, 0.5], [0.51, 0.5]]], points: [[0.1, 0.2]] }]);
  assert.deepEqual(around.places.map(({ name }) => name), ["Borough", "Town"]);
  const layers = ownLayers("whole", around, COLOURS);
  assert.deepEqual(layers.map(({ id }) => id), ["whole/own-0-halo", "whole/own-0-lines", "whole/own-0-points"]);
});
