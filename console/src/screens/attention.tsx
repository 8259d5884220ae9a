import { useSession } from "../access.ts";
import { plural } from "../format.ts";
import { useResource } from "../hooks.ts";
import { Link } from "../router.tsx";
import type { Schemas } from "../types.ts";
import { Card, Icon, Text } from "../ui.ts";

interface Need {
  what: string;
  /** The step that helps. */
  step: string;
  to?: string;
  isBad?: boolean;
}

/** The step that helps with each warning of the Lightning node. */
const NODE_STEPS: Record<string, string> = {
  not_running: "The log has the reason. After a full disk free space and restart.",
  not_synced: "Check the chain source: no invoices are made meanwhile.",
  provider_away: "Check the liquidity provider; the node reconnects by itself.",
  cannot_receive: "Configure a liquidity provider, or have somebody open a channel to you.",
  low_inbound: "Nothing, if you accept the fee of the next channel; otherwise spend.",
  forced_closure: "The money returns to the chain by itself, less fees.",
  cannot_close: "Send 25,000 sat or more to an address of the wallet, then restart the service.",
};

/** What waits for a person, and what is wrong, each with the step that helps. */
export function Attention() {
  const needs = useNeeds();
  if (needs.length === 0) return null;
  return (
    <Card title="Needs attention" class="attention">
      <ul class="rows">
        {needs.sort((one, other) => Number(other.isBad ?? false) - Number(one.isBad ?? false)).map(({ what, step, to, isBad }) => (
          <li key={what} class={isBad ? "bad" : "wait"}>
            <Icon name="warn" />
            <p class="grow"><strong><Text>{what}</Text></strong> <span class="muted">{step}</span></p>
            {to && <Link to={to} aria-label={`Open: ${what}`}>Open</Link>}
          </li>
        ))}
      </ul>
    </Card>
  );
}

function useNeeds(): Need[] {
  const { test_mode } = useSession();
  const ready = useResource<Schemas["Ready"]>("/health/ready", { every: 60 });
  const wallet = useResource<Schemas["WalletInfo"]>("/wallet/info", { every: 120 });
  const failed = useResource<Schemas["WebhookDeliveries"]>("/webhooks/deliveries?status=failed&limit=100", { every: 120 });
  const pending = useResource<Schemas["WebhookDeliveries"]>("/webhooks/deliveries?status=pending&limit=100", { live: ["*"] });
  const approvals = useResource<Schemas["ApprovalList"]>("/approvals?limit=100", { live: ["StatusUpdate"], every: 60 });
  const checks = useResource<Schemas["VerificationSessionList"]>("/verification/sessions?status=open&limit=100", { live: ["CashuResponse"], every: 60 });
  return [
    ...(ready.data ? ofReadiness(ready.data) : []),
    ...(ready.data && !test_mode ? ofBackup(ready.data) : []),
    ...(wallet.data?.node?.warnings ?? []).map(({ code, text }) => ({ what: text, step: NODE_STEPS[code] ?? "", to: "/wallet", isBad: code !== "low_inbound" })),
    ...ofWaiting(approvals.data?.approvals.length ?? 0, checks.data?.sessions.length ?? 0),
    ...ofDeliveries(failed.data?.deliveries ?? [], pending.data?.deliveries ?? []),
  ];
}

function ofReadiness({ relays, store, wallet, rates, tickets }: Schemas["Ready"]): Need[] {
  const needs: Need[] = [];
  const bad = (what: string, step: string, to?: string) => needs.push({ what, step, isBad: true, ...(to ? { to } : {}) });
  if (!relays.ready) bad("No relay is connected: nobody can log in or pay with a wallet.", "Check the network of the machine, or add a relay.", "/relays");
  else if (relays.connected < relays.total) needs.push({ what: `${relays.total - relays.connected} of ${relays.total} relays are away.`, step: "One is enough for now; look at the reason.", to: "/relays" });
  if (!store.ready) bad("The database fails.", "Free space on its disk; docs/backup.md helps with a corrupt file.");
  if (store.damaged_rows > 0) bad(`${plural(store.damaged_rows, "row")} of the database cannot be read.`, "docs/backup.md says what each affects; all else works.");
  if (!wallet.ready) bad("The Lightning backend is away: no invoices, no payments.", "Check the wallet and its relays. Payments made meanwhile are found when it is back.", "/wallet");
  if (wallet.warnings.includes("disputed_settlements")) bad("The Lightning backend reports payments whose proof or amount is wrong.", "Look at the log, and at the wallet behind it.");
  for (const { currency, problem, sources } of rates.currencies) {
    if (problem) bad(`No exchange rate for ${currency}: ${problem}`, "usher doctor shows each source; change rates.sources.");
    for (const source of sources) if (source.problem) needs.push({ what: `${source.name} (${currency}): ${source.problem}`, step: "This source of rates is left out." });
  }
  for (const { mint_url, responds, unfinished_jobs } of tickets.mints) {
    if (responds === false || unfinished_jobs > 0) needs.push({ what: `The mint ${mint_url} ${responds === false ? "does not respond" : `has ${plural(unfinished_jobs, "unfinished job")}`}.`, step: "The tickets are safe. Ask its operator.", to: "/tickets" });
  }
  return needs;
}

function ofBackup({ last_backup_at }: Schemas["Ready"]): Need[] {
  const step = "Look at the timer or the script that makes backups; docs/backup.md has one for every night.";
  if (last_backup_at === null) return [{ what: "No backup has been made with usher backup.", step }];
  return last_backup_at < Date.now() / 1000 - 86_400 ? [{ what: "The last backup is older than a day.", step, isBad: true }] : [];
}

function ofWaiting(approvals: number, checks: number): Need[] {
  const needs: Need[] = [];
  if (approvals > 0) needs.push({ what: `${plural(approvals, "payment")} ${approvals === 1 ? "waits" : "wait"} for an approval.`, step: "Look at the payee, then approve or decline.", to: "/approvals" });
  if (checks > 0) needs.push({ what: `${plural(checks, "age check")} ${checks === 1 ? "waits" : "wait"}.`, step: "Ask the user for the number on their page.", to: "/age-checks" });
  return needs;
}

function ofDeliveries(failed: Schemas["WebhookDelivery"][], pending: Schemas["WebhookDelivery"][]): Need[] {
  const needs: Need[] = [];
  if (failed.length > 0) needs.push({ what: `${plural(failed.length, "webhook delivery", "webhook deliveries")} given up.`, step: "Repair your app, then send them again.", to: "/webhooks", isBad: true });
  const late = pending.filter(({ attempts }) => attempts > 2);
  if (late.length > 0) needs.push({ what: `Your app refuses ${plural(late.length, "event")}: ${late[0]?.last_error ?? "no reason"}.`, step: "Usher keeps trying, for three days.", to: "/webhooks?status=pending" });
  return needs;
}
