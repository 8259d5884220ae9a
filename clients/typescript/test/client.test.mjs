// What the client does when the service, the network or the caller misbehaves.
import assert from "node:assert/strict";
import { createServer as createTcpServer } from "node:net";
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { test } from "node:test";
import {
  expressWebhookHandler,
  fetchWebhookHandler,
  OperationError,
  signTestEvent,
  Usher,
  UsherError,
} from "../dist/esm/index.js";
import { json, problem, serve } from "./support/server.mjs";

const TOKEN = "the-token-of-the-tests";
const made = [];

function client(url, options = {}) {
  const usher = new Usher({ url, token: TOKEN, checkVersion: false, transport: "poll", ...options });
  made.push(usher);
  return usher;
}

const code = (expected) => (thrown) => {
  assert.ok(thrown instanceof UsherError, inspect(thrown));
  assert.equal(thrown.code, expected, thrown.message);
  return true;
};

/** A server for one test. */
async function withServer(handler, run) {
  const server = await serve(handler);
  try {
    await run(server);
  } finally {
    made.splice(0).forEach((usher) => usher.close());
    await server.close();
  }
}

const event = (index, status, type = "StatusUpdate") => ({ index, type, timestamp: 1732137600, data: { status } });
const page = (events, after, done) => ({ events, next: after + events.length, done });

test("a request has the token in its header, never in its address", () =>
  withServer(
    (_, response) => json(response, { stream_id: "s" }),
    async ({ url, requests }) => {
      await client(`${url}/prefix/`).authenticateKey({ main_key: "k" });
      const [{ method, url: path, headers, body }] = requests;
      assert.deepEqual([method, path, headers.authorization], ["POST", "/prefix/authenticate-key", `Bearer ${TOKEN}`]);
      assert.equal(headers["content-type"], "application/json");
      assert.deepEqual(JSON.parse(body), { subkeys: [], main_key: "k" });
    },
  ));

test("the token is not shown by the client or its errors", async () => {
  const usher = client("http://127.0.0.1:1", { retries: 0 });
  const error = await usher.version().catch((error) => error);
  for (const value of [usher, error]) assert.ok(!inspect(value, { depth: 20, showHidden: true }).includes(TOKEN));
  assert.ok(!JSON.stringify(usher).includes(TOKEN));
});

test("a token that is a function is asked for each request", () =>
  withServer(
    (_, response) => json(response, { balances: [] }),
    async ({ url, requests }) => {
      let number = 0;
      const usher = client(url, { token: async () => `token-${++number}` });
      await usher.ticketBalances();
      await usher.ticketBalances();
      assert.deepEqual(
        requests.map(({ headers }) => headers.authorization),
        ["Bearer token-1", "Bearer token-2"],
      );
    },
  ));

test("wrong arguments are a TypeError, before anything is sent", async () => {
  for (const url of ["ftp://x", "http://user:password@x", "http://x?token=1", "nonsense"])
    assert.throws(() => new Usher({ url, token: TOKEN }), TypeError);
  for (const token of ["", "a b", "a\n", undefined])
    assert.throws(() => new Usher({ url: "http://x", token }), TypeError);
  const usher = client("http://127.0.0.1:1");
  await assert.rejects(usher.issueJwt({}, { idempotencyKey: "a\nb" }), TypeError);
  assert.throws(() => usher.operation("s").events({ after: -1 }), TypeError);
});

test("a call is repeated with the same idempotency key; another call has another", () => {
  let failures = 3;
  const handler = (request, response) => {
    if (failures > 0) {
      failures -= 1;
      if (failures === 2) return request.socket.destroy();
      return json(response, problem(503, "overloaded"), 503, { "retry-after": "0" });
    }
    json(response, { token: "t" });
  };
  return withServer(handler, async ({ url, requests }) => {
    const usher = client(url);
    await usher.mintTicket({ mint_url: "m", unit: "u", amount: 1 });
    await usher.mintTicket({ mint_url: "m", unit: "u", amount: 1 });
    await usher.mintTicket({ mint_url: "m", unit: "u", amount: 1 }, { idempotencyKey: "order-1" });
    const keys = requests.map(({ headers }) => headers["idempotency-key"]);
    assert.equal(keys.length, 6);
    assert.match(keys[0], /^[0-9a-f-]{36}$/);
    assert.ok(keys.slice(1, 4).every((key) => key === keys[0]));
    assert.notEqual(keys[4], keys[0]);
    assert.equal(keys[5], "order-1");
  });
});

