// Shows the state of an operation as it changes. When the service reports another state than the page shows, the script loads the
// page again and replaces only the parts that differ: focus, scroll position and typed text stay, and screen readers hear no more
// than what is new. What cannot be loaded replaces nothing: behind a proxy, a restart of the service is an error page of the proxy.

/// How often a hidden page looks. It keeps no connection, because over HTTP/1.1 a browser opens only six to one host, and not one
/// more page would load. A login that nobody looks at makes room for others after 90 s, and browsers slow down hidden pages.
const HIDDEN_LOOK_MS = 30_000;
const LOAD_TIMEOUT_MS = 10_000;
const LONGEST_PAUSE_MS = 15_000;

/// How often the page looks where the browser keeps no connection for it.
const LOOK_MS = 5_000;

/// What a part of the browser gives; `undefined` where the part is absent, or throws because the user or an extension forbids it.
function tryIt(part) {
  try {
    return part();
  } catch {
    return undefined;
  }
}

/// Only the page itself, as the service sends it, becomes HTML (Trusted Types).
const ownPage = tryIt(() => window.trustedTypes?.createPolicy("usher-page", { createHTML: (text) => text }));

/// The connection on which the service reports the state.
let source;
/// The next attempt.
let timer;
/// Attempts that failed in a row.
let failures = 0;
/// Only the newest load may change the page.
let loads = 0;
/// Whether the page goes where it leads to by itself: one of several tabs is enough.
let leads = true;

/// Each element of the page with what the service served in its place. Scripts and extensions of the browser may have changed it.
const served = new WeakMap();

for (const element of document.querySelectorAll("noscript")) element.remove();
remember(document.body, document.body.cloneNode(true));

function remember(element, original) {
  served.set(element, original);
  [...element.children].forEach((child, index) => remember(child, original.children[index]));
}

function stop() {
  source?.close();
  clearTimeout(timer);
}

/// Learns the state. While the page is visible, the connection stays.
function look() {
  stop();
  const { eventsUrl } = document.body.dataset;
  if (!eventsUrl) return;
  source = tryIt(() => new EventSource(eventsUrl));
  if (!source) {
    timer = setTimeout(load, document.hidden ? HIDDEN_LOOK_MS : LOOK_MS);
    return;
  }
  source.addEventListener("message", (event) => {
    failures = 0;
    if (event.data !== document.body.dataset.state) load();
    else if (document.hidden) pause();
  });
  // It may be over, or the service is not there: the page itself says why.
  source.addEventListener("error", retry);
}

function pause() {
  stop();
  timer = setTimeout(look, HIDDEN_LOOK_MS);
}

function retry() {
  stop();
  // Not all pages at once.
  timer = setTimeout(load, Math.min(LONGEST_PAUSE_MS, 1000 * 2 ** failures) * (1 + Math.random() / 2));
  failures += 1;
}

/// Loads the page, and shows what is new.
async function load() {
  stop();
  loads += 1;
  const own = loads;
  let page;
  try {
    const response = await fetch(location.href, { cache: "no-store", signal: tryIt(() => AbortSignal.timeout(LOAD_TIMEOUT_MS)) });
    const text = await response.text();
    page = new DOMParser().parseFromString(ownPage?.createHTML(text) ?? text, "text/html");
    if (response.status >= 500 || !page.querySelector("meta[name=generator][content=Usher]")) page = undefined;
  } catch {
    // The service does not respond.
  }
  if (own !== loads) return;
  sayWhetherConnected(page !== undefined);
  if (page) {
    show(page);
    look();
  } else {
    retry();
  }
}

/// The code that the user has asked for: it comes later than the page.
function chosenCode() {
  return document.getElementById(location.hash.slice(1))?.querySelector(".qr") ?? null;
}

/// Says something in the line that says how far it is.
function say(text) {
  const line = document.querySelector("#status p");
  if (line) line.textContent = text;
}

function sayWhetherConnected(isConnected) {
  const said = document.getElementById("connection");
  const text = isConnected ? "" : said?.dataset.lost;
  if (said && said.textContent !== text) said.textContent = text;
}

function show(page) {
  for (const element of page.querySelectorAll("noscript")) element.remove();
  document.title = page.title;
  const wasLogin = document.getElementById("elsewhere") !== null;
  const hadCode = chosenCode() !== null;
  update(document.body, page.body);
  if (!hadCode) chosenCode()?.scrollIntoView({ block: "center" });
  document.dispatchEvent(new Event("shown"));
  const { next, state } = document.body.dataset;
  if (wasLogin && state === "approved") tryIt(() => channel?.postMessage(location.pathname));
  if (next && leads && !offersFile) location.replace(next);
}

/// Changes what the service now serves otherwise.
function update(element, wanted) {
  const before = served.get(element);
  served.set(element, wanted);
  for (const { name } of [...before.attributes, ...wanted.attributes]) {
    const value = wanted.getAttribute(name);
    if (value === before.getAttribute(name)) continue;
    if (value === null) element.removeAttribute(name);
    else element.setAttribute(name, value);
  }
  if (before.childElementCount > 0 || wanted.childElementCount > 0) updateChildren(element, wanted);
  else if (before.textContent !== wanted.textContent) element.textContent = wanted.textContent;
}

/// Keeps the children that are the same, in their order. What something else has added to the page stays as well.
function updateChildren(element, wanted) {
  const children = [...element.children].filter((child) => served.has(child));
  for (const child of wanted.children) {
    const place = children.findIndex((known) => isSame(served.get(known), child));
    if (place < 0) {
      const added = document.importNode(child, true);
      remember(added, child);
      element.insertBefore(added, children[0] ?? null);
    } else {
      for (const gone of children.splice(0, place)) gone.remove();
      update(children.shift(), child);
    }
  }
  for (const gone of children) gone.remove();
}

function isSame(known, child) {
  return known.isEqualNode(child) || (known.localName === child.localName && known.id === child.id && child.id !== "");
}

// The same login may be open in several tabs, or several logins of one user.
const channel = tryIt(() => new BroadcastChannel(import.meta.url));
channel?.addEventListener("message", ({ data }) => {
  const said = document.getElementById("elsewhere");
  if (data === location.pathname) {
    leads = false;
    load();
  } else if (said) {
    said.textContent = said.dataset.done;
  }
});

document.addEventListener("visibilitychange", () => {
  if (document.hidden && failures === 0) pause();
  else if (!document.hidden && failures > 0) load();
  else if (!document.hidden) look();
});
// The page that follows a form shows the outcome.
document.addEventListener("submit", () => {
  stop();
  loads += 1;
});
// Connections that a page keeps must not outlive it in the browser's memory of pages.
addEventListener("pagehide", stop);
addEventListener("pageshow", (event) => event.persisted && load());

// Without cookies the service does not know this browser again: the login would be somebody else's.
const needsCookies = document.getElementById("needs-cookies");
if (needsCookies && navigator.cookieEnabled === false) {
  needsCookies.hidden = false;
  delete document.body.dataset.eventsUrl;
}
look();
