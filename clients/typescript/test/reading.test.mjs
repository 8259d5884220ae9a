// What readers of events make of errors, late events and slow apps, and what is a result.
import assert from "node:assert/strict";
import { test } from "node:test";
import { OperationError } from "../dist/esm/index.js";
import { client, code, event, page, withServer } from "./support/client.mjs";
import { json, problem } from "./support/server.mjs";

const told = { ...event(0, undefined, "KeyHandshake"), data: { main_key: "somebody's", preferred_relays: [] } };

test("a login that was not approved has no main_key, whatever its events say", async () => {
  const named = (index, status) => {
    const ended = event(index, status);
    return { ...ended, data: { ...ended.data, main_key: "somebody's", reason: "no" } };
  };
  for (const status of ["declined", "timeout", "error"]) {
    const events = [told, named(1, "user_approved"), named(2, status)];
    await withServer(
      (request, response) => {
        if (request.method === "POST") return json(response, { stream_id: "s", url: "nostr:u", page_url: "http://p" });
        json(response, page(events, 0, true));
      },
      async ({ url }) => {
        const usher = client(url);
        const operations = [
          await usher.login(),
          await usher.login({ return_url: "http://127.0.0.1/done" }),
          await usher.authenticateKey({ main_key: "k" }),
          usher.operation("s"),
          usher.resume("login", "s"),
          usher.resume("authentication", "s"),
          usher.resumeLogin("s"),
        ];
        for (const operation of operations) {
          const ended = await operation.result().catch((thrown) => {
            assert.ok(thrown instanceof OperationError);
            return thrown.event;
          });
          assert.deepEqual([ended.index, ended.data], [2, { status, reason: "no" }]);
        }
        const read = [];
        for await (const { data } of usher.operation("s")) read.push(data.main_key);
        assert.deepEqual(read, ["somebody's", "somebody's", "somebody's"], "the events are as the service sent them");
      },
    );
  }
});

test("a redeemed login has a main_key, or is an error", () =>
  withServer(
    (_, response, body) => json(response, JSON.parse(body).code === "good" ? { main_key: "k", method: "wallet" } : {}),
    async ({ url }) => {
      assert.equal((await client(url).redeemLogin("s", "good")).main_key, "k");
      await assert.rejects(client(url).redeemLogin("s", "bad"), code("PARSE_ERROR"));
    },
  ));

test("an event of another kind of operation is no result", async () => {
  const subscribed = { ...event(0, "approved", "Subscription"), data: { status: "approved", main_key: "k" } };
  for (const [kind, events] of [
    ["login", [told]],
    ["login", [subscribed]],
    ["login", [event(0, "paid")]],
    ["payment", [event(0, "approved")]],
    [undefined, [told]],
  ]) {
    await withServer(
      (_, response) => json(response, page(events, 0, true)),
      async ({ url }) => {
        const usher = client(url);
        const operation = kind ? usher.resume(kind, "s") : usher.operation("s");
        await assert.rejects(operation.result(), (thrown) => thrown.status === "closed", `${kind} ${events[0].type}`);
      },
    );
  }
});

test("a handshake that is resumed as one has the key that was told", () =>
  withServer(
    (_, response) => json(response, page([told], 0, true)),
    async ({ url }) => {
      assert.equal((await client(url).resume("key_handshake", "s").result()).data.main_key, "somebody's");
      const { events, done } = await client(url).readEvents("s");
      assert.deepEqual([events, done], [[{ stream_id: "s", ...told }], true]);
    },
  ));

test("a page of events that is none is a PARSE_ERROR", async () => {
  for (const garbage of [
    {},
    { events: [], next: "1", done: true },
    { events: [{}], next: 1, done: true },
    { events: [{ index: 0, type: "StatusUpdate" }], next: 1, done: true },
  ]) {
    await withServer(
      (_, response) => json(response, garbage),
      ({ url }) => assert.rejects(client(url).operation("s").result(), code("PARSE_ERROR")),
    );
  }
});

test("a wrong token ends the reading of events, too", async () => {
  for (const transport of ["poll", "feed", "auto"]) {
    await withServer(
      (_, response) => json(response, problem(401, "unauthorized"), 401),
      ({ url }) =>
        assert.rejects(client(url, { transport, WebSocket: undefined }).operation("s").result(), code("AUTH_FAILED")),
    );
  }
});

