// What the client does when a WebSocket misbehaves: HTTP takes over, and nothing is lost, repeated or stormed.
import assert from "node:assert/strict";
import { test } from "node:test";

import { WebSocket } from "ws";
import { event } from "./support/client.mjs";
import { json, problem } from "./support/server.mjs";
import { authenticate, push, withSocket as withServer } from "./support/socket.mjs";

/** A service whose pages say that `s` is paid, and whose WebSocket does what `connection` says. */
const withSocket = (connection, run) => withServer({ handler: paidByHttp, connection }, run);
const paidByHttp = (_, response) =>
  json(response, { events: [event(0, "user_approved"), event(1, "paid")], next: 2, done: true });

test("two readers of one stream share a subscription, each with a position of its own", () =>
  withSocket(
    (message, send) => {
      if (authenticate(message, send) || message.cmd !== "subscribe") return;
      send({ id: message.id, type: "success", data: { stream_id: "s" } });
      for (const next of [event(0, "user_approved"), event(1, "user_failed")].slice(message.params.after))
        send(push("s", next));
      if (++subscribed < 2) return;
      send(push("s", event(2, "paid")));
      send({ type: "done", stream_id: "s", next: 3 });
    },
    async ({ usher, http, connections }) => {
      const read = async (events) => {
        const indexes = [];
        for await (const { index } of events) indexes.push(index);
        return indexes;
      };
      const first = usher.operation("s").events();
      await first.next();
      const both = await Promise.all([read(first), read(usher.operation("s").events())]);
      assert.deepEqual(both, [
        [1, 2],
        [0, 1, 2],
      ]);
      assert.equal(connections(), 1);
      assert.equal(http.requests.length, 0);
    },
  ));
let subscribed = 0;

for (const [name, connection] of [
  ["refuses the token", ({ id }, send) => send({ id, type: "error", error: problem(401, "unauthorized") })],
  ["closes at once", (_, __, socket) => socket.close(4001)],
  ["sends what is not JSON", (_, send) => send("<h1>Welcome</h1>")],
  [
    "authenticates, then sends garbage",
    (message, send) => authenticate(message, send) || send('{"type":"event","stream_id":"s","index":"x"}'),
  ],
  ["authenticates, then closes", (message, send, socket) => authenticate(message, send) || socket.terminate()],
]) {
  test(`a WebSocket that ${name}: HTTP takes over, and no other is opened`, () =>
    withSocket(connection, async ({ usher, connections }) => {
      assert.equal((await usher.operation("s").result()).data.status, "paid");
      assert.equal((await usher.operation("s").result()).data.status, "paid");
      assert.equal(connections(), 1);
    }));
}

test("a service without a WebSocket", () =>
  withServer({ handler: paidByHttp, options: { WebSocket } }, async ({ usher, http }) => {
    http.server.on("upgrade", (_, socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    assert.equal((await usher.operation("s").result()).data.status, "paid");
  }));

test("a stream that cannot be read fails its readers alone; a full service is asked again", () =>
  withSocket(
    (message, send) => {
      if (authenticate(message, send) || message.cmd !== "subscribe") return;
      const { id, params } = message;
      if (params.stream_id === "gone") return send({ id, type: "error", error: problem(404, "stream_not_found") });
      if (++asked === 1) return send({ id, type: "error", error: problem(503, "overloaded"), retry_after: 0 });
      send({ id, type: "success", data: { stream_id: "s", first: 4 } });
      send(push("s", event(4, "paid")));
    },
    async ({ usher }) => {
      const paid = usher.operation("s").result();
      await assert.rejects(usher.operation("gone").result(), (thrown) => thrown.problem.code === "stream_not_found");
      assert.equal((await paid).index, 4);
      assert.equal(asked, 2);
    },
  ));
let asked = 0;

test("events that are missing or repeated are noticed", () =>
  withSocket(
    (message, send) => {
      if (authenticate(message, send) || message.cmd !== "subscribe") return;
      const { id, params } = message;
      afters.push(params.after);
      send({ id, type: "success", data: { stream_id: "s" } });
      if (params.after === 0) {
        for (const index of [0, 0, 1, 3]) send(push("s", event(index, "user_approved")));
      } else if (params.after === 2) {
        for (const index of [2, 3]) send(push("s", event(index, "user_approved")));
        send({ type: "done", stream_id: "s", next: 5 });
      } else {
        send(push("s", event(4, "paid")));
        send({ type: "done", stream_id: "s", next: 5 });
      }
    },
    async ({ usher }) => {
      const indexes = [];
      for await (const { index } of usher.operation("s")) indexes.push(index);
      assert.deepEqual(indexes, [0, 1, 2, 3, 4]);
      assert.deepEqual(afters, [0, 2, 4]);
    },
  ));
const afters = [];

test("the process ends by itself when nothing is awaited any more", async () => {
  // The other tests would hang otherwise; here it is a test: an idle connection is closed.
  await withSocket(
    (message, send) => {
      if (authenticate(message, send) || message.cmd !== "subscribe") return;
      send({ id: message.id, type: "success", data: {} });
      send(push("s", event(0, "paid")));
    },
    async ({ usher, http }) => {
      await usher.operation("s").result();
      const open = () => new Promise((resolve) => http.server.getConnections((_, count) => resolve(count)));
      for (let i = 0; (await open()) > 0 && i < 200; i++) await new Promise((resolve) => setTimeout(resolve, 50));
      assert.equal(await open(), 0);
    },
  );
});
