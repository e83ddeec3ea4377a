// One map of one or two panes under one camera. Camera, divider and hover live here, so that a new scene from
// Python recolours the map and leaves the view as it is.
import { Deck, MapView } from "@deck.gl/core";
import { cellToParent, getResolution, latLngToCell } from "h3-js";
import { surroundings } from "./around.js";
import { basemapPictures } from "./basemap.js";
import { binned, look } from "./bins.js";
import { boxOf, fitted, moved, paneCamera, panes, pixelsOf, projected, sharedCamera, shifted } from "./cameras.js";
import { away, position, saidOf } from "./far.js";
import { drawFlat } from "./flat.js";
import { meant, placed } from "./labels.js";
import { NOTHING, added, advice, begun, closed, shortened } from "./outline.js";
import { explain, measure, overlay, place, tell, widthOf, write } from "./overlay.js";
import { belongs, bounds, geometry, layers, named, ringOf } from "./scene.js";
import { streets } from "./streets.js";

const NEAR = 22; // pixels from cell to cell from which on each has an outline
const FAR = 3; // pixels from cell to cell below which a map of very many shows regions or means
const OUT = 2; // zoom steps out of the whole area: beyond, nothing around it is known
const HEAD = 34; // pixels above the area that are left to a title
const FOOT = 26; // and below it to scale and sources
const STRIP = 46; // pixels at the right that are left to the tools: they cover no cell

const instances = new WeakMap();

class LinkedMap {
  constructor(parent) {
    this.root = document.createElement("div");
    this.root.className = "linked-map";
    parent.append(this.root);
    this.camera = null;
    this.divider = 0.5;
    this.front = 0;
    this.hovered = "";
    this.outline = NOTHING;
    this.parts = overlay(this.root, {
      zoom: (step) => this.look({ ...this.camera, zoom: this.camera.zoom + step }),
      home: () => { this.found = null; this.camera = this.first = this.whole(); this.draw(); },
      find: (words) => this.find(words),
      flip: () => { this.front = 1 - this.front; this.arrange(); },
      divide: (share) => { this.divider = Math.min(0.97, Math.max(0.03, share)); this.arrange(); },
      draw: () => (this.outline.on ? this.finish() : this.sketch(begun())),
      full: () => (document.fullscreenElement ? document.exitFullscreen() : this.root.requestFullscreen()),
    }); // prettier-ignore
    this.root.addEventListener("keydown", (event) => this.key(event), { capture: true });
    const { ground } = this.parts;
    ground.addEventListener("pointerdown", ({ clientX, clientY }) => (this.pressed = [clientX, clientY]), { capture: true });
    ground.addEventListener("click", (event) => this.click(event));
    ground.addEventListener("dblclick", () => this.outline.on && this.finish());
    this.root.addEventListener("transitionend", ({ target, propertyName }) => {
      if (target === this.root && propertyName === "color") this.recolour?.(getComputedStyle(this.root).color);
    });
    this.watcher = new ResizeObserver(() => this.arrange());
    this.watcher.observe(this.root);
  }

  /** Take a scene and its tables, typed arrays by name: `cells` with one entry per cell: cell, and class and note of each pane. */
  show(scene, tables) {
    const columns = tables.cells;
    if (this.area !== scene.area) {
      const drawn = surroundings(scene.around);
      Object.assign(this, { area: scene.area, made: null, sorted: null, coarse: {}, drawn, camera: null, hovered: "", found: null, zoomedOut: null });
      this.parts.finder.known.replaceChildren(
        ...[...new Set(drawn.places.map(({ name }) => name))].sort().map((name) => new Option(name)),
      );
    }
    this.far = away(scene, tables, this.coarse);
    Object.assign(this, { tables });
    Object.assign(this, { scene, columns });
    if (!this.camera) this.box = scene.box ?? bounds(this.far.find(Boolean)?.polygons ?? [{ positions: this.shape.corners }]);
    this.parts.source.textContent = [scene.streets?.source, scene.basemap?.source, scene.around.source].filter(Boolean).join(" ");
    explain(this.parts, scene.key);
    this.parts.draw.hidden = !scene.drawing || Boolean(this.flat);
    if (!scene.drawing && this.outline.on) this.sketch(NOTHING);
    this.root.style.height = `${scene.height}px`;
    this.root.style.background = scene.ground;
    this.root.dataset.mode = scene.mode;
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", scene.alt);
    this.arrange();
  }

  /** Corners of all cells: made when cells are drawn for the first time. */
  get shape() {
    this.made ??= geometry(this.columns.cell);
    return this.made;
  }

