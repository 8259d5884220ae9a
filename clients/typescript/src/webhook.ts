import { equalInConstantTime, fromBase64, fromHex, hmacSha256, toBase64, toHex, utf8 } from "./crypto.js";
import { UsherError } from "./errors.js";
import { toEvent } from "./event-parser.js";
import type { UsherEvent } from "./event-types.js";

/** Headers as `fetch`, Node and frameworks have them. */
export type HeadersLike = { get(name: string): string | null } | Record<string, string | readonly string[] | undefined>;

/** How to verify webhooks. */
export interface VerifyOptions {
  /**
   * The signature to verify. `standard` (the default) is `webhook-signature`, which also covers the time, so that nobody
   * can replay an old post. `service` is `X-Service-Signature`, which does not.
   */
  scheme?: "standard" | "service" | undefined;
  /** By how many seconds the time of a post may differ from `now`. Default 300. */
  tolerance?: number | undefined;
  /** Unix seconds. */
  now?: number | undefined;
}

const PREFIX = "whsec_";
/** The largest body that a handler reads: events are much smaller. */
const MAX_BODY = 1024 * 1024;

const unauthorized = (detail: string) => new UsherError("AUTH_FAILED", `webhook: ${detail}`);

function standardKey(secret: string): Uint8Array {
  const key = secret.startsWith(PREFIX) ? fromBase64(secret.slice(PREFIX.length)) : utf8(secret);
  if (!key || key.length === 0) throw new TypeError("the webhook secret is empty, or whsec_ is not followed by base64");
  return key;
}

function header(headers: HeadersLike, name: string): string {
  let value: unknown;
  if (typeof headers.get === "function") value = headers.get(name);
  else {
    const key = Object.keys(headers).find((key) => key.toLowerCase() === name);
    value = key === undefined ? undefined : (headers as Record<string, unknown>)[key];
  }
  if (typeof value !== "string") throw unauthorized(`the header ${name} is missing`);
  return value;
}

