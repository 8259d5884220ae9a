import type { ComponentChildren } from "preact";
import type { Place } from "./router.tsx";
import { Account } from "./screens/account.tsx";
import { AgeChecks } from "./screens/age-checks.tsx";
import { Apps } from "./screens/apps.tsx";
import { Approvals } from "./screens/approvals.tsx";
import { Audit } from "./screens/audit.tsx";
import { Keys } from "./screens/keys.tsx";
import { LinkScreen, Links } from "./screens/links.tsx";
import { Logins } from "./screens/logins.tsx";
import { PaymentScreen, ReceiptScreen } from "./screens/payment.tsx";
import { Payments } from "./screens/payments.tsx";
import { Relays } from "./screens/relays.tsx";
import { Settings } from "./screens/settings.tsx";
import { Subscriptions, SubscriptionScreen } from "./screens/subscriptions.tsx";
import { TestMode } from "./screens/test-mode.tsx";
import { Tickets } from "./screens/tickets.tsx";
import { Today } from "./screens/today.tsx";
import { UserScreen } from "./screens/user.tsx";
import { Wallet } from "./screens/wallet.tsx";
import { DeliveryScreen, Webhooks } from "./screens/webhooks.tsx";
import type { Session } from "./types.ts";
import { Empty, type IconName, Screen } from "./ui.ts";

interface Entry {
  path: string;
  title: string;
  icon: IconName;
  group: string;
  view: (place: Place) => ComponentChildren;
  /** The screen of one of them: `/payments/{id}`. */
  one?: (id: string, place: Place) => ComponentChildren;
}

/** The menu, in its order. */
export const SCREENS: Entry[] = [
  { path: "/", title: "Today", icon: "today", group: "", view: () => <Today /> },
  { path: "/payments", title: "Payments", icon: "payments", group: "", view: ({ query }) => <Payments query={query} />, one: (id) => <PaymentScreen id={id} /> },
  { path: "/links", title: "Links", icon: "links", group: "", view: () => <Links />, one: (id) => <LinkScreen id={id} /> },
  { path: "/subscriptions", title: "Subscriptions", icon: "subscriptions", group: "", view: ({ query }) => <Subscriptions query={query} />, one: (id) => <SubscriptionScreen id={id} /> },
  { path: "/logins", title: "Logins and users", icon: "users", group: "", view: ({ query }) => <Logins query={query} /> },
  { path: "/approvals", title: "Approvals", icon: "approvals", group: "Waiting", view: () => <Approvals />, one: (id) => <Approvals id={id} /> },
  { path: "/age-checks", title: "Age checks", icon: "checks", group: "Waiting", view: () => <AgeChecks /> },
  { path: "/webhooks", title: "Webhooks", icon: "webhooks", group: "Waiting", view: ({ query }) => <Webhooks query={query} />, one: (id, { query }) => <DeliveryScreen id={id} query={query} /> },
  { path: "/wallet", title: "Wallet", icon: "wallet", group: "Money", view: () => <Wallet /> },
  { path: "/tickets", title: "Tickets", icon: "tickets", group: "Money", view: () => <Tickets /> },
  { path: "/apps", title: "Apps", icon: "apps", group: "Service", view: () => <Apps /> },
  { path: "/keys", title: "API keys", icon: "keys", group: "Service", view: () => <Keys /> },
  { path: "/relays", title: "Relays", icon: "relays", group: "Service", view: () => <Relays /> },
  { path: "/audit", title: "Audit log", icon: "audit", group: "Service", view: ({ query }) => <Audit query={query} /> },
  { path: "/test", title: "Test wallet", icon: "phone", group: "Service", view: () => <TestMode /> },
  { path: "/settings", title: "Settings", icon: "settings", group: "Service", view: ({ query }) => <Settings query={query} /> },
];

/** Screens that other screens lead to. */
const OTHERS: Entry[] = [
  { path: "/account", title: "Your account", icon: "users", group: "", view: () => <Account /> },
  { path: "/users", title: "User", icon: "users", group: "", view: () => <NotFound />, one: (id) => <UserScreen id={id} /> },
  { path: "/receipts", title: "Receipt", icon: "payments", group: "", view: () => <NotFound />, one: (id) => <ReceiptScreen id={id} /> },
];

/** The menu of somebody: without a role, people approve payments and see nothing else. */
export const screensFor = ({ role, test_mode }: Session) =>
  SCREENS.filter(({ path }) => (path === "/test" ? test_mode && role === "admin" : role !== null || path === "/approvals"));

export function screenOf(path: string, session: Session): { title: string; key: string; view: (place: Place) => ComponentChildren } {
  const entry = [...screensFor(session), ...OTHERS].find((entry) => entry.path !== "/" && (path === entry.path || path.startsWith(`${entry.path}/`)));
  const found = path === "/" ? SCREENS[0] : entry;
  const missing = { title: "Not found", key: path, view: () => <NotFound /> };
  if (!found) return missing;
  const id = decode(path.slice(found.path.length + 1));
  const { one } = found;
  if (path === found.path || path === "/") return { title: found.title, key: found.path, view: found.view };
  return one && id ? { title: found.title, key: path, view: (place) => one(id, place) } : missing;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

function NotFound() {
  return <Screen title="Not found"><Empty icon="search" title="There is no such screen" text="The menu has all of them." /></Screen>;
}
