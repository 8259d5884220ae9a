// The start page: sends the requests of what is tried, as an app's server would, and shows the events of all streams as they come.

const { token, issuer } = document.body.dataset;
// The API reference takes it from here.
sessionStorage.setItem("usher-token", token);
const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
const CLIENT = "demo:demo-secret-that-everybody-may-know";

/// Most events that are shown.
const MOST_EVENTS = 50;

/// What each stream is about.
const names = new Map([["subscriptions", "Subscriptions"]]);
/// Streams of payments, and of those the last that was paid.
const payments = new Set();
let lastPaid;
/// Those who wait for a stream to be paid.
const waiting = new Map();

function make(tag, text, properties = {}) {
  return Object.assign(document.createElement(tag), { textContent: text, ...properties });
}

async function post(path, body) {
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  const content = await response.json();
  if (!response.ok) throw new Error(content.errors?.map(({ message }) => message).join("; ") || content.detail || content.title);
  return content;
}

/// Replaces `{name.field}` by what the earlier response says.
function filled(value, results) {
  const text = JSON.stringify(value);
  return JSON.parse(text.replace(/\{([a-z_]+)\.([a-z_]+)\}/g, (_, name, field) => results[name][field]));
}

function outcome(id) {
  return document.querySelector(`#${id} .outcome`);
}

function say(id, text) {
  outcome(id).append(make("p", text));
}

/// Shows a response, and the page in it.
function showResponse(id, path, response) {
  const part = outcome(id);
  const page = response.page_url ?? response.session_url;
  if (page) part.append(make("a", "Open its page ↗", { href: page, target: "_blank", rel: "noopener", className: "button" }));
  const details = make("details", "");
  details.append(make("summary", `POST ${path}`), make("pre", JSON.stringify(response, null, 2)));
  part.append(details);
}

function select(id) {
  for (const section of document.querySelectorAll(".trial")) section.hidden = section.id !== id;
  for (const button of document.querySelectorAll(".trials button")) button.ariaPressed = String(button.id === `try-${id}`);
}

async function run(button) {
  const id = button.id.slice("try-".length);
  select(id);
  outcome(id).replaceChildren();
  try {
    if (id === "openid") return startOpenId();
    await runSteps(id, button.textContent, JSON.parse(button.dataset.steps), {});
  } catch (error) {
    outcome(id).append(make("p", error.message, { className: "failed" }));
  }
}

async function runSteps(id, title, steps, results) {
  for (const [at, { name, path, body, gate }] of steps.entries()) {
    if (gate === "return") {
      // The page is left, and goes on here when the browser is back.
      sessionStorage.setItem("trial", JSON.stringify({ id, results }));
      location.assign(results.login.page_url);
      return;
    }
    if (gate === "paid" && !(await paid(id, results.payment.stream_id))) return;
    if (gate?.button) {
      const button = make("button", gate.button, { type: "button", className: "button quiet" });
      outcome(id).append(button);
      await new Promise((resolve) => button.addEventListener("click", resolve, { once: true }));
      button.remove();
    }
    if (name === "payment" && steps[at + 1]?.gate === "paid" && lastPaid) {
      results.payment = { stream_id: lastPaid };
      continue;
    }
    const address = filled(path, results);
    results[name] = await post(address, filled(body, results));
    if (results[name].stream_id) names.set(results[name].stream_id, name === "payment" ? "Payment" : title);
    if (name === "payment") payments.add(results[name].stream_id);
    if (steps[at + 1]?.gate !== "return") showResponse(id, address, results[name]);
  }
  if (["payment", "subscription", "refund"].includes(id)) {
    say(id, "Now the phone asks. Approve it there: the events appear below. ");
    outcome(id).lastChild.append(make("a", "Open the phone", { href: "/phone", target: "_blank", rel: "noopener", className: "narrow" }));
  }
}

/// Waits until the payment is paid; `false` if something else was begun meanwhile.
async function paid(id, stream) {
  if (stream !== lastPaid) {
    say(id, "Approve the payment on the phone: the refund follows.");
    const part = outcome(id).firstChild;
    await new Promise((resolve) => waiting.set(stream, resolve));
    return part.isConnected;
  }
  lastPaid = undefined;
  return true;
}

function startOpenId() {
  const [state, nonce] = [crypto.randomUUID(), crypto.randomUUID()];
  sessionStorage.setItem("trial", JSON.stringify({ id: "openid", state }));
  const redirect = `${location.origin}/`;
  const asked = { client_id: "demo", response_type: "code", scope: "openid", redirect_uri: redirect, state, nonce };
  location.assign(`${issuer}/oauth/authorize?${new URLSearchParams(asked)}`);
}

