// What lies around the region: sea, land and borders under the cells, as Python packs them.
import { PathLayer, ScatterplotLayer, SolidPolygonLayer } from "@deck.gl/layers";

/** A packed line, flat whole steps with differences after the first corner, as [[longitude, latitude], ...]. */
export function unpacked(flat, steps) {
  const line = [];
  let [x, y] = [0, 0];
  for (let at = 0; at < flat.length; at += 2) {
    x += flat[at];
    y += flat[at + 1];
    line.push([x / steps, y / steps]);
  }
  return line;
}

/** The parts of a ring that follow neither the edge of the box [west, south, east, north] nor the date line, where
 * Antarctica is cut. */
export function shores(ring, [west, south, east, north], within = 1e-4) {
  const on = (value, edge) => Math.abs(value - edge) <= within;
  const upright = (x, u) => [west, east, -180, 180].some((edge) => on(x, edge) && on(u, edge));
  const along = ([x, y], [u, v]) => upright(x, u) || (on(y, south) && on(v, south)) || (on(y, north) && on(v, north));
  const lines = [];
  let line = [];
  [...ring, ring[0]].forEach((corner, at, closed) => {
    if (at && along(closed[at - 1], corner)) {
      if (line.length > 1) lines.push(line);
      line = [];
    }
    line.push(corner);
  });
  if (line.length > 1) lines.push(line);
  return lines;
}

/** Unpack once for an area what `layersAround` draws and the names that labels and search use. */
export function surroundings({ steps, box, land, lakes, isles, rivers, borders, places, own = [] }) {
  const [west, south, east, north] = box;
  const lines = (packed) => packed.map((flat) => unpacked(flat, steps));
  const rings = { land: lines(land), lakes: lines(lakes), isles: lines(isles) };
  return {
    sea: east > west ? [[[west, south], [east, south], [east, north], [west, north]]] : [],
    ...rings,
    shores: Object.values(rings).flat().flatMap((ring) => shores(ring, box)),
    rivers: lines(rivers),
    borders: lines(borders),
    own: own.map(({ lines, names, ...layer }) => ({ ...layer, lines: lines.map((flat) => unpacked(flat, steps)) })),
    places: [...own.flatMap(({ names }) => names.map((one) => [...one, true])), ...places].map(
      ([name, longitude, latitude, population, own = false]) => ({ name, longitude, latitude, population, own }),
    ),
  }; // prettier-ignore
}

/** The curator's own layers over the cells, for every pane. */
export function ownLayers(prefix, { own }, { ink, halo }) {
  return own.flatMap(({ lines, points, colour: inked, width: wide, dot }, number) => [
    ...[[halo, wide + 1.9, "halo"], [inked ?? ink, wide, "lines"]].map(([colour, width, name]) =>
      new PathLayer({
        id: `${prefix}/own-${number}-${name}`, data: lines, getPath: (path) => path, getColor: colour, getWidth: width,
        widthUnits: "pixels", jointRounded: true, updateTriggers: { getColor: colour, getWidth: width },
      })),
    new ScatterplotLayer({
      id: `${prefix}/own-${number}-points`, data: points, getPosition: (place) => place, getRadius: dot / 2, radiusUnits: "pixels",
      getFillColor: inked ?? ink, getLineColor: halo, stroked: true, lineWidthUnits: "pixels", getLineWidth: 1.5,
      updateTriggers: { getFillColor: [inked, ink], getLineColor: halo, getRadius: dot },
    }),
  ]); // prettier-ignore
}

/** What is filled and drawn under the cells, in order: [name, rings or lines, role, width]; rings without a width. */
export const BENEATH = [
  ["sea", "water"],
  ["land", "ground"],
  ["lakes", "water"],
  ["isles", "ground"],
  ["rivers", "shore", 1.2],
  ["borders", "border", 1],
  ["shores", "shore", 1.2],
];
/** What of it is drawn over the cells again, so that a place is known by its water. */
export const OVER = ["rivers", "shores"];
export const FAINT = 0.45; // how much of these lines is seen there

/** Layers under the cells, for every pane. */
export function layersAround(prefix, drawn, colours) {
  return BENEATH.map(([name, role, width]) =>
    width
      ? lined(`${prefix}/${name}`, drawn[name], colours[role], width)
      : new SolidPolygonLayer({
          id: `${prefix}/${name}`, data: drawn[name], getPolygon: (ring) => ring, getFillColor: colours[role],
          updateTriggers: { getFillColor: colours[role] },
        }),
  ); // prettier-ignore
}

/** Lines over the cells, for every pane. */
export function layersOver(prefix, drawn, ink) {
  return OVER.map((name) => lined(`${prefix}/over-${name}`, drawn[name], [...ink, 255 * FAINT], 1));
}

function lined(id, data, colour, width) {
  return new PathLayer({
    id, data, getPath: (path) => path, getColor: colour, getWidth: width,
    widthUnits: "pixels", jointRounded: true, updateTriggers: { getColor: colour },
  }); // prettier-ignore
}
