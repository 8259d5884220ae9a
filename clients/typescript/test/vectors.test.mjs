// The tables that the service and all clients share.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  JwtError,
  meaningOf,
  preimageMatches,
  signTestEvent,
  Usher,
  UsherError,
  verifyJwtLocally,
  verifyWebhook,
} from "../dist/esm/index.js";
import { verifyEcdsa } from "../dist/esm/secp256k1-ecdsa.js";
import { serve } from "./support/server.mjs";
import { vectors } from "./support/vectors.mjs";

for (const { name, meaning, event, operation } of vectors("events")) {
  test(`event of ${operation}: ${name}`, () => {
    const read = { stream_id: "s", ...event };
    if (operation !== "subscriptions") assert.equal(meaningOf(read, operation), meaning);
    // Of an operation of any kind, everything is the same, but that a key that is not proven is no result.
    assert.equal(meaningOf(read), operation === "key_handshake" && meaning === "result" ? "progress" : meaning);
  });
}

for (const { name, secrets, scheme, now, headers, body, event, error } of vectors("webhooks")) {
  test(`webhook: ${name}`, async () => {
    const verified = verifyWebhook(Buffer.from(body), headers, secrets, { scheme, now });
    if (event) assert.deepEqual(await verified, event);
    else {
      const why = {
        missing_header: /header .* is missing/,
        timestamp_out_of_range: /time of the post/,
        signature_mismatch: /signature is not valid/,
      }[error];
      await assert.rejects(
        verified,
        (thrown) => thrown instanceof UsherError && thrown.code === "AUTH_FAILED" && why.test(thrown.message),
      );
    }
  });
}

test("a webhook is read from headers of any form and a body of any form", async () => {
  const { headers, body, secrets, now, event } = vectors("webhooks")[0];
  const capitals = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
  const bytes = new TextEncoder().encode(body);
  for (const [raw, form] of [
    [body, headers],
    [bytes, new Headers(headers)],
    [bytes.buffer, capitals],
  ]) {
    assert.deepEqual(await verifyWebhook(raw, form, secrets[0], { now }), event);
  }
  await assert.rejects(verifyWebhook(JSON.parse(body), headers, secrets[0], { now }), TypeError);
  await assert.rejects(verifyWebhook(body, headers, "", { now }), TypeError);
  await assert.rejects(verifyWebhook(body, headers, [], { now }), TypeError);
  await assert.rejects(verifyWebhook(body, headers, undefined, { now }), /secret is missing/);
});

test("what the helper signs is what the service signs", async () => {
  const { secrets, now, event } = vectors("webhooks").find(({ secrets }) => secrets.length === 2);
  const signed = await signTestEvent(event, secrets, { now });
  for (const secret of secrets)
    assert.deepEqual(await verifyWebhook(signed.body, signed.headers, secret, { now }), event);
  assert.deepEqual(await verifyWebhook(signed.body, signed.headers, secrets[0], { scheme: "service" }), event);
  await assert.rejects(verifyWebhook(`${signed.body} `, signed.headers, secrets, { now }), UsherError);
});

test("a signed body that is no event is a PARSE_ERROR", async () => {
  for (const event of [{ stream_id: "s", index: 0 }, { index: "0" }, []]) {
    const { body, headers } = await signTestEvent(event, "secret");
    await assert.rejects(
      verifyWebhook(body, headers, "secret"),
      (thrown) => thrown instanceof UsherError && thrown.code === "PARSE_ERROR",
    );
  }
});

for (const { name, public_key, token, now, valid, error } of vectors("jwts")) {
  test(`JWT: ${name}`, async () => {
    const verified = verifyJwtLocally(token, public_key, { now });
    if (error)
      return assert.rejects(
        verified,
        (thrown) => thrown instanceof JwtError && thrown instanceof UsherError && thrown.reason === error,
      );
    const { target_key, exp } = await verified;
    assert.deepEqual({ target_key, expires_at: exp }, valid);
  });
}

test("ECDSA agrees with Project Wycheproof", () => {
  for (const { name, public_key, digest, signature, valid } of vectors("ecdsa")) {
    const [key, hash, bytes] = [public_key, digest, signature].map((hex) => Uint8Array.from(Buffer.from(hex, "hex")));
    assert.equal(verifyEcdsa(bytes, hash, key), valid, name);
  }
});

test("degenerate signatures are refused", () => {
  const key = Buffer.from("79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798", "hex");
  const digest = new Uint8Array(32);
  for (const fill of [0, 0xff]) assert.equal(verifyEcdsa(new Uint8Array(64).fill(fill), digest, key), false);
  assert.equal(verifyEcdsa(new Uint8Array(63), digest, key), false);
  assert.equal(verifyEcdsa(new Uint8Array(64).fill(1), digest, new Uint8Array(32).fill(0xff)), false);
});

for (const { name, preimage, payment_hash, matches } of vectors("preimages")) {
  test(`preimage: ${name}`, async () => assert.equal(await preimageMatches(preimage, payment_hash), matches));
}

let server;
let response;
before(async () => {
  server = await serve((_, out) => {
    out.writeHead(response.status, {
      ...(response.content_type && { "content-type": response.content_type }),
      ...(response.retry_after !== null && { "retry-after": response.retry_after }),
      location: "/elsewhere",
    });
    out.end(response.body);
  });
});
after(() => server.close());

for (const vector of vectors("problems")) {
  test(`error response: ${vector.name}`, async () => {
    response = vector;
    const usher = new Usher({ url: server.url, token: "t", retries: 0, checkVersion: false });
    await assert.rejects(usher.ticketBalances(), (thrown) => {
      assert.ok(thrown instanceof UsherError);
      assert.equal(thrown.code, vector.error);
      assert.equal(thrown.temporary, vector.temporary);
      assert.equal(thrown.retryAfter ?? null, vector.retry_after);
      assert.deepEqual(thrown.problem ?? null, vector.problem);
      return true;
    });
    assert.notEqual(server.requests.at(-1).url, "/elsewhere");
  });
}
