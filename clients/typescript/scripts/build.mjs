// Builds the package: ES modules in dist/esm, CommonJS in dist/cjs, types for each, and the licences. The types of the API's
// schemas, by far the largest, are there once: either kind of module can read those of a CommonJS module.
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const tsc = fileURLToPath(new URL("../node_modules/typescript/bin/tsc", import.meta.url));

function compile(...args) {
  const { status } = spawnSync(process.execPath, [tsc, ...args], { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

rmSync(new URL("../dist", import.meta.url), { recursive: true, force: true });
const code = ["--project", "tsconfig.json", "--declaration", "false", "--removeComments"];
compile(...code);
compile(...code, "--module", "CommonJS", "--moduleResolution", "Node10", "--outDir", "dist/cjs");
compile("--project", "tsconfig.json", "--emitDeclarationOnly");
const esm = new URL("../dist/esm/", import.meta.url);
renameSync(new URL("generated/schemas.d.ts", esm), new URL("../dist/schemas.d.cts", import.meta.url));
for (const name of readdirSync(esm, { recursive: true })) {
  if (!name.endsWith(".d.ts")) continue;
  const text = readFileSync(new URL(name, esm), "utf8");
  writeFileSync(new URL(name, esm), text.replaceAll('"./generated/schemas.js"', '"../schemas.cjs"'));
}
// `type` of the nearest package.json decides what a file is, for Node and for the compiler: the types are the same text.
writeFileSync(new URL("../dist/cjs/package.json", import.meta.url), '{ "type": "commonjs" }\n');
const types = (name) => name.endsWith(".d.ts") || !name.includes(".");
cpSync(new URL("../dist/esm", import.meta.url), new URL("../dist/cjs", import.meta.url), {
  recursive: true,
  filter: (source) => types(basename(source)),
});
// Nothing but types: no code loads them.
for (const folder of ["esm", "cjs"])
  rmSync(new URL(`../dist/${folder}/generated`, import.meta.url), { recursive: true });
for (const licence of ["LICENSE-APACHE", "LICENSE-MIT"]) {
  copyFileSync(new URL(`../../../${licence}`, import.meta.url), new URL(`../${licence}`, import.meta.url));
}