  /** Bins of cells that are in view where any pane shows cells, and those that were. */
  get bins() {
    if (this.scene.panes.some(({ classes }, number) => classes && !(this.zoomedOut && this.far[number]))) {
      this.sorted ??= binned(this.columns.cell, this.shape);
      look(this.sorted, boxOf(this.camera, this.width, this.height));
    }
    return (this.sorted ?? []).filter(({ seen }) => seen);
  }

  /** The panes that stand on the screen: under a toggle only one of them. */
  shown() {
    return this.scene.mode === "toggle" ? [this.scene.panes[this.front]] : this.scene.panes;
  }

  whole() {
    const box = this.boxes[0];
    const width = this.scene.mode === "swipe" ? this.width : box.width;
    const head = this.shown().some((pane) => pane.title) ? HEAD : 0;
    return shifted(fitted(this.box, width, box.height - head - FOOT), 0, (FOOT - head) / 2);
  }

  /** Place everything anew: after a new scene, a new size, another front or divider. */
  arrange() {
    const [clientWidth, clientHeight] = [this.root.clientWidth - STRIP, this.root.clientHeight];
    const resized = this.width !== clientWidth || this.height !== clientHeight; // a camera that nobody moved is fitted anew
    Object.assign(this, { width: clientWidth, height: clientHeight });
    if (!this.scene || !this.width || !this.height) return;
    const shown = this.shown();
    this.boxes = panes(this.scene.mode, shown.length, this.width, this.height, this.divider);
    if (!this.camera || (resized && this.camera === this.first)) this.camera = this.first = this.whole();
    place(this.parts, { mode: this.scene.mode, shown, boxes: this.boxes, divider: this.divider });
    this.draw();
  }

  look(camera) {
    const floor = Math.max(0, this.whole().zoom - OUT);
    this.camera = { ...camera, zoom: Math.min(20, Math.max(floor, camera.zoom)) };
    this.draw();
  }

  /** Show the place that a person means, or say that none is known by that name. */
  find(words) {
    const place = meant(this.drawn.places, words);
    this.root.dataset.found = place?.name ?? "";
    if (!place) {
      tell(this.parts, [words.trim() ? `No place called “${words.trim()}” is known here.` : "Type the name of a place."], 8, 44, this.width);
      return;
    }
    this.found = place;
    const zoom = Math.max(this.camera.zoom, this.whole().zoom + 2);
    tell(this.parts, [], 0, 0, this.width);
    this.look({ longitude: place.longitude, latitude: place.latitude, zoom });
  }

  draw() {
    const { mode } = this.scene;
    const shown = this.shown();
    measure(this.parts, this.camera);
    this.turn(this.far.some(Boolean) && pixelsOf(this.camera, this.scene.spacing) < FAR);
    this.label(shown);
    this.root.dataset.view = JSON.stringify(this.camera);
    if (this.flat) {
      drawFlat(this.flat, { ...this, shape: () => this.shape, shown, beneath: this.beneath() });
      return;
    }
    const near = pixelsOf(this.camera, this.scene.spacing) >= NEAR;
    this.root.dataset.outlines = String(near);
    const views = shown.map((pane, number) => new MapView({ id: pane.id, repeat: true, ...this.boxes[number], controller: { ...CONTROLLER, doubleClickZoom: !this.outline.on } }));
    const viewState = Object.fromEntries(
      shown.map((pane, number) => [pane.id, paneCamera(mode, this.camera, this.boxes[number], this.width)]),
    );
    const props = {
      views,
      viewState,
      layers: layers(this.scene, this.columns, {
        bins: this.bins, far: this.far, zoomedOut: this.zoomedOut,
        around: this.drawn, hovered: this.hovered && ringOf(this.hovered), near, beneath: this.beneath(),
        outline: this.outline.on ? this.outline : null,
      }), // prettier-ignore
      layerFilter: ({ layer, viewport }) => belongs(layer.id, viewport.id),
    };
    if (this.deck) this.deck.setProps(props);
    else this.deck = this.start(props);
  }

  /** Show what a map of very many cells shows zoomed out, or its cells, and say which. */
  turn(zoomedOut) {
    this.parts.detail.textContent = zoomedOut ? saidOf(this.far) : "";
    this.root.dataset.detail = zoomedOut ? [...new Set(this.far.map((one) => one?.kind ?? "cells"))].join(" ") : "cells";
    if (this.zoomedOut !== zoomedOut) {
      this.hovered = "";
      this.parts.tooltip.hidden = true;
    }
    this.zoomedOut = zoomedOut;
  }

