// What authenticators, browsers and password managers answer: honest, sloppy and hostile.
import "../web-crypto.mjs";
import assert from "node:assert/strict";
import test, { afterEach, beforeEach } from "node:test";
import * as ceremony from "../src/ceremony.js";
import { PRF_INPUT, PRF_SALT } from "../src/keys.js";

const OUTPUT = Uint8Array.from({ length: 32 }, (_, index) => index + 1);
const OTHER = new Uint8Array(32).fill(9);
const ID = new Uint8Array(16).fill(3);
const CREATE = { rp: { id: "login.example" }, user: { id: "AAAA" }, challenge: "AAAAAAAAAAAAAAAAAAAAAA" };
const GET = { rpId: "login.example", challenge: "AAAAAAAAAAAAAAAAAAAAAA" };

const throws = () => {
  throw new Error("not allowed");
};

/// A credential whose PRF gives this, and whose fields are these.
function credential(prf, fields = {}, response = {}) {
  return {
    rawId: ID.buffer,
    authenticatorAttachment: "cross-platform",
    getClientExtensionResults: () => ({ prf }),
    response: {
      clientDataJSON: OTHER.buffer,
      authenticatorData: OTHER.buffer,
      signature: OTHER.buffer,
      userHandle: ID.buffer,
      attestationObject: OTHER.buffer,
      getTransports: () => ["usb"],
      ...response,
    },
    ...fields,
  };
}

const gives = (first) => ({ results: { first } });

let asked;
let forgotten;
const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");

/// An authenticator that makes this passkey, and then answers with these.
function device(made, ...uses) {
  const answer = (value) => (value instanceof Error ? Promise.reject(value) : Promise.resolve(value));
  const credentials = {
    create: () => answer(made),
    get: ({ publicKey }) => {
      asked.push(publicKey);
      return answer(uses.length > 1 ? uses.shift() : uses[0]);
    },
  };
  Object.defineProperty(globalThis, "navigator", { value: { credentials }, configurable: true });
}

async function make(made, ...uses) {
  device(made, ...uses);
  return ceremony.confirm(await ceremony.create(CREATE));
}

beforeEach(() => {
  [asked, forgotten] = [[], []];
  globalThis.PublicKeyCredential = { signalUnknownCredential: async (told) => forgotten.push(told) };
});
afterEach(() => {
  delete globalThis.navigator;
  if (before) Object.defineProperty(globalThis, "navigator", before);
});

const shared = new SharedArrayBuffer(32);
const wrong = [
  "text", "a".repeat(32), "", 32, 0, true, {}, { length: 32 }, { byteLength: 32 }, [...OUTPUT], new Map(), Symbol("32"), () => {},
  new ArrayBuffer(0), new ArrayBuffer(31), new ArrayBuffer(33), new ArrayBuffer(64), new DataView(new ArrayBuffer(0)), new Uint8Array(32),
  new Uint8Array(OUTPUT.buffer, 1), new Uint16Array(32), shared, new Uint8Array(shared), Object.create(ArrayBuffer.prototype),
  new Uint8Array(32).fill(255), PRF_INPUT, PRF_SALT, new Proxy(OUTPUT.buffer, {}), { [Symbol.toStringTag]: "ArrayBuffer", byteLength: 32 },
];

test("a key is made of exactly 32 bytes of an ArrayBuffer", async () => {
  const longer = new Uint8Array([...OTHER, ...OUTPUT, ...OTHER]);
  const views = [OUTPUT.slice().buffer, OUTPUT, new DataView(OUTPUT.buffer), new Uint32Array(OUTPUT.slice().buffer), longer.subarray(32, 64)];
  for (const [index, first] of [...views, new DataView(longer.buffer, 32, 32)].entries()) {
    device(null, credential(gives(first)));
    assert.deepEqual((await ceremony.get(GET)).prf, OUTPUT, String(index));
  }
  for (const [index, first] of wrong.entries()) {
    device(credential(gives(first)), credential(gives(first)));
    await assert.rejects(ceremony.get(GET), ceremony.NoPrf, String(index));
    await assert.rejects(ceremony.create(CREATE), ceremony.NoPrf, String(index));
    await assert.rejects(make(credential({ enabled: true }), credential(gives(first))), ceremony.NoPrf, String(index));
  }
  for (const prf of [undefined, null, {}, { results: null }, { results: {} }, "text", 1]) {
    device(credential(prf), credential(prf));
    await assert.rejects(ceremony.get(GET), ceremony.NoPrf, String(prf));
    await assert.rejects(ceremony.create(CREATE), ceremony.NoPrf, String(prf));
  }
  const hostile = [throws, () => null, undefined, () => ({ get prf() { return throws(); } })];
  for (const getClientExtensionResults of hostile) {
    device(credential({}, { getClientExtensionResults }), credential({}, { getClientExtensionResults }));
    await assert.rejects(ceremony.get(GET), ceremony.NoPrf);
    await assert.rejects(ceremony.create(CREATE), ceremony.NoPrf);
  }
});

