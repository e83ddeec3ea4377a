// What a page of several periods adds: play, periods or changes, and a small map of each period.
(() => {
  const at = (id) => document.getElementById(id);
  const data = JSON.parse(at("data").textContent);
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const centres = new Uint16Array(bytes(data.centres).buffer);
  const corners = new Int8Array(bytes(data.corners).buffer);
  const cube = bytes(data.cube);
  const slider = at("threshold"), play = at("play");
  const small = [...document.querySelectorAll("#multiples canvas")];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let timer = 0;

  const changes = () => document.querySelector("input[name=what]:checked").value === "change";
  const mark = () => {
    for (const one of document.querySelectorAll("#multiples button")) {
      one.setAttribute("aria-pressed", String(one.dataset.row === slider.value));
    }
  };
  const go = (row) => {
    slider.value = row;
    slider.dispatchEvent(new Event("input"));
  };
  const span = () => { // the slider's ends: the periods, or the changes between them
    const [first, last] = changes() ? [data.periods, data.stops.length - 1] : [0, data.periods - 1];
    slider.min = first;
    slider.max = last;
    go(last);
  };
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
  };
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (slider.value === slider.max) go(slider.min);
    play.textContent = "Stop";
    timer = setInterval(() => {
      go(Number(slider.value) + 1);
      if (slider.value === slider.max) stop();
    }, 1200);
  });
  slider.addEventListener("input", mark);
  at("published").addEventListener("click", () => {
    stop();
    go(slider.max);
  });
  document.querySelectorAll("input[name=what]").forEach((one) => one.addEventListener("change", () => { stop(); span(); }));
  document.querySelectorAll("#multiples button").forEach((one) => one.addEventListener("click", () => {
    stop();
    if (changes()) document.querySelector("input[name=what][value=value]").click();
    go(one.dataset.row);
  }));
  const kindOf = (said) => {
    const share = said & 127;
    return said >= 128 ? 3 : share >= data.limits[1] ? 0 : share > data.limits[0] ? 1 : 2;
  };
  const draw = (canvas) => {
    const pen = canvas.getContext("2d"), from = Number(canvas.dataset.row) * data.size;
    if (!pen) return;
    const scale = 0.96 * Math.min(canvas.width / data.width, canvas.height / data.height);
    const left = (canvas.width - data.width * scale) / 2, top = (canvas.height - data.height * scale) / 2;
    const paint = data.colours[dark.matches ? "dark" : "light"].classes;
    pen.clearRect(0, 0, canvas.width, canvas.height);
    paint.forEach((fill, kind) => {
      pen.beginPath();
      for (let cell = 0; cell < data.size; cell += 1) {
        if (kindOf(cube[from + cell]) !== kind) continue;
        const own = 12 * Math.floor(cell / data.run), x = centres[2 * cell], y = centres[2 * cell + 1];
        for (let k = 0; k < 12; k += 2) {
          const px = left + (x + corners[own + k] * data.step) * scale, py = top + (y + corners[own + k + 1] * data.step) * scale;
          if (k === 0) pen.moveTo(px, py);
          else pen.lineTo(px, py);
        }
        pen.closePath();
      }
      pen.fillStyle = fill;
      pen.fill();
    });
  };
  const all = () => small.forEach(draw);
  dark.addEventListener("change", all);
  all();
  span();
  mark();
})();
