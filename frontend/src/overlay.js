// What stands over the map as ordinary page elements: titles, watermarks, divider, buttons, scale, tooltip.
import { scaleBar } from "./cameras.js";

const element = (tag, name, attributes = {}) => {
  const made = document.createElement(tag);
  made.className = name;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

// Strokes of the icons in a box of 16 by 16: fonts differ in which symbols they have.
const ICONS = {
  flip: "M2 5h11M10 2l3 3-3 3M14 11H3M6 8l-3 3 3 3",
  closer: "M8 3v10M3 8h10",
  wider: "M3 8h10",
  home: "M2 8l6-5 6 5M4 7v6h8V7",
  full: "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4",
  draw: "M3 13l1-4 7-7 3 3-7 7zM9 4l3 3",
  find: "M7 12a5 5 0 1 0 0-10 5 5 0 0 0 0 10M10.7 10.7L14 14",
  grip: "M6 4L2 8l4 4M10 4l4 4-4 4",
};

const icon = (name) => {
  const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  drawing.setAttribute("viewBox", "0 0 16 16");
  drawing.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  drawing.append(path);
  return drawing;
};

const button = (name, label) => {
  const made = element("button", "tool", { type: "button", "aria-label": label, title: label });
  made.append(icon(name));
  return made;
};

/** Build the elements inside `root`. `act` has zoom(step), home(), flip(), divide(share), full(), find(words), draw(). */
export function overlay(root, act) {
  const ground = element("div", "ground");
  const names = element("div", "names", { "aria-hidden": "true" });
  const titles = element("div", "titles");
  const divider = element("div", "divider", {
    role: "slider", tabindex: "0", "aria-label": "Divider between the two maps", "aria-valuemin": "0", "aria-valuemax": "100",
  }); // prettier-ignore
  const grip = element("span", "grip");
  grip.append(icon("grip"));
  divider.append(grip);
  const tools = element("div", "tools");
  const flip = button("flip", "Show the other map");
  const closer = button("closer", "Zoom in");
  const wider = button("wider", "Zoom out");
  const home = button("home", "Show the whole area");
  const full = button("full", "Full screen");
  const find = button("find", "Find a place");
  const draw = button("draw", "Draw the area");
  draw.setAttribute("aria-pressed", "false");
  tools.append(flip, closer, wider, home, find, draw, full);
  const finder = searchField(find, act);
  const scale = element("div", "scale", { "aria-hidden": "true" });
  const detail = element("div", "detail");
  const north = element("div", "north", { "aria-hidden": "true" });
  north.textContent = "N";
  const source = element("div", "source");
  const key = element("ul", "key");
  const tooltip = element("div", "tooltip", { role: "status" });
  tooltip.hidden = true;
  root.append(ground, names, titles, divider, scale, detail, north, source, key, finder.form, tools, tooltip);

  flip.onclick = () => act.flip();
  closer.onclick = () => act.zoom(1);
  wider.onclick = () => act.zoom(-1);
  home.onclick = () => act.home();
  full.onclick = () => act.full();
  draw.onclick = () => act.draw();
  const share = (event) => {
    const box = ground.getBoundingClientRect();
    return (event.clientX - box.left) / box.width;
  };
  divider.onpointerdown = (event) => {
    divider.setPointerCapture(event.pointerId);
    divider.onpointermove = (moved) => act.divide(share(moved));
    event.preventDefault();
    divider.focus();
  };
  divider.onpointerup = divider.onpointercancel = () => (divider.onpointermove = null);
  divider.onkeydown = (event) => {
    const step = { ArrowLeft: -0.02, ArrowRight: 0.02 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    act.divide(Number(divider.getAttribute("aria-valuenow")) / 100 + step);
  };
  return { ground, names, titles, divider, flip, scale, detail, source, key, tools, finder, tooltip, draw };
}

/** The field that asks for a place: closed until its button is pressed, and after Escape. */
function searchField(opener, act) {
  const form = element("form", "finder", { role: "search" });
  const field = element("input", "wanted", {
    type: "search", list: "places", placeholder: "Place", "aria-label": "Place to show", autocomplete: "off", maxlength: "80",
  }); // prettier-ignore
  const known = element("datalist", "known", { id: "places" });
  form.append(field, known);
  form.hidden = true;
  opener.setAttribute("aria-expanded", "false");
  const open = (wanted) => {
    form.hidden = !wanted;
    opener.setAttribute("aria-expanded", String(wanted));
    (wanted ? field : opener).focus();
  };
  opener.onclick = () => open(form.hidden);
  form.onsubmit = (event) => {
    event.preventDefault();
    act.find(field.value);
  };
  form.onkeydown = (event) => {
    event.stopPropagation(); // the map moves by keys too
    if (event.key === "Escape") open(false);
  };
  return { form, field, known };
}

const textWidths = new Map();
let pen;

/** Width in pixels of a name in letters of a size. */
export function widthOf(name, pixels) {
  const about = `${pixels} ${name}`;
  if (!textWidths.has(about)) {
    pen ??= document.createElement("canvas").getContext("2d");
    pen.font = `600 ${pixels}px sans-serif`;
    textWidths.set(about, 1.04 * pen.measureText(name).width);
  }
  return textWidths.get(about);
}

/** Write names, each {name, size, x, y}, and the place that was looked for. */
export function write(parts, labels) {
  parts.names.replaceChildren(
    ...labels.map(({ name, size, x, y }) => {
      const label = element("span", `place ${size}`);
      label.textContent = name;
      label.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px) translate(-50%, -50%)`;
      return label;
    }),
  );
}

/** What each colour means: shown over a map that fills the screen. */
export function explain(parts, entries) {
  parts.key.replaceChildren(
    ...entries.map(({ label, colour }) => {
      const line = element("li", "");
      const swatch = element("span", "swatch");
      swatch.style.background = colour;
      line.append(swatch, label);
      return line;
    }),
  );
}

/** Put titles, watermarks and the divider where the panes are. */
export function place(parts, { mode, shown, boxes, divider }) {
  parts.titles.replaceChildren(
    ...shown.map((pane, number) => {
      const box = boxes[number];
      const frame = element("div", pane.private ? "pane private" : "pane");
      Object.assign(frame.style, {
        left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px`,
      }); // prettier-ignore
      const title = element("span", number && mode === "swipe" ? "title right" : "title");
      title.textContent = pane.title;
      title.hidden = !pane.title;
      frame.append(title);
      if (pane.private) frame.append(Object.assign(element("span", "watermark"), { textContent: "PRIVATE · curator only" }));
      return frame;
    }),
  );
  parts.divider.hidden = mode !== "swipe";
  parts.divider.style.left = `${boxes[0].width}px`;
  parts.divider.setAttribute("aria-valuenow", String(Math.round(100 * divider)));
  parts.flip.hidden = mode !== "toggle";
}

/** Draw the scale bar of a camera. */
export function measure(parts, camera) {
  const { metres, pixels } = scaleBar(camera, 110);
  parts.scale.style.width = `${pixels}px`;
  parts.scale.textContent = metres >= 1000 ? `${metres / 1000} km` : `${metres} m`;
}

/** Say what is under the pointer: one line per pane, and the cell; or hide the tooltip. */
export function tell(parts, lines, x, y, width) {
  parts.tooltip.hidden = lines.length === 0;
  if (!lines.length) return;
  parts.tooltip.replaceChildren(...lines.map((text) => Object.assign(document.createElement("div"), { textContent: text })));
  const right = x > width / 2;
  Object.assign(parts.tooltip.style, {
    left: right ? "" : `${x + 14}px`, right: right ? `${width - x + 14}px` : "", top: `${y + 10}px`,
  }); // prettier-ignore
}