  /** Take another state of the outline that is being drawn, show it and say what comes next. */
  sketch(outline) {
    this.outline = outline;
    this.root.dataset.corners = String(outline.corners.length);
    this.root.classList.toggle("drawing", outline.on);
    this.parts.draw.setAttribute("aria-pressed", String(outline.on));
    this.parts.draw.setAttribute("aria-label", outline.on ? "Close the outline" : "Draw the area");
    if (outline.on) this.say(advice(outline));
    else if (this.note) this.note.hidden = true;
    this.draw();
  }

  /** A corner where a person clicked; a click after the map was moved, or the second of two, is none. */
  click({ clientX, clientY, detail }) {
    const [x, y] = this.pressed ?? [clientX, clientY];
    const [viewport] = this.deck?.getViewports() ?? [];
    if (!this.outline.on || !viewport || detail > 1 || Math.hypot(clientX - x, clientY - y) > 4) return;
    const box = this.parts.ground.getBoundingClientRect();
    const [longitude, latitude] = viewport.unproject([clientX - box.left, clientY - box.top]);
    this.sketch(added(this.outline, [longitude, latitude]));
  }

  /** Close the outline and send it; one that encloses nothing stays open. */
  finish() {
    const corners = closed(this.outline);
    if (!corners) {
      if (this.outline.corners.length) this.say("An area needs three corners at least: click the next one.");
      else this.sketch(NOTHING);
      return;
    }
    this.sketch(NOTHING);
    this.send?.(corners);
  }

  /** Keys while an outline is drawn. */
  key(event) {
    if (!this.outline.on || event.target instanceof HTMLInputElement) return;
    const act = {
      Enter: () => event.target !== this.parts.draw && this.finish(),
      Escape: () => this.sketch(NOTHING),
      Backspace: () => this.sketch(shortened(this.outline)),
    }[event.key];
    if (!act) return;
    if (event.key !== "Enter" || event.target !== this.parts.draw) event.preventDefault();
    act();
  }

  /** Streets or a basemap of one's own; where nothing comes, the map says so and stands without. */
  beneath() {
    const { streets: asked, basemap: own, mode } = this.scene;
    const width = mode === "swipe" ? this.width : this.boxes[0].width;
    const [drawn, said] = asked
      ? [this.pictures(asked, streets), `The street map of ${new URL(asked.address).host} cannot be reached: the map stands without it.`]
      : own
        ? [this.pictures(own, basemapPictures), "The basemap cannot be read any more: the map stands without it. Reload the page, or give the file again."]
        : [null, ""];
    const found = drawn ? drawn.shown(this.camera, width, this.height) : [];
    this.root.dataset.beneath = String(found.length);
    if (drawn?.failed) this.say(said);
    else if (this.note && !this.outline.on && !this.flat) this.note.hidden = true;
    return found;
  }

  /** What was begun for this source, as long as it is the same. */
  pictures(source, begin) {
    const wanted = JSON.stringify(source);
    if (this.source !== wanted) {
      this.source = wanted;
      this.under = begin(begin === streets ? source.address : source, () => this.scene && this.draw());
    }
    return this.under;
  }

  /** A sentence at the map's lower edge. */
  say(sentence) {
    if (!this.note) {
      this.note = Object.assign(document.createElement("p"), { className: "failure" });
      this.note.setAttribute("role", "status");
      this.root.append(this.note);
    }
    this.note.hidden = false;
    if (this.note.textContent !== sentence) this.note.textContent = sentence;
  }

  /** Names over the cells: once over a swipe, whose panes are one map, else in each pane. */
  label(shown) {
    const whole = { x: 0, y: 0, width: this.width, height: this.height };
    const boxes = this.scene.mode === "swipe" ? [whole] : this.boxes;
    const labels = boxes.flatMap((box, number) => {
      const project = (longitude, latitude) => projected(this.camera, box.width, box.height, longitude, latitude);
      const taken = [
        { left: 0, top: box.height - 34, right: 150, bottom: box.height },
        ...(this.zoomedOut ? [{ left: 0, top: box.height - 60, right: 320, bottom: box.height - 34 }] : []),
        { left: box.width - 370, top: box.height - 18, right: box.width, bottom: box.height },
      ];
      const title = this.scene.mode === "swipe" || shown[number].title;
      if (title) taken.push({ left: 0, top: 0, right: this.scene.mode === "swipe" ? box.width : Math.min(box.width, 340), bottom: 32 });
      const first = this.found ? [{ ...this.found, population: 1e9 }] : [];
      const places = [...first, ...this.drawn.places.filter((place) => place !== this.found)];
      return placed(places, { project, ...box, zoom: this.camera.zoom, measure: widthOf, taken }).map((label) => ({
        ...label, x: label.x + box.x, y: label.y + box.y, size: label.name === this.found?.name ? "found" : label.size,
      })); // prettier-ignore
    });
    write(this.parts, labels);
  }

