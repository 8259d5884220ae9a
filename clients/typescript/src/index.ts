/**
 * Client of Usher: log users in with their Nostr key, take Lightning payments, issue and redeem tickets.
 *
 * @packageDocumentation
 */
export { Usher } from "./client.js";
export { OperationError, UsherError, type Problem, type UsherErrorCode, type UsherErrorDetails } from "./errors.js";
export * from "./event-parser.js";
export * from "./event-types.js";
export type { components } from "./generated/schemas.js";
export type { CallOptions } from "./http.js";
export { JwtError, preimageMatches, verifyJwtLocally, type JwtClaims } from "./jwt.js";
export { List } from "./list.js";
export {
  KeyHandshake,
  Login,
  ReusableLogin,
  Operation,
  type Operations,
  Payment,
  SentTicket,
  VerificationSession,
  type ResultOptions,
} from "./operation.js";
export type { UsherOptions } from "./options.js";
export type { TransportName } from "./reading/hub.js";
export type { ReadOptions } from "./reading/event-iterator.js";
export { sats } from "./request-defaults.js";
export type { WebSocketConstructor } from "./reading/socket.js";
export { CLIENT_VERSION, type VersionCheck } from "./version.js";
export {
  expressWebhookHandler,
  fetchWebhookHandler,
  signTestEvent,
  verifyWebhook,
  type HeadersLike,
  type RequestLike,
  type ResponseLike,
  type SignedWebhook,
  type VerifyOptions,
  type WebhookListener,
} from "./webhook.js";
