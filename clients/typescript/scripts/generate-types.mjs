// Writes src/generated/schemas.ts: the types of all requests, responses and events, from docs/openapi.json.
// With `--check` it writes nothing, and fails if the committed file is not current.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";

const document = JSON.parse(await readFile(new URL("../../../docs/openapi.json", import.meta.url), "utf8"));
const file = new URL("../src/generated/schemas.ts", import.meta.url);

// The types of paths would be five times as long, and the client has a method for each endpoint instead.
const schemas = {
  openapi: document.openapi,
  info: document.info,
  paths: {},
  components: { schemas: document.components.schemas },
};
const nodes = await openapiTS(schemas, { defaultNonNullable: false });
const text = astToString(nodes)
  // Examples would be a third of the package; the OpenAPI document has them.
  .replace(/^ +\* @example [^\n]*\n(?: +\* {2,}[^\n]*\n| +\* [}\]]\n)*/gm, "")
  .replace(/^ +\/\*\*\n( +\*\n)* +\*\/\n/gm, "")
  // Links into the HTML documentation lead nowhere here.
  .replace(/\[(`[^`]*`)\]\(#[^)]*\)/g, "$1")
  .replace(/export type (paths|webhooks|operations|\$defs) = Record<string, never>;\n/g, "")
  .replace(/^    (responses|parameters|requestBodies|headers|pathItems): never;\n/gm, "");
const made = `// Written by scripts/generate-types.mjs from docs/openapi.json: change nothing here.\n\n${text}`;

if (process.argv.includes("--check")) {
  if ((await readFile(file, "utf8")) !== made) {
    console.error("src/generated/schemas.ts is not current: run `npm run types`");
    process.exit(1);
  }
} else {
  await writeFile(file, made);
}
