// What is drawn: the scene that Python sends, as deck.gl layers. A layer's id starts with its pane.
import { layersAround, ownLayers } from "./around.js";
import { outlineLayers } from "./outline.js";
import { BitmapLayer, PathLayer, ScatterplotLayer, SolidPolygonLayer } from "@deck.gl/layers";
import { cellToBoundary, splitLongToH3Index } from "h3-js";

export const WHOLE = "whole"; // the prefix of layers that every pane shows

/** Corners of cells given as 64-bit numbers: one flat array, and where each cell starts in it. */
export function geometry(cells) {
  const starts = new Uint32Array(cells.length + 1);
  const names = new Array(cells.length);
  const flat = [];
  for (let index = 0; index < cells.length; index += 1) {
    const cell = BigInt(cells[index]);
    names[index] = splitLongToH3Index(Number(cell & 0xffffffffn), Number(cell >> 32n));
    starts[index] = flat.length / 2;
    const ring = cellToBoundary(names[index], true); // closed, longitude first
    const first = ring[0][0];
    for (const [longitude, latitude] of ring) {
      // A cell across the antimeridian is drawn in one piece, beyond 180 degrees.
      flat.push(longitude - 360 * Math.round((longitude - first) / 360), latitude);
    }
  }
  starts[cells.length] = flat.length / 2;
  return { names, starts, corners: new Float64Array(flat), count: cells.length };
}

/** Ring of one cell as [[longitude, latitude], ...]. */
export function ring({ starts, corners }, index) {
  const points = [];
  for (let at = starts[index]; at < starts[index + 1]; at += 1) points.push([corners[2 * at], corners[2 * at + 1]]);
  return points;
}

/** [west, south, east, north] of all cells, degrees; east may exceed 180. */
export function bounds({ corners }) {
  const first = corners[0];
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let at = 0; at < corners.length; at += 2) {
    const longitude = corners[at] - 360 * Math.round((corners[at] - first) / 360);
    west = Math.min(west, longitude);
    east = Math.max(east, longitude);
    south = Math.min(south, corners[at + 1]);
    north = Math.max(north, corners[at + 1]);
  }
  return [west, south, east, north];
}

/** Whether a layer belongs into a pane. */
export function belongs(layerId, paneId) {
  const prefix = layerId.split("/", 1)[0];
  return prefix === WHOLE || prefix === paneId;
}

/**
 * All layers of a scene. `around` is unpacked, `hovered` the position of a cell or -1, `near` whether cells are
 * large enough on the screen for each to have its outline, `beneath` the pictures over the land and under the cells, `outline`
 * the corners of an area that is being drawn.
 */
export function layers(scene, shape, columns, { around, hovered, near, beneath, outline }) {
  const polygons = shape.polygons;
  const drawn = [...layersAround(WHOLE, around, { ...scene.around, ground: rgb(scene.ground) })];
  drawn.push(...beneath.map(({ id, image, bounds }) => new BitmapLayer({ id: `${WHOLE}/beneath-${id}`, image, bounds })));
  scene.panes.forEach((pane, number) => {
    if (pane.classes) drawn.push(...cellLayers(pane, polygons, columns[`class${number}`], shape, scene));
    if (pane.points) drawn.push(pointsLayer(pane));
    for (const line of pane.lines) drawn.push(lineLayer(`${pane.id}/${line.id}`, line));
  });
  if (near) drawn.push(outlinesLayer(shape, scene));
  drawn.push(...ownLayers(WHOLE, around, scene));
  if (outline) drawn.push(...outlineLayers(WHOLE, outline, scene));
  for (const line of scene.lines) drawn.push(lineLayer(`${WHOLE}/${line.id}`, line));
  const edge = hovered < 0 ? [] : [ring(shape, hovered)];
  drawn.push(
    lineLayer(`${WHOLE}/hovered-halo`, { paths: edge, colour: scene.halo, width: 5 }),
    lineLayer(`${WHOLE}/hovered`, { paths: edge, colour: scene.ink, width: 2 }),
  );
  return drawn;
}

/** Cells let through what lies beneath them. */
export const opacityOf = ({ streets, basemap }) => (streets || basemap ? 0.65 : 1);

function cellLayers(pane, polygons, classes, shape, scene) {
  const colours = pane.classes.map((entry) => entry.colour);
  const cells = new SolidPolygonLayer({
    id: `${pane.id}/cells`,
    data: polygons,
    _normalize: false,
    positionFormat: "XY",
    opacity: opacityOf(scene),
    getFillColor: (_, { index }) => colours[classes[index]],
    updateTriggers: { getFillColor: [classes, colours] },
    pickable: true,
  });
  const marked = pane.classes.flatMap((entry, number) =>
    entry.mark ? [markLayer(pane, entry, number, classes, shape, scene)] : [],
  );
  return [cells, ...marked];
}

function pointsLayer(pane) {
  return new ScatterplotLayer({
    id: `${pane.id}/points`,
    data: pane.points.places,
    getPosition: (place) => place,
    getFillColor: [...pane.points.colour, 150],
    getRadius: 2.5,
    radiusUnits: "pixels",
    updateTriggers: { getFillColor: pane.points.colour },
  });
}

/** The edges of all cells: seen when one is near enough to tell them apart. */
function outlinesLayer(shape, scene) {
  return new PathLayer({
    id: `${WHOLE}/outlines`,
    data: shape.edges,
    _pathType: "open",
    positionFormat: "XY",
    getColor: [...scene.ink, 70],
    getWidth: 1,
    widthUnits: "pixels",
    updateTriggers: { getColor: scene.ink },
  });
}

/** "#rrggbb" as [red, green, blue]. */
const rgb = (text) => [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16));

function markLayer(pane, entry, number, classes, shape, scene) {
  const places = [];
  for (let index = 0; index < shape.count; index += 1) {
    if (classes[index] === number) places.push(middle(ring(shape, index)));
  }
  return new ScatterplotLayer({
    id: `${pane.id}/mark-${number}`,
    data: places,
    getPosition: (place) => place,
    getRadius: 0.16 * scene.spacing,
    filled: entry.mark === "dots",
    stroked: entry.mark === "rings",
    getFillColor: entry.ink,
    getLineColor: entry.ink,
    lineWidthMinPixels: 1.5,
    radiusMinPixels: 1,
  });
}

function lineLayer(id, { paths, colour, width }) {
  return new PathLayer({
    id,
    data: paths,
    getPath: (path) => path,
    getColor: colour,
    getWidth: width,
    updateTriggers: { getColor: colour, getWidth: width },
    widthUnits: "pixels",
    capRounded: true,
    jointRounded: true,
  });
}

function middle(points) {
  const corners = points.slice(1);
  return [0, 1].map((axis) => corners.reduce((sum, point) => sum + point[axis], 0) / corners.length);
}
