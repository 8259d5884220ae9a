import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { useResource } from "./hooks.ts";
import type { Session, Setting } from "./types.ts";

export const SessionContext = createContext<{ session: Session; reload: () => void } | undefined>(undefined);

export function useSession(): Session {
  const context = useContext(SessionContext);
  if (!context) throw new Error("no session");
  return context.session;
}

/** What the console offers, and the least role that may do it. The server decides; this only hides what it would refuse. */
const CHANGES = {
  links: "support",
  refund: "support",
  webhooks: "support",
  "age-checks": "support",
  subscriptions: "support",
  users: "support",
  wallet: "admin",
  tickets: "admin",
  apps: "admin",
  keys: "admin",
  relays: "admin",
  profile: "admin",
  operators: "admin",
} as const;
export type Change = keyof typeof CHANGES;
const RANK = { viewer: 0, support: 1, admin: 2 };

export function useMay(change: Change): boolean {
  const { role, approver } = useSession();
  // Who approves payments gives nobody access.
  if (approver && (change === "keys" || change === "operators")) return false;
  return role !== null && RANK[role] >= RANK[CHANGES[change]];
}

/** What is in force. */
export const useSettings = () => useResource<{ settings: Setting[] }>("/settings");

/** Settings of which one has a value; those who approve payments set them. Nothing while they are being read. */
export function useIsLimited(...keys: string[]): boolean | undefined {
  const { data } = useSettings();
  return data?.settings.some(({ key, value }) => keys.includes(key) && value !== null && value !== "not set");
}

/** Whether sensitive changes need the passkey again first. */
export const needsStepUp = (session: Session) =>
  session.step_up_until !== null && session.step_up_until < Date.now() / 1000;
