// One map of one or two panes under one camera. Camera, divider and hover live here, so that a new scene from
// Python recolours the map and leaves the view as it is.
import { Deck, MapView } from "@deck.gl/core";
import { fitted, paneCamera, panes, sharedCamera } from "./cameras.js";
import { measure, overlay, place, tell } from "./overlay.js";
import { belongs, bounds, geometry, layers } from "./scene.js";

const instances = new WeakMap();

class LinkedMap {
  constructor(parent) {
    this.root = document.createElement("div");
    this.root.className = "linked-map";
    parent.append(this.root);
    this.camera = null;
    this.divider = 0.5;
    this.front = 0;
    this.hovered = -1;
    this.parts = overlay(this.root, {
      zoom: (step) => this.look({ ...this.camera, zoom: Math.min(20, Math.max(0, this.camera.zoom + step)) }),
      home: () => this.look(this.whole()),
      flip: () => { this.front = 1 - this.front; this.arrange(); },
      divide: (share) => { this.divider = Math.min(0.97, Math.max(0.03, share)); this.arrange(); },
      full: () => (document.fullscreenElement ? document.exitFullscreen() : this.root.requestFullscreen()),
    }); // prettier-ignore
    this.watcher = new ResizeObserver(() => this.arrange());
    this.watcher.observe(this.root);
  }

  /** Take a scene. `columns` holds typed arrays of one entry per cell: cell, and class and note of each pane. */
  show(scene, columns) {
    if (this.area !== scene.area) {
      const shape = geometry(columns.cell);
      shape.polygons = {
        length: shape.count,
        startIndices: shape.starts,
        attributes: { getPolygon: { value: shape.corners, size: 2 } },
      };
      Object.assign(this, { area: scene.area, shape, box: bounds(shape), camera: null, hovered: -1 });
    }
    Object.assign(this, { scene, columns });
    this.root.style.height = `${scene.height}px`;
    this.root.style.background = scene.ground;
    this.root.dataset.mode = scene.mode;
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", scene.alt);
    this.arrange();
  }

  /** The panes that stand on the screen: under a toggle only one of them. */
  shown() {
    return this.scene.mode === "toggle" ? [this.scene.panes[this.front]] : this.scene.panes;
  }

  whole() {
    const box = this.boxes[0];
    const width = this.scene.mode === "swipe" ? this.width : box.width;
    return fitted(this.box, width, box.height);
  }

  /** Place everything anew: after a new scene, a new size, another front or divider. */
  arrange() {
    this.width = this.root.clientWidth;
    this.height = this.root.clientHeight;
    if (!this.scene || !this.width || !this.height) return;
    const shown = this.shown();
    this.boxes = panes(this.scene.mode, shown.length, this.width, this.height, this.divider);
    this.camera ??= this.whole();
    place(this.parts, { mode: this.scene.mode, shown, boxes: this.boxes, divider: this.divider });
    this.draw();
  }

  look(camera) {
    this.camera = camera;
    this.draw();
  }

  draw() {
    const { mode } = this.scene;
    const shown = this.shown();
    const views = shown.map((pane, number) => new MapView({ id: pane.id, ...this.boxes[number], controller: CONTROLLER }));
    const viewState = Object.fromEntries(
      shown.map((pane, number) => [pane.id, paneCamera(mode, this.camera, this.boxes[number], this.width)]),
    );
    const props = {
      views,
      viewState,
      layers: layers(this.scene, this.shape, this.columns, this.hovered),
      layerFilter: ({ layer, viewport }) => belongs(layer.id, viewport.id),
    };
    if (this.deck) this.deck.setProps(props);
    else this.deck = this.start(props);
    measure(this.parts, this.camera);
    this.root.dataset.view = JSON.stringify(this.camera);
  }

  start(props) {
    return new Deck({
      ...props,
      parent: this.parts.ground,
      width: "100%",
      height: "100%",
      onViewStateChange: ({ viewId, viewState }) => {
        const number = this.shown().findIndex((pane) => pane.id === viewId);
        this.look(sharedCamera(this.scene.mode, viewState, this.boxes[number], this.width));
      },
      onHover: ({ index, x, y, layer }) => this.hover(layer ? index : -1, x, y),
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

  hover(index, x, y) {
    tell(this.parts, index < 0 ? [] : this.words(index), x, y, this.width);
    if (index === this.hovered) return;
    this.hovered = index;
    this.draw();
  }

  words(index) {
    const said = this.scene.panes.flatMap((pane, number) => {
      const codes = this.columns[`note${number}`];
      return codes ? [pane.notes[codes[index]]] : [];
    });
    return [...new Set(said), `H3 cell ${this.shape.names[index]}`];
  }

  fail(error) {
    console.error(error);
    if (this.root.dataset.drawn) return;
    const note = document.createElement("p");
    note.className = "failure";
    note.textContent = "The map could not be drawn: this browser offers no WebGL. The numbers beside it hold all the same.";
    this.parts.ground.replaceChildren(note);
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
export default function render({ data, parentElement }) {
  let map = instances.get(parentElement);
  if (!map) {
    map = new LinkedMap(parentElement);
    instances.set(parentElement, map);
  }
  map.show(data.scene, columnsOf(data.cells));
  return () => {
    const host = parentElement.host ?? parentElement;
    setTimeout(() => {
      if (host.isConnected || instances.get(parentElement) !== map) return;
      instances.delete(parentElement);
      map.end();
    });
  };
}
