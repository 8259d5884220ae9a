// The client against a real service, with the real wallet of a user.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { WebSocket } from "ws";
import {
  expressWebhookHandler,
  OperationError,
  preimageMatches,
  Usher,
  UsherError,
  verifyJwtLocally,
} from "../dist/esm/index.js";
import { TIMEOUT, Service, until } from "./support/service.mjs";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const within = { timeout: TIMEOUT };
const posted = [];
let service;
let usher;
let user;
let receiver;

before(async () => {
  const hook = expressWebhookHandler(SECRET, (event) => posted.push(event));
  receiver = createServer((request, response) => hook(request, response));
  await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  service = await Service.start(
    `[webhook]\nurl = "http://127.0.0.1:${receiver.address().port}/"\nsecret = "${SECRET}"`,
  );
  usher = new Usher({ url: service.url, token: service.token, WebSocket, onWarning: (text) => assert.fail(text) });
  user = await login(usher);
});

after(async () => {
  usher?.close();
  await service?.stop();
  receiver?.closeAllConnections();
  receiver?.close();
});

async function login(client) {
  const operation = await client.login();
  const result = operation.result(within);
  await service.wallet("login", operation.url);
  const event = await result;
  assert.equal(event.data.status, "approved");
  return event.data.main_key;
}

for (const transport of ["websocket", "feed", "poll", "auto"]) {
  test(`login by ${transport}`, async () => {
    const client = new Usher({
      url: service.url,
      token: service.token,
      transport,
      WebSocket: transport === "auto" ? undefined : WebSocket,
    });
    assert.equal(await login(client), user);
    client.close();
  });
}

test("the events of a login, and the same login awaited elsewhere", async () => {
  const started = await usher.login();
  const elsewhere = new Usher({ url: service.url, token: service.token, WebSocket });
  const same = elsewhere.resumeLogin(started.streamId);
  const [events, result] = [[], same.result(within)];
  const wallet = service.wallet("login", started.url);
  for await (const event of started.events(within)) events.push(event);
  await wallet;
  assert.deepEqual(
    events.map(({ type }) => type),
    ["KeyHandshake", "StatusUpdate"],
  );
  assert.deepEqual(await result, events[1], "one challenge, however often it is awaited");
  assert.deepEqual(await elsewhere.operation(started.streamId).result(within), events[1]);
  elsewhere.close();
});

test("a reusable login has the events of its users and no single result", async () => {
  const door = await usher.login({ static_token: "door-2" });
  const again = await usher.login({ static_token: "door-2" });
  assert.deepEqual([again.streamId, again.url, again.pageUrl], [door.streamId, door.url, door.pageUrl]);
  await assert.rejects(door.result(), TypeError);
  await service.wallet("login", door.url);
  const events = [];
  for await (const event of door.events(within)) {
    events.push(event);
    if (event.type === "StatusUpdate") break;
  }
  assert.deepEqual(
    events.map(({ data }) => data.main_key),
    [user, user],
  );
  assert.deepEqual([events[1].data.status, events[1].data.method], ["approved", "wallet"]);
  const listed = (await usher.keyHandshakes()).handshakes.find(({ stream_id }) => stream_id === door.streamId);
  assert.deepEqual([listed.login, listed.accepted], [true, 1]);
  await usher.closeKeyHandshake(door.streamId);
});

test("a login that the user declines", async () => {
  const challenge = await usher.authenticateKey({ main_key: user });
  const result = challenge.result(within);
  await service.wallet("decline", "--reason", "not now");
  const { data } = await result;
  assert.deepEqual([data.status, data.reason], ["declined", "not now"]);
  assert.deepEqual((await usher.operation(challenge.streamId).result(within)).data, data);
});