/// The browser is back from a login: does what the app would do.
async function goOn() {
  const query = new URLSearchParams(location.search);
  const begun = JSON.parse(sessionStorage.getItem("trial") ?? "null");
  if (!begun || !location.search) return;
  sessionStorage.removeItem("trial");
  history.replaceState(null, "", "/");
  select(begun.id);
  try {
    const code = query.get("code");
    // Only the login that this browser began.
    const isOwn = begun.id === "openid" ? query.get("state") === begun.state : query.get("stream_id") === begun.results.login.stream_id;
    if (!code || !isOwn) return say(begun.id, "Nobody has logged in.");
    if (begun.id === "openid") await finishOpenId(code);
    else {
      const { stream_id } = begun.results.login;
      names.set(stream_id, "Log in");
      const user = await post(`/login/${stream_id}/redeem`, { code });
      say("login", "Logged in. The app knows its user now by this key:");
      showResponse("login", `/login/${stream_id}/redeem`, user);
    }
  } catch (error) {
    outcome(begun.id).append(make("p", error.message, { className: "failed" }));
  }
}

async function finishOpenId(code) {
  const body = new URLSearchParams({ grant_type: "authorization_code", code, redirect_uri: `${location.origin}/` });
  const response = await fetch(`${issuer}/oauth/token`, { method: "POST", headers: { Authorization: `Basic ${btoa(CLIENT)}` }, body });
  const tokens = await response.json();
  if (!response.ok) throw new Error(tokens.error_description ?? tokens.error);
  const claims = atob(tokens.id_token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"));
  say("openid", "Logged in. The ID token says:");
  outcome("openid").append(make("pre", JSON.stringify(JSON.parse(claims), null, 2)));
}

const GOOD = ["paid", "approved", "success", "refunded"];
const BAD = ["failed", "declined", "rejected", "user_rejected", "timeout", "error", "insufficient_funds"];

function showEvent({ stream_id, type, timestamp, data }) {
  const list = document.getElementById("events");
  document.getElementById("no-events").hidden = true;
  const { status } = data;
  if (status === "paid" && payments.has(stream_id)) {
    waiting.get(stream_id)?.();
    waiting.delete(stream_id);
    lastPaid = stream_id;
  }
  const summary = make("summary", "");
  const tone = GOOD.includes(status) ? "passed" : BAD.includes(status) ? "failed" : "";
  summary.append(
    make("time", new Date(timestamp * 1000).toLocaleTimeString("en-GB")),
    make("span", names.get(stream_id) ?? stream_id.slice(0, 13)),
    make("code", type),
    make("strong", typeof status === "string" ? status : "", { className: tone }),
  );
  const details = make("details", "");
  details.append(summary, make("pre", JSON.stringify({ stream_id, ...data }, null, 2)));
  const item = make("li", "");
  item.append(details);
  list.prepend(item);
  while (list.childElementCount > MOST_EVENTS) list.lastElementChild.remove();
}

/// Reads the events of all streams until the connection ends.
async function follow() {
  const connection = document.getElementById("connection");
  const response = await fetch("/events", { headers, cache: "no-store" });
  if (!response.ok) throw new Error();
  connection.textContent = "live";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (text + value).split("\n\n");
    text = parts.pop();
    for (const part of parts) {
      const lines = part.split("\n").filter((line) => line.startsWith("data: "));
      const event = lines.length > 0 ? JSON.parse(lines.map((line) => line.slice("data: ".length)).join("\n")) : {};
      if (event.stream_id) showEvent(event);
    }
  }
}

async function keepFollowing() {
  for (;;) {
    try {
      await follow();
    } catch {
      // The service does not respond: it may start again.
    }
    document.getElementById("connection").textContent = "the connection is lost; connecting again …";
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  } catch {
    // Not allowed here.
  }
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  if (button?.closest(".trials")) run(button);
  else if (button?.id === "copy-token") copy(button, token);
  else if (button?.classList.contains("copy-code")) {
    const part = button.parentElement;
    const at = [...part.querySelectorAll("input")].findIndex(({ checked }) => checked);
    copy(button, part.querySelectorAll("pre")[at].textContent);
  }
});
// One language for all trials.
document.addEventListener("change", ({ target: { value } }) => {
  for (const input of document.querySelectorAll(".code input")) input.checked = input.value === value;
});
select(document.querySelector(".trial").id);
goOn();
keepFollowing();