test("what is no passing error is not repeated", () =>
  withServer(
    (_, response) => json(response, problem(409, "token_already_spent"), 409),
    async ({ url, requests }) => {
      await assert.rejects(client(url).burnTicket({ mint_url: "m", unit: "u", token: "t" }), (thrown) => {
        assert.equal(thrown.problem.code, "token_already_spent");
        return code("SERVER_ERROR")(thrown);
      });
      assert.equal(requests.length, 1);
    },
  ));

test("a Retry-After beyond the timeout is the caller's to wait for", () =>
  withServer(
    (_, response) => json(response, problem(429, "rate_limited"), 429, { "retry-after": "3600" }),
    async ({ url, requests }) => {
      await assert.rejects(
        client(url).version(),
        (thrown) => thrown.retryAfter === 3600 && code("SERVER_ERROR")(thrown),
      );
      assert.equal(requests.length, 1);
    },
  ));

test("a service that is away is NOT_CONNECTED", async () => {
  await assert.rejects(client("http://127.0.0.1:1", { retries: 1 }).version(), code("NOT_CONNECTED"));
});

test("a connection that breaks is CONNECTION_CLOSED", () =>
  withServer(
    (request) => request.socket.destroy(),
    async ({ url, requests }) => {
      await assert.rejects(client(url, { retries: 1 }).version(), code("CONNECTION_CLOSED"));
      assert.equal(requests.length, 2);
    },
  ));

test("a response that is cut off is CONNECTION_CLOSED", () => {
  const handler = (request, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
    response.write('{"version"');
    setTimeout(() => request.socket.destroy(), 20);
  };
  return withServer(handler, ({ url }) =>
    assert.rejects(client(url, { retries: 0 }).version(), code("CONNECTION_CLOSED")),
  );
});

test("bytes that are not HTTP", async () => {
  const server = createTcpServer((socket) => socket.on("error", () => {}).end("\0garbage\r\n\r\n"));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  await assert.rejects(client(`http://127.0.0.1:${server.address().port}`, { retries: 0 }).version(), UsherError);
  server.close();
});

test("a call that takes too long is CONNECTION_TIMEOUT", () =>
  withServer(
    () => {},
    async ({ url }) => {
      await assert.rejects(client(url).version({ timeout: 50 }), code("CONNECTION_TIMEOUT"));
      await assert.rejects(client(url, { timeout: 50 }).version(), code("CONNECTION_TIMEOUT"));
      await assert.rejects(client(url).operation("s").result({ timeout: 50 }), code("RESULT_TIMEOUT"));
    },
  ));

test("an aborted call throws the reason of its signal", () =>
  withServer(
    () => {},
    async ({ url }) => {
      const reason = new Error("the user left");
      for (const call of [
        (options) => client(url).version(options),
        (options) => client(url).operation("s").result(options),
        (options) => client(url).login({}, options),
      ]) {
        const controller = new AbortController();
        const waiting = call({ signal: controller.signal });
        setTimeout(() => controller.abort(reason), 20);
        await assert.rejects(waiting, (thrown) => thrown === reason);
        await assert.rejects(call({ signal: AbortSignal.abort(reason) }), (thrown) => thrown === reason);
      }
      await assert.rejects(client(url).version({ signal: AbortSignal.timeout(20) }), { name: "TimeoutError" });
    },
  ));

test("a response without a stream is a PARSE_ERROR", () =>
  withServer(
    (_, response) => json(response, { status: "fine" }),
    async ({ url }) => {
      for (const call of [
        (usher) => usher.authenticateKey({ main_key: "k" }),
        (usher) => usher.login(),
        (usher) => usher.createVerificationSession(),
      ]) {
        await assert.rejects(call(client(url)), code("PARSE_ERROR"));
      }
    },
  ));

test("a field that is undefined has its default", () =>
  withServer(
    (_, response) => json(response, { stream_id: "s", page_url: "p" }),
    async ({ url, requests }) => {
      const usher = client(url);
      const nothing = { subkeys: undefined, currency: undefined };
      await usher.requestPayment({ main_key: "k", amount: 1, description: "Tea", ...nothing });
      await usher.requestSubscription({ main_key: "k", amount: 1, description: "Club", ...nothing });
      await usher.requestInvoice({ recipient_key: "k", subkeys: undefined, content: { amount: 1, ...nothing } });
      const [payment, subscription, invoice] = requests.map(({ body }) => JSON.parse(body));
      for (const { subkeys, currency } of [payment, subscription, { ...invoice, ...invoice.content }])
        assert.deepEqual([subkeys, currency], [[], "millisats"]);
      await usher.requestPayment({ main_key: "k", amount: 1, description: "Tea", currency: "eur", subkeys: ["s"] });
      const { subkeys, currency } = JSON.parse(requests.at(-1).body);
      assert.deepEqual([subkeys, currency], [["s"], "eur"]);
    },
  ));

