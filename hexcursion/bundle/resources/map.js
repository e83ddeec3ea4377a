// Draws the hexagons of a release. It reads the one block of data in this page and asks nobody for anything.
(() => {
  const at = (id) => document.getElementById(id);
  const data = JSON.parse(at("data").textContent);
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const centres = new Uint16Array(bytes(data.centres).buffer);
  const corners = new Int8Array(bytes(data.corners).buffer);
  // What can be shown: the value, the density of records, and the further layers of an atlas.
  const sets = { value: data, density: data.density };
  (data.layers ?? []).forEach((one, k) => { sets[`layer${k + 2}`] = one; });
  const cubes = {};
  const cubeOf = (name) => (cubes[name] ??= bytes(sets[name].cube ?? sets[name].dense ?? ""));
  const board = at("board"), canvas = document.createElement("canvas"), front = canvas.getContext("2d");
  if (!front) return; // the picture stays
  const back = document.createElement("canvas"), pen = back.getContext("2d"); // all but the chosen hexagon
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const view = { x: data.width / 2, y: data.height / 2, zoom: 1, fit: 1 };
  let about = "value", told = data, cube = cubeOf("value"); // the value, or how many records lie there
  let row = data.start, mode = "class", chosen = -1, asked = 0, stale = true;

  const FAR = 3; // pixels from hexagon to hexagon below which a map of very many shows regions or means
  const BATCH = 200; // hexagons of one path: many small ones are drawn sooner than a large one
  const corner = (cell, k) => {
    const from = 12 * Math.floor(cell / data.run) + 2 * k;
    return [corners[from] * data.step, corners[from + 1] * data.step];
  };
  const spacing = Math.hypot(...[0, 1].map((axis) => corner(0, 0)[axis] + corner(0, 1)[axis]));
  const families = []; // [from, to) of the hexagons below one coarser one; they stand together
  const family = new Int32Array(data.size);
  for (const count of bytes(data.families)) {
    const from = families.length ? families.at(-1)[1] : 0;
    family.fill(families.length, from, from + count);
    families.push([from, from + count]);
  }
  let edges = null; // made where one zooms out for the first time
  const across = () => (edges = edges || edgesAcross(centres, corner));

  const LIMITS = [0, 20, 40, 60, 80];
  const shareOf = (cell) => cube[row * data.size + cell] & 127;
  const likelyOf = (cell) => { // likely, open, likely not, no record expected there
    if (cube[row * data.size + cell] >= 128) return 3;
    const share = shareOf(cell);
    return share >= data.limits[1] ? 0 : share > data.limits[0] ? 1 : 2;
  };
  const kindOf = (cell) => (mode === "class" ? likelyOf(cell) : classOf(shareOf(cell)));
  const classOf = (share) => LIMITS.reduce((kind, limit) => kind + (share > limit ? 1 : 0), 0);
  const zoomedOut = () => families.length > 0 && (spacing * scale()) / (window.devicePixelRatio || 1) < FAR;
  const averaged = () => mode === "share" && zoomedOut();
  const meanOf = ([from, to]) => {
    let sum = 0;
    for (let cell = from; cell < to; cell += 1) sum += shareOf(cell);
    return sum / (to - from);
  };
  // What is drawn zoomed out: a path for each kind, in the map's own numbers, kept until threshold, mode or map change.
  let drawn = { name: "", paths: [] };
  const regions = () => {
    const name = `${about} ${mode} ${row}`;
    if (drawn.name !== name) {
      const means = mode === "share" ? families.map((one) => classOf(meanOf(one))) : [];
      const kinds = Uint8Array.from(family, (one, cell) => (mode === "share" ? means[one] : kindOf(cell)));
      drawn = { name, paths: paints().map(() => new Path2D()) };
      const path = (edge) => drawn.paths[kinds[Math.floor(edge / 6)]];
      walkRegions(across(), kinds, 0, data.size, (edge) => path(edge).moveTo(...spot(edge)), (edge) => path(edge).lineTo(...spot(edge, 1)));
    }
    return drawn.paths;
  };
  const spot = (edge, on = 0) => {
    const cell = Math.floor(edge / 6), [x, y] = corner(cell, (edge + on) % 6);
    return [centres[2 * cell] + x, centres[2 * cell + 1] + y];
  };
  const percent = (share) => (share === 1 ? "at most 1 %" : share === 99 ? "at least 99 %" : `${share} %`);
  const classes = () => told.words.map((label) => label.split(data.threshold).join(told.stops[row]));
  const labels = () =>
    mode === "class" ? told.classes : ["none", "up to 20 %", "20 to 40 %", "40 to 60 %", "60 to 80 %", "over 80 %"];
  const colours = () => data.colours[dark.matches ? "dark" : "light"];
  const paints = () => (mode === "class" ? colours().classes : colours().shares);

  const scale = () => view.fit * view.zoom;
  const place = (x, y) => [
    (x - view.x) * scale() + canvas.width / 2,
    (y - view.y) * scale() + canvas.height / 2,
  ];
  const path = (cell, by = pen, grown = 1) => {
    const [x, y] = place(centres[2 * cell], centres[2 * cell + 1]);
    const from = 12 * Math.floor(cell / data.run), size = grown * data.step * scale();
    by.moveTo(x + corners[from] * size, y + corners[from + 1] * size);
    for (let k = 2; k < 12; k += 2) by.lineTo(x + corners[from + k] * size, y + corners[from + k + 1] * size);
    by.closePath();
  };
  const inView = () => {
    const wide = canvas.width / 2 / scale() + spacing, high = canvas.height / 2 / scale() + spacing, found = [];
    for (let cell = 0; cell < data.size; cell += 1) {
      if (Math.abs(centres[2 * cell] - view.x) < wide && Math.abs(centres[2 * cell + 1] - view.y) < high) found.push(cell);
    }
    return found;
  };
  const line = (corners) => {
    for (let k = 0; k < corners.length; k += 2) {
      const [x, y] = place(corners[k], corners[k + 1]);
      if (k === 0) pen.moveTo(x, y);
      else pen.lineTo(x, y);
    }
  };
  // Names stand where no larger place's name does, more of them the nearer one looks; those of the curator's
  // own areas give way by a line up or down.
  const names = () => {
    const ratio = window.devicePixelRatio || 1, high = 13 * ratio, taken = [];
    const most = Math.round((canvas.width * canvas.height) / (ratio * ratio * 26000)) + 2;
    const covered = (x, y, half) => x - half < 150 * ratio && y > canvas.height - 52 * ratio; // by the scale
    pen.font = `600 ${high}px system-ui, sans-serif`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (const [rank, [name, x0, y0]] of data.names.entries()) {
      const [x, middle] = place(x0, y0), half = pen.measureText(name).width / 2 + 3 * ratio;
      const y = (rank < data.ownNames ? [0, -1.5, 1.5] : [0]).map((lines) => middle + lines * high).find((at) =>
        x >= half && at >= high && x <= canvas.width - half && at <= canvas.height - high && !covered(x, at, half) &&
        !taken.some((t) => Math.abs(t[0] - x) < t[2] + half && Math.abs(t[1] - at) < 1.5 * high));
      if (y === undefined) continue;
      taken.push([x, y, half]);
      pen.lineWidth = 3.5 * ratio;
      pen.lineJoin = "round";
      pen.strokeStyle = colours().ground;
      pen.strokeText(name, x, y);
      pen.fillStyle = colours().line;
      pen.fillText(name, x, y);
      if (taken.length >= most) break;
    }
  };
  const drawRegions = () => {
    const size = scale(), [x, y] = place(0, 0);
    pen.setTransform(size, 0, 0, size, x, y);
    pen.lineWidth = 0.6 / size;
    regions().forEach((path, kind) => {
      pen.fillStyle = pen.strokeStyle = paints()[kind];
      pen.fill(path, "evenodd");
      pen.stroke(path);
    });
    pen.setTransform(1, 0, 0, 1, 0, 0);
  };
  const drawHexagons = () => {
    const paint = paints(), groups = paint.map(() => []), seen = inView();
    const grown = 1 + 0.6 / (spacing * scale()); // by a third of a pixel: closes the seams between neighbours
    for (const cell of seen) groups[kindOf(cell)].push(cell);
    groups.forEach((cells, kind) => {
      for (let from = 0; from < cells.length; from += BATCH) {
        pen.beginPath();
        cells.slice(from, from + BATCH).forEach((cell) => path(cell, pen, grown));
        pen.fillStyle = paint[kind];
        pen.fill();
      }
    });
    const near = spacing * scale() > 20;
    board.dataset.outlines = String(near);
    if (!near) return;
    pen.beginPath();
    seen.forEach((cell) => path(cell));
    pen.strokeStyle = colours().ground;
    pen.lineWidth = 1;
    pen.stroke();
  };
  const drawMap = () => {
    back.width = canvas.width; // which empties it
    back.height = canvas.height;
    board.dataset.detail = averaged() ? "means" : zoomedOut() ? "regions" : "cells";
    at("detail").textContent = averaged() ? "Zoomed out: each patch shows the mean of up to 7 hexagons"
      : zoomedOut() ? "Zoomed out: hexagons of one class are one region" : "";
    if (zoomedOut()) drawRegions();
    else drawHexagons();
    pen.beginPath();
    data.outline.forEach(line);
    pen.strokeStyle = colours().line;
    pen.lineWidth = 1.6 * (window.devicePixelRatio || 1);
    pen.stroke();
    pen.beginPath();
    data.around.forEach(line);
    pen.globalAlpha = 0.55;
    pen.lineWidth = window.devicePixelRatio || 1;
    pen.stroke();
    pen.globalAlpha = 1;
    const ratio = window.devicePixelRatio || 1;
    for (const layer of data.own) {
      const ink = layer.colour || colours().line;
      for (const [colour, width] of [[colours().ground, layer.width + 1.5], [ink, layer.width]]) {
        pen.beginPath();
        layer.lines.forEach(line);
        pen.strokeStyle = colour;
        pen.lineWidth = width * ratio;
        pen.stroke();
      }
      for (let k = 0; k < layer.points.length; k += 2) {
        const [x, y] = place(layer.points[k], layer.points[k + 1]);
        pen.beginPath();
        pen.arc(x, y, 0.4 * layer.dot * ratio, 0, 2 * Math.PI);
        pen.fillStyle = ink;
        pen.strokeStyle = colours().ground;
        pen.fill();
        pen.stroke();
      }
    }
    names();
    ruler();
  };
  const draw = () => {
    asked = 0;
    if (stale) drawMap();
    stale = false;
    front.clearRect(0, 0, canvas.width, canvas.height);
    front.drawImage(back, 0, 0);
    if (chosen < 0) return;
    front.beginPath();
    if (averaged()) {
      const [from, to] = families[family[chosen]];
      walkRegions(across(), family, from, to, (edge) => front.moveTo(...place(...spot(edge))), (edge) => front.lineTo(...place(...spot(edge, 1))));
    } else path(chosen, front);
    front.strokeStyle = colours().line;
    front.lineWidth = 3;
    front.stroke();
  };
  const ask = () => { asked = asked || requestAnimationFrame(draw); };
  const redraw = () => { stale = true; ask(); };

  const ruler = () => {
    const ratio = window.devicePixelRatio || 1, longest = 110;
    const metres = (longest * ratio) / (scale() * data.metre);
    const power = 10 ** Math.floor(Math.log10(metres));
    const round = [5, 2, 1].map((step) => step * power).find((step) => step <= metres * (1 + 1e-9)) || power;
    at("ruler").style.width = `${(longest * round) / metres}px`;
    at("length").textContent = round >= 1000 ? `${round / 1000} km` : `${round} m`;
  };
  const words = () => {
    const counts = paints().map(() => 0), likely = told.classes.map(() => 0);
    for (let cell = 0; cell < data.size; cell += 1) {
      counts[kindOf(cell)] += 1;
      likely[likelyOf(cell)] += 1;
    }
    const list = at("legend");
    list.replaceChildren();
    labels().forEach((label, kind) => {
      const item = document.createElement("li");
      const swatch = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      const square = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      square.setAttribute("width", "100%");
      square.setAttribute("height", "100%");
      square.setAttribute("fill", paints()[kind]);
      swatch.setAttribute("aria-hidden", "true");
      swatch.append(square);
      item.append(swatch, `${label} (${counts[kind].toLocaleString("en")} ${counts[kind] === 1 ? "hexagon" : "hexagons"})`);
      list.append(item);
    });
    at("stop").textContent = told.stops[row] + (row === told.start ? told.startSaid ?? " (as published)" : "");
    at("threshold").setAttribute("aria-valuetext", told.stops[row]);
    at("board").setAttribute("aria-label",
      `Map of ${data.size.toLocaleString("en")} hexagons. ${classes().map((label, kind) => `${label}: ${likely[kind].toLocaleString("en")}`).join("; ")}. Arrow keys move it, plus and minus zoom.`);
    said();
  };
  const sizeOf = ([from, to]) => (to - from === 1 ? "one hexagon" : `${to - from} hexagons`);
  const said = () => {
    at("said").textContent = chosen < 0 ? "Tap a hexagon to read it."
      : averaged() ? `These ${sizeOf(families[family[chosen]])}: ${told.share} ${Math.round(meanOf(families[family[chosen]]))} % on average.`
      : `This hexagon: ${classes()[likelyOf(chosen)]}${told.graded ? `; ${told.share} ${percent(shareOf(chosen))}` : ""}.`;
  };
  const show = () => { words(); redraw(); };

  const limit = () => {
    view.zoom = Math.min(Math.max(view.zoom, 1), 60);
    const spare = (whole, shown) => Math.max(0, (whole - shown / scale()) / 2 + 0.1 * whole);
    const x = spare(data.width, canvas.width), y = spare(data.height, canvas.height);
    view.x = Math.min(Math.max(view.x, data.width / 2 - x), data.width / 2 + x);
    view.y = Math.min(Math.max(view.y, data.height / 2 - y), data.height / 2 + y);
    if (view.zoom === 1) [view.x, view.y] = middle();
    said();
    board.style.touchAction = view.zoom === 1 ? "pan-y" : "none";
    redraw();
  };
  const size = () => {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
    canvas.height = Math.max(1, Math.round(board.clientHeight * ratio));
    view.fit = 0.96 * Math.min(canvas.width / data.width, (canvas.height - foot()) / data.height);
    limit();
  };
  const zoom = (factor, x = canvas.width / 2, y = canvas.height / 2) => {
    const before = scale();
    view.zoom = Math.min(Math.max(view.zoom * factor, 1), 60);
    view.x += (x - canvas.width / 2) * (1 / before - 1 / scale());
    view.y += (y - canvas.height / 2) * (1 / before - 1 / scale());
    limit();
  };
  const foot = () => Math.min(34 * (window.devicePixelRatio || 1), canvas.height / 8); // left to the scale
  const middle = () => [data.width / 2, data.height / 2 + foot() / 2 / scale()];
  const home = () => { view.zoom = 1; limit(); };
  const move = (x, y) => { view.x += x / scale(); view.y += y / scale(); limit(); };
  const pixel = (event) => {
    const box = canvas.getBoundingClientRect(), ratio = canvas.width / box.width;
    return [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
  };
  const nearest = (event) => {
    const [px, py] = pixel(event);
    const x = (px - canvas.width / 2) / scale() + view.x, y = (py - canvas.height / 2) / scale() + view.y;
    let best = -1, least = (1.1 * 127 * data.step) ** 2;
    for (let cell = 0; cell < data.size; cell += 1) {
      const far = (centres[2 * cell] - x) ** 2 + (centres[2 * cell + 1] - y) ** 2;
      if (far < least) [best, least] = [cell, far];
    }
    return best;
  };

  let held = null;
  const read = (event) => {
    const found = nearest(event);
    if (found !== chosen) { chosen = found; said(); ask(); }
  };
  canvas.addEventListener("pointerdown", (event) => {
    held = pixel(event);
    canvas.setPointerCapture(event.pointerId);
    read(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (held && event.buttons) {
      const now = pixel(event);
      move(held[0] - now[0], held[1] - now[1]);
      held = now;
    }
    read(event);
  });
  canvas.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("pointercancel", () => { held = null; });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && view.zoom === 1 && event.deltaY > 0) return; // the page scrolls on
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), ...pixel(event));
  }, { passive: false });
  board.addEventListener("keydown", (event) => {
    const far = 60 * (window.devicePixelRatio || 1);
    const moves = { ArrowLeft: [-far, 0], ArrowRight: [far, 0], ArrowUp: [0, -far], ArrowDown: [0, far] };
    if (moves[event.key]) move(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") zoom(1.5);
    else if (event.key === "-") zoom(1 / 1.5);
    else if (event.key === "0") home();
    else return;
    event.preventDefault();
  });
  at("in").addEventListener("click", () => zoom(1.5));
  at("out").addEventListener("click", () => zoom(1 / 1.5));
  at("home").addEventListener("click", home);
  const slider = at("threshold");
  const begin = () => {
    slider.max = told.stops.length - 1;
    slider.value = row = told.start;
    at("modes").hidden = !told.graded;
    at("moving").hidden = told.stops.length < 2;
    at("published").hidden = about === "density";
    if (data.density) at("aside").hidden = about === "value";
    for (const one of document.querySelectorAll("[data-layer]")) one.hidden = one.dataset.layer !== about;
  };
  slider.addEventListener("input", () => { row = Number(slider.value); show(); });
  at("published").addEventListener("click", () => { row = told.start; slider.value = row; show(); });
  document.querySelectorAll("input[name=about]").forEach((one) =>
    one.addEventListener("change", () => {
      about = one.value;
      [told, cube] = [sets[about], cubeOf(about)];
      begin();
      show();
    }));
  document.querySelectorAll("input[name=mode]").forEach((one) =>
    one.addEventListener("change", () => { mode = one.value; show(); }));
  at("detail").hidden = !families.length;
  begin();
  dark.addEventListener("change", show);
  board.querySelector(".still").remove();
  board.prepend(canvas);
  at("live").hidden = false;
  for (const one of board.querySelectorAll("[hidden]")) one.hidden = false;
  words();
  new ResizeObserver(size).observe(board);
  size();
})();
