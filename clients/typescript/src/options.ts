import { Http } from "./http.js";
import { Hub, type TransportName } from "./reading/hub.js";
import type { WebSocketConstructor } from "./reading/socket.js";

/** How to reach the service. */
export interface UsherOptions {
  /** Where it is, for example `http://127.0.0.1:3000`. */
  url: string | URL;
  /**
   * Its API token (`auth.auth_token`), or a function that returns it if it changes. Keep it on your server. An undefined
   * one, from an environment variable that is not set, is a `TypeError`.
   */
  token: string | undefined | (() => string | Promise<string>);
  /** Milliseconds that a call may take, with its retries. Default 40,000; 100,000 for calls that wait for a mint. */
  timeout?: number;
  /** How often a call is repeated when the service cannot be reached, or is full. Default 3. */
  retries?: number;
  /** Milliseconds for which readers of events keep trying while the service cannot be reached. Default 300,000. */
  unreachableAfter?: number;
  /** How streams are read. Default `auto`: whatever suits. */
  transport?: TransportName;
  /** By default the runtime's own. */
  WebSocket?: WebSocketConstructor;
  /** By default the runtime's own. */
  fetch?: typeof fetch;
  /** Whether the first call also compares the service's version with the client's, and warns. Default true. */
  checkVersion?: boolean;
  /** Takes warnings. Default `console.warn`. */
  onWarning?: (message: string) => void;
}

/** Requests to the service of these options. */
export function httpOf(options: UsherOptions): Http {
  const url = new URL(options.url);
  if (!/^https?:$/.test(url.protocol)) throw new TypeError("url must be an http(s) URL");
  if (url.username || url.password || url.search || url.hash)
    throw new TypeError("url must have no user, password, query or fragment: they would be logged");
  const { token } = options;
  if (typeof token !== "function" && (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token)))
    throw new TypeError("token must be visible ASCII characters");
  return new Http({
    url,
    token: typeof token === "function" ? token : () => token,
    fetch: options.fetch ?? ((...args) => globalThis.fetch(...args)),
    timeout: options.timeout ?? 40_000,
    retries: options.retries ?? 3,
  });
}

/** What reads the streams of that service. */
export function hubOf(options: UsherOptions, http: Http): Hub {
  return new Hub(http, {
    transport: options.transport ?? "auto",
    WebSocket: options.WebSocket ?? (globalThis.WebSocket as WebSocketConstructor | undefined),
    unreachableAfter: options.unreachableAfter ?? 300_000,
  });
}
