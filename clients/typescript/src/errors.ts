import type { components } from "./generated/schemas.js";
import type { UsherEvent } from "./event-types.js";

/**
 * What kind of error it is, for programs to branch on:
 *
 * - `NOT_CONNECTED`: the service cannot be reached, or the client was closed.
 * - `CONNECTION_TIMEOUT`: the time that the call was given has passed.
 * - `RESULT_TIMEOUT`: the `timeout` of `result()` or `events()` has passed. The operation goes on.
 * - `CONNECTION_CLOSED`: the connection broke before the response was complete.
 * - `AUTH_FAILED`: the token, a JWT or the signature of a webhook is not valid.
 * - `SERVER_ERROR`: the service responded with an error ({@link UsherError.problem}), or an operation ended with one.
 * - `UNEXPECTED_RESPONSE`: the response is not from Usher, for example a proxy's page.
 * - `PARSE_ERROR`: the response is cut off or is not what Usher sends.
 */
export type UsherErrorCode =
  | "NOT_CONNECTED"
  | "CONNECTION_TIMEOUT"
  | "RESULT_TIMEOUT"
  | "CONNECTION_CLOSED"
  | "AUTH_FAILED"
  | "UNEXPECTED_RESPONSE"
  | "SERVER_ERROR"
  | "PARSE_ERROR";

/** An error response of the service (RFC 9457). Branch on its `code`. */
export type Problem = Omit<components["schemas"]["Problem"], "code"> & {
  /** Later versions of the service may add codes. */
  code: components["schemas"]["ErrorCode"] | (string & {});
  /** With `events_removed`: the index to continue at. */
  first?: number;
};

/** What an {@link UsherError} has beside its code and message. */
export interface UsherErrorDetails {
  problem?: Problem | undefined;
  httpStatus?: number | undefined;
  retryAfter?: number | undefined;
  temporary?: boolean | undefined;
  cause?: unknown;
}

/** Every error but two: an aborted call throws the reason of its signal, a wrong argument a `TypeError`. */
export class UsherError extends Error {
  override readonly name: string = "UsherError";
  /** What kind of error it is. */
  readonly code: UsherErrorCode;
  /** The service's own description, if it sent one. */
  readonly problem: Problem | undefined;
  /** The HTTP status, if there was a response. */
  readonly httpStatus: number | undefined;
  /** Seconds after which the service wants to be asked again, if it said so. */
  readonly retryAfter: number | undefined;
  /** Whether the same call may succeed later. The client has repeated it already, within the call's timeout. */
  readonly temporary: boolean;

  constructor(code: UsherErrorCode, message: string, details: UsherErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.problem = details.problem;
    this.httpStatus = details.httpStatus;
    this.retryAfter = details.retryAfter;
    this.temporary = details.temporary ?? false;
  }
}

/** An operation has ended without a result: its last event says `timeout` or `error`, or it was closed. */
export class OperationError extends UsherError {
  override readonly name = "OperationError";
  /** `timeout`: nobody responded in time. `error`: see `reason`. `closed`: somebody closed the stream. */
  readonly status: "timeout" | "error" | "closed";
  /** Why, for people. */
  readonly reason: string | undefined;
  /** The event; none with `closed`. */
  readonly event: UsherEvent | undefined;

  constructor(status: "timeout" | "error" | "closed", event?: UsherEvent) {
    const data = event?.data as { reason?: unknown } | undefined;
    const reason = typeof data?.reason === "string" ? data.reason : undefined;
    super("SERVER_ERROR", `the operation ended with \`${status}\`${reason === undefined ? "" : `: ${reason}`}`);
    this.status = status;
    this.reason = reason;
    this.event = event;
  }
}
