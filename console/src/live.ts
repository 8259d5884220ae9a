import { API } from "./base.ts";

/** The types of events; server-sent events are told apart by them. */
const TYPES = ["KeyHandshake", "StatusUpdate", "Subscription", "SubscriptionClosed", "InvoiceResponse", "CashuResponse", "Test", "missed"];
/** Milliseconds after an event until the screen reads again: many events cost one reading. */
const GATHER = 400;
/** Milliseconds between two readings while events keep coming. */
const LEAST = 2_000;
const RECONNECT = 5_000;

interface Listener { types: Set<string>; soon: () => void }
const listeners = new Set<Listener>();
const watchers = new Set<(connected: boolean) => void>();
let source: EventSource | undefined;
let isConnected = false;
let wasOpen = false;

/** Calls an action soon after events of these types (`*`: any), until the returned function is called. */
export function onEvents(types: string[], action: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = 0;
  const soon = () => {
    if (timer !== undefined) return;
    const wait = Math.max(GATHER, last + LEAST - Date.now());
    timer = setTimeout(() => {
      timer = undefined;
      last = Date.now();
      action();
    }, wait);
  };
  const listener = { types: new Set(types), soon };
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    clearTimeout(timer);
  };
}

/** Tells whether the stream is connected, now and at each change. */
export function onConnection(action: (connected: boolean) => void): () => void {
  action(isConnected);
  watchers.add(action);
  return () => void watchers.delete(action);
}

function setConnected(connected: boolean) {
  if (connected === isConnected) return;
  isConnected = connected;
  for (const watcher of watchers) watcher(connected);
}

/** Opens the one stream of all events. What happened while it was away is read when it is back. */
export function connect() {
  if (source || document.hidden) return;
  const opened = new EventSource(`${API}/events`);
  source = opened;
  opened.onopen = () => {
    setConnected(true);
    if (wasOpen) tell("missed");
    wasOpen = true;
  };
  opened.onerror = () => {
    setConnected(false);
    if (opened.readyState !== EventSource.CLOSED) return;
    // Refused: a watcher finds out whether the session is over.
    for (const watcher of watchers) watcher(false);
    source = undefined;
    setTimeout(connect, RECONNECT);
  };
  for (const type of TYPES) opened.addEventListener(type, () => tell(type));
}

// A tab that nobody sees holds no connection: browsers have six for all tabs of a site.
document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : wasOpen && connect()));
addEventListener("pagehide", disconnect);

function disconnect() {
  source?.close();
  source = undefined;
  setConnected(false);
}

function tell(type: string) {
  for (const { types, soon } of listeners) if (type === "missed" || types.has("*") || types.has(type)) soon();
}
