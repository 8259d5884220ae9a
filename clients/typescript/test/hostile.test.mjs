// What the client does when what it talks to is not the service: it neither storms, hangs, crashes nor fills the memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import { meaningOf, signTestEvent, UsherError, verifyWebhook } from "../dist/esm/index.js";
import { code, event } from "./support/client.mjs";
import { json, problem, serve } from "./support/server.mjs";
import { authenticate, push, withSocket } from "./support/socket.mjs";

/** With a WebSocket that does this with each message after the token. */
const withServer = ({ handler = (_, response) => json(response, {}), connection, options }, run) =>
  withSocket(
    { handler, connection: connection && ((it, send) => authenticate(it, send) || connection(it, send)), options },
    run,
  );

const paidByHttp = (_, response) => json(response, { events: [event(0, "paid")], next: 1, done: true });

for (const transport of ["poll", "feed"]) {
  test(`a Retry-After of thirty years is no storm: ${transport}`, () =>
    withServer(
      {
        handler: (_, response) => json(response, problem(503, "overloaded"), 503, { "retry-after": "999999999" }),
        options: { transport },
      },
      async ({ usher, http }) => {
        const result = usher.operation("s").result({ timeout: 1500 });
        await assert.rejects(result, code("RESULT_TIMEOUT"));
        assert.ok(http.requests.length <= 4, `${http.requests.length} requests`);
      },
    ));
}

test("a long poll that does not wait is no storm", () =>
  withServer(
    { handler: (_, response) => json(response, { events: [], next: 0, done: false }), options: { transport: "poll" } },
    async ({ usher, http }) => {
      await assert.rejects(usher.operation("s").result({ timeout: 1500 }), code("RESULT_TIMEOUT"));
      assert.ok(http.requests.length <= 10, `${http.requests.length} requests`);
    },
  ));

test("a feed that ends at once is no storm", () =>
  withServer(
    {
      handler: (request, response) => {
        if (request.url !== "/events") return json(response, { events: [], next: 0, done: false });
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end(": hello\n\n");
      },
      options: { transport: "feed" },
    },
    async ({ usher, http }) => {
      await assert.rejects(usher.operation("s").result({ timeout: 2500 }), code("RESULT_TIMEOUT"));
      const feeds = http.requests.filter(({ url }) => url === "/events").length;
      assert.ok(feeds <= 6, `${feeds} feeds`);
    },
  ));

for (const [name, page] of [
  ["begins too late", { events: [event(2, "paid")], next: 3, done: true }],
  ["has a gap", { events: [event(0, "user_approved"), event(2, "paid")], next: 3, done: true }],
  ["ends before its end", { events: [event(0, "timeout")], next: 2, done: true }],
]) {
  for (const transport of ["poll", "feed"]) {
    test(`a page that ${name} is a PARSE_ERROR, and never paid: ${transport}`, () =>
      withServer(
        {
          handler: (request, response) => {
            if (request.url !== "/events") return json(response, page);
            response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
          },
          options: { transport },
        },
        async ({ usher, http }) => {
          const events = usher.operation("s").events({ timeout: 10_000 });
          await assert.rejects(async () => {
            for await (const { data } of events) assert.notEqual(data.status, "paid");
          }, code("PARSE_ERROR"));
          assert.ok(http.requests.length <= 3);
        },
      ));
  }
}

for (const [name, frame] of [
  ["null", "null"],
  ["a problem whose errors are a number", { stream_id: "s", type: "error", error: { errors: 5 } }],
  ["a problem whose errors are null", { stream_id: "s", type: "error", error: { errors: [null], code: "overloaded" } }],
  ["data that is a text", { stream_id: "s", type: "success", data: "x" }],
  [
    "members of the prototype",
    '{"type":"event","stream_id":"__proto__","index":0,"event_type":"x","data":{},"__proto__":{"polluted":1}}',
  ],
]) {
  test(`a WebSocket that sends ${name} breaks nothing`, () =>
    withServer(
      { handler: paidByHttp, connection: ({ cmd }, send) => cmd === "subscribe" && send(frame) },
      async (it) => {
        const outcome = await it.usher
          .operation("s")
          .result({ timeout: 1000 })
          .catch((error) => error);
        assert.ok(outcome instanceof UsherError || outcome.data.status === "paid", String(outcome));
        assert.equal({}.polluted, undefined);
      },
    ));
}

