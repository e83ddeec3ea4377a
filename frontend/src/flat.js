// The map as a picture, for browsers without WebGL: the same cells and lines on an ordinary canvas.
import { BENEATH, FAINT, OVER } from "./around.js";
import { paneCamera, projected } from "./cameras.js";
import { opacityOf, spotColour } from "./scene.js";

const css = (colour) => (typeof colour === "string" ? colour : `rgb(${colour.slice(0, 3).join(",")})`);

/** Draw all panes into a 2-D `canvas` of `width` by `height` pixels. */
export function drawFlat(canvas, { scene, shape, far, zoomedOut, columns, drawn, shown, boxes, camera, width, height, beneath }) {
  const fine = globalThis.devicePixelRatio || 1;
  Object.assign(canvas, { width: Math.round(width * fine), height: Math.round(height * fine) });
  const pen = canvas.getContext("2d");
  pen.scale(fine, fine);
  shown.forEach((pane, place) => {
    const box = boxes[place];
    const own = paneCamera(scene.mode, camera, box, width);
    const at = ([longitude, latitude]) => projected(own, box.width, box.height, longitude, latitude);
    pen.save();
    pen.beginPath();
    pen.rect(box.x, box.y, box.width, box.height);
    pen.clip();
    pen.translate(box.x, box.y);
    const fill = (ring, colour) => { trace(pen, ring.map(at)); pen.fillStyle = css(colour); pen.fill(); };
    const stroke = (line, colour, wide) => {
      trace(pen, line.map(at));
      Object.assign(pen, { strokeStyle: css(colour), lineWidth: wide, lineJoin: "round" });
      pen.stroke();
    }; // prettier-ignore
    const paint = { ...scene.around, ground: scene.ground };
    for (const [name, role, wide] of BENEATH) drawn[name].forEach((line) => (wide ? stroke(line, paint[role], wide) : fill(line, paint[role])));
    for (const { image, bounds: [west, south, east, north] } of beneath) {
      const [left, top] = at([west, north]);
      const [right, bottom] = at([east, south]);
      pen.drawImage(image, left, top, right - left, bottom - top);
    }
    pen.globalAlpha = opacityOf(scene);
    const number = scene.panes.indexOf(pane);
    if (zoomedOut && far[number]) regions(pen, pane, far[number], at);
    else if (pane.classes) cells(pen, pane, columns[`class${number}`], shape(), at);
    pen.globalAlpha = FAINT;
    for (const name of OVER) drawn[name].forEach((line) => stroke(line, scene.ink, 1));
    pen.globalAlpha = 1;
    (pane.points?.places ?? []).forEach((spot, index) => {
      pen.fillStyle = css(spotColour(pane.points, index));
      pen.fillRect(...at(spot).map((value) => value - 1.5), 3, 3);
    });
    for (const { lines, points, colour, width: wide, dot } of drawn.own) {
      lines.forEach((line) => stroke(line, scene.halo, wide + 1.9));
      lines.forEach((line) => stroke(line, colour ?? scene.ink, wide));
      for (const place of points) {
        pen.fillStyle = css(colour ?? scene.ink);
        pen.fillRect(...at(place).map((value) => value - 0.4 * dot), 0.8 * dot, 0.8 * dot);
      }
    }
    for (const { paths, colour, width: wide } of [...pane.lines, ...scene.lines]) {
      paths.forEach((line) => stroke(line, colour, wide));
    }
    pen.restore();
  });
}

function cells(pen, pane, classes, shape, at) {
  for (let index = 0; index < shape.count; index += 1) {
    const entry = pane.classes[classes[index]];
    const corners = [];
    for (let k = shape.starts[index]; k < shape.starts[index + 1]; k += 1) {
      corners.push(at([shape.corners[2 * k], shape.corners[2 * k + 1]]));
    }
    trace(pen, corners);
    Object.assign(pen, { fillStyle: css(entry.colour), strokeStyle: css(entry.colour), lineWidth: 0.7 });
    pen.fill();
    pen.stroke(); // closes the hair-lines that antialiasing leaves between cells
  }
}

function regions(pen, pane, { polygons, classOf }, at) {
  for (const polygon of polygons) {
    const { colour } = pane.classes[classOf(polygon)];
    pen.beginPath();
    [0, ...polygon.holeIndices].forEach((start, ring, starts) => {
      const end = starts[ring + 1] ?? polygon.positions.length;
      for (let k = start; k < end; k += 2) pen[k === start ? "moveTo" : "lineTo"](...at([polygon.positions[k], polygon.positions[k + 1]]));
    });
    Object.assign(pen, { fillStyle: css(colour), strokeStyle: css(colour), lineWidth: 0.7 });
    pen.fill("evenodd");
    pen.stroke();
  }
}

function trace(pen, corners) {
  pen.beginPath();
  corners.forEach(([x, y], at) => (at ? pen.lineTo(x, y) : pen.moveTo(x, y)));
}
