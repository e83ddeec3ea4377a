// Which names stand on a map and where: the more important first, none over another.

const GAP = 6; // pixels kept free around a name
const ALWAYS = 8; // of the most important names in view are shown however small the places are
const SIZES = [[500_000, "huge", 15], [100_000, "large", 13.5], [20_000, "middle", 12.5], [0, "small", 11.5]];

/** Name of the size class of a place, and its letters' height in pixels. */
export function sizeOf(population) {
  const [, name, pixels] = SIZES.find(([least]) => population >= least);
  return { name, pixels };
}

/** How populous a place must be to be named at a zoom: about a quarter with each step closer. */
export const least = (zoom) => 30_000 * 4 ** (8.5 - zoom);

const apart = (one, other) =>
  one.right + GAP <= other.left || other.right + GAP <= one.left ||
  one.bottom + GAP / 2 <= other.top || other.bottom + GAP / 2 <= one.top; // prettier-ignore

const boxed = (x, y, half, pixels) => ({
  left: x - half, right: x + half, top: y - pixels * 0.65, bottom: y + pixels * 0.65,
}); // prettier-ignore

/**
 * Names for a pane. `places` are {name, longitude, latitude, population, own}, the more important first; those of
 * an area of one's own, `own`, give way by a line up or down where another name stands. `project`
 * gives [right, down] in a pane of `width` by `height` pixels; `measure(name, pixels)` a name's width;
 * `taken` are boxes {left, top, right, bottom} where nothing may stand.
 */
export function placed(places, { project, width, height, zoom, measure, taken = [] }) {
  const kept = [...taken];
  const found = [];
  const smallest = least(zoom);
  let seen = 0;
  for (const place of places) {
    const [x, y] = project(place.longitude, place.latitude);
    if (x < 0 || y < 0 || x > width || y > height) continue;
    seen += 1;
    if (place.population < smallest && seen > ALWAYS) continue;
    const { name: size, pixels } = sizeOf(place.population);
    const half = measure(place.name, pixels) / 2;
    const line = pixels * 1.3 + GAP;
    const free = (place.own ? [0, -line, line] : [0]).map((shift) => boxed(x, y + shift, half, pixels)).find((box) =>
      box.left >= 2 && box.right <= width - 2 && box.top >= 2 && box.bottom <= height - 2 &&
      kept.every((other) => apart(box, other)),
    ); // prettier-ignore
    if (!free) continue;
    kept.push(free);
    found.push({ name: place.name, size, x, y: (free.top + free.bottom) / 2 });
  }
  return found;
}

/** A word as it is compared: without case and accents. */
const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().trim();

/** The entry that a person means: of that name, else beginning so, else with it inside; undefined if none. */
export function meant(entries, wanted) {
  const word = plain(wanted);
  if (!word) return undefined;
  const named = entries.map((entry) => [plain(entry.name), entry]);
  const first = (test) => named.find(([name]) => test(name))?.[1];
  return first((name) => name === word) ?? first((name) => name.startsWith(word)) ?? first((name) => name.includes(word));
}
