// Cells in bins of neighbours, so that only those in view are drawn: each bin is a layer of its own.
import { bounds } from "./scene.js";

const DEEP = 4; // H3 steps from a cell up to its bin: at most 7^4 = 2,401 cells

/** The cells of a `geometry` in bins: cells below one ancestor stand together, as the numbers increase. */
export function binned(cells, shape) {
  const found = [];
  let [from, above] = [0, null];
  for (let at = 0; at <= cells.length; at += 1) {
    const next = at < cells.length ? ancestor(BigInt(cells[at])) : null;
    if (at && next !== above) {
      found.push(bin(shape, found.length, from, at));
      from = at;
    }
    above = next;
  }
  return found;
}

/** What the numbers of all cells below one ancestor have in common. A digit has three bits, the first stands in front. */
function ancestor(cell) {
  const resolution = (cell >> 52n) & 15n;
  return cell >> (3n * (15n - (resolution > BigInt(DEEP) ? resolution - BigInt(DEEP) : 0n)));
}

function bin({ starts, corners }, number, from, to) {
  const positions = corners.subarray(2 * starts[from], 2 * starts[to]);
  const startIndices = starts.slice(from, to + 1).map((start) => start - starts[from]);
  const data = (name) => ({ length: to - from, startIndices, attributes: { [name]: { value: positions, size: 2 } } });
  return { number, from, box: bounds([{ positions }]), polygons: data("getPolygon"), edges: data("getPath") };
}

/** Say of each bin whether it is `visible` in a view, and `seen`: now or before. What was seen keeps its layers, hidden. */
export function look(bins, view) {
  for (const one of bins) {
    one.visible = meets(one.box, view);
    one.seen ||= one.visible;
  }
}

/** Whether two boxes [west, south, east, north] touch, whichever way around the globe. */
export function meets([west, south, east, north], [left, bottom, right, top]) {
  const apart = (west + east - left - right) / 2;
  const nearest = Math.abs(apart - 360 * Math.round(apart / 360));
  return nearest <= (east - west + right - left) / 2 && south <= top && bottom <= north;
}
