// Keys against another implementation (npm `nostr-tools`) and against the pinned vectors, which other programs can use too.
import "../web-crypto.mjs";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { nip19, verifyEvent, getPublicKey } from "nostr-tools";
import * as nip49 from "nostr-tools/nip49";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import * as keys from "../src/keys.js";

const vectors = JSON.parse(readFileSync(new URL("vectors.json", import.meta.url)));
const prf = new Uint8Array(32).fill(7);

test("the PRF's input and the derived keys are pinned", () => {
  assert.equal(bytesToHex(keys.PRF_INPUT), vectors.prf_input);
  for (const { prf, rp_id, secret, main_key } of vectors.derived) {
    const derived = keys.derivedKey(hexToBytes(prf), rp_id);
    assert.equal(bytesToHex(derived), secret);
    assert.equal(keys.publicKey(derived), main_key);
    assert.equal(getPublicKey(derived), main_key);
  }
});

test("the keys of nothing, which the service refuses, are pinned", () => {
  for (const { prf, rp_id, main_key } of vectors.of_nothing) {
    assert.equal(keys.publicKey(keys.derivedKey(hexToBytes(prf), rp_id)), main_key);
  }
});

test("another RP id gives another key", () => {
  assert.notDeepEqual(keys.derivedKey(prf, "a.example"), keys.derivedKey(prf, "b.example"));
});

test("a wrapped key opens for its passkey, RP id and public key alone", () => {
  const secret = keys.derivedKey(prf, "a.example");
  const pubkey = keys.publicKey(secret);
  const [id, other] = [new Uint8Array(16).fill(1), new Uint8Array(32).fill(2)];
  const wrapped = keys.wrapKey(secret, other, "a.example", id);
  assert.equal(wrapped.length, 73);
  assert.deepEqual(keys.unwrapKey(wrapped, other, "a.example", id, pubkey), secret);
  const wrong = [
    [wrapped, prf, "a.example", id, pubkey],
    [wrapped, other, "b.example", id, pubkey],
    [wrapped, other, "a.example", new Uint8Array(16), pubkey],
    [wrapped, other, "a.example", id, "00".repeat(32)],
    [Uint8Array.of(2, ...wrapped.subarray(1)), other, "a.example", id, pubkey],
    [wrapped.subarray(0, 72), other, "a.example", id, pubkey],
  ];
  for (const [index, given] of wrong.entries()) assert.throws(() => keys.unwrapKey(...given), undefined, String(index));
  for (const { secret, prf, rp_id, credential_id, wrapped } of vectors.wrapped) {
    const main = keys.publicKey(hexToBytes(secret));
    const opened = keys.unwrapKey(hexToBytes(wrapped), hexToBytes(prf), rp_id, hexToBytes(credential_id), main);
    assert.equal(bytesToHex(opened), secret);
  }
});

test("events and addresses are those of another implementation", () => {
  const secret = keys.derivedKey(prf, "a.example");
  const template = { kind: 27235, created_at: 1_800_000_000, tags: [["u", 'https://a.example/"\\\n']], content: "" };
  assert.ok(verifyEvent(keys.signEvent(template, secret)));
  assert.equal(keys.nsec(secret), nip19.nsecEncode(secret));
  assert.equal(keys.npub(keys.publicKey(secret)), nip19.npubEncode(keys.publicKey(secret)));
});

test("recovery files are those of another implementation (NIP-49), both ways", async () => {
  const secret = keys.derivedKey(prf, "a.example");
  const passphrase = "ÅΩẛ̣";
  const made = await keys.encryptKey(secret, passphrase);
  assert.deepEqual(nip49.decrypt(made, passphrase), secret);
  const theirs = nip49.encrypt(secret, passphrase, 16, 1);
  assert.deepEqual(await keys.decryptKey(`my key:\r\n${theirs}\r\n`, passphrase), secret);
  await assert.rejects(keys.decryptKey(made, "another"));
  for (const text of ["", "ncryptsec1", keys.nsec(secret), made.slice(0, -1)]) {
    await assert.rejects(keys.decryptKey(text, passphrase));
  }
  // NIP-49's own example.
  const example =
    "ncryptsec1qgg9947rlpvqu76pj5ecreduf9jxhselq2nae2kghhvd5g7dgjtcxfqtd67p9m0w57lspw8gsq6yphnm8623nsl8xn9j4jdzz84zm3frztj3z7s35vpzmqf6ksu8r89qk5z2zxfmu5gv8th8wclt0h4p";
  const opened = await keys.decryptKey(example, "nostr");
  assert.equal(bytesToHex(opened), "3501454135014541350145413501453fefb02227e449e57cf4d3a3ce05378683");
});
