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
const payments = new Map(); // main_key → the status of the payment that is under way
const readers = new Set(); // main_keys that have paid

const app = express();
const cookie = (request, name) => new RegExp(`(?:^|; )${name}=([^;]*)`).exec(request.headers.cookie ?? "")?.[1];
const options = { httpOnly: true, sameSite: "lax", secure: process.env.NODE_ENV === "production" };
const user = (request) => sessions.get(cookie(request, "session"));

/** Delivers on `paid`, however it is reported: by the payment that was awaited, or later by webhook. */
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
app.get("/me", (request, response) => response.json({ main_key: user(request) ?? null }));

// 1. The browser asks for a login, and shows its URL to the user.
app.post("/login", async (request, response) => {
  // Anybody can ask, without a login: this bounds the memory. A real app also limits how often each address may ask.
  if (logins.size >= 1000) return response.sendStatus(503);
  const login = await usher.login();
  const id = randomUUID();
  const result = login.result().catch(() => ({ data: { status: "failed" } }));
  logins.set(id, result);
  setTimeout(() => logins.delete(id), 20 * 60_000).unref();
  response.cookie("login", id, options); // Only the browser that asked for this login is logged in by it.
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
    response.cookie("session", session, options);
  }
  response.json({ status: data.status });
});

/** Asks the user for the payment, and waits for its end. */
async function buy(main_key) {
  try {
    const payment = await usher.requestPayment({ main_key, request_id: `article:${main_key}`, ...ARTICLE });
    const event = await payment.result();
    deliver(event);
    return event.data.status;
  } catch (error) {
    return error.status ?? "failed"; // `timeout`: the user did not answer.
  } finally {
    payments.delete(main_key);
  }
}

// 3. The user buys the article: their wallet asks them.
app.post("/buy", async (request, response) => {
  const main_key = user(request);
  if (!main_key) return response.sendStatus(401);
  if (readers.has(main_key)) return response.json({ status: "paid" });
  if (!payments.has(main_key)) payments.set(main_key, buy(main_key));
  response.json({ status: await payments.get(main_key) });
});

app.get("/article", (request, response) => {
  const main_key = user(request);
  if (!main_key) return response.status(401).send("Log in first.");
  if (!readers.has(main_key)) return response.status(402).send("This article costs 10 sats.");
  response.send("Flour, water, salt, time.");
});

const server = app.listen(process.env.PORT ?? 8080, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}`);
});
