// A site with a login by Nostr key, and an article that costs 10 sats. `npm install`, set USHER_TOKEN, `node app.mjs`.
// `usher dev` leads users back here; for a service of your own, set pages.return_urls = ["http://127.0.0.1:8080/"]
import { randomUUID } from "node:crypto";
import express from "express";
import { expressWebhookHandler, sats, Usher } from "usher-client";

// The token can do everything in your name: it stays on the server, and no browser ever gets it.
const usher = new Usher({ url: process.env.USHER_URL ?? "http://127.0.0.1:3000", token: process.env.USHER_TOKEN });
const PORT = process.env.PORT ?? 8080;
const ARTICLE = { amount: sats(10), description: "Article: How to bake bread" };

// A real app keeps these in its database.
const sessions = new Map(); // session cookie → main_key, the user's id
const payments = new Map(); // main_key → the payment that is under way
const readers = new Set(); // main_keys that have paid

const app = express();
const cookie = (request, name) => new RegExp(`(?:^|; )${name}=([^;]*)`).exec(request.headers.cookie ?? "")?.[1];
const options = { httpOnly: true, sameSite: "lax", secure: process.env.NODE_ENV === "production" };
const user = (request) => sessions.get(cookie(request, "session"));

/** Delivers on `paid`, however it is reported: by the events of the payment, or by webhook. */
function deliver({ data }) {
  const [what, main_key] = data.request_id?.split(":") ?? [];
  if (data.status === "paid" && what === "article") readers.add(main_key);
}

// With `webhook.url` and `webhook.secret` set, Usher reports payments here, also those that end while this app is down.
const secret = process.env.USHER_WEBHOOK_SECRET;
if (secret) app.post("/usher-events", expressWebhookHandler(secret, deliver));

// Cookies do not tell our page from others'. Pages of other sites cannot send this header.
app.use((request, response, next) => {
  if (request.method === "GET" || request.headers["x-requested-by"] === "app") next();
  else response.sendStatus(403);
});
app.use(express.static("public"));
app.get("/me", async (request, response) => {
  await look(user(request));
  response.json({ main_key: user(request) ?? null, has_paid: readers.has(user(request)) });
});

// 1. The browser asks for a login, and goes to its page. A real app limits how often each address may ask.
app.post("/login", async (request, response) => {
  const login = await usher.login({ return_url: `http://127.0.0.1:${PORT}/login/done` });
  response.cookie("login", login.streamId, options); // Only the browser that asked for this login is logged in by it.
  response.json({ page_url: login.pageUrl });
});

// 2. The page leads it back here, with a code if the user has approved.
app.get("/login/done", async (request, response) => {
  const { stream_id, code } = request.query;
  if (!code || !stream_id || stream_id !== cookie(request, "login")) return response.redirect("/");
  const { main_key } = await usher.redeemLogin(stream_id, code, { idempotencyKey: stream_id });
  const session = randomUUID(); // The session begins now, with a new id: `main_key` is the user's id.
  sessions.set(session, main_key);
  response.clearCookie("login", options).cookie("session", session, options).redirect("/");
});

/** Looks whether the user's payment was paid. After `timeout`, its page offers a new invoice: it may still be. */
async function look(main_key) {
  const payment = payments.get(main_key);
  if (!payment) return;
  const { events, done, paid_late_until } = await usher.readEvents(payment.streamId);
  events.forEach(deliver);
  const isOpen = !done || (events.at(-1).data.status === "timeout" && paid_late_until > Date.now() / 1000);
  if (!isOpen) payments.delete(main_key);
}

// 3. The user buys the article. On the payment page any Lightning wallet can pay; the user's own one is asked as well.
app.post("/buy", async (request, response) => {
  const main_key = user(request);
  if (!main_key) return response.sendStatus(401);
  await look(main_key);
  if (readers.has(main_key)) return response.json({ page_url: "/article" });
  if (!payments.has(main_key)) {
    const asked = { main_key, request_id: `article:${main_key}`, return_url: `http://127.0.0.1:${PORT}/`, ...ARTICLE };
    payments.set(main_key, await usher.requestPayment(asked));
  }
  response.json({ page_url: payments.get(main_key).pageUrl });
});

app.get("/article", async (request, response) => {
  const main_key = user(request);
  if (!main_key) return response.status(401).send("Log in first.");
  await look(main_key);
  if (!readers.has(main_key)) return response.status(402).send("This article costs 10 sats.");
  response.send("Flour, water, salt, time.");
});

const server = app.listen(PORT, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}`);
});
