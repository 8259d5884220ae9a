// A real service with everything embedded (`usher dev`), and its user's wallet (`usher wallet`).
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const BINARY = process.env.USHER_BINARY ?? fileURLToPath(new URL("../../../../target/debug/usher", import.meta.url));

/** Milliseconds that a test waits for anything: a busy machine is slow. */
export const TIMEOUT = 60_000;

/** Runs a program to its end; returns what it printed. */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
    let [output, errors] = ["", ""];
    child.stdout.on("data", (data) => (output += data));
    child.stderr.on("data", (data) => (errors += data));
    const timer = setTimeout(() => child.kill("SIGKILL"), 3 * TIMEOUT);
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(timer);
      if (code === 0) resolve(output);
      else reject(new Error(`${command} ${args.join(" ")} ended with ${code}:\n${output}${errors}`));
    });
  });
}

/** Waits until `condition` returns something. */
export async function until(condition, what) {
  const end = Date.now() + TIMEOUT;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/**
 * A port that nobody listens on. It is below the range of outgoing connections, since one of that range may be gone while
 * the service starts again, and below the ports that the Rust tests and `usher dev` reserve (crates/loopback-port).
 */
export async function freePort() {
  for (let attempt = 1; ; attempt++) {
    const server = createServer();
    try {
      await new Promise((resolve, reject) => {
        server.once("error", reject).listen(10_000 + Math.floor(Math.random() * 10_000), "127.0.0.1", resolve);
      });
    } catch (taken) {
      if (attempt === 100) throw taken;
      continue;
    }
    const { port } = server.address();
    await new Promise((resolve) => server.close(resolve));
    return String(port);
  }
}

export class Service {
  token = randomBytes(32).toString("hex");
  folder = mkdtempSync(join(tmpdir(), "usher-client-"));
  #ports;

  /** Starts one; `config` is added to its configuration. */
  static async start(config = "") {
    const service = new Service();
    service.#ports = ["--port", await freePort(), "--relay-port", await freePort()];
    const required = `[auth]\nauth_token = "${service.token}"\n\n[nostr]\nprivate_key = "${randomBytes(32).toString("hex")}"\n`;
    mkdirSync(service.folder, { recursive: true });
    writeFileSync(join(service.folder, "config.toml"), `${required}\n${config}\n`, { mode: 0o600 });
    await service.begin();
    return service;
  }

  /** Starts it, or starts it again, at the same address. */
  async begin() {
    const args = ["dev", "--data-dir", this.folder, ...this.#ports];
    // A group of its own: its mint is a process, too.
    this.child = spawn(BINARY, args, { stdio: ["pipe", "pipe", "pipe"], detached: true });
    this.output = "";
    this.ended = new Promise((resolve) => this.child.once("close", resolve));
    for (const stream of [this.child.stdout, this.child.stderr]) stream.on("data", (data) => (this.output += data));
    const failed = this.ended.then((code) =>
      Promise.reject(new Error(`usher dev ended with ${code}:\n${this.output}`)),
    );
    failed.catch(() => {});
    await Promise.race([failed, until(() => this.output.includes("Open the start page"), "usher dev")]);
    this.url = /base URL\s+(\S+)/.exec(this.output)[1];
  }

  /** Kills it at once, like a crash. */
  async kill() {
    process.kill(-this.child.pid, "SIGKILL");
    await this.ended;
  }

  async stop() {
    if (this.child.exitCode === null && this.child.signalCode === null) await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** A command of the user's wallet. */
  wallet(...args) {
    return run(BINARY, ["wallet", "--wallet", join(this.folder, "wallet.json"), ...args]);
  }

  /** The embedded mint. */
  get mint() {
    const read = (name) => readFileSync(join(this.folder, "mint", name), "utf8").trim();
    return { mint_url: `http://127.0.0.1:${read("port")}`, unit: "multi", static_token: read("auth-token") };
  }
}
