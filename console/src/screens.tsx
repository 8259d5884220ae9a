import type { ComponentChildren } from "preact";
import type { Place } from "./router.tsx";
import { Account } from "./screens/account.tsx";
import { PaymentScreen } from "./screens/payment.tsx";
import { Payments } from "./screens/payments.tsx";
import { Today } from "./screens/today.tsx";
import type { IconName } from "./ui/icons.tsx";
import { Screen } from "./ui/bits.tsx";
import { Empty } from "./ui/states.tsx";

interface Entry {
  path: string;
  title: string;
  icon: IconName;
  group: string;
  needs?: "admin" | "approver";
  view: (place: Place) => ComponentChildren;
  /** The screen of one of them: `/payments/{id}`. */
  one?: (id: string) => ComponentChildren;
}

/** The menu, in its order. */
export const SCREENS: Entry[] = [
  { path: "/", title: "Today", icon: "today", group: "", view: () => <Today /> },
  { path: "/payments", title: "Payments", icon: "payments", group: "", view: ({ query }) => <Payments query={query} />, one: (id) => <PaymentScreen id={id} /> },
];

const OTHERS: Entry[] = [{ path: "/account", title: "Your account", icon: "users", group: "", view: () => <Account /> }];

export function screenOf(path: string): { title: string; key: string; view: (place: Place) => ComponentChildren } {
  const entry = [...SCREENS, ...OTHERS].find((entry) => entry.path !== "/" && (path === entry.path || path.startsWith(`${entry.path}/`)));
  const found = path === "/" ? SCREENS[0] : entry;
  if (!found) return { title: "Not found", key: path, view: () => <NotFound /> };
  const id = decode(path.slice(found.path.length + 1));
  const { one } = found;
  if (path === found.path || path === "/") return { title: found.title, key: found.path, view: found.view };
  if (one && id) return { title: found.title, key: path, view: () => one(id) };
  return { title: "Not found", key: path, view: () => <NotFound /> };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

function NotFound() {
  return (
    <Screen title="Not found">
      <Empty icon="search" title="There is no such screen" text="The menu has all of them." />
    </Screen>
  );
}
