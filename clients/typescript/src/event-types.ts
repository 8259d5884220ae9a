import type { components } from "./generated/schemas.js";

type Schemas = components["schemas"];
type With<T, K extends keyof T> = Omit<T, K> & Required<Pick<T, K>>;
type Status<T, S extends string, K extends keyof T = never> = With<Omit<T, "status">, Exclude<K, "status">> & {
  status: S;
};

/** An event of a stream, as all readers and webhooks of this client return it. */
export interface EventOf<T extends string, D> {
  /** The stream: a UUID, or `subscriptions`. */
  stream_id: string;
  /** Position in the stream, from 0, without gaps. */
  index: number;
  type: T;
  /** Unix seconds. */
  timestamp: number;
  data: D;
}

/** A user has told their key. It is not proven yet. */
export type KeyHandshakeEvent = EventOf<"KeyHandshake", Schemas["KeyHandshakeData"]>;

/** The user holds `main_key`: use it as their id. */
export type LoginApproved = EventOf<"StatusUpdate", Status<Schemas["LoginData"], "approved", "main_key">>;
/** The user refused. On a stream, `main_key` is the key that was asked: it is not proven. */
export type LoginDeclinedEvent = EventOf<"StatusUpdate", Status<Schemas["LoginData"], "declined">>;
/** The user refused, as a result: without any key. */
export type LoginDeclined = EventOf<"StatusUpdate", Omit<LoginDeclinedEvent["data"], "main_key">>;
/** An operation has ended without a result. */
export type Failed = EventOf<
  "StatusUpdate",
  { status: "timeout" | "error"; reason?: string; request_id?: string; token?: string; outcome?: string }
>;

/** The money has arrived: deliver. */
export type PaymentPaid = EventOf<"StatusUpdate", Status<Schemas["PaymentData"], "paid">>;
/** The user refused. */
export type UserRejected = EventOf<"StatusUpdate", Status<Schemas["PaymentData"], "user_rejected">>;
/** A payment by the service waits for an approval, the user has agreed, the wallet could not pay yet, or a transaction is on its way
 * to a block. The payment goes on. */
export type PaymentProgress = EventOf<
  "StatusUpdate",
  Status<Schemas["PaymentData"], "approval_required" | "user_approved" | "user_failed" | "sending">
>;

/** The user has agreed to a subscription. */
export type SubscriptionApproved = EventOf<"Subscription", Status<Schemas["SubscriptionData"], "approved">>;
/** An automatic charge succeeded or failed. */
export type SubscriptionPaymentEvent = EventOf<"SubscriptionPayment", Schemas["SubscriptionPaymentData"]>;
/** A user has closed a subscription. */
export type SubscriptionClosedEvent = EventOf<"SubscriptionClosed", Schemas["SubscriptionClosedData"]>;
/** A verified invoice from a user's wallet. */
export type InvoiceEvent = EventOf<"InvoiceResponse", Schemas["InvoiceData"]>;

/** The mint has confirmed the ticket. */
export type TicketSuccess = EventOf<"CashuResponse", Status<Schemas["CashuResponseData"], "success">>;
/** There is no ticket, or no proof of age: the user has none or refused, or the check failed. */
export type TicketRefused = EventOf<
  "CashuResponse",
  Status<Schemas["CashuResponseData"], "insufficient_funds" | "rejected">
>;

/** What a login ends with. Only `LoginApproved` has a `main_key`. */
export type LoginResult = LoginApproved | LoginDeclined;
/** What a login ends with, as the event of its stream. */
export type LoginEvent = LoginApproved | LoginDeclinedEvent;
/** What a payment ends with. */
export type PaymentResult = PaymentPaid | UserRejected;
/** What a request for an invoice ends with. */
export type InvoiceResult = InvoiceEvent | UserRejected;
/** What a request for a subscription ends with. */
export type SubscriptionResult = SubscriptionApproved | UserRejected;
/** What a ticket request, a ticket that was sent, or an age verification ends with. */
export type TicketResult = TicketSuccess | TicketRefused;

/** Any event of the service. Later versions may add types, statuses and members. */
export type UsherEvent =
  | KeyHandshakeEvent
  | LoginEvent
  | Failed
  | PaymentResult
  | PaymentProgress
  | SubscriptionResult
  | SubscriptionPaymentEvent
  | SubscriptionClosedEvent
  | InvoiceEvent
  | TicketResult;

/** The results among events of these types. None has a key that is not proven. */
export type ResultOf<E extends UsherEvent> = E extends KeyHandshakeEvent | Failed | PaymentProgress
  ? never
  : E extends LoginDeclinedEvent
    ? LoginDeclined
    : E;

/** What an event means to somebody who waits for the result of an operation. */
export type Meaning = "progress" | "result" | "failure";

/** What an operation is. It decides which events are its result. */
export type OperationKind =
  | "login"
  | "authentication"
  | "key_handshake"
  | "payment"
  | "invoice_request"
  | "subscription"
  | "ticket";

const LOGIN = ["StatusUpdate approved", "StatusUpdate declined"];
const REJECTED = "StatusUpdate user_rejected";

/** The types of the events that are results, with a status where it decides. */
const RESULTS: Record<OperationKind, readonly string[]> = {
  login: LOGIN,
  authentication: LOGIN,
  key_handshake: ["KeyHandshake"],
  payment: ["StatusUpdate paid", REJECTED],
  invoice_request: ["InvoiceResponse", REJECTED],
  subscription: ["Subscription", REJECTED],
  ticket: ["CashuResponse success", "CashuResponse insufficient_funds", "CashuResponse rejected"],
};
/** The results of an operation of any kind. Not `KeyHandshake`: a login has this event as well, and its key is not proven. */
const ANY: readonly string[] = Object.entries(RESULTS).flatMap(([kind, results]) =>
  kind === "key_handshake" ? [] : results,
);

/**
 * What an event means to somebody who waits for the result: `progress`, the `result`, or a `failure`.
 *
 * @param kind what the operation is. Without it, `KeyHandshake` is `progress`.
 */
export function meaningOf(event: UsherEvent, kind?: OperationKind): Meaning {
  const { status } = event.data as { status?: unknown };
  if (event.type === "StatusUpdate" && (status === "timeout" || status === "error")) return "failure";
  const results = kind === undefined ? ANY : RESULTS[kind];
  const isResult = results.includes(event.type) || results.includes(`${event.type} ${String(status)}`);
  return isResult ? "result" : "progress";
}
