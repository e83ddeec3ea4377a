import assert from "node:assert/strict";
import { test } from "node:test";
import { holder, paint } from "../src/basemap.js";

const COLOURS = { ground: "GROUND", water: "WATER", park: "PARK", building: "BUILDING", road: "ROAD", rail: "RAIL", shore: "SHORE", border: "BORDER" };

/** A layer of one square or line a kind, as the reader of vector tiles gives it. */
const layer = (type, ...all) => ({
  length: all.length,
  feature: (at) => ({ type, extent: 4096, properties: all[at], loadGeometry: () => [[{ x: 0, y: 0 }, { x: 2048, y: 0 }, { x: 2048, y: 4096 }]] }),
});

function drawn(layers, options = {}) {
  const said = [];
  const pen = {
    beginPath: () => said.push([]), moveTo: (x, y) => said.at(-1).push([x, y]), lineTo: (x, y) => said.at(-1).push([x, y]), closePath: () => {},
    fill() { said.push(`fill ${this.fillStyle}`); }, stroke() { said.push(`stroke ${this.strokeStyle} ${this.lineWidth}`); },
    fillRect() { said.push(`all ${this.fillStyle}`); },
  }; // prettier-ignore
  paint(pen, layers, { side: 512, zoom: 12, colours: COLOURS, ...options });
  return said;
}
const acts = (...given) => drawn(...given).filter((one) => typeof one === "string");

test("a tile below the deepest of an archive is a part of it", () => {
  assert.deepEqual(holder({ x: 13, y: 6, z: 5 }, 14), { z: 5, x: 13, y: 6, times: 1, left: 0, top: 0 });
  assert.deepEqual(holder({ x: 13, y: 6, z: 5 }, 3), { z: 3, x: 3, y: 1, times: 4, left: 1, top: 2 });
});

test("a part of a tile is drawn as large as a whole one", () => {
  const layers = { roads: layer(2, { kind: "highway" }) };
  assert.deepEqual(drawn(layers)[0], [[0, 0], [256, 0], [256, 512]]);
  assert.deepEqual(drawn(layers, { times: 2, left: 1, top: 1 })[0], [[-512, -512], [0, -512], [0, 512]]);
});

test("the schemas of Protomaps and OpenMapTiles are drawn alike", () => {
  const protomaps = {
    earth: layer(3, { kind: "earth" }), landuse: layer(3, { kind: "park" }, { kind: "industrial" }), water: layer(3, { kind: "ocean" }),
    buildings: layer(3, { kind: "building" }), boundaries: layer(2, { kind: "country" }), roads: layer(2, { kind: "highway" }, { kind: "rail" }),
  }; // prettier-ignore
  const openmaptiles = {
    landcover: layer(3, { class: "wood" }, { class: "sand" }), water: layer(3, { class: "lake" }), building: layer(3, {}),
    boundary: layer(2, { admin_level: 2 }), transportation: layer(2, { class: "motorway" }, { class: "rail" }),
  }; // prettier-ignore
  const both = ["fill PARK", "fill WATER", "fill BUILDING", "stroke BORDER 1.25", "stroke RAIL 1.125", "stroke ROAD 3.25"];
  assert.deepEqual(acts(protomaps, { zoom: 13 }), ["all GROUND", "fill GROUND", ...both]);
  assert.deepEqual(acts(openmaptiles, { zoom: 13 }), ["all GROUND", ...both]);
});

test("small things are drawn near only", () => {
  const layers = { roads: layer(2, { kind: "highway" }, { kind: "major_road" }, { kind: "minor_road" }, { kind: "path" }), buildings: layer(3, {}) };
  const counts = [6, 8, 12, 13, 15].map((zoom) => acts(layers, { zoom }).length);
  assert.deepEqual(counts, [1, 2, 3, 4, 5]);
});

test("an unknown layer is outlined, and one of words is not drawn", () => {
  assert.deepEqual(acts({ allotments: layer(3, {}), transportation_name: layer(2, {}), pois: layer(1, {}) }), ["stroke BORDER 0.8"]);
});
