// What a call does when the service, the network or the caller misbehaves.
import assert from "node:assert/strict";
import { createServer as createTcpServer } from "node:net";
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { test } from "node:test";
import { sats, Usher, UsherError } from "../dist/esm/index.js";
import { client, code, page, TOKEN, withServer } from "./support/client.mjs";
import { json, problem } from "./support/server.mjs";

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
  assert.equal(sats(10), 10_000);
  for (const amount of [5.5, -1, NaN, "10"]) assert.throws(() => sats(amount), TypeError);
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

test("fields that `usher dev` ignored are an error, those of a service in production are not", () => {
  let mode = "test";
  const handler = (_, response) =>
    json(response, { stream_id: "s" }, 200, { "usher-ignored": "/returnUrl", "usher-mode": mode });
  return withServer(handler, async ({ url, requests }) => {
    const usher = client(url);
    const error = await usher.request("POST", "/login", { returnUrl: "x" }).catch((error) => error);
    assert.ok(error instanceof UsherError && error.message.includes("/returnUrl"), error);
    assert.equal(requests.length, 1);
    mode = "";
    assert.deepEqual(await usher.request("POST", "/login", { returnUrl: "x" }), { stream_id: "s" });
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
    readFileSync(new URL("../src/operator-endpoints.ts", import.meta.url), "utf8") +
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