test("a WebSocket that leaves an event out again is given up, and HTTP says what happened", () =>
  withServer(
    {
      handler: paidByHttp,
      connection: ({ id, cmd }, send) => {
        if (cmd !== "subscribe") return;
        send({ id, type: "success", data: {} });
        for (let index = 1; index < 100; index++) send(push("s", event(index, "user_approved")));
      },
    },
    async ({ usher, messages }) => {
      assert.equal((await usher.operation("s").result({ timeout: 10_000 })).data.status, "paid");
      assert.ok(messages() <= 4, `${messages()} messages`);
    },
  ));

test("a WebSocket that refuses with a pause of 30,000 years is asked no sooner", () =>
  withServer(
    {
      connection: ({ id, cmd }, send) =>
        cmd === "subscribe" && send({ id, type: "error", error: problem(503, "overloaded"), retry_after: 1e12 }),
    },
    async ({ usher, messages }) => {
      await assert.rejects(usher.operation("s").result({ timeout: 1000 }), code("RESULT_TIMEOUT"));
      assert.ok(messages() <= 4, `${messages()} messages`);
    },
  ));

test("events of another stream are nobody's result", () =>
  withServer(
    {
      connection: ({ id, cmd }, send) => {
        if (cmd !== "subscribe") return;
        send({ id, type: "success", data: {} });
        for (const stream_id of ["t", "", "S"]) send(push(stream_id, event(0, "paid")));
        send(push("s", event(-1, "paid")));
      },
    },
    ({ usher }) => assert.rejects(usher.operation("s").result({ timeout: 500 }), code("RESULT_TIMEOUT")),
  ));

test("a response without end does not fill the memory", () =>
  withServer(
    {
      handler: (_, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        const chunk = Buffer.alloc(1024 * 1024, 0x20);
        const write = () => {
          while (!response.destroyed && response.write(chunk));
        };
        response.on("drain", write);
        write();
      },
    },
    async ({ usher }) => {
      await assert.rejects(usher.ticketBalances({ timeout: 600_000 }), code("UNEXPECTED_RESPONSE"));
    },
  ));

test("a list whose next page is the same page ends", () =>
  withServer(
    { handler: (_, response) => json(response, { subscriptions: [{ subscription_id: "x" }], next: "x" }) },
    async ({ usher }) => {
      let count = 0;
      for await (const _ of usher.subscriptions()) assert.ok(++count < 10);
      assert.equal(count, 2);
    },
  ));

test("a redirect gets no token", async () => {
  const elsewhere = await serve((_, response) => json(response, { version: "0.1.0" }));
  await withServer(
    { handler: (_, response) => response.writeHead(307, { location: `${elsewhere.url}/version` }).end() },
    async ({ usher }) => {
      await assert.rejects(usher.version(), code("UNEXPECTED_RESPONSE"));
      await assert.rejects(usher.mintTicket({}), code("UNEXPECTED_RESPONSE"));
    },
  );
  assert.equal(elsewhere.requests.length, 0);
  await elsewhere.close();
});

test("a ticket of a status of a later version is not the result", () => {
  const of = (status) => meaningOf({ stream_id: "s", ...event(0, status, "CashuResponse") });
  assert.equal(of("success"), "result");
  for (const status of ["pending", undefined, "__proto__", "constructor"]) assert.equal(of(status), "progress");
});

test("an old webhook is refused whatever the tolerance is", async () => {
  const { body, headers } = await signTestEvent({ stream_id: "s", ...event(0, "paid") }, "secret", { now: 1000 });
  for (const tolerance of [NaN, "x"])
    await assert.rejects(verifyWebhook(body, headers, "secret", { tolerance }), code("AUTH_FAILED"));
  for (const time of ["-1", "1e3", "1000.0", " 1000", "0x3e8", "1000,1000"])
    await assert.rejects(
      verifyWebhook(body, { ...headers, "webhook-timestamp": time }, "secret", { now: 1000 }),
      code("AUTH_FAILED"),
    );
});
