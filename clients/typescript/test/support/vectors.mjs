import { readFileSync } from "node:fs";

/** A table that the service and all clients share. */
export const vectors = (name) =>
  JSON.parse(readFileSync(new URL(`../../../test-vectors/${name}.json`, import.meta.url), "utf8")).cases;