test("what is sent is bytes of an ArrayBuffer", async () => {
  device(credential(gives(OUTPUT)), credential(gives(OUTPUT)));
  const { answer } = await ceremony.get(GET);
  assert.deepEqual([answer.id, answer.response.userHandle, answer.clientExtensionResults], ["AwMDAwMDAwMDAwMDAwMDAw", answer.id, {}]);
  for (const value of ["text", null, undefined, {}, { length: 16 }, 16, [1, 2], new ArrayBuffer(0)]) {
    for (const field of ["clientDataJSON", "authenticatorData", "signature", "userHandle"]) {
      device(null, credential(gives(OUTPUT), {}, { [field]: value }));
      await assert.rejects(ceremony.get(GET), /not an authenticator's answer/, `${field} ${String(value)}`);
    }
    for (const field of ["clientDataJSON", "attestationObject"]) {
      device(credential(gives(OUTPUT), {}, { [field]: value }));
      await assert.rejects(ceremony.create(CREATE), /not an authenticator's answer/, `${field} ${String(value)}`);
    }
    device(credential(gives(OUTPUT), { rawId: value }), credential(gives(OUTPUT), { rawId: value }));
    await assert.rejects(ceremony.create(CREATE));
    await assert.rejects(ceremony.get(GET));
  }
});

test("a key is used that two evaluations have given", async () => {
  const same = credential(gives(OUTPUT));
  const other = credential(gives(OTHER));
  const later = credential({ enabled: true });
  const platform = (prf) => credential(prf, { authenticatorAttachment: "platform" });
  for (const [made, uses, times] of [
    [same, [same], 1],
    [platform(gives(OUTPUT)), [same], 1],
    [later, [same, same], 2],
    [platform({ enabled: true }), [same, other], 1],
  ]) {
    asked = [];
    assert.deepEqual(await make(made, ...uses), OUTPUT);
    assert.equal(asked.length, times);
    assert.deepEqual([...asked[0].allowCredentials[0].id], [...ID]);
  }
  for (const [made, uses] of [[same, [other]], [platform(gives(OUTPUT)), [other]], [later, [same, other]]]) {
    await assert.rejects(make(made, ...uses), ceremony.Unsteady);
  }
  await assert.rejects(make(same, credential({})), ceremony.NoPrf);
  await assert.rejects(make(same, credential(gives(OUTPUT), { rawId: OTHER.buffer })), ceremony.NoPrf, "another passkey");
});

test("a user who closes a dialog goes on where they were", async () => {
  const closed = Object.assign(new Error(), { name: "NotAllowedError" });
  const same = credential(gives(OUTPUT));
  device(credential({ enabled: true }), same, closed, same);
  const made = await ceremony.create(CREATE);
  await assert.rejects(ceremony.confirm(made), ceremony.Cancelled);
  assert.deepEqual(await ceremony.confirm(made), OUTPUT);
  assert.equal(asked.length, 3);
});

test("hints that are absent or throw are missing hints", async () => {
  const same = credential(gives(OUTPUT));
  for (const getTransports of [throws, undefined, () => null, () => "usb", () => [1], async () => throws()]) {
    asked = [];
    assert.deepEqual(await make(credential(gives(OUTPUT), {}, { getTransports }), same), OUTPUT);
    assert.equal(asked[0].allowCredentials[0].transports, undefined);
  }
  for (const getClientCapabilities of [throws, undefined, () => null, async () => throws(), async () => ({})]) {
    globalThis.PublicKeyCredential = { getClientCapabilities, signalUnknownCredential: getClientCapabilities };
    assert.equal(await ceremony.canLookFirst(), false);
    ceremony.forget("login.example", ID);
  }
  delete globalThis.PublicKeyCredential;
  assert.equal(await ceremony.canLookFirst(), false);
  ceremony.forget("login.example", ID);
  for (const error of [null, undefined, "text", {}]) {
    device(null);
    navigator.credentials.get = () => Promise.reject(error);
    await assert.rejects(ceremony.get(GET), ceremony.Cancelled);
  }
  for (const credentials of [undefined, {}, { get: 1 }]) {
    Object.defineProperty(globalThis, "navigator", { value: { credentials }, configurable: true });
    await assert.rejects(ceremony.get(GET), ceremony.NoPrf);
  }
});

test("a passkey of which no key can be made is forgotten", async () => {
  device(credential(gives("text")));
  await assert.rejects(ceremony.create(CREATE), ceremony.NoPrf);
  assert.deepEqual(forgotten, [{ rpId: "login.example", credentialId: "AwMDAwMDAwMDAwMDAwMDAw" }]);
});
