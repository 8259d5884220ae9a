import { UsherError, type Problem } from "usher-client";
import { API, ROOT } from "./base.ts";
import type { Session } from "./types.ts";

/** Asks for what a form of another site cannot send; and it prolongs the session. */
const BY_A_PERSON = { "Usher-Console": "1" };
/** Signals of readings that nobody has asked for: these do not prolong the session. */
const unasked = new WeakSet<AbortSignal>();
/** Seconds after which a reload that did not help is tried again. */
const RELOAD_AGAIN = 10;

export interface CallOptions {
  signal?: AbortSignal;
  /** The same key with the same body is done once, whatever is lost on the way. */
  key?: string;
}

/** Sends a request of the API, and returns the JSON of its response. */
export function call<T>(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<T> {
  return send<T>(method, API + path, body, options);
}

/** Marks what is read with this signal as not asked for by a person. */
export const markUnasked = (signal: AbortSignal) => void unasked.add(signal);

export const get = <T>(path: string, signal?: AbortSignal) => call<T>("GET", path, undefined, signal ? { signal } : {});
export const session = (signal: AbortSignal) => send<Session>("GET", `${ROOT}/session`, undefined, { signal });
export const endSession = (id?: string) =>
  send<void>("DELETE", ROOT + (id === undefined ? "/session" : `/sessions/${encodeURIComponent(id)}`));

async function send<T>(method: string, url: string, body?: unknown, options: CallOptions = {}): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (!options.signal || !unasked.has(options.signal)) Object.assign(headers, BY_A_PERSON);
  if (method === "POST") headers["Idempotency-Key"] = options.key ?? crypto.randomUUID();
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      headers,
      credentials: "same-origin",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(options.signal ? { signal: options.signal } : {}),
    });
  } catch (cause) {
    if (options.signal?.aborted) throw cause;
    throw new UsherError("NOT_CONNECTED", "The service cannot be reached.", { cause, temporary: true });
  }
  const type = response.headers.get("content-type") ?? "";
  if (response.status === 204) return undefined as T;
  // A service that is not ready describes itself in the same form as one that is.
  const isJson = type.startsWith("application/json") && (response.ok || response.status === 503);
  if (isJson) return (await response.json()) as T;
  if (response.ok) throw new UsherError("UNEXPECTED_RESPONSE", "The response is not from Usher.", { httpStatus: response.status });
  throw await failure(response, type);
}

async function failure(response: Response, type: string): Promise<UsherError> {
  const { status } = response;
  const problem = type.startsWith("application/problem+json")
    ? ((await response.json().catch(() => undefined)) as Problem | undefined)
    : undefined;
  if (status === 401) logInAgain();
  if (status === 403 && problem?.code === "step_up_required") stepUp();
  const details = { httpStatus: status, problem, temporary: status >= 500 };
  return new UsherError("SERVER_ERROR", problem?.detail ?? `The service responded with ${status}.`, details);
}

/** Loads the page anew, so that the server shows its login; not again and again. */
function logInAgain() {
  const last = Number(sessionStorage.getItem("reloaded") ?? 0);
  const now = Date.now() / 1000;
  reloading ??= setTimeout(() => {
    sessionStorage.setItem("reloaded", String(Date.now() / 1000));
    location.reload();
  }, (last + RELOAD_AGAIN - now) * 1000);
}
let reloading: ReturnType<typeof setTimeout> | undefined;

/** Leaves for the passkey that sensitive changes need, and comes back to this screen. */
export function stepUp() {
  location.assign(`${ROOT}/step-up?next=${encodeURIComponent(location.pathname + location.search)}`);
}

/** What an error says to people: its detail, and each wrong field. */
export function messageOf(error: unknown): string {
  if (!(error instanceof UsherError)) return error instanceof Error ? error.message : String(error);
  const fields = error.problem?.errors?.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}`) ?? [];
  const text = fields.length > 0 ? `${fields.join("; ")}.` : error.message;
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The code of a problem, or nothing. */
export const codeOf = (error: unknown) => (error instanceof UsherError ? error.problem?.code : undefined);

/** A path with those parameters that have a value. */
export function withQuery(path: string, query: Record<string, string | number | undefined | null>): string {
  const [way, given] = path.split("?");
  const parameters = new URLSearchParams(given);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null && value !== "") parameters.set(name, String(value));
  const text = parameters.toString();
  return text === "" ? (way ?? "") : `${way}?${text}`;
}
