// What a pane of very many cells draws zoomed out: regions, or hexagons one step coarser, and the cell under a pointer.
import { geometry } from "./scene.js";

const STEPS = 1e6; // of a coordinate as Python packs it

/** Polygons as deck.gl takes them, with their owner, from rings (owner, hole, corners) and corners (x, y). */
export function polygons({ owner, hole, corners }, { x, y }) {
  const flat = new Float64Array(2 * x.length);
  for (let at = 0; at < x.length; at += 1) flat.set([x[at] / STEPS, y[at] / STEPS], 2 * at);
  const found = [];
  let [at, start] = [0, 0];
  for (let ring = 0; ring < owner.length; ring += 1) {
    if (hole[ring]) found.at(-1).holeIndices.push(2 * at - start);
    else {
      start = 2 * at;
      found.push({ owner: owner[ring], holeIndices: [] });
    }
    at += corners[ring];
    found.at(-1).positions = flat.subarray(start, 2 * at);
  }
  return found;
}

/** Hexagons one step coarser, each with its position as owner; in place of those at the edge what of them is inside. */
export function coarser(cells, edge) {
  const { corners, starts } = geometry(cells);
  const cut = new Set(edge.map(({ owner }) => owner));
  const found = [...edge];
  for (let owner = 0; owner < cells.length; owner += 1) {
    if (!cut.has(owner)) found.push({ owner, holeIndices: [], positions: corners.subarray(2 * starts[owner], 2 * starts[owner + 1]) });
  }
  return found;
}

/** For each pane what it shows zoomed out: {kind, polygons, classOf}, or null; `known` keeps an area's coarser hexagons. */
export function away(scene, tables, known) {
  return scene.panes.map(({ far }, number) => {
    if (!far) return null;
    if (far.kind === "regions") {
      return { kind: far.kind, polygons: polygons(tables[`rings${number}`], tables[`corners${number}`]), classOf: ({ owner }) => owner };
    }
    known.coarser ??= coarser(tables.parents.cell, polygons(tables.rings, tables.corners));
    const classes = tables.parents[`class${number}`];
    return { kind: far.kind, polygons: known.coarser, classOf: ({ owner }) => classes[owner] };
  });
}

/** Position of a cell by its name in increasing 64-bit numbers, or -1. */
export function position(cells, name) {
  const wanted = BigInt(`0x${name}`);
  let [low, high] = [0, cells.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (BigInt(cells[middle]) < wanted) low = middle + 1;
    else high = middle;
  }
  return low < cells.length && BigInt(cells[low]) === wanted ? low : -1;
}

/** What a person is told of it, above the scale. */
export function saidOf(far) {
  const kinds = new Set(far.filter(Boolean).map(({ kind }) => kind));
  return [
    ...(kinds.has("regions") ? ["Zoomed out: hexagons of one class are one region"] : []),
    ...(kinds.has("means") ? ["Zoomed out: each hexagon shows the mean of up to 7"] : []),
  ].join(". ");
}
