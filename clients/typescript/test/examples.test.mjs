// The example apps, with the package as it is published, a real service, and the real wallet of a user.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { request } from "node:http";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Usher } from "../dist/esm/index.js";
import { freePort, TIMEOUT, run, Service, until } from "./support/service.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const examples = fileURLToPath(new URL("../../../examples", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "usher-examples-"));
const running = [];
let service;
let appPort;

before(async () => {
  // What `npm install` would do, but with this package, and without a registry.
  const [{ filename }] = JSON.parse(
    await run("npm", ["pack", "--json", "--ignore-scripts", "--loglevel=error", "--pack-destination", folder], {
      cwd: root,
    }),
  );
  const installed = join(folder, "node_modules", "usher-client");
  mkdirSync(installed, { recursive: true });
  await run("tar", ["-xzf", join(folder, filename), "-C", installed, "--strip-components=1"]);
  symlinkSync(join(root, "node_modules", "express"), join(folder, "node_modules", "express"));
  appPort = await freePort();
  service = await Service.start(`[pages]\nreturn_urls = ["http://127.0.0.1:${appPort}/"]\n`);
});

after(async () => {
  for (const { child } of running) child.kill("SIGKILL");
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts an example; `url` is where it listens. */
async function start(name, program, env = {}) {
  // Not what `npm install` has made there: a link to this package.
  const filter = (source) => basename(source) !== "node_modules";
  cpSync(join(examples, name), join(folder, name), { recursive: true, filter });
  const child = spawn(process.execPath, [program], {
    cwd: join(folder, name),
    env: { PATH: process.env.PATH, USHER_URL: service.url, USHER_TOKEN: service.token, PORT: "0", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const app = { child, output: "" };
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (app.output += data));
  running.push(app);
  app.url = await until(
    () => /^(http:\S+)$/m.exec(app.output)?.[1] ?? (child.exitCode !== null && assert.fail(app.output)),
    name,
  );
  return app;
}

for (const [name, program] of [
  ["express-login", "app.mjs"],
  ["ticket-gate", "gate.mjs"],
]) {
  test(`${name} is shorter than 100 lines, and fits this version`, () => {
    assert.ok(readFileSync(join(examples, name, program), "utf8").split("\n").length <= 100);
    const { dependencies } = JSON.parse(readFileSync(join(examples, name, "package.json"), "utf8"));
    assert.equal(dependencies["usher-client"], "file:../../clients/typescript");
  });
}

/** The `Set-Cookie` headers of a response; `getSetCookie` is not in the Node.js 18 of Debian. */
const setCookies = (response) => (response.headers.get("set-cookie") ?? "").split(/, (?=[^;,=]+=)/).filter(Boolean);

/** A browser of express-login; it goes through the login page without JavaScript. */
class Browser {
  jar = new Map();

  async visit(address, method = "GET", headers = {}) {
    const cookies = [...this.jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(address, { method, headers: { ...headers, cookie: cookies }, redirect: "manual" });
    for (const set of setCookies(response)) {
      assert.match(set, /HttpOnly/);
      const [name, value] = set.split(";")[0].split("=");
      this.jar.set(name, value);
    }
    const text = await response.text();
    assert.ok(!text.includes(service.token), "the token reached a browser");
    return { status: response.status, text };
  }

  /** Begins a login, and has the user's wallet say this to it; returns the address to which the page leads. */
  async logIn(url, answer) {
    const { page_url } = JSON.parse((await this.visit(`${url}/login`, "POST", OURS)).text);
    const page = async () => (await this.visit(page_url, "GET", { "sec-fetch-dest": "document" })).text;
    await service.wallet("open", unescape(/href="(nostr[^"]*)"/.exec(await page())[1]));
    await service.wallet(answer);
    return unescape(await until(async () => /content="0;url=([^"]*)"/.exec(await page())?.[1], "the way back"));
  }
}

let site;
const expressLogin = () => (site ??= start("express-login", "app.mjs", { PORT: appPort }));
const OURS = { "x-requested-by": "app" };
const unescape = (text) => text.replaceAll("&#38;", "&");

test("express-login: a login, and an article that is paid for", async () => {
  const { url } = await expressLogin();
  const user = new Browser();
  assert.equal((await user.visit(`${url}/article`)).status, 401);
  assert.equal((await user.visit(`${url}/login`, "POST")).status, 403);
  const back = await user.logIn(url, "approve");
  assert.match(back, /code=/);
  const other = new Browser();
  await other.visit(back);
  assert.equal(other.jar.has("session"), false, "another browser is not logged in");
  assert.equal(user.jar.has("session"), false, "no session before the code is redeemed");
  assert.equal((await user.visit(back)).status, 302);
  assert.ok(user.jar.has("session"));
  assert.equal((await user.visit(`${url}/article`)).status, 402);
  const buy = async () => JSON.parse((await user.visit(`${url}/buy`, "POST", OURS)).text).page_url;
  const page = await buy();
  assert.match(page, /\/pay\//);
  assert.equal(await buy(), page, "the same payment, as long as it is open");
  await service.wallet("approve");
  const read = async () => (await user.visit(`${url}/article`)).text;
  await until(async () => (await read()).includes("Flour"), "the article");
  assert.equal(await buy(), "/article");
});

test("express-login: who declines has no session", async () => {
  const { url } = await expressLogin();
  const user = new Browser();
  const back = await user.logIn(url, "decline");
  assert.doesNotMatch(back, /code=/);
  assert.equal((await user.visit(back)).status, 302);
  assert.equal(user.jar.has("session"), false);
});

test("ticket-gate: tickets are minted, sent, scanned and burned once", async () => {
  const { mint_url, unit, static_token } = service.mint;
  const env = { MINT_URL: mint_url, MINT_TOKEN: static_token, UNIT: unit };
  const gate = await start("ticket-gate", "gate.mjs", env);
  const usher = new Usher({ url: service.url, token: service.token, checkVersion: false });
  const post = async (path, body) => {
    const response = await fetch(gate.url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return [response.status, await response.json()];
  };
  const code = /the gate's code: (\S+)/.exec(gate.output)[1];
  // Without a ticket the gate stays closed; and this is how the wallet learns of the service.
  await service.wallet("open", code);
  await service.wallet("approve");
  await until(() => /no ticket from ([0-9a-f]{64}): insufficient_funds/.test(gate.output), "the refusal");
  const user = /no ticket from ([0-9a-f]{64})/.exec(gate.output)[1];
  assert.equal((await post("/sell", { main_key: user }))[0], 500, "a sale without an order");
  const elsewhere = await new Promise((resolve, reject) => {
    const headers = { host: "evil.example", "content-type": "application/json" };
    request(`${gate.url}/sell`, { method: "POST", headers }, resolve).on("error", reject).end("{}");
  });
  assert.equal(elsewhere.resume().statusCode, 404, "a page of another site, by a name of its own");
  const [status, sold] = await post("/sell", { order: 1, main_key: user });
  assert.equal(status, 200);
  assert.deepEqual(
    (await post("/sell", { order: 1, main_key: user }))[1].stream_id,
    sold.stream_id,
    "one ticket for one order",
  );
  const arrived = usher.operation(sold.stream_id).result({ timeout: TIMEOUT });
  // The wallet of `usher dev` takes the tickets of services that it knows.
  assert.equal((await arrived).data.status, "success");
  // The gate counts a second scan within a minute as the first one: the user shows the ticket as text.
  const token = (await service.wallet("give", "1")).match(/cashu[A-Za-z0-9_=-]+/)[0];
  assert.deepEqual(await post("/scan", { token }), [200, { amount: 1 }]);
  assert.deepEqual(await post("/scan", { token }), [409, { error: "token_already_spent" }]);
  assert.match(gate.output, /open for 1 person/);
  // After a restart the gate does not ask for the scans of before.
  gate.child.kill("SIGKILL");
  const again = await start("ticket-gate", "gate.mjs", env);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  assert.ok(!again.output.includes("no ticket"), again.output);
  usher.close();
});
