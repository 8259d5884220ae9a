// The words of the API, as people say them, and how serious each is.

export type Tone = "good" | "bad" | "wait" | "plain";

const STATUSES: Record<string, [string, Tone]> = {
  paid: ["Paid", "good"],
  open: ["Open", "wait"],
  link_open: ["Open", "good"],
  not_paid: ["Not paid", "plain"],
  unknown: ["Unknown", "bad"],
  approved: ["Approved", "good"],
  declined: ["Declined", "bad"],
  timeout: ["Timed out", "plain"],
  error: ["Failed", "bad"],
  user_approved: ["In progress", "wait"],
  user_rejected: ["Declined by the user", "bad"],
  user_failed: ["Attempt failed", "bad"],
  approval_required: ["Waits for an approval", "wait"],
  sending: ["On its way", "wait"],
  active: ["Active", "good"],
  closed: ["Closed", "plain"],
  closed_by_user: ["Closed by the user", "plain"],
  closed_by_provider: ["Closed by you", "plain"],
  completed: ["Completed", "plain"],
  ended: ["Ended", "plain"],
  expired: ["Expired", "plain"],
  pending: ["Pending", "wait"],
  delivered: ["Delivered", "good"],
  failed: ["Failed", "bad"],
  connected: ["Connected", "good"],
  connecting: ["Connecting", "wait"],
  disconnected: ["Disconnected", "bad"],
  checking: ["Checking", "wait"],
  queued: ["Queued", "wait"],
  sent: ["Sent", "good"],
  reclaiming: ["Being reclaimed", "wait"],
  success: ["Passed", "good"],
  rejected: ["Rejected", "bad"],
  insufficient_funds: ["No proof issued", "bad"],
  ok: ["Done", "good"],
  begun: ["Begun", "plain"],
};

/** A status in words; a later version may have others. */
export function statusOf(status: string): { label: string; tone: Tone } {
  const [label, tone] = STATUSES[status] ?? [sentence(status), "plain"];
  return { label, tone };
}

/** The choices of a filter: all, and these statuses. */
export const optionsOf = (...statuses: string[]): [string, string][] =>
  [["", "All"], ...statuses.map((status): [string, string] => [status, statusOf(status).label])];

/** `closed_by_user` → `Closed by user`. */
export function sentence(word: string): string {
  const text = word.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `createPaymentLink` → `Create payment link`. */
export const actionName = (operationId: string) =>
  sentence(operationId.replace(/([a-z])([A-Z])/g, (_, before, after) => `${before} ${after.toLowerCase()}`));

const KINDS: Record<string, string> = {
  payment: "Payment",
  charge: "Subscription charge",
  invoice: "Invoice",
  refund: "Refund",
  link: "Payment link",
  on_chain: "On-chain payment",
};
export const kindOf = (kind: string) => KINDS[kind] ?? sentence(kind);

const METHODS: Record<string, string> = { wallet: "Wallet", extension: "Extension", signer: "Remote signer", passkey: "Passkey" };
export const methodOf = (method: string) => METHODS[method] ?? sentence(method);

/** What each scope of the API lets somebody do. */
export const SCOPES: Record<string, string> = {
  login: "log users in, profiles, JWTs",
  "payments:receive": "ask for payments, links, books, balance",
  "payments:send": "pay, refund, send on chain, open channels",
  subscriptions: "subscriptions",
  tickets: "mint, send and redeem tickets",
  verification: "age checks",
  "events:read": "read events and webhook deliveries",
  approvals: "approve payments",
  relays: "relays and the service's profile",
  admin: "everything else: keys, audit log, users",
};
