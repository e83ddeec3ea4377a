// What is drawn: the scene that Python sends, as deck.gl layers. A layer's id starts with its pane.
import { layersAround, layersOver, ownLayers } from "./around.js";
import { outlineLayers } from "./outline.js";
import { BitmapLayer, PathLayer, ScatterplotLayer, SolidPolygonLayer } from "@deck.gl/layers";
import { cellToBoundary, splitLongToH3Index } from "h3-js";

export const WHOLE = "whole"; // the prefix of layers that every pane shows

/** The name of a cell given as a 64-bit number. */
export function named(number) {
  const cell = BigInt(number);
  return splitLongToH3Index(Number(cell & 0xffffffffn), Number(cell >> 32n));
}

/** Corners of cells given as 64-bit numbers: one flat array, and where each cell starts in it. */
export function geometry(cells) {
  const starts = new Uint32Array(cells.length + 1);
  const flat = [];
  for (let index = 0; index < cells.length; index += 1) {
    starts[index] = flat.length / 2;
    for (const corner of ringOf(named(cells[index]))) flat.push(...corner);
  }
  starts[cells.length] = flat.length / 2;
  return { starts, corners: new Float64Array(flat), count: cells.length };
}

/** The closed ring of a cell, longitude first: one across the antimeridian in one piece, beyond 180 degrees. */
export function ringOf(name) {
  const ring = cellToBoundary(name, true);
  const first = ring[0][0];
  return ring.map(([longitude, latitude]) => [longitude - 360 * Math.round((longitude - first) / 360), latitude]);
}

/** [west, south, east, north] of polygons, degrees; east may exceed 180. */
export function bounds(polygons) {
  const first = polygons[0].positions[0];
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const { positions } of polygons) {
    for (let at = 0; at < positions.length; at += 2) {
      const longitude = positions[at] - 360 * Math.round((positions[at] - first) / 360);
      west = Math.min(west, longitude);
      east = Math.max(east, longitude);
      south = Math.min(south, positions[at + 1]);
      north = Math.max(north, positions[at + 1]);
    }
  }
  return [west, south, east, north];
}

/** Whether a layer belongs into a pane. */
export function belongs(layerId, paneId) {
  const prefix = layerId.split("/", 1)[0];
  return prefix === WHOLE || prefix === paneId;
}

/**
 * All layers of a scene. `cells` are the numbers of all cells, `bins` those of their bins that are in view or were before:
 * see bins.js. `around` is unpacked, `hovered` the ring of a cell or nothing, `near` whether cells are large enough on the
 * screen for each to have its outline, `far` for each pane what it shows zoomed out, `zoomedOut` whether that is now,
 * `beneath` the pictures over the land and under the cells, `outline` the corners of an area that is being drawn.
 */
export function layers(scene, columns, { bins, around, hovered, near, far, zoomedOut, beneath, outline }) {
  const drawn = [...layersAround(WHOLE, around, { ...scene.around, ground: rgb(scene.ground) })];
  drawn.push(...beneath.map(({ id, image, bounds }) => new BitmapLayer({ id: `${WHOLE}/beneath-${id}`, image, bounds })));
  scene.panes.forEach((pane, number) => {
    const away = zoomedOut && far[number];
    if (pane.classes) {
      const colours = pane.classes.map((entry) => entry.colour);
      const classes = columns[`class${number}`];
      // Both stay once they were drawn: a step of the zoom shows the one and hides the other.
      for (const bin of bins) drawn.push(cellsLayer(pane, bin, classes, colours, scene, !away && bin.visible));
      if (far[number]) drawn.push(farLayer(pane, far[number], colours, scene, Boolean(away)));
    }
    if (pane.points) drawn.push(pointsLayer(pane));
    for (const line of pane.lines) drawn.push(lineLayer(`${pane.id}/${line.id}`, line));
  });
  if (near) for (const bin of bins) if (bin.visible) drawn.push(outlinesLayer(bin, scene));
  drawn.push(...layersOver(WHOLE, around, scene.ink));
  drawn.push(...ownLayers(WHOLE, around, scene));
  if (outline) drawn.push(...outlineLayers(WHOLE, outline, scene));
  for (const line of scene.lines) drawn.push(lineLayer(`${WHOLE}/${line.id}`, line));
  const edge = hovered ? [hovered] : [];
  drawn.push(
    lineLayer(`${WHOLE}/hovered-halo`, { paths: edge, colour: scene.halo, width: 5 }),
    lineLayer(`${WHOLE}/hovered`, { paths: edge, colour: scene.ink, width: 2 }),
  );
  return drawn;
}

/** Cells let through what lies beneath them. */
export const opacityOf = ({ streets, basemap }) => (streets || basemap ? 0.65 : 1);

function cellsLayer(pane, { number, from, polygons }, classes, colours, scene, visible) {
  return new SolidPolygonLayer({
    id: `${pane.id}/cells-${number}`,
    data: polygons,
    _normalize: false,
    positionFormat: "XY",
    opacity: opacityOf(scene),
    getFillColor: (_, { index }) => colours[classes[from + index]],
    updateTriggers: { getFillColor: [classes, String(colours)] },
    visible,
  });
}

function farLayer(pane, { polygons, classOf }, colours, scene, visible) {
  return new SolidPolygonLayer({
    id: `${pane.id}/far`,
    data: polygons,
    _normalize: false,
    positionFormat: "XY",
    opacity: opacityOf(scene),
    getPolygon: (polygon) => polygon,
    getFillColor: (polygon) => colours[classOf(polygon)],
    updateTriggers: { getFillColor: [classOf, String(colours)] },
    visible,
  });
}

/** The colour of a place: by the class of its value, where it has one. */
export function spotColour({ colour, classes, palette }, index) {
  return classes ? palette[classes[index]] : colour;
}

function pointsLayer(pane) {
  return new ScatterplotLayer({
    id: `${pane.id}/points`,
    data: pane.points.places,
    getPosition: (place) => place,
    getFillColor: pane.points.classes ? (_, { index }) => [...spotColour(pane.points, index), 210] : [...pane.points.colour, 150],
    getRadius: 2.5,
    radiusUnits: "pixels",
    updateTriggers: { getFillColor: [pane.points.colour, pane.points.classes, String(pane.points.palette)] },
  });
}

/** The edges of the cells of a bin: seen when one is near enough to tell them apart. */
function outlinesLayer({ number, edges }, scene) {
  return new PathLayer({
    id: `${WHOLE}/outlines-${number}`,
    data: edges,
    _pathType: "open",
    positionFormat: "XY",
    getColor: [...scene.halo, 150],
    getWidth: 1,
    widthUnits: "pixels",
    updateTriggers: { getColor: scene.halo },
  });
}

/** "#rrggbb" as [red, green, blue]. */
const rgb = (text) => [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16));

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
