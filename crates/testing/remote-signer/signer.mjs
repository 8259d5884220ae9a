// A remote signer (NIP-46) for the tests of logins (crates/testing/src/remote_signer.rs): the backend of NDK, a library that
// has nothing in common with the service. Arguments: its relays. It prints its key, then each request that it receives and
// each that its user must confirm, one JSON object a line. It reads commands, one JSON object a line:
//
//     {"open": "nostrconnect://…"}   its user opens this address
//     {"refuse": "sign_event"}       from now on it refuses this method
//     {"confirm": "https://…"}       from now on its user must confirm each signature on this page first
//     {"confirmed": true}            the user confirms
import { webcrypto } from "node:crypto";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

// scripts/test installs the packages elsewhere.
const require = createRequire(`${process.env.USHER_TEST_REMOTE_SIGNER}/package.json`);
globalThis.WebSocket = require("ws");
// Node.js 18, which is Debian's, has it under another name.
globalThis.crypto ??= webcrypto;
const ndkModule = require.resolve("@nostr-dev-kit/ndk").replace(/index\.js$/, "index.mjs");
const { default: NDK, NDKEvent, NDKNip46Backend, NDKPrivateKeySigner, NDKRelayAuthPolicies } = await import(pathToFileURL(ndkModule).href);

const relays = process.argv.slice(2);
const ndk = new NDK({ explicitRelayUrls: relays, enableOutboxModel: false });
const signer = NDKPrivateKeySigner.generate();
ndk.relayAuthDefaultPolicy = NDKRelayAuthPolicies.signIn({ ndk, signer });
const refused = new Set();
let heard = () => {};
const ready = new Promise((resolve) => (heard = resolve));
let page;
let confirmed = () => {};

const permit = async ({ id, method }) => {
  if (method === "ping") heard();
  console.log(JSON.stringify({ id, method }));
  return !refused.has(method);
};
const backend = new NDKNip46Backend(ndk, signer, permit, relays);
backend.applyToken = async () => {};
const sign = backend.handlers.sign_event;
backend.setStrategy("sign_event", {
  async handle(to, id, client, params) {
    if (page) {
      const confirmation = new Promise((resolve) => (confirmed = resolve));
      await backend.rpc.sendResponse(id, client, "auth_url", undefined, page);
      console.log(JSON.stringify({ confirming: id }));
      await confirmation;
    }
    return sign.handle(to, id, client, params);
  },
});
await ndk.connect(5_000);
await backend.start();
// It does not say when its relays deliver to it, so somebody asks until it hears that.
const user = await signer.user();
const somebody = NDKPrivateKeySigner.generate();
const ask = async () => {
  const content = await somebody.encrypt(user, JSON.stringify({ id: "0", method: "ping", params: [] }), "nip44");
  const event = new NDKEvent(ndk, { kind: 24133, content, tags: [["p", user.pubkey]] });
  await event.sign(somebody);
  await event.publish().catch(() => {});
};
const asking = setInterval(ask, 200);
await ready;
clearInterval(asking);
console.log(JSON.stringify({ key: user.pubkey }));

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const command = JSON.parse(line);
  if (command.open) {
    const url = new URL(command.open);
    backend.rpc.sendResponse("opened", url.hostname || url.pathname.slice(2), url.searchParams.get("secret"));
  }
  if (command.refuse) refused.add(command.refuse);
  if (command.confirm) page = command.confirm;
  if (command.confirmed) confirmed();
  console.log(JSON.stringify({ done: line }));
});
// Ends with the test.
lines.on("close", () => process.exit());
