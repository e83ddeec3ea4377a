// Bundle the component for the browser: `npm run build` writes hexcursion_maps/assets/.
import { build } from "esbuild";
import { rm } from "node:fs/promises";

const outdir = "hexcursion_maps/assets";
await rm(outdir, { recursive: true, force: true });
await build({
  entryPoints: ["src/index.js", "src/style.css"],
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "external", // licence texts of what is bundled lie beside it
  outdir,
  logLevel: "warning",
});
