// The handlers of webhooks for Fetch and Express.
import assert from "node:assert/strict";
import { test } from "node:test";
import { expressWebhookHandler, fetchWebhookHandler, signTestEvent } from "../dist/esm/index.js";
import { event } from "./support/client.mjs";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const paid = { stream_id: "s", ...event(1, "paid") };

test("a body that never ends is not read to its end", async () => {
  const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) });
  const { headers } = await signTestEvent(paid, secret);
  const handler = fetchWebhookHandler(secret, () => assert.fail("an event"));
  assert.equal(
    (await handler(new Request("http://x", { method: "POST", body: endless, headers, duplex: "half" }))).status,
    400,
  );
});

test("the Fetch handler", async () => {
  const seen = [];
  const handler = fetchWebhookHandler(secret, (event) => seen.push(event));
  const { body, headers } = await signTestEvent(paid, secret);
  const post = (headers, text = body) => handler(new Request("http://x/hook", { method: "POST", body: text, headers }));
  assert.equal((await post(headers)).status, 204);
  assert.equal((await post({})).status, 401);
  assert.equal((await post(headers, `${body} `)).status, 401);
  const garbage = await signTestEvent({ stream_id: "s", index: 0 }, secret);
  assert.equal((await post(garbage.headers, garbage.body)).status, 400);
  assert.deepEqual(seen, [paid]);
  const failing = fetchWebhookHandler(secret, () => Promise.reject(new Error("full")));
  await assert.rejects(failing(new Request("http://x", { method: "POST", body, headers })), /full/);
});

test("the Express handler, with and without a parsed body", async () => {
  const { default: express } = await import("express");
  const app = express();
  const seen = [];
  app.post(
    "/plain",
    expressWebhookHandler(secret, (event) => seen.push(event)),
  );
  app.post(
    "/raw",
    express.raw({ type: "*/*" }),
    expressWebhookHandler(secret, (event) => seen.push(event)),
  );
  app.post(
    "/failing",
    expressWebhookHandler(secret, () => Promise.reject(new Error("full"))),
  );
  app.post(
    "/parsed",
    express.json(),
    expressWebhookHandler(secret, (event) => seen.push(event)),
  );
  const errors = [];
  app.use((error, _request, response, _next) => {
    errors.push(error.message);
    response.sendStatus(500);
  });
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { body, headers } = await signTestEvent(paid, secret);
  const post = async (path, text = body) =>
    (await fetch(`http://127.0.0.1:${server.address().port}${path}`, { method: "POST", body: text, headers })).status;
  assert.equal(await post("/plain"), 204);
  assert.equal(await post("/raw"), 204);
  assert.equal(await post("/plain", `${body} `), 401);
  assert.equal(await post("/failing"), 500);
  assert.equal(await post("/parsed"), 500);
  assert.equal(errors[0], "full");
  assert.match(errors[1], /before express\.json/);
  assert.deepEqual(seen, [paid, paid]);
  server.closeAllConnections();
  server.close();
});
