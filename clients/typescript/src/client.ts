import { UsherError } from "./errors.js";
import { toEvent } from "./event-parser.js";
import {
  type OperationKind,
  type ResultOf,
  type SubscriptionClosedEvent,
  type SubscriptionPaymentEvent,
  type UsherEvent,
} from "./events.js";
import type { components } from "./generated/schemas.js";
import { type CallOptions, Http } from "./http.js";
import { List } from "./list.js";
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
import { Hub, type TransportName } from "./reading/hub.js";
import type { ReadOptions } from "./reading/iterator.js";
import type { WebSocketConstructor } from "./reading/socket.js";
import { CLIENT_VERSION, compareVersions, type VersionCheck } from "./version.js";

type Schemas = components["schemas"];
/** A request in which fields with an obvious default may be left out. */
type Defaults<T, K extends keyof T> = Omit<T, K> & Partial<Pick<T, K>>;

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

/** Milliseconds for calls that wait for a mint: the service responds within 25 s, and a repeated call continues. */
const MINT_TIMEOUT = 100_000;
/** The reserved stream of all subscriptions. */
const SUBSCRIPTIONS = "subscriptions";

const segment = encodeURIComponent;

function query(values: Record<string, string | number | undefined>): string {
  const pairs = Object.entries(values).filter(([, value]) => value !== undefined);
  return pairs.length === 0 ? "" : `?${pairs.map(([name, value]) => `${name}=${segment(String(value))}`).join("&")}`;
}

/** Gives requests the defaults of `subkeys` and `currency`, which an undefined one has as well. */
const withSubkeys = <T extends { subkeys?: string[] | undefined }>(body: T) => ({
  ...body,
  subkeys: body.subkeys === undefined ? [] : body.subkeys,
});
const withCurrency = <T extends { currency?: string | undefined }>(body: T) => ({
  ...body,
  currency: body.currency === undefined ? "millisats" : body.currency,
});
const priced = <T extends { subkeys?: string[]; currency?: string }>(body: T) => withCurrency(withSubkeys(body));

/**
 * A client of one Usher. Make one for your app and share it.
 *
 * Each method is one endpoint. Those that start something return an operation. Fields have the names of the HTTP API.
 */
export class Usher {
  readonly #http: Http;
  readonly #hub: Hub;

