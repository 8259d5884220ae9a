import { list, query, segment } from "./call-helpers.js";
import type { components } from "./generated/schemas.js";
import type { CallOptions, Http } from "./http.js";
import type { List } from "./list.js";
import { CLIENT_VERSION, compareVersions, type VersionCheck } from "./version.js";

type Schemas = components["schemas"];

/** The endpoints with which the service is operated: its state, API keys, relays, Lightning node, webhooks
 * and OpenID Connect. */
export class OperatorEndpoints {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

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

  /** The configuration with which the service runs, without secrets. */
  settings(options?: CallOptions): Promise<Schemas["Settings"]> {
    return this.#http.call("GET", "/settings", undefined, options);
  }

  /** What is kept of a user. While `next` is not `null`, continue with it as `after`. */
  user(mainKey: string, after?: string, options?: CallOptions): Promise<Schemas["User"]> {
    return this.#http.call("GET", `/users/${segment(mainKey)}${query({ after })}`, undefined, options);
  }

  /** The people who use the console, and invitations that nobody has accepted. */
  operators(options?: CallOptions): Promise<Schemas["OperatorList"]> {
    return this.#http.call("GET", "/operators", undefined, options);
  }

  /** Invites a person to the console. The link is good once, and for an hour. */
  inviteOperator(request: Schemas["NewOperator"], options?: CallOptions): Promise<Schemas["NewInvitation"]> {
    return this.#http.call("POST", "/operators/invitations", request, options);
  }

  /** Removes an operator, and ends their sessions. */
  removeOperator(key: string, options?: CallOptions): Promise<Schemas["OperatorRemoved"]> {
    return this.#http.call("DELETE", `/operators/${segment(key)}`, undefined, options);
  }

  /** Lists the apps that log users in with OpenID Connect. */
  oidcClients(options?: CallOptions): Promise<Schemas["OidcClients"]> {
    return this.#http.call("GET", "/oidc/clients", undefined, options);
  }

  /** Stores an app that logs users in with OpenID Connect. Its `secret` is shown this once. */
  createOidcClient(
    request: Schemas["CreateOidcClientRequest"],
    options?: CallOptions,
  ): Promise<Schemas["OidcClientWithSecret"]> {
    return this.#http.call("POST", "/oidc/clients", request, options);
  }

  /** Changes a stored app. */
  changeOidcClient(
    clientId: string,
    request: Schemas["ChangeOidcClientRequest"],
    options?: CallOptions,
  ): Promise<Schemas["OidcClientWithSecret"]> {
    return this.#http.call("PATCH", `/oidc/clients/${segment(clientId)}`, request, options);
  }

  /** Deletes a stored app, with its tokens and users' consents. */
  deleteOidcClient(clientId: string, options?: CallOptions): Promise<Schemas["OidcClientDeleted"]> {
    return this.#http.call("DELETE", `/oidc/clients/${segment(clientId)}`, undefined, options);
  }

  /** Lists which users have let which apps log them in with OpenID Connect. */
  oidcConsents(
    filter: { after?: string; limit?: number } = {},
    options?: CallOptions,
  ): List<Schemas["OidcConsentList"], Schemas["OidcConsent"]> {
    return list(this.#http, "/oidc/consents", filter, options, (page) => page.consents);
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

  /** Creates an API key. Its `secret` is shown this once. */
  createKey(request: Schemas["NewKeyRequest"], options?: CallOptions): Promise<Schemas["ApiKeyWithSecret"]> {
    return this.#http.call("POST", "/keys", request, options);
  }

  /** Lists the API keys and the secrets of the configuration, with the last use of each. */
  keys(options?: CallOptions): Promise<Schemas["ApiKeyList"]> {
    return this.#http.call("GET", "/keys", undefined, options);
  }

  /** Gives an API key a new secret; the former one is accepted for `overlap_seconds` longer. */
  rotateKey(
    keyId: string,
    request: Schemas["KeyRotation"] = {},
    options?: CallOptions,
  ): Promise<Schemas["ApiKeyWithSecret"]> {
    return this.#http.call("POST", `/keys/${segment(keyId)}/rotate`, request, options);
  }

  /** Revokes an API key, at once. */
  revokeKey(keyId: string, options?: CallOptions): Promise<Schemas["ApiKeyRevoked"]> {
    return this.#http.call("DELETE", `/keys/${segment(keyId)}`, undefined, options);
  }

  /** Lists who changed what, the oldest first. */
  auditEntries(
    filter: { after?: string; limit?: number } = {},
    options?: CallOptions,
  ): List<Schemas["AuditLog"], Schemas["AuditEntry"]> {
    return list(this.#http, "/audit", filter, options, (page) => page.entries);
  }

  /** Verifies the audit log: finds entries that were changed, added or removed. */
  verifyAuditLog(options?: CallOptions): Promise<Schemas["AuditVerification"]> {
    return this.#http.call("GET", "/audit/verification", undefined, options);
  }

  /** Lists the logins that have ended, the last first. `q` is a main key or a stream id. */
  logins(
    filter: { from?: number; to?: number; status?: string; q?: string; after?: string; limit?: number } = {},
    options?: CallOptions,
  ): List<Schemas["LoginList"], Schemas["EndedLogin"]> {
    return list(this.#http, "/logins", filter, options, (page) => page.logins);
  }

  /** Sums up payments and logins by hour or day. */
  summary(
    period: { from?: number; to?: number; by?: "hour" | "day" } = {},
    options?: CallOptions,
  ): Promise<Schemas["Summary"]> {
    return this.#http.call("GET", `/summary${query(period)}`, undefined, options);
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

  /** The service's Lightning backend and its balance. */
  walletInfo(options?: CallOptions): Promise<Schemas["WalletInfo"]> {
    return this.#http.call("GET", "/wallet/info", undefined, options);
  }

  /** The price of one bitcoin in a currency of `rates.currencies`. */
  rate(currency: string, options?: CallOptions): Promise<Schemas["CurrentRate"]> {
    return this.#http.call("GET", `/rates/${segment(currency)}`, undefined, options);
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

  /** Sends money of the service's own Lightning node to a Bitcoin address. Give the call an idempotency key. */
  sendOnChain(request: Schemas["SendOnChainRequest"], options?: CallOptions): Promise<Schemas["StreamStarted"]> {
    return this.#http.call("POST", "/wallet/send", request, options);
  }

  /** Lists webhook deliveries: by default those that failed. */
  webhookDeliveries(
    filter: { status?: "failed" | "pending" | "delivered"; after?: string; limit?: number } = {},
    options?: CallOptions,
  ): List<Schemas["WebhookDeliveries"], Schemas["WebhookDelivery"]> {
    return list(this.#http, "/webhooks/deliveries", filter, options, (page) => page.deliveries);
  }

  /** Posts a test event to the webhook. */
  testWebhook(options?: CallOptions): Promise<Schemas["WebhookTested"]> {
    return this.#http.call("POST", "/webhooks/test", undefined, options);
  }

  /** Sends a webhook delivery again. */
  retryWebhookDelivery(id: string, options?: CallOptions): Promise<Schemas["WebhookDelivery"]> {
    return this.#http.call("POST", `/webhooks/deliveries/${segment(id)}/retry`, undefined, options);
  }
}
