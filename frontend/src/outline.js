// Drawing an area: corners that a person clicks, one after the other, and the outline that comes of them.
import { PathLayer, ScatterplotLayer } from "@deck.gl/layers";

export const MOST = 500; // corners
const SAME = 1e-9; // degrees: a double click gives its corner twice

/** The corners of an outline and what has become of it: nothing changes an outline, each step makes another. */
export const NOTHING = { on: false, corners: [] };

/** Begin anew. */
export const begun = () => ({ on: true, corners: [] });

/** One more corner; one that repeats the last, or is too many, is left out. */
export function added(outline, [longitude, latitude]) {
  const last = outline.corners.at(-1);
  const again = last && Math.abs(last[0] - longitude) < SAME && Math.abs(last[1] - latitude) < SAME;
  if (!outline.on || again || outline.corners.length >= MOST) return outline;
  return { on: true, corners: [...outline.corners, [longitude, latitude]] };
}

/** Without the last corner. */
export const shortened = (outline) => ({ ...outline, corners: outline.corners.slice(0, -1) });

/** The corners to send, rounded to ten centimetres; undefined where they enclose nothing. */
export function closed({ corners }) {
  const rounded = corners.map((corner) => corner.map((degree) => Math.round(degree * 1e6) / 1e6));
  const apart = new Set(rounded.map(String));
  return apart.size < 3 ? undefined : rounded;
}

/** What a person reads while drawing. */
export function advice({ corners }) {
  if (!corners.length) return "Click once for each corner of the area. Escape forgets the outline.";
  const some = `${corners.length} ${corners.length === 1 ? "corner" : "corners"}`;
  if (corners.length < 3) return `${some}: click the next one. Backspace takes the last one back.`;
  return `${some}: click the next one. A double click, Enter or the pencil closes the outline.`;
}

/** Layers over everything else, for every pane. */
export function outlineLayers(prefix, { corners }, { ink, halo }) {
  const line = corners.length > 2 ? [...corners, corners[0]] : corners;
  const lined = (name, colour, width) =>
    new PathLayer({
      id: `${prefix}/outline-${name}`, data: line.length > 1 ? [line] : [], getPath: (path) => path, getColor: colour,
      getWidth: width, widthUnits: "pixels", jointRounded: true, updateTriggers: { getColor: colour },
    }); // prettier-ignore
  return [
    lined("halo", halo, 6),
    lined("line", ink, 2.5),
    new ScatterplotLayer({
      id: `${prefix}/outline-corners`, data: corners, getPosition: (corner) => corner, getRadius: 5, radiusUnits: "pixels",
      getFillColor: halo, getLineColor: ink, stroked: true, lineWidthUnits: "pixels", getLineWidth: 2,
      updateTriggers: { getFillColor: halo, getLineColor: ink },
    }),
  ]; // prettier-ignore
}
