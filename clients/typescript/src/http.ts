import { randomId } from "./crypto.js";
import { type Problem, UsherError, type UsherErrorCode } from "./errors.js";
import { backoff, Deadline, sleep } from "./delays-and-deadlines.js";

/** What every call takes. */
export interface CallOptions {
  /** Aborts the call; it then throws the signal's reason. A request that was sent may still take effect. */
  signal?: AbortSignal | undefined;
  /** Milliseconds that the call may take, with all its retries. */
  timeout?: number | undefined;
  /**
   * The idempotency key of a POST, for example the id of an order. The same key with the same request gives the same
   * response within 24 hours. By default each call makes a random one, which its retries share.
   */
  idempotencyKey?: string | undefined;
  /** The request's id in the service's log. */
  requestId?: string | undefined;
}

/** The codes of problems that pass, and that are no fault of the request. */
const TEMPORARY: ReadonlySet<string> = new Set([
  "body_timeout",
  "rate_limited",
  "overloaded",
  "storage_unavailable",
  "no_relay_connected",
  "no_active_instance",
  "deadline_exceeded",
  "rate_unavailable",
  "mint_timeout",
]);
const UNREACHABLE =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused)$/;
const BROKEN = /^(ECONNRESET|EPIPE|UND_ERR_SOCKET|ConnectionClosed)$/;

const READINESS = "/health/ready";
/** The longest response, in bytes: the largest page of events is below it. */
const LONGEST = 64 * 1024 * 1024;

/** Where the service is, and how requests get there. */
export interface HttpOptions {
  url: URL;
  token: () => string | Promise<string>;
  fetch: typeof fetch;
  timeout: number;
  retries: number;
}

/** Requests of the service's HTTP API. */
export class Http {
  readonly #options: HttpOptions;
  /** Called before each request. */
  onRequest: () => void = () => {};

  constructor(options: HttpOptions) {
    this.#options = options;
  }

  /** The address of a path, `ws(s)` for WebSockets. */
  address(path: string, scheme: "http" | "ws" = "http"): string {
    const { url } = this.#options;
    const address = url.origin + url.pathname.replace(/\/+$/, "") + path;
    return scheme === "ws" ? address.replace(/^http/, "ws") : address;
  }

  /** The token, now. */
  async token(): Promise<string> {
    const token = await this.#options.token();
    if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token))
      throw new TypeError("token must be visible ASCII characters");
    return token;
  }

  /**
   * Sends a request, repeats it when it fails for a while, and returns the body of its response: JSON, or text where
   * the service sends text.
   */
  async call<T>(
    method: string,
    path: string,
    body?: unknown,
    options: CallOptions = {},
    timeout = this.#options.timeout,
  ): Promise<T> {
    this.onRequest();
    const deadline = new Deadline(options.signal, options.timeout ?? timeout, (timeout) => {
      const message = `${method} ${path}: no response within ${timeout} ms`;
      return new UsherError("CONNECTION_TIMEOUT", message, { temporary: true });
    });
    try {
      deadline.signal.throwIfAborted();
      const headers: Record<string, string> = { accept: "application/json" };
      if (body !== undefined) headers["content-type"] = "application/json";
      if (options.requestId !== undefined) headers["x-request-id"] = options.requestId;
      if (method === "POST") headers["idempotency-key"] = checkedKey(options.idempotencyKey ?? (await randomId()));
      const text = body === undefined ? undefined : JSON.stringify(body);
      for (let attempt = 0; ; attempt++) {
        try {
          return await this.#attempt<T>(method, path, headers, text, deadline.signal);
        } catch (error) {
          deadline.signal.throwIfAborted();
          if (!(error instanceof UsherError) || !error.temporary || attempt >= this.#options.retries) throw error;
          const pause = Math.max((error.retryAfter ?? 0) * 1000, backoff(attempt));
          if (pause >= deadline.left) throw error;
          await sleep(pause, deadline.signal);
        }
      }
    } finally {
      deadline.dispose();
    }
  }

  /** Opens a response that is read as it arrives. */
  async open(path: string, accept: string, signal: AbortSignal): Promise<Response> {
    const response = await this.#fetch("GET", path, { accept }, undefined, signal);
    if (response.ok && response.headers.get("content-type")?.startsWith(accept) && response.body) return response;
    throw await failure(response, `GET ${path}`);
  }

  async #fetch(
    method: string,
    path: string,
    headers: Record<string, string>,
    body: string | undefined,
    signal: AbortSignal,
  ): Promise<Response> {
    const authorization = `Bearer ${await this.token()}`;
    try {
      // A redirect is followed nowhere: the token is for this service only.
      return await this.#options.fetch(this.address(path), {
        method,
        headers: { ...headers, authorization },
        redirect: "manual",
        signal,
        ...(body === undefined ? {} : { body }),
      });
    } catch (error) {
      throw networkError(error, `${method} ${path}`);
    }
  }

  async #attempt<T>(
    method: string,
    path: string,
    headers: Record<string, string>,
    body: string | undefined,
    signal: AbortSignal,
  ): Promise<T> {
    const what = `${method} ${path}`;
    const response = await this.#fetch(method, path, headers, body, signal);
    const type = response.headers.get("content-type") ?? "";
    // A service that is not ready says why in the same form as one that is.
    const unready = path === READINESS && response.status === 503 && type.startsWith("application/json");
    if (!response.ok && !unready) throw await failure(response, what);
    const ignored = response.headers.get("usher-ignored");
    if (ignored !== null && response.headers.get("usher-mode") === "test") {
      await response.body?.cancel().catch(() => {});
      const message = `${what}: the service knows no ${ignored}, and ignored it (only \`usher dev\` makes this an error)`;
      throw new UsherError("SERVER_ERROR", message, { httpStatus: response.status });
    }
    const text = await textOf(response, what);
    if (response.status === 204) return undefined as T;
    if (type.startsWith("text/plain")) return text as T;
    if (!type.startsWith("application/json")) {
      throw new UsherError(
        "UNEXPECTED_RESPONSE",
        `${what}: the response is not from Usher (${type || "no content type"})`,
        { httpStatus: response.status },
      );
    }
    return parsed(text, what, response.status) as T;
  }
}

