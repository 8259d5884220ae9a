// The package as it is published, installed in a fresh project.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { run } from "./support/service.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
const npm = (args, cwd) =>
  run("npm", args, { cwd, env: { ...process.env, npm_config_offline: "true", npm_config_loglevel: "error" } });
let folder;
let packed;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "usher-client-package-"));
  // The package was built before the tests.
  [packed] = JSON.parse(await npm(["pack", "--json", "--ignore-scripts", "--pack-destination", folder], root));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "fresh", version: "1.0.0", private: true }));
  await npm(["install", "--no-audit", "--no-fund", join(folder, packed.filename)], folder);
});
after(() => rmSync(folder, { recursive: true, force: true }));

test("it is smaller than 60 kB, and has nothing but what it needs", () => {
  assert.ok(packed.size < 60_000, `${packed.size} bytes`);
  for (const { path } of packed.files) assert.match(path, /^(dist\/|package\.json$|README\.md$|LICENSE-)/);
  assert.equal(JSON.parse(read("../package.json")).dependencies, undefined);
});

test("its version is that of the service", () => {
  const version = /^\[workspace\.package\][^[]*?^version = "([^"]+)"/ms.exec(read("../../../Cargo.toml"))[1];
  const minor = (text) => text.split(".", 2).join(".");
  const { version: client } = JSON.parse(read("../package.json"));
  assert.equal(minor(client), minor(version));
  assert.ok(read("../src/version.ts").includes(`CLIENT_VERSION = "${client}"`));
  assert.equal(JSON.parse(read("../package-lock.json")).packages[""].version, client);
});

const script = (load) => `
  ${load}
  const usher = new Usher({ url: "http://127.0.0.1:1", token: "t", retries: 0, checkVersion: false });
  usher.version().catch((error) => {
    if (!(error instanceof UsherError) || error.code !== "NOT_CONNECTED") throw error;
    return signTestEvent({ stream_id: "s", index: 0, type: "StatusUpdate", timestamp: 0, data: { status: "paid" } }, "secret");
  }).then(({ body, headers }) => verifyWebhook(body, headers, "secret")).then((event) => console.log(event.data.status));
`;
const names = "{ Usher, UsherError, signTestEvent, verifyWebhook }";

for (const [name, file, load] of [
  ["an ES module", "main.mjs", `import ${names} from "usher-client";`],
  ["CommonJS", "main.cjs", `const ${names} = require("usher-client");`],
]) {
  test(`it runs as ${name}`, async () => {
    writeFileSync(join(folder, file), script(load));
    assert.equal(await run(process.execPath, [file], { cwd: folder }), "paid\n");
  });
}

