// A client, and a server that answers it as the test says.
import assert from "node:assert/strict";
import { inspect } from "node:util";
import { Usher, UsherError } from "../../dist/esm/index.js";
import { serve } from "./server.mjs";

export const TOKEN = "the-token-of-the-tests";
const made = [];

/** A client of the service at this address, for one test. */
export function client(url, options = {}) {
  const usher = new Usher({ url, token: TOKEN, checkVersion: false, transport: "poll", ...options });
  made.push(usher);
  return usher;
}

/** Checks that an error of the client has this code. */
export const code = (expected) => (thrown) => {
  assert.ok(thrown instanceof UsherError, inspect(thrown));
  assert.equal(thrown.code, expected, thrown.message);
  return true;
};

/** A server for one test. */
export async function withServer(handler, run) {
  const server = await serve(handler);
  try {
    await run(server);
  } finally {
    made.splice(0).forEach((usher) => usher.close());
    await server.close();
  }
}

/** An event of a stream. */
export const event = (index, status, type = "StatusUpdate") => ({
  index,
  type,
  timestamp: 1732137600,
  data: { status },
});
/** A page of events. */
export const page = (events, after, done) => ({ events, next: after + events.length, done });