function checkedKey(key: string): string {
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw new TypeError("idempotencyKey must be 1 to 255 visible ASCII characters");
  return key;
}

async function textOf(response: Response, what: string): Promise<string> {
  try {
    // Some runtimes have no stream here.
    const reader = response.body?.getReader?.();
    if (!reader) return await response.text();
    const decoder = new TextDecoder();
    let text = "";
    for (let length = 0; ; ) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      text += decoder.decode(value, { stream: true });
      if ((length += value.length) <= LONGEST) continue;
      void reader.cancel().catch(() => {});
      throw new UsherError("UNEXPECTED_RESPONSE", `${what}: the response is larger than ${LONGEST} bytes`, {
        httpStatus: response.status,
      });
    }
  } catch (error) {
    throw networkError(error, what, "CONNECTION_CLOSED");
  }
}

function parsed(text: string, what: string, httpStatus: number): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new UsherError("PARSE_ERROR", `${what}: the response is not JSON`, { httpStatus, cause });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new UsherError("PARSE_ERROR", `${what}: the response is not a JSON object`, { httpStatus });
  }
  return value;
}

/** The error that a response stands for. */
async function failure(response: Response, what: string): Promise<UsherError> {
  const { status } = response;
  const header = response.headers.get("retry-after");
  const retryAfter = header !== null && /^\d{1,9}$/.test(header) ? Number(header) : undefined;
  if (!response.headers.get("content-type")?.startsWith("application/problem+json")) {
    await response.body?.cancel().catch(() => {});
    const code = status === 401 ? "AUTH_FAILED" : "UNEXPECTED_RESPONSE";
    const temporary = status === 502 || status === 503 || status === 504;
    return new UsherError(code, `${what}: unexpected response ${status}`, {
      httpStatus: status,
      retryAfter,
      temporary,
    });
  }
  try {
    return problemError(parsed(await textOf(response, what), what, status) as Problem, what, retryAfter);
  } catch (error) {
    return error as UsherError;
  }
}

/** The error of a problem document. */
export function problemError(problem: Problem, what: string, retryAfter?: number): UsherError {
  const code: UsherErrorCode = problem.status === 401 ? "AUTH_FAILED" : "SERVER_ERROR";
  const errors = Array.isArray(problem.errors) ? problem.errors : [];
  const fields = errors.map((error) => `${error?.pointer} ${error?.detail}`).join("; ");
  const message = `${what}: ${problem.code}: ${fields || problem.detail}`;
  return new UsherError(code, message, {
    problem,
    httpStatus: problem.status,
    retryAfter,
    temporary: TEMPORARY.has(problem.code),
  });
}

/** The error of a `fetch` that failed. An abort stays what it is. */
function networkError(error: unknown, what: string, otherwise: UsherErrorCode = "NOT_CONNECTED"): unknown {
  if (error instanceof UsherError) return error;
  let code: unknown;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === "AbortError") return error;
    if ("code" in cause && typeof cause.code === "string") code ??= cause.code;
  }
  const known = typeof code === "string" ? code : "";
  const kind = UNREACHABLE.test(known) ? "NOT_CONNECTED" : BROKEN.test(known) ? "CONNECTION_CLOSED" : otherwise;
  const text = kind === "NOT_CONNECTED" ? "cannot reach the service" : "the connection broke";
  return new UsherError(kind, `${what}: ${text}${known && ` (${known})`}`, { cause: error, temporary: true });
}