  start(props) {
    return new Deck({
      ...props,
      parent: this.parts.ground,
      width: "100%",
      height: "100%",
      onViewStateChange: ({ viewId, viewState }) => {
        const number = this.shown().findIndex((pane) => pane.id === viewId);
        // deck.gl tells its first camera and every new size, too: only a person's move is one.
        const seen = sharedCamera(this.scene.mode, viewState, this.boxes[number], this.width);
        if (moved(this.camera, seen)) this.look(seen);
      },
      getCursor: ({ isDragging }) => (isDragging ? "grabbing" : this.outline.on ? "crosshair" : "grab"),
      onHover: (seen) => this.hover(seen),
      onLoad: () => this.name(),
      onAfterRender: () => (this.root.dataset.drawn = "true"),
      onError: (error) => this.fail(error),
    });
  }

  /** Say to those who come by keyboard what the canvas is and which keys it takes. */
  name() {
    const canvas = this.parts.ground.querySelector("canvas");
    canvas?.setAttribute("role", "application");
    canvas?.setAttribute("aria-label", "Map: arrow keys move it, plus and minus zoom");
  }

  hover({ x, y, coordinate, viewport }) {
    const { lines, name } = (x >= 0 && !this.outline.on && this.under(coordinate, viewport)) || { lines: [], name: "" };
    tell(this.parts, lines, x, y, this.width);
    if (name === this.hovered) return;
    this.hovered = name;
    this.draw();
  }

  /** What each pane says at a place, and the name of the hexagon there: of means the coarser one. */
  under(coordinate, viewport) {
    const { cell } = this.columns;
    if (!coordinate || !cell.length || !this.scene.panes.find(({ id }) => id === viewport.id)?.classes) return null;
    const own = latLngToCell(coordinate[1], coordinate[0], getResolution(named(cell[0])));
    const index = position(cell, own);
    if (index < 0) return null;
    const [means, parents] = [this.scene.panes.map((_, number) => this.zoomedOut && this.far[number]?.kind === "means"), this.tables.parents];
    const above = means.includes(true) ? cellToParent(own, getResolution(own) - 1) : "";
    const said = this.scene.panes.flatMap((pane, number) => {
      if (means[number]) return [pane.far.notes[parents[`note${number}`][position(parents.cell, above)]]];
      return pane.notes ? [pane.notes[this.columns[`note${number}`][index]]] : [];
    });
    const name = above || own;
    return { lines: [...new Set(said), `H3 cell ${name}`], name };
  }

  fail(error) {
    console.error(error);
    if (this.root.dataset.drawn || this.flat) return;
    this.say("This browser offers no WebGL: the map is a picture. The buttons zoom it; it cannot be dragged.");
    this.flat = document.createElement("canvas");
    this.parts.draw.hidden = true;
    this.flat.setAttribute("role", "img");
    this.flat.setAttribute("aria-label", this.scene.alt);
    this.parts.ground.replaceChildren(this.flat);
    this.root.dataset.drawn = "flat";
    this.draw();
  }

  /** Give the WebGL context back: `finalize` alone keeps it, and a page may have sixteen. */
  end() {
    this.watcher.disconnect();
    const device = this.deck?.device;
    this.deck?.finalize();
    device?.canvasContext?.destroy?.();
    device?.loseDevice?.();
    this.root.remove();
  }
}

const CONTROLLER = { dragRotate: false, touchRotate: false, scrollZoom: true, keyboard: true, inertia: false };

/** The columns of the Arrow table that Python sent, as typed arrays by name. */
function columnsOf(table) {
  return Object.fromEntries(table.schema.fields.map(({ name }) => [name, table.getChild(name).toArray()]));
}

/** Streamlit calls this on mount and on every change, with the same parent element. */
export default function render({ data, parentElement, setTriggerValue }) {
  let map = instances.get(parentElement);
  if (!map) {
    map = new LinkedMap(parentElement);
    instances.set(parentElement, map);
  }
  map.send = (corners) => setTriggerValue("drawn", corners);
  map.recolour = (ink) => setTriggerValue("theme", ink); // Python, which sends the colours, runs again
  const { scene, ...tables } = data;
  map.show(scene, Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, columnsOf(table)])));
  return () => {
    const host = parentElement.host ?? parentElement;
    setTimeout(() => {
      if (host.isConnected || instances.get(parentElement) !== map) return;
      instances.delete(parentElement);
      map.end();
    });
  };
}
