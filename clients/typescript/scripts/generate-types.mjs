// Writes src/generated/schemas.ts: the types of all requests, responses and events, from docs/openapi.json.
// It is part of the build, and not committed.
import { mkdir, readFile, writeFile } from "node:fs/promises";
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
  // Examples and formats would be a third of the package; the OpenAPI document has them.
  .replace(/^ +\* @example [^\n]*\n(?: +\* {2,}[^\n]*\n| +\* [}\]]\n)*/gm, "")
  .replace(/^ +\/\*\*\n( +\*\n)* +\*\/\n/gm, "")
  .replace(/^ +\* Format: [^\n]*\n/gm, "")
  .replaceAll("@description ", "")
  // Links into the HTML documentation lead nowhere here.
  .replace(/\[(`[^`]*`)\]\(#[^)]*\)/g, "$1")
  .replace(/export type (paths|webhooks|operations|\$defs) = Record<string, never>;\n/g, "")
  .replace(/^    (responses|parameters|requestBodies|headers|pathItems): never;\n/gm, "")
  .replace(/\/\*\*\n +\* ([^\n]*)\n +\*\/\n/g, "/** $1 */\n");

await mkdir(new URL(".", file), { recursive: true });
await writeFile(
  file,
  `// Written by scripts/generate-types.mjs from docs/openapi.json: change nothing here.\n\n${text}`,
);
