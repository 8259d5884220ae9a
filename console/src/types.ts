import type { components } from "usher-client";

/** The shapes of the API, from its OpenAPI document. */
export type Schemas = components["schemas"];
export type Payment = Schemas["BookedPayment"];
export type Link = Schemas["PaymentLink"];
export type Subscription = Schemas["SubscriptionInfo"];
export type Delivery = Schemas["WebhookDelivery"];
export type ApiEvent = Schemas["Event"];

/** Who is logged in, and for how long: `GET /console/session`. Times are Unix seconds. */
export interface Session {
  name: string;
  key: string;
  /** `null`: they only approve payments. */
  role: "viewer" | "support" | "admin" | null;
  scopes: string[];
  approver: boolean;
  service: string | null;
  currency: string | null;
  test_mode: boolean;
  version: string;
  expires_at: number;
  step_up_until: number | null;
  sessions: { id: string; began_at: number; last_used_at: number; current: boolean }[];
}

export type Login = Schemas["EndedLogin"];

/** What is kept of a user: at most 100 ids of each kind, and how many there are. */
export type User = Schemas["User"];
export type UserRecords = "logins" | "payments" | "subscriptions" | "passkeys" | "signers" | "consents";

/** The books of an hour or a day. */
export type Sums = Schemas["SummarySums"];

export type Setting = Schemas["Setting"];

export type Operators = Schemas["OperatorList"];
