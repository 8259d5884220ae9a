// A site with a login by Nostr key, and an article that costs 10 sats. `npm install`, set USHER_TOKEN, `node app.mjs`.
import { randomUUID } from "node:crypto";
import express from "express";
import { expressWebhookHandler, Usher } from "usher-client";

// The token can do everything in your name: it stays on the server, and no browser ever gets it.
const usher = new Usher({ url: process.env.USHER_URL ?? "http://127.0.0.1:3000", token: process.env.USHER_TOKEN });
const ARTICLE = { amount: 10_000, description: "Article: How to bake bread" };

// A real app keeps these in its database.
const sessions = new Map(); // session cookie → main_key, the user's id
const logins = new Map(); // login cookie → the result that this browser waits for
const payments = new Map(); // main_key → the payment that is under way
const readers = new Set(); // main_keys that have paid

const app = express();
const cookie = (request, name) => new RegExp(`(?:^|; )${name}=([^;]*)`).exec(request.headers.cookie ?? "")?.[1];
const setCookie = (response, name, value) => response.cookie(name, value, { httpOnly: true, sameSite: "lax", secure: process.env.NODE_ENV === "production" });
const user = (request) => sessions.get(cookie(request, "session"));
// Cookies alone do not tell our pages from others': forms of other sites cannot set this header.
const ours = (request, response, next) => (request.headers["x-requested-by"] === "app" ? next() : response.sendStatus(403));

/** Delivers on `paid`, however it is reported: by the payment that was awaited, or later by webhook. */
function deliver({ data }) {
  if (data.status === "paid" && data.request_id?.startsWith("article:")) readers.add(data.request_id.slice("article:".length));
}

// With `webhook.url` and `webhook.secret` set, Usher reports payments here, also those that end while this app is down.
if (process.env.USHER_WEBHOOK_SECRET) app.post("/usher-events", expressWebhookHandler(process.env.USHER_WEBHOOK_SECRET, deliver));

app.get("/", (request, response) => response.send(page(user(request))));

// 1. The browser asks for a login, and shows its URL to the user.
app.post("/login", ours, async (request, response) => {
  const login = await usher.login();
  const id = randomUUID();
  logins.set(id, login.result().catch((error) => ({ data: { status: "failed", reason: error.message } })));
  setTimeout(() => logins.delete(id), 20 * 60_000).unref();
  setCookie(response, "login", id); // Only the browser that asked for this login is logged in by it.
  response.json({ url: login.url });
});

// 2. It waits until the user has approved in their wallet.
app.get("/login/result", async (request, response) => {
  const id = cookie(request, "login");
  if (!logins.has(id)) return response.sendStatus(404);
  const { data } = await logins.get(id);
  if (data.status === "approved" && logins.delete(id)) {
    const session = randomUUID(); // The session begins after `approved`, with a new id: `main_key` is the user's id.
    sessions.set(session, data.main_key);
    setCookie(response, "session", session);
  }
  response.json({ status: data.status });
});

// 3. The user buys the article: their wallet asks them.
app.post("/buy", ours, async (request, response) => {
  const main_key = user(request);
  if (!main_key) return response.sendStatus(401);
  if (!payments.has(main_key) && !readers.has(main_key)) {
    const payment = usher.requestPayment({ main_key, request_id: `article:${main_key}`, ...ARTICLE });
    const result = payment.then((started) => started.result()).then((event) => (deliver(event), event.data.status));
    payments.set(main_key, result.catch((error) => error.message).finally(() => payments.delete(main_key)));
  }
  response.json({ status: readers.has(main_key) ? "paid" : await payments.get(main_key) });
});

app.get("/article", (request, response) => {
  const main_key = user(request);
  if (!main_key) return response.status(401).send("Log in first.");
  if (!readers.has(main_key)) return response.status(402).send("This article costs 10 sats.");
  response.send("Flour, water, salt, time.");
});

const page = (main_key) => `<!doctype html><meta charset="utf-8"><title>Bread</title>
${main_key ? `<p>Hello ${main_key.slice(0, 8)}</p><button data-post="/buy">Buy the article</button> <a href="/article">Read it</a>` : '<button data-post="/login">Log in</button>'}
<p id="out"></p><script>
const out = document.getElementById("out");
document.querySelector("button").onclick = async ({ target }) => {
  const { url, status } = await (await fetch(target.dataset.post, { method: "POST", headers: { "x-requested-by": "app" } })).json();
  if (!url) return (out.textContent = status);
  const link = Object.assign(document.createElement("a"), { href: url, textContent: url }); // A real app shows a QR code.
  out.replaceChildren("Open this in your wallet: ", link);
  if ((await (await fetch("/login/result")).json()).status === "approved") location.reload();
};</script>`;

const server = app.listen(process.env.PORT ?? 8080, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