test("a payment: its events, its proof, and the webhook", async () => {
  const payment = await usher.requestPayment(
    { main_key: user, amount: 10_000, description: "Coffee", request_id: "order-1" },
    { idempotencyKey: "order-1" },
  );
  const again = await usher.requestPayment(
    { main_key: user, amount: 10_000, description: "Coffee", request_id: "order-1" },
    { idempotencyKey: "order-1" },
  );
  assert.equal(again.streamId, payment.streamId);
  const result = payment.result(within);
  await service.wallet("approve");
  const paid = await result;
  assert.deepEqual([paid.data.status, paid.data.request_id], ["paid", "order-1"]);
  assert.match(paid.data.preimage, /^[0-9a-f]{64}$/);
  const events = [];
  for await (const event of usher.operation(payment.streamId).events(within)) events.push(event);
  assert.deepEqual(events.at(-1), paid);
  const webhook = await until(
    () => posted.find(({ stream_id, index }) => stream_id === paid.stream_id && index === paid.index),
    "the webhook",
  );
  assert.deepEqual(webhook, paid);
  assert.ok((await usher.webhookDeliveries({ status: "delivered" })).deliveries.length > 0);
});

test("a payment that the user refuses", async () => {
  const payment = await usher.requestPayment({ main_key: user, amount: 10_000, description: "Coffee" });
  const result = payment.result(within);
  await service.wallet("decline", "--reason", "too dear");
  const { paid_late_until, ...data } = (await result).data;
  assert.deepEqual(data, { status: "user_rejected", reason: "too dear" });
  assert.ok(paid_late_until > Date.now() / 1000);
});

test("a refund: the user's invoice, paid by the service", async () => {
  const asked = await usher.requestInvoice({ recipient_key: user, content: { amount: 5000, description: "Refund" } });
  const answer = asked.result(within);
  await service.wallet("approve");
  const { type, data } = await answer;
  assert.equal(type, "InvoiceResponse");
  const paid = await (await usher.payInvoice({ invoice: data.invoice })).result(within);
  assert.equal(paid.data.status, "paid");
  assert.ok(await preimageMatches(paid.data.preimage, data.payment_hash));
});

test("a subscription that the user closes", async () => {
  const now = Math.floor(Date.now() / 1000);
  const recurrence = { calendar: "monthly", first_payment_due: now + 86_400 };
  const asked = await usher.requestSubscription({
    main_key: user,
    amount: 1000,
    description: "Club",
    recurrence,
    expires_at: now + 600,
  });
  const answer = asked.result(within);
  await service.wallet("approve");
  const { type, data } = await answer;
  assert.equal(type, "Subscription");
  const { subscription_id } = data;
  assert.equal((await usher.subscription(subscription_id)).state, "active");
  const closed = new Promise((resolve, reject) => {
    const stop = usher.onSubscriptionClosed(
      (event) => {
        if (event.data.subscription_id !== subscription_id) return;
        stop();
        resolve(event);
      },
      reject,
      within,
    );
  });
  await service.wallet("close", subscription_id, "--reason", "moving away");
  assert.deepEqual((await closed).data, { subscription_id, main_key: user, reason: "moving away" });
  const listed = [];
  for await (const subscription of usher.subscriptions({ main_key: user, limit: 1 })) listed.push(subscription.state);
  assert.ok(listed.includes("closed_by_user"));
});

test("a ticket: minted, sent, asked for, redeemed once", async () => {
  const { mint_url, unit, static_token } = service.mint;
  const { token } = await usher.mintTicket({ mint_url, unit, static_token, amount: 1 }, { idempotencyKey: "ticket-1" });
  assert.deepEqual(
    await usher.mintTicket({ mint_url, unit, static_token, amount: 1 }, { idempotencyKey: "ticket-1" }),
    { token },
  );
  const sent = await usher.sendTicket({ main_key: user, token });
  assert.match(sent.status, /^(sent|queued)$/);
  const arrived = sent.result(within);
  // The wallet of `usher dev` takes the tickets of services that it knows.
  assert.equal((await arrived).data.status, "success");
  const asked = await usher.requestTicket({ main_key: user, mint_url, unit, amount: 1 });
  const answer = asked.result(within);
  await service.wallet("approve");
  const given = await answer;
  assert.equal(given.data.status, "success");
  const redeem = { mint_url, unit, token: given.data.token };
  assert.deepEqual(await usher.burnTicket(redeem, { idempotencyKey: "guest-1" }), { amount: 1 });
  assert.deepEqual(await usher.burnTicket(redeem, { idempotencyKey: "guest-1" }), { amount: 1 });
  await assert.rejects(usher.burnTicket(redeem), (thrown) => thrown.problem.code === "token_already_spent");
  assert.ok((await usher.ticketBalances()).balances.some((balance) => balance.unit === unit && balance.amount >= 1));
});

