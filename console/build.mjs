// Bundles the console's script and style, and the licences of what is in them, into `dist`. With `--check`, only compares: the
// same lock file gives the same bytes.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** Bytes of script and style together, compressed: what a phone loads before it shows anything. */
const LARGEST = 150_000;

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const check = process.argv.includes("--check");
const packages = Object.keys(JSON.parse(readFileSync(here("package.json"))).dependencies)
  .filter((name) => name !== "usher-client")
  .sort();

const { outputFiles } = await build({
  absWorkingDir: here("."),
  entryPoints: { app: "src/main.tsx" },
  outdir: "dist",
  bundle: true,
  minify: true,
  charset: "utf8",
  format: "esm",
  legalComments: "none",
  banner: {
    js: "// Made by console/build.mjs. Licences: LICENSES.txt beside this file in the source.",
    css: "/* Made by console/build.mjs. Licences: LICENSES.txt beside this file in the source. */",
  },
  target: "es2022",
  write: false,
});
const licences = packages.map((name) => {
  const { version } = JSON.parse(readFileSync(here(`node_modules/${name}/package.json`)));
  return `${name} ${version}\n\n${readFileSync(here(`node_modules/${name}/LICENSE`), "utf8").trim()}\n`;
});
const text = (name) => outputFiles.find((file) => file.path.endsWith(name)).text;
const files = { "app.js": text("app.js"), "app.css": text("app.css"), "LICENSES.txt": licences.join("\n") };

mkdirSync(here("dist"), { recursive: true });
for (const [name, content] of Object.entries(files)) {
  const path = here(`dist/${name}`);
  if (!check) {
    writeFileSync(path, content);
  } else if (readFileSync(path, "utf8") !== content) {
    console.error(`console/dist/${name} is not what its source gives: npm run build --prefix console`);
    process.exitCode = 1;
  }
}
const compressed = gzipSync(files["app.js"], { level: 9 }).length + gzipSync(files["app.css"], { level: 9 }).length;
console.log(`console: ${compressed} bytes compressed`);
if (compressed > LARGEST) {
  console.error(`console: more than ${LARGEST} bytes`);
  process.exitCode = 1;
}
