// Bundle the component for the browser: `npm run build` writes hexcursion_maps/assets/.
import { build } from "esbuild";
import { readFile, rm } from "node:fs/promises";
import { write } from "./world.mjs";

const outdir = "hexcursion_maps/assets";

// Streamlit brings a deck.gl of its own into the same window, and two versions refuse to start beside each
// other: they meet in globals of these names. Ours get other names, so that neither sees the other.
const ownGlobals = {
  name: "own-globals",
  setup({ onLoad }) {
    onLoad({ filter: /node_modules\/@(deck|luma)\.gl\/.*\.js$/ }, async ({ path }) => ({
      contents: (await readFile(path, "utf8")).replace(/\bglobalThis\.(deck|luma)\b/g, "globalThis.hexcursion_$1"),
      loader: "js",
    }));
  },
};

await rm(outdir, { recursive: true, force: true });
await build({
  entryPoints: ["src/index.js", "src/style.css"],
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "external", // licence texts of what is bundled lie beside it
  outdir,
  plugins: [ownGlobals],
  logLevel: "warning",
});
await write(outdir);
