// Streets beneath the cells, only where the reader asks for them: pictures of a host, which may be out of reach.
import { BitmapLayer } from "@deck.gl/layers";

const TILE = 256; // pixels of one picture
const DEEPEST = 19;
const MOST = 120; // pictures kept

const longitudeAt = (x, z) => (360 * x) / 2 ** z - 180;
const latitudeAt = (y, z) => (Math.atan(Math.sinh(Math.PI * (1 - (2 * y) / 2 ** z))) * 180) / Math.PI;

/** The pictures that fill `width` by `height` pixels under a camera: [{x, y, z, turn}]; x counts in one world. */
export function tilesIn({ longitude, latitude, zoom }, width, height) {
  const z = Math.min(DEEPEST, Math.max(0, Math.round(zoom + 1)));
  const count = 2 ** z;
  const scale = 2 ** (zoom + 1 - z); // pixels on the screen of one of the picture
  const middle = [
    ((longitude + 180) / 360) * count,
    ((1 - Math.asinh(Math.tan((latitude * Math.PI) / 180)) / Math.PI) / 2) * count,
  ];
  const reach = [width / 2 / TILE / scale, height / 2 / TILE / scale];
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

/** Fetches pictures and keeps them; `changed` is called when one has come or the first one failed. */
export class Streets {
  constructor(changed) {
    Object.assign(this, { changed, kept: new Map(), failed: false });
  }

  layers(prefix, template, camera, width, height) {
    return tilesIn(camera, width, height).flatMap((tile) => {
      const address = template.replace("{z}", tile.z).replace("{x}", tile.x).replace("{y}", tile.y);
      const image = this.kept.get(address);
      if (image === undefined) this.ask(address);
      return image ? [new BitmapLayer({ id: `${prefix}/street-${tile.turn}-${address}`, image, bounds: corners(tile) })] : [];
    });
  }

  async ask(address) {
    this.kept.set(address, null);
    try {
      const answer = await fetch(address, { credentials: "omit", referrerPolicy: "no-referrer" });
      if (!answer.ok) throw new Error(`${answer.status}`);
      this.kept.set(address, await createImageBitmap(await answer.blob()));
      this.failed = false;
    } catch {
      this.failed = true;
    }
    for (const old of this.kept.keys()) if (this.kept.size > MOST) this.kept.delete(old);
    this.changed();
  }
}
