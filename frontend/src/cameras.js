// Web Mercator cameras without pitch or bearing, in deck.gl's units: {longitude, latitude, zoom}, degrees,
// a world of 512 pixels at zoom 0. Pixels run right and down.

const WORLD = 512;
const EARTH_CIRCUMFERENCE = 40_075_016.686; // metres along the equator of WGS 84
const DEEPEST = 20;

const size = (zoom) => WORLD * 2 ** zoom;
const down = (latitude) => (1 - Math.asinh(Math.tan((latitude * Math.PI) / 180)) / Math.PI) / 2;
const latitudeAt = (share) => (Math.atan(Math.sinh(Math.PI * (1 - 2 * share))) * 180) / Math.PI;
const wrapped = (longitude) => ((((longitude + 180) % 360) + 360) % 360) - 180;

/** The camera whose middle lies `dx` pixels right of and `dy` pixels below the given one's. */
export function shifted({ longitude, latitude, zoom }, dx, dy) {
  const world = size(zoom);
  return {
    longitude: wrapped(longitude + (360 * dx) / world),
    latitude: latitudeAt(Math.min(1, Math.max(0, down(latitude) + dy / world))),
    zoom,
  };
}

/** The camera that shows a box [west, south, east, north] in `width` by `height` pixels; east may exceed 180. */
export function fitted([west, south, east, north], width, height, filled = 0.92) {
  const across = Math.max(1e-9, (east - west) / 360);
  const along = Math.max(1e-9, down(south) - down(north));
  const world = filled * Math.min(width / across, height / along);
  return {
    longitude: wrapped((west + east) / 2),
    latitude: latitudeAt((down(south) + down(north)) / 2),
    zoom: Math.min(DEEPEST, Math.max(0, Math.log2(world / WORLD))),
  };
}

/** Whether a camera differs from another by more than rounding: a millionth of a zoom level, a thousandth of a pixel. */
export function moved(before, after) {
  const [right, downwards] = projected(before, 0, 0, after.longitude, after.latitude);
  return Math.abs(after.zoom - before.zoom) > 1e-6 || Math.hypot(right, downwards) > 1e-3;
}

/** What a camera shows in `width` by `height` pixels: [west, south, east, north], degrees; east may exceed 180. */
export function boxOf({ longitude, latitude, zoom }, width, height) {
  const world = size(zoom);
  const [aside, along] = [(180 * width) / world, height / 2 / world];
  const edge = (share) => latitudeAt(Math.min(1, Math.max(0, share)));
  return [longitude - aside, edge(down(latitude) + along), longitude + aside, edge(down(latitude) - along)];
}

/** Where a place lies in a pane of `width` by `height` pixels under a camera: [right, down]. */
export function projected(camera, width, height, longitude, latitude) {
  const world = size(camera.zoom);
  return [
    width / 2 + (wrapped(longitude - camera.longitude) / 360) * world,
    height / 2 + (down(latitude) - down(camera.latitude)) * world,
  ];
}

/** Pixels of a length in metres under a camera. */
export function pixelsOf({ latitude, zoom }, metres) {
  return (metres * size(zoom)) / (EARTH_CIRCUMFERENCE * Math.cos((latitude * Math.PI) / 180));
}

/** Boxes of the panes in a map of `width` by `height` pixels: [{x, y, width, height}, ...]. */
export function panes(mode, count, width, height, divider) {
  if (mode === "swipe") {
    const left = Math.round(width * divider);
    return [
      { x: 0, y: 0, width: left, height },
      { x: left, y: 0, width: width - left, height },
    ];
  }
  if (mode !== "beside") return [{ x: 0, y: 0, width, height }];
  const stacked = width < 240 * count;
  if (count > 4 || (stacked && count === 4 && width >= 240)) {
    const columns = count > 4 && width >= 480 ? 3 : 2;
    const rows = Math.ceil(count / columns);
    const [across, down] = [width / columns, height / rows];
    return Array.from({ length: count }, (_, index) => {
      const [column, row] = [index % columns, Math.floor(index / columns)];
      const [x, y] = [Math.round(column * across), Math.round(row * down)];
      return { x, y, width: Math.round((column + 1) * across) - x, height: Math.round((row + 1) * down) - y };
    });
  }
  return Array.from({ length: count }, (_, index) =>
    stacked
      ? { x: 0, y: Math.round((index * height) / count), width, height: Math.round(height / count) }
      : { x: Math.round((index * width) / count), y: 0, width: Math.round(width / count), height },
  );
}

/** How far, in pixels, a pane's middle lies from the middle of the camera that all panes share. */
function offset(mode, pane, width) {
  return mode === "swipe" ? pane.x + pane.width / 2 - width / 2 : 0;
}

/** The camera of one pane: side by side it is the shared one, under a swipe its part of the whole. */
export function paneCamera(mode, camera, pane, width) {
  const dx = offset(mode, pane, width);
  return dx === 0 ? camera : shifted(camera, dx, 0);
}

/** The shared camera after a pane was moved to a camera of its own: the inverse of `paneCamera`. */
export function sharedCamera(mode, moved, pane, width) {
  const { longitude, latitude, zoom } = moved;
  const plain = { longitude, latitude, zoom };
  const dx = offset(mode, pane, width);
  return dx === 0 ? plain : shifted(plain, -dx, 0);
}

/** A round length for a scale bar of at most `longest` pixels: {metres, pixels}. */
export function scaleBar({ latitude, zoom }, longest) {
  const perPixel = (EARTH_CIRCUMFERENCE * Math.cos((latitude * Math.PI) / 180)) / size(zoom);
  const power = 10 ** Math.floor(Math.log10(perPixel * longest));
  const metres = [5, 2, 1].map((digit) => digit * power).find((length) => length / perPixel <= longest);
  return { metres, pixels: metres / perPixel };
}