  constructor(options: UsherOptions) {
    const url = new URL(options.url);
    if (!/^https?:$/.test(url.protocol)) throw new TypeError("url must be an http(s) URL");
    if (url.username || url.password || url.search || url.hash)
      throw new TypeError("url must have no user, password, query or fragment: they would be logged");
    const { token } = options;
    if (typeof token !== "function" && (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token)))
      throw new TypeError("token must be visible ASCII characters");
    this.#http = new Http({
      url,
      token: typeof token === "function" ? token : () => token,
      fetch: options.fetch ?? ((...args) => globalThis.fetch(...args)),
      timeout: options.timeout ?? 40_000,
      retries: options.retries ?? 3,
    });
    this.#hub = new Hub(this.#http, {
      transport: options.transport ?? "auto",
      WebSocket: options.WebSocket ?? (globalThis.WebSocket as WebSocketConstructor | undefined),
      unreachableAfter: options.unreachableAfter ?? 300_000,
    });
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
    const started = await this.#started<Schemas["LoginStarted"]>("/login", request, options, "page_url");
    if (request.static_token != null) return new ReusableLogin(this.#hub, started);
    return new Login(this.#hub, started.stream_id, started.url, started.page_url);
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
    return new KeyHandshake(this.#hub, await this.#started("/key-handshake", request, options, "url"));
  }

  /** Lists the open reusable handshakes and logins. */
  keyHandshakes(
    filter: { after?: string; limit?: number } = {},
    options?: CallOptions,
  ): List<Schemas["KeyHandshakeList"], Schemas["ReusableHandshake"]> {
    return this.#list("/key-handshake", filter, options, (page) => page.handshakes);
  }

  /** Closes a handshake or a reusable login: its URL stops working. */
  closeKeyHandshake(streamId: string, options?: CallOptions): Promise<Schemas["KeyHandshakeClosed"]> {
    return this.#http.call("DELETE", `/key-handshake/${segment(streamId)}`, undefined, options);
  }

  /** Forgets the remote signer that a user has logged in with. */
  forgetRemoteSigner(mainKey: string, options?: CallOptions): Promise<Schemas["RemoteSignerForgotten"]> {
    return this.#http.call("DELETE", `/remote-signers/${segment(mainKey)}`, undefined, options);
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

  /** Asks a user for a payment; `amount` is in millisats. Deliver on `paid`. */
  async requestPayment(
    request: Defaults<Schemas["SinglePaymentRequest"], "subkeys" | "currency">,
    options?: CallOptions,
  ): Promise<Payment> {
    return new Payment(
      this.#hub,
      await this.#started<Schemas["PaymentStarted"]>("/payments/single", priced(request), options, "page_url"),
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

  /** The service's Lightning backend and its balance. */
  walletInfo(options?: CallOptions): Promise<Schemas["WalletInfo"]> {
    return this.#http.call("GET", "/wallet/info", undefined, options);
  }

  /** The channels of the service's own Lightning node. */
  channels(options?: CallOptions): Promise<Schemas["Channels"]> {
    return this.#http.call("GET", "/wallet/channels", undefined, options);
  }

  /** Opens a channel with money of the node's on-chain balance. */
  openChannel(request: Schemas["OpenChannelRequest"], options?: CallOptions): Promise<Schemas["ChannelOpening"]> {
    return this.#http.call("POST", "/wallet/channels", request, options);
  }

  /** Closes a channel. With `force`, without the peer's agreement: only if it does not come back. */
  closeChannel(
    channelId: string,
    request: Schemas["CloseChannelRequest"] = {},
    options?: CallOptions,
  ): Promise<Schemas["ChannelClosing"]> {
    return this.#http.call("POST", `/wallet/channels/${segment(channelId)}/close`, request, options);
  }

  /** A new address at which the service's own Lightning node receives bitcoin. */
  createAddress(options?: CallOptions): Promise<Schemas["BitcoinAddress"]> {
    return this.#http.call("POST", "/wallet/addresses", {}, options);
  }

  /** What a liquidity provider would keep of a payment to the service's own Lightning node, at this moment. */
  receivingCost(amount: number, options?: CallOptions): Promise<Schemas["ReceivingCost"]> {
    return this.#http.call("POST", "/wallet/receiving-cost", { amount }, options);
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
    return this.#list("/subscriptions", filter, options, (page) => page.subscriptions);
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
    return new SentTicket(this.#hub, await this.#started("/cashu/send-direct", withSubkeys(request), options));
  }

  /** Lists the tickets that were sent and not redeemed. */
  outgoingTickets(
    filter: { after?: string; limit?: number } = {},
    options?: CallOptions,
  ): List<Schemas["OutgoingTicketList"], Schemas["OutgoingTicket"]> {
    return this.#list("/cashu/outgoing", filter, options, (page) => page.outgoing);
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
      await this.#started("/verification/sessions", request, options, "session_url"),
    );
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

  /** Lists webhook deliveries: by default those that failed. */
  webhookDeliveries(
    filter: { status?: "failed" | "pending" | "delivered"; after?: string; limit?: number } = {},
    options?: CallOptions,
  ): List<Schemas["WebhookDeliveries"], Schemas["WebhookDelivery"]> {
    return this.#list("/webhooks/deliveries", filter, options, (page) => page.deliveries);
  }

  /** Sends a webhook delivery again. */
  retryWebhookDelivery(id: string, options?: CallOptions): Promise<Schemas["WebhookDelivery"]> {
    return this.#http.call("POST", `/webhooks/deliveries/${segment(id)}/retry`, undefined, options);
  }

  // Operate

  /** Whether the service is alive: `OK`. */
  health(options?: CallOptions): Promise<string> {
    return this.#http.call("GET", "/health", undefined, options);
  }

  /** Whether the service can do its work, with the state of its parts. */
  readiness(options?: CallOptions): Promise<Schemas["Ready"]> {
    return this.#http.call("GET", "/health/ready", undefined, options);
  }

  /** Metrics for Prometheus. */
  metrics(options?: CallOptions): Promise<string> {
    return this.#http.call("GET", "/metrics", undefined, options);
  }

  /** The service's relays and their connections. */
  relays(options?: CallOptions): Promise<Schemas["Relays"]> {
    return this.#http.call("GET", "/relays", undefined, options);
  }

  /** Adds a relay. */
  addRelay(relay: string, options?: CallOptions): Promise<Schemas["Relay"]> {
    return this.#http.call("POST", "/relays", { relay }, options);
  }

  /** Removes a relay. */
  removeRelay(relay: string, options?: CallOptions): Promise<Schemas["RelayRemoved"]> {
    return this.#http.call("DELETE", "/relays", { relay }, options);
  }

  /** Lists which users have let which apps log them in with OpenID Connect. */
  oidcConsents(
    filter: { after?: string; limit?: number } = {},
    options?: CallOptions,
  ): List<Schemas["OidcConsentList"], Schemas["OidcConsent"]> {
    return this.#list("/oidc/consents", filter, options, (page) => page.consents);
  }

  /** Revokes a user's consent: the app's codes and tokens for this user stop working. */
  revokeOidcConsent(
    request: Schemas["RevokeOidcConsentRequest"],
    options?: CallOptions,
  ): Promise<Schemas["OidcConsentRevoked"]> {
    return this.#http.call("DELETE", "/oidc/consents", request, options);
  }

  /** Lists the keys that sign ID tokens. */
  oidcKeys(options?: CallOptions): Promise<Schemas["OidcKeys"]> {
    return this.#http.call("GET", "/oidc/keys", undefined, options);
  }

  /** Rotates the keys that sign ID tokens. */
  rotateOidcKeys(options?: CallOptions): Promise<Schemas["OidcKeys"]> {
    return this.#http.call("POST", "/oidc/keys", {}, options);
  }

  /** Revokes a key that signs ID tokens, because somebody else has it. */
  revokeOidcKey(kid: string, options?: CallOptions): Promise<Schemas["OidcKeys"]> {
    return this.#http.call("DELETE", `/oidc/keys/${segment(kid)}`, undefined, options);
  }

  /** The service's own name, as it publishes it. */
  nostrJson(name?: string, options?: CallOptions): Promise<Schemas["WellKnown"]> {
    return this.#http.call("GET", `/.well-known/nostr.json${query({ name })}`, undefined, options);
  }

  /** The service's version. */
  version(options?: CallOptions): Promise<Schemas["Version"]> {
    return this.#http.call("GET", "/version", undefined, options);
  }

  /** Compares the service's version with the client's. */
  async checkVersion(options?: CallOptions): Promise<VersionCheck> {
    return compareVersions(CLIENT_VERSION, String((await this.version(options)).version));
  }

  /** The service's OpenAPI document. */
  openapiDocument(options?: CallOptions): Promise<Record<string, unknown>> {
    return this.#http.call("GET", "/openapi.json", undefined, options);
  }

  async #start<K extends OperationKind>(
    kind: K,
    path: string,
    body: object,
    options?: CallOptions,
  ): Promise<Operations[K]> {
    const { stream_id } = await this.#started<Schemas["StreamStarted"]>(path, body, options);
    return this.resume(kind, stream_id);
  }

  /** Starts an operation: a response without a stream is none of Usher's. */
  async #started<T extends { stream_id: string }>(
    path: string,
    body: object,
    options?: CallOptions,
    member: keyof T = "stream_id",
  ): Promise<T> {
    const response = await this.#http.call<T>("POST", path, body, options);
    if (typeof response.stream_id === "string" && typeof response[member] === "string") return response;
    throw new UsherError("PARSE_ERROR", `POST ${path}: the response has no stream_id`);
  }

  #list<P extends { next?: string | null }, I>(
    path: string,
    filter: Record<string, string | number | undefined> & { after?: string },
    options: CallOptions | undefined,
    items: (page: P) => I[],
  ): List<P, I> {
    const page = (after: string | undefined) =>
      this.#http.call<P>("GET", path + query({ ...filter, after }), undefined, options);
    return new List(page, items, (page) => page.next, filter.after);
  }
}

/** `null` for what is not there. */
async function orNull<T>(response: Promise<T>): Promise<T | null> {
  try {
    return await response;
  } catch (error) {
    if (error instanceof UsherError && error.problem?.code === "profile_not_found") return null;
    throw error;
  }
}
