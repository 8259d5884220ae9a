// What CI runs: the package builds, and all tests. USHER_BINARY is the program of the service.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

function run(...args) {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

const formatted = ["src", "scripts", "test", "../../examples/express-login", "../../examples/ticket-gate"];
const prettier = ["node_modules/prettier/bin/prettier.cjs", "--config", ".prettierrc.json", "--log-level", "warn"];
const tests = readdirSync(new URL("../test", import.meta.url)).filter((name) => name.endsWith(".test.mjs"));

run(...prettier, "--check", ...formatted);
run("scripts/build.mjs");
// They wait for services more than they compute.
run("--test", `--test-concurrency=${tests.length}`, "--test-reporter=spec", ...tests.map((name) => `test/${name}`));
