// Pictures beneath the cells: streets that a host is asked for on wish, or tiles of a basemap of one's own.

const DEEPEST = 19;
const MOST = 120; // pictures kept

const longitudeAt = (x, z) => (360 * x) / 2 ** z - 180;
const latitudeAt = (y, z) => (Math.atan(Math.sinh(Math.PI * (1 - (2 * y) / 2 ** z))) * 180) / Math.PI;

/**
 * The pictures that fill `width` by `height` pixels under a camera: [{x, y, z, turn}]; x counts in one world.
 * `side` is the pixels of one picture; none where they would have to be shown smaller than `shallowest` allows.
 */
export function tilesIn({ longitude, latitude, zoom }, width, height, { side = 256, shallowest = 0, deepest = DEEPEST } = {}) {
  const wanted = zoom + Math.log2(512 / side);
  const z = Math.min(deepest, Math.max(0, Math.round(wanted)));
  if (z < shallowest) return [];
  const count = 2 ** z;
  const scale = 2 ** (wanted - z); // pixels on the screen of one of the picture
  const middle = [
    ((longitude + 180) / 360) * count,
    ((1 - Math.asinh(Math.tan((latitude * Math.PI) / 180)) / Math.PI) / 2) * count,
  ];
  const reach = [width / 2 / side / scale, height / 2 / side / scale];
  const found = [];
  for (let y = Math.max(0, Math.floor(middle[1] - reach[1])); y <= Math.min(count - 1, Math.floor(middle[1] + reach[1])); y += 1) {
    for (let x = Math.floor(middle[0] - reach[0]); x <= Math.floor(middle[0] + reach[0]); x += 1) {
      const turn = Math.floor(x / count);
      found.push({ x: x - turn * count, y, z, turn });
    }
  }
  return found;
}

/** Corners of a picture: [west, south, east, north], degrees. */
export function corners({ x, y, z, turn }) {
  const around = 360 * turn;
  return [longitudeAt(x, z) + around, latitudeAt(y + 1, z), longitudeAt(x + 1, z) + around, latitudeAt(y, z)];
}

/**
 * Gets pictures and keeps them. `picture(tile)` promises one, or null where there is none; `tiles` are the
 * options of `tilesIn`; `changed` is called when one has come or could not be had.
 */
export class Pictures {
  constructor(picture, changed, { most = MOST, ...tiles } = {}) {
    Object.assign(this, { picture, changed, most, tiles, kept: new Map(), before: [], failed: false });
  }

  /** What stands beneath the cells now: [{id, image, bounds}]; until all have come, those of before stay below. */
  shown(camera, width, height) {
    const wanted = tilesIn(camera, width, height, this.tiles).map((tile) => {
      const id = `${tile.z}/${tile.x}/${tile.y}`;
      if (!this.kept.has(id)) this.ask(id, tile);
      return { id: `${tile.turn}/${id}`, image: this.kept.get(id), bounds: corners(tile) };
    });
    const here = wanted.filter(({ image }) => image);
    if (wanted.every(({ image }) => image !== undefined)) this.before = here;
    const ids = new Set(here.map(({ id }) => id));
    return [...this.before.filter(({ id }) => !ids.has(id)), ...here];
  }

  async ask(id, tile) {
    this.kept.set(id, undefined); // on its way
    try {
      this.kept.set(id, await this.picture(tile));
      this.failed = false;
    } catch {
      this.kept.set(id, null);
      this.failed = true;
    }
    for (const old of this.kept.keys()) if (this.kept.size > this.most) this.kept.delete(old);
    this.changed();
  }
}

/** The streets of a host; `template` has {z}, {x} and {y}. */
export function streets(template, changed) {
  const picture = async ({ x, y, z }) => {
    const address = template.replace("{z}", z).replace("{x}", x).replace("{y}", y);
    const answer = await fetch(address, { credentials: "omit", referrerPolicy: "no-referrer" });
    if (!answer.ok) throw new Error(`${answer.status}`);
    return createImageBitmap(await answer.blob());
  };
  return new Pictures(picture, changed);
}
