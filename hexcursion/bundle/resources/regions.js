"use strict";
// Hexagons of one kind as one region. An edge is 6 times its hexagon plus the number of the corner where it begins.

/** For each edge the same edge of the hexagon across it, or -1. `corner` gives a corner relative to its hexagon's centre. */
const edgesAcross = (centres, corner) => {
  const size = centres.length / 2, across = new Int32Array(6 * size).fill(-1);
  const offset = (cell, k) => {
    const [[ax, ay], [bx, by]] = [corner(cell, k), corner(cell, (k + 1) % 6)];
    return [ax + bx, ay + by, Math.hypot(ax - bx, ay - by)];
  };
  const wide = Math.max(1, Math.hypot(...offset(0, 0).slice(0, 2)));
  const bucket = (x, y) => Math.floor(x / wide) * 100003 + Math.floor(y / wide);
  const buckets = new Map();
  for (let cell = 0; cell < size; cell += 1) {
    const at = bucket(centres[2 * cell], centres[2 * cell + 1]);
    if (buckets.has(at)) buckets.get(at).push(cell);
    else buckets.set(at, [cell]);
  }
  const beside = new Int32Array(6 * size).fill(-1);
  for (let edge = 0; edge < 6 * size; edge += 1) {
    const cell = Math.floor(edge / 6), [dx, dy, long] = offset(cell, edge % 6), far = Math.hypot(dx, dy);
    if (long < 0.2 * far) continue; // a pentagon's sixth edge has no length
    const x = centres[2 * cell] + dx, y = centres[2 * cell + 1] + dy;
    for (let near = 0; near < 9 && beside[edge] < 0; near += 1) {
      const found = buckets.get(bucket(x + wide * ((near % 3) - 1), y + wide * (Math.floor(near / 3) - 1))) || [];
      const there = found.find((one) => one !== cell && Math.hypot(centres[2 * one] - x, centres[2 * one + 1] - y) < 0.3 * far);
      if (there !== undefined) beside[edge] = there;
    }
  }
  for (let edge = 0; edge < 6 * size; edge += 1) {
    const there = beside[edge], cell = Math.floor(edge / 6);
    for (let k = 0; there >= 0 && k < 6; k += 1) if (beside[6 * there + k] === cell) across[edge] = 6 * there + k;
  }
  return across;
};

/** Walk around every region that has one of the hexagons [from, to): `start(edge)` begins a ring, `go(edge)` follows an edge. */
const walkRegions = (across, kinds, from, to, start, go) => {
  const seen = new Uint8Array(across.length);
  const turned = (edge) => (edge % 6 === 5 ? edge - 5 : edge + 1);
  const kind = (edge) => kinds[Math.floor(edge / 6)];
  const outer = (edge) => across[edge] < 0 || kind(across[edge]) !== kind(edge);
  for (let first = 6 * from; first < 6 * to; first += 1) {
    if (seen[first] || !outer(first)) continue;
    start(first);
    for (let edge = first; !seen[edge]; ) {
      seen[edge] = 1;
      go(edge);
      edge = turned(edge);
      for (let turns = 0; turns < 6 && !outer(edge); turns += 1) edge = turned(across[edge]);
    }
  }
};
