import { OperationError } from "./errors.js";
import {
  meaningOf,
  type InvoiceResult,
  type KeyHandshakeEvent,
  type LoginEvent,
  type LoginResult,
  type OperationKind,
  type PaymentProgress,
  type PaymentResult,
  type SubscriptionResult,
  type TicketResult,
  type UsherEvent,
  type Failed,
} from "./event-types.js";
import type { Hub } from "./reading/hub.js";
import { EventIterator, type ReadOptions } from "./reading/event-iterator.js";

/** How long to wait for a result. */
export type ResultOptions = Pick<ReadOptions, "signal" | "timeout">;

/** The event as a result: without the key of a login that was not approved, so that nobody takes it for a proven one. */
function withoutUnprovenKey<E extends UsherEvent>(event: E): E {
  if (event.type !== "StatusUpdate" || event.data.status === "approved" || !("main_key" in event.data)) return event;
  const { main_key: _, ...data } = event.data;
  return { ...event, data };
}

/**
 * The event that an operation ends with.
 *
 * Money, or a ticket, may arrive after `timeout`, `error` or `user_rejected`. So these count only when no later event is
 * there, which the end of the stream tells.
 */
async function resultOf<R extends UsherEvent>(events: AsyncIterable<UsherEvent>, kind?: OperationKind): Promise<R> {
  let last: UsherEvent | undefined;
  try {
    for await (const event of events) {
      const meaning = meaningOf(event, kind);
      if (meaning === "progress") continue;
      last = withoutUnprovenKey(event);
      if (meaning === "result" && (event.data as { status?: unknown }).status !== "user_rejected") break;
    }
  } catch (error) {
    if (!last) throw error;
  }
  if (last && meaningOf(last, kind) === "result") return last as R;
  throw last ? new OperationError((last as Failed).data.status, last) : new OperationError("closed");
}

/**
 * An operation that the service has started. It goes on without this object, and over restarts of both sides: keep
 * `streamId`, and `usher.resume(kind, streamId)` continues.
 */
export class Operation<E extends UsherEvent = UsherEvent, R extends UsherEvent = E> implements AsyncIterable<E> {
  /** The stream of its events. */
  readonly streamId: string;
  readonly #hub: Hub;
  readonly #kind: OperationKind | undefined;

  constructor(hub: Hub, streamId: string, kind?: OperationKind) {
    this.#hub = hub;
    this.streamId = streamId;
    this.#kind = kind;
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
   * @throws UsherError `RESULT_TIMEOUT` when the `timeout` passes before. The operation goes on.
   */
  result(options: ResultOptions = {}): Promise<R> {
    return resultOf<R>(this.events(options), this.#kind);
  }
}

/** A handshake: show `url` to the user, as a QR code or a link. */
export class KeyHandshake extends Operation<KeyHandshakeEvent | Failed, KeyHandshakeEvent> {
  /** What the user opens in their wallet. */
  readonly url: string;
  /** A page for the user's browser that shows the URL. */
  readonly pageUrl: string;

  constructor(hub: Hub, started: { stream_id: string; url: string; page_url: string }) {
    super(hub, started.stream_id, "key_handshake");
    this.url = started.url;
    this.pageUrl = started.page_url;
  }
}

/** A ticket on its way to a user. */
export class SentTicket extends Operation<TicketResult | Failed, TicketResult> {
  /** `sent`, or `queued` while no relay is connected. */
  readonly status: string;

  constructor(hub: Hub, started: { stream_id: string; status: string }) {
    super(hub, started.stream_id, "ticket");
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
    super(hub, started.stream_id, "ticket");
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
    super(hub, started.stream_id, "payment");
    this.pageUrl = started.page_url;
  }
}

/** A login: redirect the user's browser to `pageUrl`, or show `url` as a QR code. */
export class Login<Url extends string | undefined = string> extends Operation<
  KeyHandshakeEvent | LoginEvent | Failed,
  LoginResult
> {
  /** What the user opens in their wallet; `undefined` after `resumeLogin`. */
  readonly url: Url;
  /** The login page, which belongs to the first browser that opens it; `undefined` after `resumeLogin`. */
  readonly pageUrl: Url;

  constructor(hub: Hub, streamId: string, url: Url, pageUrl: Url) {
    super(hub, streamId, "login");
    this.url = url;
    this.pageUrl = pageUrl;
  }

  /**
   * Waits until the user has approved or declined. **Grant access on `approved` and on nothing else**, to `main_key`, which
   * no other result has.
   *
   * @throws OperationError when nobody responded in time, or the login failed.
   */
  override result(options: ResultOptions = {}): Promise<LoginResult> {
    return super.result(options);
  }
}

/** A login of any number of users, at a poster or a door: show `url` as a QR code, or print `pageUrl`. It never ends. */
export class ReusableLogin extends Operation<KeyHandshakeEvent | LoginEvent | Failed, never> {
  /** What users open in their wallets. */
  readonly url: string;
  /** The page for users' browsers: each gets a login of its own there. */
  readonly pageUrl: string;

  constructor(hub: Hub, started: { stream_id: string; url: string; page_url: string }) {
    super(hub, started.stream_id, "login");
    this.url = started.url;
    this.pageUrl = started.page_url;
  }

  /** There is no single result. Read the events: each `StatusUpdate` says in `main_key` whose it is. */
  override result(): Promise<never> {
    return Promise.reject(new TypeError("a reusable login has many users and no single result: read its events"));
  }
}

/** The operations that `usher.resume` continues, by what they are. */
export interface Operations {
  /** `usher.login` */
  login: Operation<KeyHandshakeEvent | LoginEvent | Failed, LoginResult>;
  /** `usher.authenticateKey` */
  authentication: Operation<LoginEvent | Failed, LoginResult>;
  /** `usher.keyHandshake`: its key is not proven. */
  key_handshake: Operation<KeyHandshakeEvent | Failed, KeyHandshakeEvent>;
  /** `usher.requestPayment` and `usher.payInvoice` */
  payment: Operation<PaymentResult | PaymentProgress | Failed, PaymentResult>;
  /** `usher.requestInvoice` */
  invoice_request: Operation<InvoiceResult | Failed, InvoiceResult>;
  /** `usher.requestSubscription` */
  subscription: Operation<SubscriptionResult | Failed, SubscriptionResult>;
  /** `usher.requestTicket`, `usher.sendTicket`, and what verifies ages */
  ticket: Operation<TicketResult | Failed, TicketResult>;
}