test("an age verification", async () => {
  const session = await usher.createVerificationSession();
  assert.match(session.sessionUrl, /^http:/);
  await usher.decideVerificationSession(session.sessionId, { decision: "reject", reason: "too young" });
  const { type, data } = await session.result(within);
  assert.deepEqual([type, data.status, data.reason], ["CashuResponse", "rejected", "too young"]);
});

test("a JWT of the service, verified by it and locally", async () => {
  const { token } = await usher.issueJwt({ target_key: user, duration_hours: 1 });
  const { pubkey: key } = await usher.publishProfile({ name: "shop" });
  assert.equal((await verifyJwtLocally(token, key)).target_key, user);
  assert.equal((await usher.verifyJwt({ public_key: key, token })).target_key, user);
  await assert.rejects(verifyJwtLocally(token, user), { code: "AUTH_FAILED", reason: "jwt_invalid" });
});

test("what an operator asks", async () => {
  assert.equal(await usher.health(), "OK");
  assert.equal(typeof (await usher.readiness()).store, "object");
  assert.match(await usher.metrics(), /usher_/);
  assert.equal((await usher.checkVersion()).matches, true);
  assert.ok((await usher.relays()).relays.length > 0);
  assert.equal((await usher.openapiDocument()).openapi, "3.1.0");
  assert.equal(await usher.profile(user), null);
  assert.equal(typeof (await usher.nostrJson()).names, "object");
  assert.equal(typeof (await usher.walletInfo()).network, "string");
  assert.ok((await usher.nextOccurrence({ calendar: "monthly", from: 0 })).next_occurrence > 0);
  const handshake = await usher.keyHandshake({ static_token: "table-7" });
  assert.ok((await usher.keyHandshakes()).handshakes.some(({ static_token }) => static_token === "table-7"));
  const closed = assert.rejects(
    handshake.result(within),
    (thrown) => thrown instanceof OperationError && thrown.status === "closed",
  );
  await usher.closeKeyHandshake(handshake.streamId);
  await closed;
  await assert.rejects(
    usher.operation("01930000-0000-7000-8000-000000000000").result(within),
    (thrown) => thrown.problem.code === "stream_not_found",
  );
});

test("a wrong token", async () => {
  for (const transport of ["websocket", "feed", "poll"]) {
    const wrong = new Usher({ url: service.url, token: "wrong", transport, WebSocket, checkVersion: false });
    await assert.rejects(
      wrong.login(),
      (thrown) =>
        thrown instanceof UsherError && thrown.code === "AUTH_FAILED" && thrown.problem.code === "unauthorized",
    );
    await assert.rejects(wrong.operation("subscriptions").result(within), { code: "AUTH_FAILED" });
    wrong.close();
  }
});

test("the service is killed in the middle of operations, and started again", async () => {
  const transports = ["websocket", "feed", "poll"];
  const clients = transports.map(
    (transport) => new Usher({ url: service.url, token: service.token, transport, WebSocket }),
  );
  const logins = await Promise.all(clients.map((client) => client.login()));
  const payments = await Promise.all(
    clients.map((client) => client.requestPayment({ main_key: user, amount: 1000, description: "Tea" })),
  );
  const results = [...logins, ...payments].map((operation) => operation.result(within));
  results.forEach((result) => result.catch(() => {}));
  await service.kill();
  await assert.rejects(new Usher({ url: service.url, token: service.token, retries: 0 }).version(), {
    code: "NOT_CONNECTED",
  });
  await service.begin();
  // First the payments: a service repeats no request to a wallet that it has heard of since.
  // The wallet has missed those that were sent before it listened. They are repeated, each at its own time: `requests`, which
  // ends when none has come for ten seconds, may end in between.
  const requests = new Set();
  await until(async () => {
    for (const line of (await service.wallet("--json", "requests")).trim().split("\n"))
      requests.add(JSON.parse(line).id);
    return requests.size >= payments.length;
  }, "the requests");
  assert.equal(requests.size, payments.length);
  for (const { url } of logins) await service.wallet("login", url);
  for (const id of requests) await service.wallet("approve", id);
  for (const result of results) assert.match((await result).data.status, /^(approved|paid)$/);
  clients.forEach((client) => client.close());
});
