// Takes the pictures of docs/console.md, with Debian's Chromium: the console as it is in dist, and a coffee shop's data.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const now = Math.floor(Date.now() / 1000);
const HOUR = 3600;
/** Milliseconds in which a screen reads its data: so long its page loads. */
const READ = 2000;

/** A stream of that time (UUIDv7); the rest is a number of one's own. */
const stream = (at, number) => {
  const hex = (at * 1000).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${number.toString(16).padStart(12, "0")}`;
};
const hash = (number) => (number + 1).toString(16).padStart(2, "0").repeat(32);
const GOODS = ["Cappuccino and a croissant", "Beans, 1 kg", "Flat white", "Club, one month", "Two tickets for Friday", "Cheesecake", "Tips"];
const payments = Array.from({ length: 40 }, (_, at) => {
  const created_at = now - 240 - at * at * 70;
  const amount_millisats = (1800 + ((at * 7919) % 23000)) * 1000;
  const status = at % 9 === 4 ? "not_paid" : at === 2 ? "open" : "paid";
  const paid = status === "paid" ? { settled_millisats: amount_millisats } : {};
  const common = { stream_id: stream(created_at, at), created_at, changed_at: created_at + 9, amount_millisats, status, payment_hash: hash(at), ...paid };
  if (at % 13 === 6) return { ...common, direction: "out", kind: "refund", description: GOODS[1], fee_millisats: 2100, refund_of: stream(now, 999) };
  return { ...common, direction: "in", kind: ["payment", "link", "payment", "charge"][at % 4], description: GOODS[at % 7], request_id: `order-${4180 - at}` };
});
const events = (id) => {
  const { created_at, amount_millisats } = payments.find(({ stream_id }) => stream_id === id);
  const steps = [{ status: "user_approved" }, { status: "user_failed", reason: "no route found" }, { status: "paid", preimage: hash(77), amount_millisats }];
  return { events: steps.map((data, index) => ({ index, type: "StatusUpdate", timestamp: created_at + 2 + index * 3, data })), next: 3, done: true };
};
/** Payments and logins of an hour: a shop that is open from eight to seven. */
const sums = (from, day) => {
  const hour = new Date(from * 1000).getHours();
  const open = Math.max(0, Math.sin(((hour - 7) / 12) * Math.PI));
  const paid = from > now ? 0 : Math.round(open * (16 + ((hour * 7 + day * 5) % 9)));
  return { from, to: from + HOUR, paid, paid_millisats: paid * 4_300_000, refunded_millisats: 0, sent_millisats: paid * 40_000, unpaid: Math.round(paid / 9), logins: paid * 2 + (day % 3), logins_failed: Math.round(paid / 8) };
};
const channel = (id, outbound, inbound, usable) => ({ channel_id: hash(id), capacity: 5e9, outbound, inbound, usable, ready: usable, funding: null, opened_by_service: false, peer: `03${hash(id + 20)}`, peer_address: null });
const node = {
  node_id: `02${hash(40)}`, height: 924_123, synced_at: now - 20, inbound: 3.7e9, skimmed_fees: 12e6,
  channels: { capacity: 15e9, usable: 2, unusable: 1 }, closures: { after_kill: 0, cooperative: 1, forced: 0 },
  on_chain: { reserved: 25e6, spendable: 812e6, total: 837e6 }, pending: { closing: 0, payments: 0, sending: 0 }, warnings: [],
};
const answers = {
  "/session": () => ({ name: "Anna", key: hash(3), role: "admin", scopes: ["admin"], approver: true, service: "Corner Coffee", currency: "EUR", test_mode: false, version: "0.1.0", expires_at: now + HOUR, step_up_until: null, sessions: [] }),
  "/api/rates/EUR": () => ({ currency: "EUR", value: "85123.40", at: now, source: "median" }),
  "/api/payments": (query) => ({ payments: payments.filter(({ created_at, status }) => created_at >= query.get("from") && created_at < query.get("to") && (query.get("status") ?? status) === status).reverse(), next: null }),
  "/api/summary": (query) => ({ summary: Array.from({ length: 24 }, (_, hour) => sums(Number(query.get("from")) + hour * HOUR, Math.floor(query.get("from") / 86_400))) }),
  "/api/logins": (query) => ({ logins: query.get("status") === "declined" ? [{ reason: null }, { reason: null }] : [], next: null }),
  "/api/wallet/info": () => ({ backend: "embedded", alias: null, balance: 4_812_345_000, network: "bitcoin", notifications: true, node }),
  "/api/wallet/channels": () => ({ channels: [channel(1, 1.2e9, 3.7e9, true), channel(2, 3.4e9, 1.5e9, true), channel(3, 0.2e9, 4.7e9, false)] }),
  "/api/health/ready": () => ({ ready: true, instance: "active", rates: { ready: true, currencies: [{ currency: "EUR", problem: null, sources: [] }] }, relays: { ready: true, connected: 3, total: 3 }, store: { ready: true, damaged: [], damaged_rows: 0 }, tickets: { ready: true, mints: [] }, wallet: { ready: true, backend: "embedded", warnings: [] } }),
  "/api/webhooks/deliveries": () => ({ deliveries: [], next: null }),
  "/api/approvals": () => ({ approvals: [{ stream_id: stream(now, 5) }], next: null }),
  "/api/verification/sessions": () => ({ sessions: [{ session_id: "1" }, { session_id: "2" }], next: null }),
};
const PAGE = `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/console/assets/app.css"><script type="module" src="/console/assets/app.js"></script><div id="console"></div><img src="/slow" alt="" hidden>`;

function respond({ url }, response) {
  const { pathname, searchParams } = new URL(url, "http://localhost");
  const path = pathname.replace(/^\/console/, "");
  const send = (type, body) => response.writeHead(200, { "content-type": type }).end(body);
  if (path === "/slow") return setTimeout(() => send("image/png", ""), READ);
  if (path === "/api/events") return response.writeHead(200, { "content-type": "text/event-stream" }).write(":\n\n");
  if (path.startsWith("/assets/")) return send(path.endsWith(".js") ? "text/javascript" : "text/css", readFileSync(here(`dist/${path.slice(8)}`)));
  const stream = path.match(/^\/api\/events\/(.*)$/)?.[1];
  const answer = stream ? events(stream) : answers[path]?.(searchParams);
  return answer ? send("application/json", JSON.stringify(answer)) : send("text/html; charset=utf-8", PAGE);
}

const DARK = ["--blink-settings=preferredColorScheme=0"];
const PICTURES = [
  ["console-today", "", "1280,900"],
  ["console-payment-dark", `/payments/${payments[0].stream_id}`, "1000,560", DARK],
  ["console-payments-phone", "/payments", "500,900"],
  ["console-wallet", "/wallet", "1280,900"],
];
if (isMainThread) {
  // Chromium is waited for, so the server has a thread of its own.
  const worker = new Worker(new URL(import.meta.url), { workerData: "server" });
  const port = await new Promise((resolve) => worker.once("message", resolve));
  for (const [name, path, size, more = []] of PICTURES) {
    const picture = here(`../docs/images/${name}.png`);
    const options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--disable-gpu", `--window-size=${size}`, "--timeout=20000", `--screenshot=${picture}`, ...more];
    const { status } = spawnSync("chromium", [...options, `http://127.0.0.1:${port}/console${path}`], { stdio: "ignore" });
    if (status !== 0) throw new Error(`chromium ended with ${status}`);
  }
  await worker.terminate();
} else if (workerData === "server") {
  const server = createServer(respond).listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
}
