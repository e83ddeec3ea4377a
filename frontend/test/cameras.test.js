import assert from "node:assert/strict";
import { test } from "node:test";
import { fitted, moved, paneCamera, panes, scaleBar, sharedCamera, shifted } from "../src/cameras.js";

const LONDON = { longitude: -0.1, latitude: 51.5, zoom: 9 };
const near = (found, wanted, tolerance = 1e-9) =>
  assert.ok(Math.abs(found - wanted) <= tolerance, `${found} is not ${wanted}`);

test("a shift and its reverse give the camera back", () => {
  const back = shifted(shifted(LONDON, 300, -120), -300, 120);
  for (const key of ["longitude", "latitude", "zoom"]) near(back[key], LONDON[key]);
});

test("a camera that only rounding changed was not moved; a step of a pixel or of a zoom is a move", () => {
  const { longitude, latitude, zoom } = LONDON;
  assert.ok(!moved(LONDON, { longitude: longitude + 1e-9, latitude: latitude - 1e-9, zoom: zoom + 1e-9 }));
  assert.ok(!moved(LONDON, LONDON));
  for (const step of [[1, 0], [-1, 0], [0, 1], [0, -1]]) assert.ok(moved(LONDON, shifted(LONDON, ...step)));
  for (const change of [0.01, -0.01]) assert.ok(moved(LONDON, { ...LONDON, zoom: zoom + change }));
});

test("right is east and down is south", () => {
  const moved = shifted(LONDON, 10, 10);
  assert.ok(moved.longitude > LONDON.longitude && moved.latitude < LONDON.latitude);
});

test("a shift across the antimeridian wraps", () => {
  near(shifted({ longitude: 179.9, latitude: 0, zoom: 0 }, 512 / 360, 0).longitude, -179.1);
});

test("under a swipe both panes show one map: their middles lie where the whole map has them", () => {
  const width = 800;
  const [left, right] = panes("swipe", 2, width, 400, 0.3);
  assert.equal(left.width + right.width, width);
  const seam = [
    shifted(paneCamera("swipe", LONDON, left, width), left.width / 2, 0),
    shifted(paneCamera("swipe", LONDON, right, width), -right.width / 2, 0),
  ];
  near(seam[0].longitude, seam[1].longitude);
  near(seam[0].longitude, shifted(LONDON, left.width - width / 2, 0).longitude);
});

test("moving either pane moves the shared camera, whatever the mode", () => {
  for (const mode of ["beside", "swipe"]) {
    for (const pane of panes(mode, 2, 900, 400, 0.7)) {
      const moved = shifted(paneCamera(mode, LONDON, pane, 900), 40, 25);
      const shared = sharedCamera(mode, { ...moved, transitionDuration: 300 }, pane, 900);
      const wanted = shifted(LONDON, 40, 25);
      for (const key of ["longitude", "latitude", "zoom"]) near(shared[key], wanted[key]);
      assert.deepEqual(Object.keys(shared).sort(), ["latitude", "longitude", "zoom"]);
    }
  }
});

test("panes stand side by side, and on a narrow screen one above the other", () => {
  const [left, right] = panes("beside", 2, 1000, 460, 0.5);
  assert.deepEqual([left.y, right.y, right.x, right.width], [0, 0, 500, 500]);
  const [above, below] = panes("beside", 2, 400, 460, 0.5);
  assert.deepEqual([above.x, below.x, below.y, below.height], [0, 0, 230, 230]);
  assert.equal(panes("toggle", 1, 400, 460, 0.5).length, 1);
  assert.equal(panes("beside", 4, 960, 460, 0.5)[3].x, 720);
  const four = panes("beside", 4, 901, 461, 0.5); // too narrow for a row: two rows of two
  assert.deepEqual(four.map(({ x, y }) => [x, y]), [[0, 0], [451, 0], [0, 231], [451, 231]]);
  assert.deepEqual([four[3].width, four[3].height], [450, 230]);
  assert.deepEqual(panes("beside", 4, 342, 460, 0.5)[3], { x: 171, y: 230, width: 171, height: 230 });
  assert.deepEqual(panes("beside", 9, 1200, 920, 0.5)[5], { x: 800, y: 307, width: 400, height: 306 });
  assert.deepEqual(panes("beside", 5, 342, 920, 0.5)[4], { x: 0, y: 613, width: 171, height: 307 });
});

test("a fitted camera shows its box and not much more", () => {
  const box = [-0.5, 51.3, 0.3, 51.7];
  const camera = fitted(box, 600, 400);
  const west = shifted(camera, -300, 0).longitude;
  const north = shifted(camera, 0, -200).latitude;
  const east = shifted(camera, 300, 0).longitude;
  const south = shifted(camera, 0, 200).latitude;
  assert.ok(west < box[0] && east > box[2] && north > box[3] && south < box[1]);
  assert.ok(Math.min(east - west - 0.8, 1.1 * (north - south - 0.4)) < 0.15);
});

test("a box across the antimeridian is fitted in one piece", () => {
  near(fitted([178, -18, 182, -16], 600, 400).longitude, -180);
});

test("a scale bar has a round length that is as long as its pixels say", () => {
  for (const zoom of [3, 7.4, 9, 13.9]) {
    const { metres, pixels } = scaleBar({ latitude: 60, zoom }, 110);
    assert.match(String(metres), /^[125]0*$/);
    assert.ok(pixels <= 110 && pixels > 40);
    near(metres / pixels, (40_075_016.686 * 0.5) / (512 * 2 ** zoom), 1e-6);
  }
});