test("it compiles in strict TypeScript, for either kind of module, and so do the examples of the documents", async () => {
  const program = `
    import { JwtError, OperationError, Usher, UsherError, verifyWebhook } from "usher-client";
    import type { PaymentResult, UsherEvent } from "usher-client";
    export async function main(): Promise<string> {
      const usher = new Usher({ url: "http://127.0.0.1:3000", token: () => "t" });
      const login = await usher.login();
      const approved = await login.result({ timeout: 1000, signal: new AbortController().signal });
      // @ts-expect-error: only who has approved has a proven key
      approved.data.main_key;
      const anywhere = await usher.operation("s").result();
      // @ts-expect-error: only who has approved has a proven key
      if (anywhere.type === "StatusUpdate" && anywhere.data.status === "declined") anywhere.data.main_key;
      if (approved.data.status !== "approved") return approved.data.reason ?? "declined";
      const main_key: string = approved.data.main_key;
      const payment = await usher.requestPayment({ main_key, amount: 1000, description: "Tea" }, { idempotencyKey: "order-1" });
      for await (const event of payment) {
        if (event.data.status === "paid") console.log(event.data.preimage);
      }
      const result: PaymentResult = await payment.result();
      // @ts-expect-error: a result is never this
      if (result.data.status === "timeout") return "";
      // @ts-expect-error: an amount is required
      await usher.requestPayment({ main_key, description: "Tea" });
      const event: UsherEvent = await verifyWebhook("", {}, "secret");
      if (event.type === "SubscriptionClosed") return event.data.subscription_id;
      const resumed = await usher.resume("payment", "s").result();
      if (resumed.data.status === "paid") return resumed.data.preimage ?? "";
      // @ts-expect-error: a payment has no such result
      if (resumed.data.status === "approved") return "";
      // @ts-expect-error: an undefined amount is no amount
      await usher.requestPayment({ main_key, amount: undefined, description: "Tea", currency: undefined });
      for (const event of (await usher.readEvents("s")).events) {
        if (event.type === "KeyHandshake") return event.data.main_key;
        if (event.type === "InvoiceResponse") return event.data.invoice;
      }
      for await (const event of usher.operation("s")) {
        if (event.type === "CashuResponse" && event.data.status === "success") return event.data.mint_url ?? "";
      }
      const timedOut = (error: unknown) => error instanceof UsherError && error.code === "RESULT_TIMEOUT";
      const expired = (error: unknown) => error instanceof JwtError && error.reason === "jwt_expired";
      if (timedOut(expired)) return "";
      const profile = await usher.profile(main_key);
      // @ts-expect-error: there may be none
      profile.name;
      for await (const subscription of usher.subscriptions({ state: "active" })) console.log(subscription.subscription_id);
      const closed = (error: unknown) => error instanceof OperationError && error.status === "closed";
      return String(closed);
    }
  `;
  mkdirSync(join(folder, "ts"), { recursive: true });
  for (const name of ["program.mts", "program.cts"]) writeFileSync(join(folder, "ts", name), program);
  // So do the examples of the documents, with what they take for granted.
  const given = `
    declare global {
      const process: { env: Record<string, string> };
      const main_key: string, secret: string, rawBody: Uint8Array, headers: Headers;
      const session: { login?: string }, stream_id: string, code: string;
      function redirect(url: string): void;
      const app: { post(path: string, handler: unknown): void };
      function showQrCode(url: string): void;
      function startSession(user: string): void;
      function deliver(): void;
      function handle(event: UsherEvent): void;
    }
  `;
  const examples = ["../../../README.md", "../README.md", "../../../docs/clients.md"].flatMap((path) =>
    [...read(path).matchAll(/^```js\n(.*?)^```$/gms)].map(([, text]) => text),
  );
  assert.ok(examples.length >= 5);
  const imports =
    "import { sats, Usher, expressWebhookHandler, fetchWebhookHandler, verifyWebhook } from 'usher-client';";
  const usher = "declare const usher: Usher;";
  writeFileSync(join(folder, "ts", "given.mts"), `import type { UsherEvent } from "usher-client";${given}`);
  const documents = examples.map((text, number) => {
    const whole = text.includes("import {") ? text : `${imports}\n${usher}\n${text}`;
    writeFileSync(join(folder, "ts", `example-${number}.mts`), whole);
    return `example-${number}.mts`;
  });
  const options = {
    strict: true,
    noEmit: true,
    target: "ES2022",
    lib: ["ES2022", "DOM", "DOM.AsyncIterable"],
    types: [],
    exactOptionalPropertyTypes: true,
  };
  const compilerOptions = { ...options, module: "NodeNext", moduleResolution: "NodeNext" };
  writeFileSync(
    join(folder, "ts", "tsconfig.json"),
    JSON.stringify({ compilerOptions, files: ["program.mts", "program.cts", "given.mts", ...documents] }),
  );
  await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "--project", "ts"], { cwd: folder });
});

test("publint and arethetypeswrong find nothing wrong", async () => {
  const { publint } = await import("publint");
  const { messages } = await publint({ pkgDir: root, strict: true, pack: false });
  assert.deepEqual(messages, []);
  const { checkPackage, Package } = await import("@arethetypeswrong/core");
  const installed = join(folder, "node_modules/usher-client");
  const files = Object.fromEntries(
    packed.files.map(({ path }) => [`/node_modules/usher-client/${path}`, readFileSync(join(installed, path), "utf8")]),
  );
  const { problems } = await checkPackage(new Package(files, packed.name, packed.version));
  assert.deepEqual(problems, []);
});