function joined(...parts: Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

/**
 * Checks that a webhook is from the service, and returns its event.
 *
 * @param rawBody the body as it arrived: its bytes or text, not parsed JSON.
 * @param secret `webhook.secret`; while you change it, the new and the old one.
 * @throws UsherError `AUTH_FAILED` when it is not: respond with 401. `PARSE_ERROR` when the body is no event.
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array | ArrayBuffer,
  headers: HeadersLike,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Promise<UsherEvent> {
  // For example from an environment variable that is not set.
  const secrets = typeof secret === "string" ? [secret] : (secret ?? []);
  if (secrets.length === 0 || secrets.some((text) => typeof text !== "string" || text === ""))
    throw new TypeError("the webhook secret is missing");
  const body =
    typeof rawBody === "string" ? utf8(rawBody) : rawBody instanceof ArrayBuffer ? new Uint8Array(rawBody) : rawBody;
  if (!(body instanceof Uint8Array))
    throw new TypeError("verifyWebhook needs the raw body: bytes or text, not parsed JSON");
  let valid = false;
  if (options.scheme === "service") {
    const signature = fromHex(header(headers, "x-service-signature")) ?? new Uint8Array();
    for (const text of secrets) {
      if (equalInConstantTime(await hmacSha256(utf8(text), body), signature)) valid = true;
    }
  } else {
    const [id, time] = [header(headers, "webhook-id"), header(headers, "webhook-timestamp")];
    const signatures = header(headers, "webhook-signature")
      .split(" ")
      .filter((text) => text.startsWith("v1,"))
      .slice(0, 16);
    const now = options.now ?? Date.now() / 1000;
    if (!/^\d{1,15}$/.test(time) || !(Math.abs(Math.floor(now) - Number(time)) <= (options.tolerance ?? 300))) {
      throw unauthorized("the time of the post is not now: a replay, or a clock is wrong");
    }
    const signed = joined(utf8(`${id}.${time}.`), body);
    for (const text of secrets) {
      const expected = await hmacSha256(standardKey(text), signed);
      for (const signature of signatures) {
        if (equalInConstantTime(expected, fromBase64(signature.slice(3)) ?? new Uint8Array())) valid = true;
      }
    }
  }
  if (!valid) throw unauthorized("the signature is not valid");
  try {
    return toEvent(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)));
  } catch (cause) {
    throw new UsherError("PARSE_ERROR", "webhook: the body is not an event of Usher", { cause });
  }
}

/** A webhook as the service posts it. */
export interface SignedWebhook {
  body: string;
  headers: Record<string, string>;
}

/** Signs an event like the service does: for tests of your own webhook endpoint. */
export async function signTestEvent(
  event: UsherEvent,
  secret: string | readonly string[],
  options: { now?: number } = {},
): Promise<SignedWebhook> {
  const secrets = typeof secret === "string" ? [secret] : secret;
  const id = `${event.stream_id}:${event.index}`;
  const time = String(Math.floor(options.now ?? Date.now() / 1000));
  const body = JSON.stringify(event);
  const signed = utf8(`${id}.${time}.${body}`);
  const signatures = await Promise.all(
    secrets.map(async (text) => `v1,${toBase64(await hmacSha256(standardKey(text), signed))}`),
  );
  return {
    body,
    headers: {
      "content-type": "application/json",
      "x-service-event-id": id,
      "x-service-signature": toHex(await hmacSha256(utf8(secrets[0] ?? ""), utf8(body))),
      "webhook-id": id,
      "webhook-timestamp": time,
      "webhook-signature": signatures.join(" "),
    },
  };
}

/** What is done with an event. When it throws, the service posts the event again later. */
export type WebhookListener = (event: UsherEvent) => unknown;

/**
 * A handler for everything that speaks the Fetch API (Deno, Bun, Hono, Next.js, edge functions). It responds with 204
 * when the listener has finished, 401 to what is not from the service, 400 to what is no event.
 */
export function fetchWebhookHandler(
  secret: string | readonly string[],
  listener: WebhookListener,
  options?: VerifyOptions,
): (request: Request) => Promise<Response> {
  return async (request) => {
    let event: UsherEvent;
    try {
      event = await verifyWebhook(await bytesOf(request.body), request.headers, secret, options);
    } catch (error) {
      return new Response(null, { status: statusOf(error) });
    }
    await listener(event);
    return new Response(null, { status: 204 });
  };
}

/** The part of an Express request that is used; that of Node's `http` is enough. */
export interface RequestLike extends AsyncIterable<unknown> {
  headers: Record<string, string | string[] | undefined>;
  body?: unknown;
  readableEnded?: boolean;
}

/** The part of an Express response that is used. */
export interface ResponseLike {
  statusCode: number;
  end(): unknown;
}

/**
 * A handler for Express and for Node's `http`: `app.post("/usher-events", expressWebhookHandler(secret, listener))`.
 * The body must be raw: put it before `express.json()`, or use `express.raw({ type: "*\/*" })`. It responds with 204 when
 * the listener has finished, and passes what the listener throws to `next`.
 */
export function expressWebhookHandler(
  secret: string | readonly string[],
  listener: WebhookListener,
  options?: VerifyOptions,
): (request: RequestLike, response: ResponseLike, next?: (error: unknown) => void) => Promise<void> {
  return async (request, response, next) => {
    const finish = (status: number) => {
      response.statusCode = status;
      response.end();
    };
    try {
      let event: UsherEvent;
      try {
        event = await verifyWebhook(await rawBody(request), request.headers, secret, options);
      } catch (error) {
        return finish(statusOf(error));
      }
      await listener(event);
      finish(204);
    } catch (error) {
      if (next) next(error);
      else finish(500);
    }
  };
}

async function rawBody(request: RequestLike): Promise<string | Uint8Array> {
  const { body } = request;
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  if (request.readableEnded)
    throw new TypeError("the body was parsed already: put the webhook handler before express.json()");
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request) {
    const bytes = typeof chunk === "string" ? utf8(chunk) : (chunk as Uint8Array);
    checkLength((length += bytes.length));
    chunks.push(bytes);
  }
  return joined(...chunks);
}

async function bytesOf(body: ReadableStream<Uint8Array> | null): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const reader = body?.getReader();
  for (let length = 0; reader; ) {
    const { done, value } = await reader.read();
    if (done) break;
    checkLength((length += value.length));
    chunks.push(value);
  }
  return joined(...chunks);
}

function checkLength(length: number): void {
  if (length > MAX_BODY) throw new UsherError("PARSE_ERROR", "webhook: the body is too large");
}

/** The status for what is not an event of ours. Anything else is a mistake of the app: it is thrown. */
function statusOf(error: unknown): number {
  if (error instanceof UsherError) return error.code === "AUTH_FAILED" ? 401 : 400;
  throw error;
}
