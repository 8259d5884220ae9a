import { list, orNull, query, segment, started } from "./call-helpers.js";
import { UsherError } from "./errors.js";
import { toEvent } from "./event-parser.js";
import {
  type OperationKind,
  type ResultOf,
  type SubscriptionClosedEvent,
  type SubscriptionPaymentEvent,
  type UsherEvent,
} from "./event-types.js";
import type { components } from "./generated/schemas.js";
import type { CallOptions, Http } from "./http.js";
import type { List } from "./list.js";
import {
  KeyHandshake,
  Login,
  Operation,
  type Operations,
  Payment,
  ReusableLogin,
  SentTicket,
  VerificationSession,
} from "./operation.js";
import { OperatorEndpoints } from "./operator-endpoints.js";
import { httpOf, hubOf, type UsherOptions } from "./options.js";
import type { Hub } from "./reading/hub.js";
import type { ReadOptions } from "./reading/event-iterator.js";
import { type Defaults, priced, withCurrency, withSubkeys } from "./request-defaults.js";

type Schemas = components["schemas"];

/** Milliseconds for calls that wait for a mint: the service responds within 25 s, and a repeated call continues. */
const MINT_TIMEOUT = 100_000;
/** The reserved stream of all subscriptions. */
const SUBSCRIPTIONS = "subscriptions";

/**
 * A client of one Usher. Make one for your app and share it.
 *
 * Each method is one endpoint. Those that start something return an operation. Fields have the names of the HTTP API.
 */
export class Usher extends OperatorEndpoints {
  readonly #http: Http;
  readonly #hub: Hub;

