// Bundles the script and the licences of what is in it into `../assets`. With `--check`, only compares: the same lock file gives
// the same bytes.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const packages = Object.keys(JSON.parse(readFileSync(here("package.json"))).dependencies).sort();

const { outputFiles } = await build({
  absWorkingDir: here("."),
  entryPoints: ["src/page.js"],
  bundle: true,
  minify: true,
  charset: "utf8",
  format: "esm",
  legalComments: "none",
  banner: { js: "// Made by crates/pages/passkey-script/build.mjs. Licences: passkey.js.LICENSE.txt beside this file in the source." },
  target: "es2022",
  write: false,
});
const licences = packages.map((name) => {
  const { version } = JSON.parse(readFileSync(here(`node_modules/${name}/package.json`)));
  return `${name} ${version}\n\n${readFileSync(here(`node_modules/${name}/LICENSE`), "utf8").trim()}\n`;
});

const [{ text: script }] = outputFiles;
const files = {
  "passkey.js": script,
  "passkey.js.LICENSE.txt": licences.join("\n"),
  "passkey.js.sha256": `${createHash("sha256").update(script).digest("hex")}\n`,
};
for (const [name, text] of Object.entries(files)) {
  const path = here(`../assets/${name}`);
  if (!process.argv.includes("--check")) {
    writeFileSync(path, text);
  } else if (readFileSync(path, "utf8") !== text) {
    console.error(`crates/pages/assets/${name} is not what its source gives: npm run build --prefix crates/pages/passkey-script`);
    process.exitCode = 1;
  }
}
