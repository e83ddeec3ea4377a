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

/** The parts of a ring that do not follow the edge of the box [west, south, east, north]. */
export function shores(ring, [west, south, east, north], within = 1e-4) {
  const on = (value, edge) => Math.abs(value - edge) <= within;
  const along = ([x, y], [u, v]) =>
    (on(x, west) && on(u, west)) || (on(x, east) && on(u, east)) || (on(y, south) && on(v, south)) || (on(y, north) && on(v, north));
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
export function surroundings({ steps, box, land, borders, places, own = [] }) {
  const [west, south, east, north] = box;
  const rings = land.map((flat) => unpacked(flat, steps));
  return {
    sea: east > west ? [[[west, south], [east, south], [east, north], [west, north]]] : [],
    land: rings,
    shores: rings.flatMap((ring) => shores(ring, box)),
    borders: borders.map((flat) => unpacked(flat, steps)),
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

/** Layers under the cells, for every pane. */
export function layersAround(prefix, drawn, { water, shore, border, ground }) {
  const filled = (name, data, colour) =>
    new SolidPolygonLayer({
      id: `${prefix}/${name}`, data, getPolygon: (ring) => ring, getFillColor: colour,
      updateTriggers: { getFillColor: colour },
    }); // prettier-ignore
  const lined = (name, data, colour, width) =>
    new PathLayer({
      id: `${prefix}/${name}`, data, getPath: (path) => path, getColor: colour, getWidth: width,
      widthUnits: "pixels", jointRounded: true, updateTriggers: { getColor: colour },
    }); // prettier-ignore
  return [
    filled("sea", drawn.sea, water),
    filled("land", drawn.land, ground),
    lined("borders", drawn.borders, border, 1),
    lined("shores", drawn.shores, shore, 1.2),
  ];
}
