// Runs the script of map.html with a document of plain objects; prints what a reader would meet as JSON.
import fs from "node:fs";

const [page, script] = process.argv.slice(-2);
const html = fs.readFileSync(page, "utf8");
const json = html.match(/<script type="application\/json" id="data">(.*?)<\/script>/s)[1];
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
    id, heard, style: {}, textContent: id === "data" ? json : "", hidden: true, clientWidth: 700, clientHeight: 450,
    append() {}, prepend() {}, remove() {}, replaceChildren() {}, setPointerCapture() {},
    setAttribute(name, value) { this[name] = value; },
    addEventListener(name, act) { heard[name] = act; },
    querySelector: () => element("still"), querySelectorAll: () => [], getContext: () => pen,
    getBoundingClientRect: () => ({ left: 0, top: 0, width: 700, height: 450 }),
  };
};
const all = {}, made = [];
globalThis.document = {
  getElementById: (id) => (all[id] ??= element(id)),
  createElement: (name) => { const one = element(name); made.push(one); return one; },
  createElementNS: (space, name) => element(name),
  querySelectorAll: () => [],
};
globalThis.window = { devicePixelRatio: 1 };
globalThis.matchMedia = () => ({ matches: false, addEventListener() {} });
globalThis.requestAnimationFrame = (act) => { act(); return 0; };
globalThis.ResizeObserver = class { observe() {} };
(0, eval)(fs.readFileSync(script, "utf8"));

const said = { first: all.board["aria-label"], stop: all.stop.textContent, scale: all.length.textContent };
made[0].heard.pointermove({ clientX: 350, clientY: 225, buttons: 0 });
said.pointed = all.said.textContent;
all.threshold.value = "0";
all.threshold.heard.input();
said.lowest = all.board["aria-label"];
all.published.heard.click();
said.again = all.stop.textContent;
all.in.heard.click();
all.board.heard.keydown({ key: "ArrowLeft", preventDefault() {} });
all.home.heard.click();
console.log(JSON.stringify({ ...said, names: [...new Set(calls.texts)], moved: calls.moveTo }));
