import { OperationError } from "./errors.js";
import {
  meaningOf,
  type KeyHandshakeEvent,
  type LoginResult,
  type PaymentProgress,
  type PaymentResult,
  type TicketResult,
  type UsherEvent,
  type Failed,
} from "./events.js";
import type { Hub } from "./reading/hub.js";
import { EventIterator, type ReadOptions } from "./reading/iterator.js";

/** How long to wait for a result. */
export type ResultOptions = Pick<ReadOptions, "signal" | "timeout">;

/**
 * The event that an operation ends with; events of the type `not` are not it.
 *
 * Money, or a ticket, may arrive after `timeout`, `error` or `user_rejected`. So these count only when no later event is
 * there, which the end of the stream tells.
 */
async function resultOf<R extends UsherEvent>(events: AsyncIterable<UsherEvent>, not?: string): Promise<R> {
  let last: UsherEvent | undefined;
  try {
    for await (const event of events) {
      if (event.type === not || meaningOf(event) === "progress") continue;
      last = event;
      if (meaningOf(event) === "result" && (event.data as { status?: unknown }).status !== "user_rejected") break;
    }
  } catch (error) {
    if (!last) throw error;
  }
  if (last && meaningOf(last) === "result") return last as R;
  throw last ? new OperationError((last as Failed).data.status, last) : new OperationError("closed");
}

/**
 * An operation that the service has started. It goes on without this object, and over restarts of both sides: keep
 * `streamId`, and `usher.operation(streamId)` continues.
 */
export class Operation<E extends UsherEvent = UsherEvent, R extends UsherEvent = E> implements AsyncIterable<E> {
  /** The stream of its events. */
  readonly streamId: string;
  readonly #hub: Hub;

  constructor(hub: Hub, streamId: string) {
    this.#hub = hub;
    this.streamId = streamId;
  }

  /** Its events as they happen, from the first, or from `after`, until nothing more will happen. */
  events(options?: ReadOptions): AsyncIterableIterator<E> {
    return new EventIterator<E>(this.#hub, this.streamId, options);
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<E> {
    return this.events();
  }

  /**
   * Waits for the result: the event that the operation ends with.
   *
   * @throws OperationError when it ends with `timeout` or `error`, or is closed.
   */
  result(options: ResultOptions = {}): Promise<R> {
    return resultOf<R>(this.events(options));
  }
}

/** A handshake: show `url` to the user, as a QR code or a link. */
export class KeyHandshake extends Operation<KeyHandshakeEvent | Failed, KeyHandshakeEvent> {
  /** What the user opens in their wallet. */
  readonly url: string;
  /** A page for the user's browser that shows the URL. */
  readonly pageUrl: string;

  constructor(hub: Hub, started: { stream_id: string; url: string; page_url: string }) {
    super(hub, started.stream_id);
    this.url = started.url;
    this.pageUrl = started.page_url;
  }
}

/** A ticket on its way to a user. */
export class SentTicket extends Operation<TicketResult | Failed, TicketResult> {
  /** `sent`, or `queued` while no relay is connected. */
  readonly status: string;

  constructor(hub: Hub, started: { stream_id: string; status: string }) {
    super(hub, started.stream_id);
    this.status = started.status;
  }
}

/** An age verification: redirect the user's browser to `sessionUrl`. */
export class VerificationSession extends Operation<TicketResult | Failed, TicketResult> {
  readonly sessionId: string;
  readonly sessionUrl: string;
  /** The session's key. */
  readonly ephemeralNpub: string;
  /** Unix seconds. */
  readonly expiresAt: number;

  constructor(
    hub: Hub,
    started: { stream_id: string; session_id: string; session_url: string; ephemeral_npub: string; expires_at: number },
  ) {
    super(hub, started.stream_id);
    this.sessionId = started.session_id;
    this.sessionUrl = started.session_url;
    this.ephemeralNpub = started.ephemeral_npub;
    this.expiresAt = started.expires_at;
  }
}

/** A payment requested from a user. */
export class Payment extends Operation<PaymentResult | PaymentProgress | Failed, PaymentResult> {
  /** A page for the user's browser, on which any Lightning wallet can pay. */
  readonly pageUrl: string;

  constructor(hub: Hub, started: { stream_id: string; page_url: string }) {
    super(hub, started.stream_id);
    this.pageUrl = started.page_url;
  }
}

/** A login: redirect the user's browser to `pageUrl`, or show `url` as a QR code. */
export class Login<Url extends string | undefined = string> extends Operation<
  KeyHandshakeEvent | LoginResult | Failed,
  LoginResult
> {
  /** What the user opens in their wallet; `undefined` after `resumeLogin`. */
  readonly url: Url;
  /** The login page, which belongs to the first browser that opens it; `undefined` after `resumeLogin`. */
  readonly pageUrl: Url;

  constructor(hub: Hub, streamId: string, url: Url, pageUrl: Url) {
    super(hub, streamId);
    this.url = url;
    this.pageUrl = pageUrl;
  }

  /**
   * Waits until the user has approved or declined. **Grant access on `approved` and on nothing else**, to `main_key`.
   *
   * @throws OperationError when nobody responded in time, or the login failed.
   */
  override result(options: ResultOptions = {}): Promise<LoginResult> {
    return resultOf<LoginResult>(this.events(options), "KeyHandshake");
  }
}

/** A login of any number of users, at a poster or a door: show `url` as a QR code, or print `pageUrl`. It never ends. */
export class ReusableLogin extends Operation<KeyHandshakeEvent | LoginResult | Failed, never> {
  /** What users open in their wallets. */
  readonly url: string;
  /** The page for users' browsers: each gets a login of its own there. */
  readonly pageUrl: string;

  constructor(hub: Hub, started: { stream_id: string; url: string; page_url: string }) {
    super(hub, started.stream_id);
    this.url = started.url;
    this.pageUrl = started.page_url;
  }

  /** There is no single result. Read the events: each `StatusUpdate` says in `main_key` whose it is. */
  override result(): Promise<never> {
    return Promise.reject(new TypeError("a reusable login has many users and no single result: read its events"));
  }
}
