import { OperationError } from "./errors.js";
import {
  meaningOf,
  type KeyHandshakeEvent,
  type LoginResult,
  type TicketResult,
  type UsherEvent,
  type Failed,
} from "./events.js";
import { Deadline } from "./time.js";
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

  constructor(hub: Hub, started: { stream_id: string; url: string }) {
    super(hub, started.stream_id);
    this.url = started.url;
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

/** Asks a user for a proof of the key that they told in this handshake. */
type Challenge = (
  handshake: string,
  mainKey: string,
  options: ResultOptions,
) => Promise<Operation<LoginResult | Failed, LoginResult>>;

/**
 * A login: a handshake, then a challenge. Show `url` to the user; `result()` or the iteration sends the challenge when
 * the user has opened it. However often and wherever it is awaited, there is one challenge.
 */
export class Login<Url extends string | undefined = string>
  implements AsyncIterable<KeyHandshakeEvent | LoginResult | Failed>
{
  /** What the user opens in their wallet; `undefined` after `resumeLogin`. */
  readonly url: Url;
  /** The stream of the handshake: `usher.resumeLogin(streamId)` continues this login. */
  readonly streamId: string;
  readonly #handshake: Operation<KeyHandshakeEvent | Failed, KeyHandshakeEvent>;
  readonly #challenge: Challenge;

  constructor(handshake: Operation<KeyHandshakeEvent | Failed, KeyHandshakeEvent>, url: Url, challenge: Challenge) {
    this.url = url;
    this.streamId = handshake.streamId;
    this.#handshake = handshake;
    this.#challenge = challenge;
  }

  /** The events of the handshake, then those of the challenge. Each has its own stream. */
  async *events(
    options: ResultOptions = {},
  ): AsyncGenerator<KeyHandshakeEvent | LoginResult | Failed, void, undefined> {
    const deadline = new Deadline(options.signal, options.timeout, "login");
    const within = { signal: deadline.signal };
    try {
      for await (const event of this.#handshake.events(within)) {
        yield event;
        if (event.type !== "KeyHandshake") return;
        const challenge = await this.#challenge(this.streamId, event.data.main_key, within);
        yield* challenge.events(within);
        return;
      }
    } finally {
      deadline.dispose();
    }
  }

  [Symbol.asyncIterator](): AsyncGenerator<KeyHandshakeEvent | LoginResult | Failed, void, undefined> {
    return this.events();
  }

  /**
   * Waits until the user has approved or declined. **Grant access on `approved` and on nothing else**, to `main_key`.
   *
   * @throws OperationError when nobody responded in time, or the login failed.
   */
  result(options: ResultOptions = {}): Promise<LoginResult> {
    return resultOf<LoginResult>(this.events(options), "KeyHandshake");
  }
}