const told = { ...event(0, undefined, "KeyHandshake"), data: { main_key: "somebody's", preferred_relays: [] } };

for (const transport of ["poll", "feed"]) {
  test(`the result of a login is never the key that was told, by ${transport}`, async () => {
    for (const [last, status] of [
      ["declined", "declined"],
      ["approved", "approved"],
      ["timeout", undefined],
    ]) {
      const events = [told, event(1, last)];
      await withServer(
        (request, response) => {
          if (request.url !== "/events") return json(response, page(events, 0, true));
          response.writeHead(200, { "content-type": "text/event-stream" });
          for (const event of events) response.write(`data: ${JSON.stringify({ stream_id: "s", ...event })}\n\n`);
        },
        async ({ url }) => {
          const usher = client(url, { transport });
          for (const operation of [usher.operation("s"), usher.resume("login", "s"), usher.resumeLogin("s")]) {
            if (status) assert.equal((await operation.result()).data.status, status);
            else await assert.rejects(operation.result(), OperationError);
          }
        },
      );
    }
  });
}

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

test("profile() and resolveNip05() are null when there is none; other errors stay errors", async () => {
  await withServer(
    (_, response) => json(response, problem(404, "profile_not_found"), 404),
    async ({ url }) => {
      assert.equal(await client(url).profile("k"), null);
      assert.equal(await client(url).resolveNip05("a@b.example"), null);
    },
  );
  await withServer(
    (_, response) => json(response, problem(404, "route_not_found"), 404),
    ({ url }) => assert.rejects(client(url).profile("k"), code("SERVER_ERROR")),
  );
});

test("lists give a page, or the items of all pages", () => {
  const handler = (request, response) => {
    const after = new URL(request.url, "http://x").searchParams.get("after");
    json(response, after === null ? { subscriptions: [1, 2], next: "b" } : { subscriptions: [3], next: null });
  };
  return withServer(handler, async ({ url, requests }) => {
    assert.deepEqual((await client(url).subscriptions({ state: "active" })).subscriptions, [1, 2]);
    const items = [];
    for await (const item of client(url).subscriptions({ state: "active" })) items.push(item);
    assert.deepEqual(items, [1, 2, 3]);
    assert.deepEqual(
      requests.map(({ url }) => url),
      ["/subscriptions?state=active", "/subscriptions?state=active", "/subscriptions?state=active&after=b"],
    );
  });
});

test("a service of another version is warned of, once", async () => {
  for (const [version, expected] of [
    ["0.1.7", 0],
    ["0.2.0", 1],
    ["1.1.0", 1],
  ]) {
    await withServer(
      (request, response) => json(response, request.url === "/version" ? { version, commit: "c" } : { balances: [] }),
      async ({ url }) => {
        const warnings = [];
        const usher = client(url, { checkVersion: true, onWarning: (text) => warnings.push(text) });
        await usher.ticketBalances();
        await usher.ticketBalances();
        assert.equal((await usher.checkVersion()).matches, expected === 0);
        // The first call compares the versions beside its own work.
        for (let i = 0; warnings.length < expected && i < 200; i++)
          await new Promise((resolve) => setTimeout(resolve, 50));
        assert.equal(warnings.length, expected);
        if (expected) assert.ok(warnings[0].includes(version));
      },
    );
  }
});

test("there is a method for every endpoint", () => {
  const document = JSON.parse(readFileSync(new URL("../../../docs/openapi.json", import.meta.url), "utf8"));
  const source =
    readFileSync(new URL("../src/client.ts", import.meta.url), "utf8") +
    readFileSync(new URL("../src/reading/feed.ts", import.meta.url), "utf8") +
    readFileSync(new URL("../src/reading/socket.ts", import.meta.url), "utf8");
  // A page for people.
  const others = new Set(["/docs"]);
  for (const [path, item] of Object.entries(document.paths)) {
    if (others.has(path)) continue;
    const pattern = path
      .split(/\{[^}]*\}/)
      .map((part) => part.replace(/[.\/]/g, "\\$&"))
      .join("\\$\\{[^}]*\\}");
    for (const method of Object.keys(item)) {
      const found = new RegExp(`[\`"]${pattern}(\\$\\{query\\(\\{? ?[a-z]+ ?\\}?\\)\\})?[\`"]`).test(source);
      assert.ok(found, `no method of the client sends ${method.toUpperCase()} ${path}`);
    }
  }
});

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
