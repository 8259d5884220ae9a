// Sells tickets and opens a gate for each of them once: mint, send, scan, burn. Run it with `node gate.mjs`, and with
// USHER_TOKEN, MINT_URL, MINT_TOKEN (what your mint wants from whoever mints) and UNIT set.
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { Usher } from "usher-client";

// The token can do everything in your name: it stays on this machine.
const usher = new Usher({ url: process.env.USHER_URL ?? "http://127.0.0.1:3000", token: process.env.USHER_TOKEN });
const ticket = { mint_url: process.env.MINT_URL, unit: process.env.UNIT ?? "multi" };
const POSITION = process.env.POSITION_FILE ?? "gate-position";

function open(who) {
  console.log(`open for ${who}`); // Here the gate opens.
}

/** Sells one ticket. `order` is its number: however often a sale is repeated, there is one ticket. */
async function sell(order, main_key) {
  if (!order || !main_key) throw new TypeError("a sale needs an order and a main_key"); // Else all would share one key.
  const { token } = await usher.mintTicket(
    { ...ticket, amount: 1, static_token: process.env.MINT_TOKEN },
    { idempotencyKey: `mint:${order}` },
  );
  const sent = await usher.sendTicket({ main_key, token }, { idempotencyKey: `send:${order}` });
  return { stream_id: sent.streamId, status: sent.status };
}

/** Redeems a ticket that somebody shows as text. Whoever comes first with a ticket has used it: burn, then open. */
async function burn(token) {
  const { amount } = await usher.burnTicket({ ...ticket, token });
  open(`${amount} person(s)`);
  return { amount };
}

/** Asks a user who has scanned the gate's code for a ticket. `redeem`: it is burned when `success` is reported. */
async function ask({ stream_id, index, data: { main_key } }) {
  const asked = await usher.requestTicket(
    { main_key, ...ticket, amount: 1, redeem: true },
    { idempotencyKey: `ask:${stream_id}:${index}` },
  );
  const wait = async () => {
    const { data } = await asked.result();
    if (data.status === "success") open(main_key);
    else console.log(`no ticket from ${main_key}: ${data.status}`);
  };
  wait().catch((error) => console.log(`no ticket from ${main_key}: ${error.message}`));
}

// The gate's code: everybody scans the same one, and each scan is an event of its stream.
const gate = await usher.keyHandshake({ static_token: "gate-1", no_request: true });
console.log(`the gate's code: ${gate.url}`);

/** Where the gate was when this program stopped: the events from there on are new. */
function position() {
  try {
    const saved = JSON.parse(readFileSync(POSITION, "utf8"));
    return saved.stream_id === gate.streamId ? saved.next : 0;
  } catch {
    return 0;
  }
}

async function watch() {
  for await (const event of gate.events({ after: position() })) {
    await ask(event); // Until its request is with the service: one slow user does not hold up the others.
    writeFileSync(POSITION, JSON.stringify({ stream_id: gate.streamId, next: event.index + 1 }));
  }
}
watch().catch((error) => {
  console.error(`the gate is blind: ${error.message}`);
  process.exit(1); // Whatever supervises this program starts it again.
});

// The box office, and the scanner for tickets on paper: for this machine only.
const actions = { "/sell": ({ order, main_key }) => sell(order, main_key), "/scan": ({ token }) => burn(token) };
const server = createServer(async (request, response) => {
  const respond = (status, body) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  try {
    // Pages of other sites can neither send this content type, nor name this host.
    const { "content-type": type, host = "" } = request.headers;
    const ours = type === "application/json" && /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(host);
    const action = ours && request.method === "POST" && actions[request.url];
    if (!action) return respond(404, {});
    let text = "";
    for await (const chunk of request) if ((text += chunk).length > 65_536) return respond(413, {});
    respond(200, await action(JSON.parse(text)));
  } catch (error) {
    // 409 `token_already_spent`: somebody has used this ticket.
    respond(error.httpStatus ?? 500, { error: error.problem?.code ?? error.message });
  }
});
server.listen(process.env.PORT ?? 8081, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
