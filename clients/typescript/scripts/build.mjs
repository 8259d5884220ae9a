// Builds the package: ES modules in dist/esm, CommonJS in dist/cjs, and the licence. The types are there once: either kind of
// module can read those of a CommonJS module.
import { spawnSync } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import "./generate-types.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const tsc = fileURLToPath(new URL("../node_modules/typescript/bin/tsc", import.meta.url));

function compile(...args) {
  const { status } = spawnSync(process.execPath, [tsc, ...args], { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

rmSync(new URL("../dist", import.meta.url), { recursive: true, force: true });
const code = ["--declaration", "false", "--removeComments"];
const commonJs = ["--module", "CommonJS", "--moduleResolution", "Node10", "--outDir", "dist/cjs"];
compile(...code);
compile(...code, ...commonJs);
compile(...commonJs, "--emitDeclarationOnly");
writeFileSync(new URL("../dist/esm/index.d.ts", import.meta.url), 'export * from "../cjs/index.js";\n');
// `type` of the nearest package.json decides what a file is, for Node and for the compiler.
writeFileSync(new URL("../dist/cjs/package.json", import.meta.url), '{ "type": "commonjs" }\n');
// Types that none of the package's types need are not part of it. Those that are have tabs: they are large.
const needed = new Map();
(function need(file) {
  if (needed.has(file.href)) return;
  const text = readFileSync(file, "utf8");
  needed.set(file.href, text);
  for (const [, path] of text.matchAll(/"(\.[^"]*)\.js"/g)) need(new URL(`${path}.d.ts`, file));
})(new URL("../dist/cjs/index.d.ts", import.meta.url));
for (const name of readdirSync(new URL("../dist/cjs", import.meta.url), { recursive: true })) {
  const file = new URL(`../dist/cjs/${name}`, import.meta.url);
  const text = needed.get(file.href);
  if (text) writeFileSync(file, text.replaceAll("    ", "\t"));
  else if (name.endsWith(".d.ts")) rmSync(file);
}
// Nothing but types: no code loads them.
for (const folder of ["esm", "cjs"]) rmSync(new URL(`../dist/${folder}/generated/schemas.js`, import.meta.url));
// The other licence is a third as large as all the code.
copyFileSync(new URL("../../../LICENSE-MIT", import.meta.url), new URL("../LICENSE-MIT", import.meta.url));
