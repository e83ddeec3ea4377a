// Runs the script of map.html with a document of plain objects; prints what a reader would meet as JSON.
import fs from "node:fs";

const [page, wide, high] = process.argv.slice(2);
const html = fs.readFileSync(page, "utf8");
const json = html.match(/<script type="application\/json" id="data">(.*?)<\/script>/s)[1];
const script = html.match(/<script>(.*?)<\/script>/s)[1];
const calls = { texts: [] };
const pen = new Proxy({}, {
  get: (held, name) => {
    if (name in held) return held[name];
    if (name === "measureText") return (text) => ({ width: 8 * text.length });
    return (...given) => {
      calls[name] = (calls[name] || 0) + 1;
      if (name === "fillText") calls.texts.push(given[0]);
      if (given.some((one) => typeof one === "number" && !Number.isFinite(one))) throw new Error(`${name} of ${given}`);
    };
  },
  set: (held, name, value) => { held[name] = value; return true; },
});
const element = (id) => {
  const heard = {};
  return {
    id, heard, style: {}, dataset: {}, textContent: id === "data" ? json : "", hidden: true, clientWidth: Number(wide), clientHeight: Number(high),
    append() {}, prepend() {}, remove() {}, replaceChildren() {}, setPointerCapture() {},
    setAttribute(name, value) { this[name] = value; },
    addEventListener(name, act) { heard[name] = act; },
    querySelector: () => element("still"), querySelectorAll: () => [], getContext: () => pen,
    getBoundingClientRect: () => ({ left: 0, top: 0, width: Number(wide), height: Number(high) }),
  };
};
const all = {}, made = [], regions = [];
const radios = (name, ...values) => values.map((value) => ({ ...element(name), value }));
const modes = radios("mode", "class", "share"), abouts = radios("about", "value", "density", "layer2");
const sections = ["value", "layer2", "layer3"].map((layer) => ({ ...element("facts"), dataset: { layer }, hidden: false }));
globalThis.document = {
  getElementById: (id) => (all[id] ??= element(id)),
  createElement: (name) => { const one = element(name); made.push(one); return one; },
  createElementNS: (space, name) => element(name),
  querySelectorAll: (what) => (what.includes("data-layer") ? sections : what.includes("mode") ? modes : abouts),
};
globalThis.window = { devicePixelRatio: 1 };
globalThis.matchMedia = () => ({ matches: false, addEventListener() {} });
globalThis.requestAnimationFrame = (act) => { act(); return 0; };
globalThis.ResizeObserver = class { observe() {} };
// A ring's enclosed area in the map's own numbers, by path.
globalThis.Path2D = class {
  constructor() { this.area = 0; this.corners = 0; regions.push(this); }
  moveTo(x, y) { this.last = [x, y]; }
  lineTo(x, y) { this.area += (this.last[0] * y - x * this.last[1]) / 2; this.corners += 1; this.last = [x, y]; }
};
(0, eval)(script);

const said = { first: all.board["aria-label"], stop: all.stop.textContent, scale: all.length.textContent };
made[0].heard.pointerdown({ clientX: wide / 2, clientY: high / 2 }); // a tap moves nothing
made[0].heard.pointerup({});
said.tapped = all.said.textContent;
made[0].heard.pointermove({ clientX: wide / 2, clientY: high / 2, buttons: 0 });
said.pointed = all.said.textContent;
const drawn = () => ({ form: all.board.dataset.detail, note: all.detail.textContent, areas: regions.slice(-6).map(({ area }) => area), corners: regions.slice(-6).map(({ corners }) => corners) });
said.far = drawn();
for (const one of modes) one.value === "share" && one.heard.change();
said.means = { ...drawn(), pointed: all.said.textContent };
for (const one of modes) one.value === "class" && one.heard.change();
all.threshold.value = "0";
all.threshold.heard.input();
said.lowest = all.board["aria-label"];
all.published.heard.click();
said.again = all.stop.textContent;
if (json.includes('"density":')) {
  abouts[1].heard.change();
  said.dense = { first: all.board["aria-label"], stop: all.stop.textContent, pointed: all.said.textContent, published: !all.published.hidden, aside: !all.aside.hidden };
  abouts[0].heard.change();
  said.back = { stop: all.stop.textContent, published: !all.published.hidden, aside: !all.aside.hidden };
}
if (json.includes('"layers":')) {
  const told = () => ({ first: all.board["aria-label"], stop: all.stop.textContent, shown: sections.map((one) => !one.hidden) });
  said.value = told();
  abouts[2].heard.change();
  said.layer = told();
  all.threshold.value = "0";
  all.threshold.heard.input();
  all.published.heard.click();
  said.published = all.stop.textContent;
  abouts[0].heard.change();
}
for (let step = 0; step < 4; step += 1) all.in.heard.click();
said.near = { form: all.board.dataset.detail, note: all.detail.textContent };
all.board.heard.keydown({ key: "ArrowLeft", preventDefault() {} });
all.home.heard.click();
console.log(JSON.stringify({ ...said, names: [...new Set(calls.texts)], moved: calls.moveTo }));