  constructor(options: UsherOptions) {
    const http = httpOf(options);
    super(http);
    this.#http = http;
    this.#hub = hubOf(options, http);
    if (options.checkVersion !== false) {
      const warn = options.onWarning ?? ((message: string) => console.warn(message));
      this.#http.onRequest = () => {
        this.#http.onRequest = () => {};
        void this.checkVersion().then(
          ({ client, service, matches }) => {
            if (!matches)
              warn(`usher-client ${client} is not made for Usher ${service}: their major and minor versions differ`);
          },
          () => {},
        ); // The call itself tells what is wrong.
      };
    }
  }

  /** Closes the connections that events are read over. Whoever waits for an event gets `NOT_CONNECTED`. */
  close(): void {
    this.#hub.close();
  }

  /** Sends any request, for endpoints that this version of the client does not know. */
  request<T = unknown>(method: string, path: string, body?: unknown, options?: CallOptions): Promise<T> {
    return this.#http.call<T>(method, path, body, options);
  }

  // Log in

  /**
   * Logs a user in: redirect their browser to `pageUrl`, or show `url` as a QR code; `result()` says who it is. With
   * `return_url` the page leads back to your app, which calls `redeemLogin`. With `static_token` it is a `ReusableLogin`: of any number of users,
   * with their events and no single result.
   */
  login(request: Schemas["LoginRequest"] & { static_token: string }, options?: CallOptions): Promise<ReusableLogin>;
  login(request?: Schemas["LoginRequest"] & { static_token?: null }, options?: CallOptions): Promise<Login>;
  login(request?: Schemas["LoginRequest"], options?: CallOptions): Promise<Login | ReusableLogin>;
  async login(request: Schemas["LoginRequest"] = {}, options?: CallOptions): Promise<Login | ReusableLogin> {
    const login = await started<Schemas["LoginStarted"]>(this.#http, "/login", request, options, "page_url");
    if (request.static_token != null) return new ReusableLogin(this.#hub, login);
    return new Login(this.#hub, login.stream_id, login.url, login.page_url);
  }

  /** Continues a login, for example after a restart of your app: `streamId` is that of the login. */
  resumeLogin(streamId: string): Login<undefined> {
    return new Login(this.#hub, streamId, undefined, undefined);
  }

  /**
   * Redeems the code with which a login page has led a browser to your `return_url`: who has logged in. First check that this
   * browser has begun the login `streamId`.
   *
   * @throws UsherError with the code `login_code_invalid`, `login_code_redeemed` or `login_code_expired`: log nobody in.
   */
  async redeemLogin(streamId: string, code: string, options?: CallOptions): Promise<Schemas["LoginRedeemed"]> {
    const path = `/login/${segment(streamId)}/redeem`;
    const redeemed = await this.#http.call<Schemas["LoginRedeemed"]>("POST", path, { code }, options);
    if (typeof redeemed.main_key === "string") return redeemed;
    throw new UsherError("PARSE_ERROR", `POST ${path}: the response has no main_key`);
  }

  /** Creates a handshake URL, single-use or reusable (`static_token`). A key that is told is not proven yet. */
  async keyHandshake(request: Schemas["KeyHandshakeRequest"] = {}, options?: CallOptions): Promise<KeyHandshake> {
    return new KeyHandshake(this.#hub, await started(this.#http, "/key-handshake", request, options, "url"));
  }

  /** Lists the open reusable handshakes and logins. */
  keyHandshakes(
    filter: { after?: string; limit?: number } = {},
    options?: CallOptions,
  ): List<Schemas["KeyHandshakeList"], Schemas["ReusableHandshake"]> {
    return list(this.#http, "/key-handshake", filter, options, (page) => page.handshakes);
  }

  /** Closes a handshake or a reusable login: its URL stops working. */
  closeKeyHandshake(streamId: string, options?: CallOptions): Promise<Schemas["KeyHandshakeClosed"]> {
    return this.#http.call("DELETE", `/key-handshake/${segment(streamId)}`, undefined, options);
  }

  /** Forgets the remote signer that a user has logged in with. */
  forgetRemoteSigner(mainKey: string, options?: CallOptions): Promise<Schemas["RemoteSignerForgotten"]> {
    return this.#http.call("DELETE", `/remote-signers/${segment(mainKey)}`, undefined, options);
  }

  /** Forgets the passkeys with which a user has logged in. */
  forgetPasskeys(mainKey: string, options?: CallOptions): Promise<Schemas["PasskeysForgotten"]> {
    return this.#http.call("DELETE", `/passkeys/${segment(mainKey)}`, undefined, options);
  }

  /**
   * Erases a user, and says what was kept and why. While `next` of the response is not `null`, call it again with it as `after`.
   */
  eraseUser(mainKey: string, page: { after?: string } = {}, options?: CallOptions): Promise<Schemas["UserErasure"]> {
    return this.#http.call("DELETE", `/users/${segment(mainKey)}${query(page)}`, undefined, options);
  }

  /** Asks a user to prove that they hold a key. */
  authenticateKey(
    request: Defaults<Schemas["AuthenticateKeyRequest"], "subkeys">,
    options?: CallOptions,
  ): Promise<Operations["authentication"]> {
    return this.#start("authentication", "/authenticate-key", withSubkeys(request), options);
  }

  /** Issues a JWT about a key. */
  issueJwt(request: Schemas["JwtIssueRequest"], options?: CallOptions): Promise<Schemas["JwtIssued"]> {
    return this.#http.call("POST", "/jwt/issue", request, options);
  }

  /** Has the service verify a JWT; `verifyJwtLocally` does it without the service. */
  verifyJwt(request: Schemas["JwtVerifyRequest"], options?: CallOptions): Promise<Schemas["JwtVerified"]> {
    return this.#http.call("POST", "/jwt/verify", request, options);
  }

  /** A user's profile; `null` when there is none. */
  profile(mainKey: string, options?: CallOptions): Promise<Schemas["Profile"] | null> {
    return orNull(this.#http.call("GET", `/profile/${segment(mainKey)}`, undefined, options));
  }

  /** Publishes the service's own profile. */
  publishProfile(profile: Schemas["ProfileRequest"], options?: CallOptions): Promise<Schemas["Profile"]> {
    return this.#http.call("PUT", "/profile", profile, options);
  }

  /** The key of `name@domain`; `null` when the domain names none. */
  resolveNip05(identifier: string, options?: CallOptions): Promise<Schemas["Nip05"] | null> {
    return orNull(this.#http.call("GET", `/nip05/${segment(identifier)}`, undefined, options));
  }

  // Pay

  /** Asks a user for a payment; without a `currency`, `amount` is in millisats ({@link sats}). Deliver on `paid`. */
  async requestPayment(
    request: Defaults<Schemas["SinglePaymentRequest"], "subkeys" | "currency">,
    options?: CallOptions,
  ): Promise<Payment> {
    return new Payment(
      this.#hub,
      await started<Schemas["PaymentStarted"]>(this.#http, "/payments/single", priced(request), options, "page_url"),
    );
  }

  /** Pays an invoice: from the wallet of `main_key`, or without it from the service's own Lightning backend. */
  payInvoice(request: Schemas["PayInvoiceRequest"], options?: CallOptions): Promise<Operations["payment"]> {
    return this.#start("payment", "/invoices/pay", request, options);
  }

  /** Asks a user for an invoice. */
  requestInvoice(
    request: {
      recipient_key: string;
      subkeys?: string[];
      content: Defaults<Schemas["InvoiceRequestContent"], "currency">;
    },
    options?: CallOptions,
  ): Promise<Operations["invoice_request"]> {
    return this.#start(
      "invoice_request",
      "/invoices/request",
      withSubkeys({ ...request, content: withCurrency(request.content) }),
      options,
    );
  }

  /**
   * Lists the payments that the service received or made: its books. With `order: "newest"` the last first; with `q` those that
   * are found, the last first.
   */
  payments(
    filter: {
      from?: number;
      to?: number;
      status?: string;
      direction?: "in" | "out";
      order?: "oldest" | "newest";
      q?: string;
      after?: string;
      limit?: number;
    } = {},
    options?: CallOptions,
  ): List<Schemas["PaymentList"], Schemas["BookedPayment"]> {
    return list(this.#http, "/payments", filter, options, (page) => page.payments);
  }

  /** Pays a payment back, in full or in part. */
  refund(
    streamId: string,
    request: Schemas["RefundRequest"] = {},
    options?: CallOptions,
  ): Promise<Schemas["RefundStarted"]> {
    return this.#http.call("POST", `/payments/${segment(streamId)}/refund`, request, options);
  }

  /** The receipt of a payment that was paid. */
  receipt(streamId: string, options?: CallOptions): Promise<Schemas["Receipt"]> {
    return this.#http.call("GET", `/payments/${segment(streamId)}/receipt`, undefined, options);
  }

  /** Lists payments by the service that wait for an approval. */
  approvals(
    filter: { after?: string; limit?: number } = {},
    options?: CallOptions,
  ): List<Schemas["ApprovalList"], Schemas["Approval"]> {
    return list(this.#http, "/approvals", filter, options, (page) => page.approvals);
  }

  /** Approves or declines a payment by the service that waits. Who asked for it cannot approve it. */
  decideApproval(
    streamId: string,
    decision: "approve" | "decline",
    options?: CallOptions,
  ): Promise<Schemas["ApprovalDecided"]> {
    return this.#http.call("POST", `/approvals/${segment(streamId)}`, { decision }, options);
  }

  /** Creates a payment link: a page, and a code for wallets, at which many people can pay. */
  createPaymentLink(
    request: Schemas["PaymentLinkRequest"],
    options?: CallOptions,
  ): Promise<Schemas["PaymentLinkCreated"]> {
    return this.#http.call("POST", "/payment-links", request, options);
  }

  /** Lists payment links. */
  paymentLinks(
    filter: { after?: string; limit?: number } = {},
    options?: CallOptions,
  ): List<Schemas["PaymentLinkList"], Schemas["PaymentLink"]> {
    return list(this.#http, "/payment-links", filter, options, (page) => page.links);
  }

  /** Closes a payment link: it gives out no more invoices. */
  closePaymentLink(streamId: string, options?: CallOptions): Promise<Schemas["PaymentLinkClosed"]> {
    return this.#http.call("DELETE", `/payment-links/${segment(streamId)}`, undefined, options);
  }

  // Subscribe

  /** Asks a user to agree to a subscription. */
  requestSubscription(
    request: Defaults<Schemas["RecurringPaymentRequest"], "subkeys" | "currency">,
    options?: CallOptions,
  ): Promise<Operations["subscription"]> {
    return this.#start("subscription", "/payments/recurring", priced(request), options);
  }

  /** Closes a subscription. */
  closeSubscription(
    request: Defaults<Schemas["CloseSubscriptionRequest"], "subkeys">,
    options?: CallOptions,
  ): Promise<Schemas["SubscriptionClosed"]> {
    return this.#http.call("POST", "/payments/recurring/close", withSubkeys(request), options);
  }

  /** Lists subscriptions. */
  subscriptions(
    filter: { state?: string; main_key?: string; after?: string; limit?: number } = {},
    options?: CallOptions,
  ): List<Schemas["SubscriptionList"], Schemas["SubscriptionInfo"]> {
    return list(this.#http, "/subscriptions", filter, options, (page) => page.subscriptions);
  }

  /** Shows a subscription. */
  subscription(subscriptionId: string, options?: CallOptions): Promise<Schemas["SubscriptionInfo"]> {
    return this.#http.call("GET", `/subscriptions/${segment(subscriptionId)}`, undefined, options);
  }

  /** The charges and closures of all subscriptions, as they happen. It never ends. */
  subscriptionEvents(options?: ReadOptions): AsyncIterableIterator<SubscriptionPaymentEvent | SubscriptionClosedEvent> {
    return this.operation<SubscriptionPaymentEvent | SubscriptionClosedEvent>(SUBSCRIPTIONS).events(options);
  }

  /**
   * Calls the listener when a user closes a subscription: one event after the other, and the next when the listener has
   * finished. Without `after` it begins with the first closure that the service still knows.
   *
   * @param onError is called when the reading ends by an error, or by one that the listener throws. Read again from the
   * index after the last event that you have handled.
   * @returns a function that ends it.
   */
  onSubscriptionClosed(
    listener: (event: SubscriptionClosedEvent) => unknown,
    onError: (error: unknown) => void,
    options: ReadOptions = {},
  ): () => void {
    const events = this.subscriptionEvents(options);
    let stopped = false;
    const run = async () => {
      for await (const event of events) {
        if (event.type === "SubscriptionClosed") await listener(event);
      }
    };
    run().catch((error: unknown) => {
      if (!stopped && !options.signal?.aborted) onError(error);
    });
    return () => {
      stopped = true;
      void events.return?.();
    };
  }

  /** The next date of a calendar. */
  nextOccurrence(
    request: Schemas["CalendarNextOccurrenceRequest"],
    options?: CallOptions,
  ): Promise<Schemas["CalendarNextOccurrence"]> {
    return this.#http.call("POST", "/calendar/next-occurrence", request, options);
  }

  // Tickets. Send an `idempotencyKey` of your own with mintTicket, burnTicket, sendTicket and withdrawTicket, for example
  // the id of the order: then a crash of your app does not mint or redeem twice either.

  /** Asks a user for a ticket. With `redeem` it is redeemed when `success` is reported. */
  requestTicket(
    request: Defaults<Schemas["TicketRequest"], "subkeys">,
    options?: CallOptions,
  ): Promise<Operations["ticket"]> {
    return this.#start("ticket", "/cashu/request", withSubkeys(request), options);
  }

  /** Mints a ticket: `{token}`. */
  mintTicket(request: Schemas["MintTicketRequest"], options?: CallOptions): Promise<Schemas["Ticket"]> {
    return this.#http.call("POST", "/cashu/mint", request, options, MINT_TIMEOUT);
  }

  /** Redeems a ticket: `{amount}`. Let nobody in before. */
  burnTicket(request: Schemas["BurnTicketRequest"], options?: CallOptions): Promise<Schemas["TicketBurned"]> {
    return this.#http.call("POST", "/cashu/burn", request, options, MINT_TIMEOUT);
  }

  /** Sends a ticket to a user, again and again until they have redeemed it. */
  async sendTicket(
    request: Defaults<Schemas["SendTicketRequest"], "subkeys">,
    options?: CallOptions,
  ): Promise<SentTicket> {
    return new SentTicket(this.#hub, await started(this.#http, "/cashu/send-direct", withSubkeys(request), options));
  }

  /** Lists the tickets that were sent and not redeemed. */
  outgoingTickets(
    filter: { after?: string; limit?: number } = {},
    options?: CallOptions,
  ): List<Schemas["OutgoingTicketList"], Schemas["OutgoingTicket"]> {
    return list(this.#http, "/cashu/outgoing", filter, options, (page) => page.outgoing);
  }

  /** Takes a ticket that was sent and not redeemed back. */
  reclaimTicket(
    streamId: string,
    request: Schemas["ReclaimTicketRequest"] = {},
    options?: CallOptions,
  ): Promise<Schemas["TicketReclaimed"]> {
    return this.#http.call("POST", `/cashu/outgoing/${segment(streamId)}/reclaim`, request, options, MINT_TIMEOUT);
  }

  /** What the service's own ticket wallet holds. */
  ticketBalances(options?: CallOptions): Promise<Schemas["TicketBalances"]> {
    return this.#http.call("GET", "/cashu/balances", undefined, options);
  }

  /** Takes a token out of the service's own ticket wallet. */
  withdrawTicket(request: Schemas["WithdrawTicketRequest"], options?: CallOptions): Promise<Schemas["Ticket"]> {
    return this.#http.call("POST", "/cashu/withdraw", request, options, MINT_TIMEOUT);
  }

  // Verify ages

  /** Opens an age verification: redirect the user to `sessionUrl`. */
  async createVerificationSession(
    request: Schemas["VerificationSessionRequest"] = {},
    options?: CallOptions,
  ): Promise<VerificationSession> {
    return new VerificationSession(
      this.#hub,
      await started(this.#http, "/verification/sessions", request, options, "session_url"),
    );
  }

  /** Lists the age verifications that wait for a decision. */
  verificationSessions(
    filter: { status?: "open"; after?: string; limit?: number } = {},
    options?: CallOptions,
  ): List<Schemas["VerificationSessionList"], Schemas["OpenVerificationSession"]> {
    return list(this.#http, "/verification/sessions", filter, options, (page) => page.sessions);
  }

  /** Decides an age verification. */
  decideVerificationSession(
    sessionId: string,
    request: Schemas["VerificationDecision"],
    options?: CallOptions,
  ): Promise<Schemas["VerificationDecided"]> {
    return this.#http.call("POST", `/verification/sessions/${segment(sessionId)}/decision`, request, options);
  }

  /** Asks a user for a proof of age that they hold already. */
  requestVerificationToken(
    request: Defaults<Schemas["VerificationTokenRequest"], "subkeys">,
    options?: CallOptions,
  ): Promise<Operations["ticket"]> {
    return this.#start("ticket", "/verification/token", withSubkeys(request), options);
  }

  // Receive events

  /**
   * Continues an operation that was started before, here or elsewhere. `kind` says what it is, and so which event is its
   * result: `usher.resume("payment", streamId)`.
   */
  resume<K extends OperationKind>(kind: K, streamId: string): Operations[K] {
    return new Operation<UsherEvent, UsherEvent>(this.#hub, streamId, kind) as unknown as Operations[K];
  }

  /**
   * An operation of any kind, by its stream. Its result is the event with which any operation but a key handshake ends:
   * `KeyHandshake` is none, because logins have it too, and its key is not proven.
   */
  operation<E extends UsherEvent = UsherEvent, R extends UsherEvent = ResultOf<E>>(streamId: string): Operation<E, R> {
    return new Operation<E, R>(this.#hub, streamId);
  }

  /** Reads one page of a stream. `wait`: seconds that the service may wait for an event. */
  async readEvents(
    streamId: string,
    page: { after?: number; limit?: number; wait?: number } = {},
    options?: CallOptions,
  ): Promise<Omit<Schemas["EventPage"], "events"> & { events: UsherEvent[] }> {
    const read = await this.#http.call<Schemas["EventPage"]>(
      "GET",
      `/events/${segment(streamId)}${query(page)}`,
      undefined,
      options,
      40_000 + (page.wait ?? 0) * 1000,
    );
    if (!Array.isArray(read.events)) throw new UsherError("PARSE_ERROR", "the response is not a page of events");
    return { ...read, events: read.events.map((event) => toEvent(event, streamId)) };
  }

  async #start<K extends OperationKind>(
    kind: K,
    path: string,
    body: object,
    options?: CallOptions,
  ): Promise<Operations[K]> {
    const { stream_id } = await started<Schemas["StreamStarted"]>(this.#http, path, body, options);
    return this.resume(kind, stream_id);
  }
}
