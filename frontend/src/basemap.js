// A basemap of the curator's own: one PMTiles file, read in parts from the app itself, as pictures of its tiles.
import { VectorTile } from "@mapbox/vector-tile";
import { PbfReader } from "pbf";
import { PMTiles } from "pmtiles";
import { Pictures } from "./streets.js";

const SIDE = 512; // pixels of a picture drawn from vectors
const CLOSEST = 22; // zoom up to which vectors are drawn anew, from the deepest tile there is
const MOST = 48; // pictures kept

const GREEN = /park|wood|forest|grass|meadow|scrub|garden|cemetery|reserve|golf|recreation|pitch|orchard|vineyard|wetland|heath|allotments|green|protected|nature/;
const LARGE = /motorway|trunk|highway/;
const MAIN = /primary|secondary|tertiary|major|medium/;
const RAIL = /rail|subway|tram|transit|funicular/;
const SMALL = /path|track|foot|pedestrian|cycle|bridleway|steps|service|other/;
const ROADS = ["roads", "transportation", "streets", "road"];
const road = (kind) => (LARGE.test(kind) ? "large" : RAIL.test(kind) ? "rail" : MAIN.test(kind) ? "main" : SMALL.test(kind) ? "small" : "street");
const UNDRAWN = /name|label|place|poi|peak|number|address|point|site|earth/; // words, which the map has its own of

/** What is drawn, in its order, by the layers of the schemas of Protomaps, OpenMapTiles and Shortbread. */
const RULES = [
  { of: ["earth"], fill: "ground" },
  { of: ["landcover", "landuse", "landuse_overlay", "park", "land", "natural"], fill: "park", kind: (kind, layer) => layer === "park" || GREEN.test(kind) },
  { of: ["water", "ocean", "water_polygons"], fill: "water" },
  { of: ["waterway", "waterways", "water", "water_lines", "physical_line"], line: "shore", width: 1 },
  { of: ["buildings", "building"], fill: "building", from: 13 },
  { of: ["boundaries", "boundary"], line: "border", width: 1 },
  { of: [...ROADS, "transit"], line: "rail", width: 0.9, from: 9, kind: (kind, layer) => layer === "transit" || road(kind) === "rail" },
  { of: ROADS, line: "road", width: 0.6, from: 14, kind: (kind) => road(kind) === "small" },
  { of: ROADS, line: "road", width: 1, from: 11.5, kind: (kind) => road(kind) === "street" },
  { of: ROADS, line: "road", width: 1.7, from: 7, kind: (kind) => road(kind) === "main" },
  { of: ROADS, line: "road", width: 2.6, kind: (kind) => road(kind) === "large" },
]; // prettier-ignore
const KNOWN = new Set(RULES.flatMap(({ of }) => of));
const GROUNDED = ["earth", "land", "water", "ocean", "water_polygons"]; // with one of these a tile covers the ground

const kindOf = (properties) =>
  String(properties.kind ?? properties["pmap:kind"] ?? properties.class ?? properties.highway ?? properties.type ?? "");

/** The tile of the archive that holds a tile, and which part of it that is: {z, x, y, times, left, top}. */
export function holder({ x, y, z }, deepest) {
  const steps = Math.max(0, z - deepest);
  const times = 2 ** steps;
  return { z: z - steps, x: Math.floor(x / times), y: Math.floor(y / times), times, left: x % times, top: y % times };
}

/** Draw the layers of a vector tile with a 2-D `pen` onto a square of `side` pixels. */
export function paint(pen, layers, { side, zoom, colours, times = 1, left = 0, top = 0 }) {
  const grown = Math.min(4, Math.max(0.6, 1.25 ** (zoom - 12)));
  const trace = (feature, closed) => {
    const scale = (side * times) / feature.extent;
    pen.beginPath();
    for (const ring of feature.loadGeometry()) {
      ring.forEach(({ x, y }, at) => pen[at ? "lineTo" : "moveTo"](x * scale - left * side, y * scale - top * side));
      if (closed) pen.closePath();
    }
  };
  const draw = (layer, { fill, line, width }, wanted) => {
    for (let at = 0; at < layer.length; at += 1) {
      const feature = layer.feature(at);
      if (feature.type < 2 || (fill && feature.type !== 3) || !wanted(kindOf(feature.properties), feature.type)) continue;
      trace(feature, feature.type === 3);
      if (fill) {
        pen.fillStyle = colours[fill];
        pen.fill();
      } else {
        Object.assign(pen, { strokeStyle: colours[line], lineWidth: (width * grown * side) / SIDE, lineJoin: "round" });
        pen.stroke();
      }
    }
  };
  if (GROUNDED.some((name) => layers[name])) {
    pen.fillStyle = colours.ground;
    pen.fillRect(0, 0, side, side);
  }
  for (const rule of RULES) {
    if (zoom < (rule.from ?? 0)) continue;
    const waters = rule.line === "shore"; // of a layer with areas and lines only the lines
    for (const name of rule.of) {
      if (layers[name]) draw(layers[name], rule, (kind, type) => (rule.kind?.(kind, name) ?? true) && !(waters && type === 3));
    }
  }
  for (const [name, layer] of Object.entries(layers)) {
    if (!KNOWN.has(name) && !UNDRAWN.test(name)) draw(layer, { line: "border", width: 0.8 }, () => true);
  }
}

/** The pictures of an archive; `basemap` is {address, vector, shallowest, deepest, colours}. */
export function basemapPictures({ address, vector, shallowest, deepest, colours }, changed) {
  const archive = new PMTiles(new URL(address, document.baseURI).href);
  const bytesOf = async ({ z, x, y }) => (await archive.getZxy(z, x, y))?.data;
  if (!vector) {
    const picture = async (tile) => {
      const found = await bytesOf(tile);
      return found ? createImageBitmap(new Blob([found])) : null;
    };
    return new Pictures(picture, changed, { most: 2 * MOST, shallowest, deepest });
  }
  const read = new Map(); // the last tiles, parsed: many pictures are parts of one of them
  const layersOf = (tile) => {
    const id = `${tile.z}/${tile.x}/${tile.y}`;
    if (!read.has(id)) {
      read.set(id, bytesOf(tile).then((found) => (found ? new VectorTile(new PbfReader(new Uint8Array(found))).layers : null)));
      if (read.size > 16) read.delete(read.keys().next().value);
    }
    return read.get(id);
  };
  const picture = async (tile) => {
    const part = holder(tile, deepest);
    const layers = await layersOf(part);
    if (!layers) return null;
    const side = SIDE * Math.min(2, Math.ceil(globalThis.devicePixelRatio || 1));
    const canvas = Object.assign(document.createElement("canvas"), { width: side, height: side });
    paint(canvas.getContext("2d"), layers, { side, zoom: tile.z, colours, times: part.times, left: part.left, top: part.top });
    return createImageBitmap(canvas);
  };
  return new Pictures(picture, changed, { most: MOST, side: SIDE, shallowest, deepest: CLOSEST });
}