test("events are read on over errors and broken connections, each once", () => {
  let requests = 0;
  const handler = (request, response) => {
    requests += 1;
    const after = Number(new URL(request.url, "http://x").searchParams.get("after"));
    if (requests % 3 === 0) return request.socket.destroy();
    if (requests % 3 === 1) return json(response, problem(503, "overloaded"), 503, { "retry-after": "0" });
    const done = after === 2;
    // The service never repeats an event, but a client must not depend on it.
    json(response, page([event(after, done ? "paid" : "user_approved"), ...(done ? [] : [])], after, done));
  };
  return withServer(handler, async ({ url }) => {
    const indexes = [];
    for await (const { index, stream_id } of client(url).operation("s")) {
      indexes.push(index);
      assert.equal(stream_id, "s");
    }
    assert.deepEqual(indexes, [0, 1, 2]);
  });
});

test("readers give up when the service stays away", async () => {
  for (const transport of ["poll", "feed"]) {
    await assert.rejects(
      client("http://127.0.0.1:1", { transport, retries: 0, unreachableAfter: 300 }).operation("s").result(),
      code("NOT_CONNECTED"),
    );
  }
});

test("a closed client is NOT_CONNECTED", () =>
  withServer(
    () => {},
    async ({ url }) => {
      const usher = client(url);
      const waiting = usher.operation("s").result();
      setTimeout(() => usher.close(), 20);
      await assert.rejects(waiting, code("NOT_CONNECTED"));
      await assert.rejects(usher.operation("s").result(), code("NOT_CONNECTED"));
    },
  ));

test("an operation that ends without a result is an OperationError", async () => {
  for (const [events, status] of [
    [[event(0, "timeout")], "timeout"],
    [[event(0, "error")], "error"],
    [[], "closed"],
  ]) {
    await withServer(
      (_, response) => json(response, page(events, 0, true)),
      ({ url }) =>
        assert.rejects(
          client(url).operation("s").result(),
          (thrown) =>
            thrown instanceof OperationError && thrown.status === status && thrown.event?.index === events[0]?.index,
        ),
    );
  }
});

test("statuses and types of later versions are progress", () =>
  withServer(
    (_, response) =>
      json(response, page([event(0, "user_thinks"), event(1, "x", "Weather"), event(2, "paid")], 0, true)),
    async ({ url }) => {
      assert.equal((await client(url).operation("s").result()).index, 2);
    },
  ));

test("money that arrived after the end is the result", () => {
  const handler = ({ url }, response) => {
    const [, status] = /events\/(\w+)/.exec(url);
    json(response, page([event(0, status), event(1, "paid")], 0, true));
  };
  return withServer(handler, async ({ url }) => {
    for (const status of ["timeout", "error", "user_rejected"])
      assert.equal((await client(url).operation(status).result()).data.status, "paid");
  });
});

test("removed events are skipped when all were asked for, and an error otherwise", () => {
  const handler = (request, response) => {
    const after = Number(new URL(request.url, "http://x").searchParams.get("after"));
    if (after === 0) return json(response, { events: [event(5, "paid")], next: 6, done: true, first: 5 });
    json(response, { ...problem(410, "events_removed"), first: 5 }, 410);
  };
  return withServer(handler, async ({ url }) => {
    assert.equal((await client(url).operation("s").result()).index, 5);
    await assert.rejects(
      client(url).operation("s").events({ after: 2 }).next(),
      (thrown) => thrown.problem.first === 5 && code("SERVER_ERROR")(thrown),
    );
  });
});

test("a slow reader stops the reading and misses nothing", () => {
  const total = 3000;
  const handler = (request, response) => {
    const after = Number(new URL(request.url, "http://x").searchParams.get("after"));
    const events = Array.from({ length: Math.min(100, total - after) }, (_, offset) =>
      event(after + offset, "user_approved"),
    );
    json(response, page(events, after, after + events.length === total));
  };
  return withServer(handler, async ({ url, requests }) => {
    const events = client(url).operation("s").events();
    await events.next();
    // As many pages as fit, and no more.
    let before;
    do {
      before = requests.length;
      await new Promise((resolve) => setTimeout(resolve, 200));
    } while (requests.length !== before);
    assert.ok(requests.length < 10, `${requests.length} pages`);
    let expected = 1;
    for await (const { index } of events) assert.equal(index, expected++);
    assert.equal(expected, total);
  });
});

test("events that were left are read no further", () => {
  const handler = (request, response) => {
    const after = Number(new URL(request.url, "http://x").searchParams.get("after"));
    if (after === 0) json(response, page([event(0, "user_approved")], 0, false));
  };
  return withServer(handler, async ({ url, server }) => {
    for await (const _ of client(url).operation("s")) break;
    const connections = () => new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
    for (let i = 0; (await connections()) > 1 && i < 100; i++) await new Promise((resolve) => setTimeout(resolve, 50));
    assert.ok((await connections()) <= 1, "the long poll was left open");
  });
});
