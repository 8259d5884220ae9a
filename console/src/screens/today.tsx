import type { ComponentChildren } from "preact";
import { get, withQuery } from "../api.ts";
import { count, plural, sats, startOfDay } from "../format.ts";
import { useLoaded, useNow, useResource } from "../hooks.ts";
import { Plot, type Series } from "../plot.tsx";
import { Link } from "../router.tsx";
import type { Login, Payment, Schemas, Sums } from "../types.ts";
import { Amount, Card, Empty, Figure, Loaded, Rows, Screen, Status, Text, Time } from "../ui.ts";
import { Attention } from "./attention.tsx";

const HOUR = 3600;

interface Days { today: Sums[]; yesterday: Sums[]; week: Sums[] }

/** The hours of today, of yesterday and of the same day a week ago, in the browser's zone. */
async function readDays(begin: number, signal: AbortSignal): Promise<Days> {
  const hours = (from: number, to: number) => get<{ summary: Sums[] }>(withQuery("/summary", { from, to, by: "hour" }), signal);
  const day = (back: number) => hours(startOfDay(begin, back), startOfDay(begin, back - 1));
  const [today, yesterday, week] = await Promise.all([day(0), day(1), day(7)]);
  return { today: today.summary, yesterday: yesterday.summary, week: week.summary };
}

export function Today() {
  const now = useNow();
  const begin = startOfDay(now);
  const days = useLoaded(`summary ${begin}`, (signal) => readDays(begin, signal), { live: ["*"], every: 120 });
  const date = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long" }).format(now * 1000);
  return (
    <Screen title="Today" about={date}>
      <Attention />
      <Loaded {...days} lines={8}>{(read) => <Numbers days={read} begin={begin} now={now} />}</Loaded>
      <div class="columns"><Latest /><Failures begin={begin} /></div>
      <div class="columns"><Money /><Health /></div>
    </Screen>
  );
}

type Counted = { [Name in keyof Sums]: Sums[Name] extends number ? Name : never }[keyof Sums];
const sum = (hours: Sums[], name: Counted) => hours.reduce((total, hour) => total + hour[name], 0);
const COUNTS: [Counted, string][] = [["paid", "Payments"], ["unpaid", "Ended unpaid"], ["logins", "Logins"], ["logins_failed", "Failed logins"]];
/** What had come by this time of the day. */
const until = (hours: Sums[], seconds: number) => hours.filter(({ from }) => from - (hours[0]?.from ?? 0) < seconds);

function Numbers({ days, begin, now }: { days: Days; begin: number; now: number }) {
  const passed = now - begin;
  const change = (name: Counted) => {
    const before = sum(until(days.yesterday, passed), name);
    if (before === 0) return "";
    const percent = Math.round((sum(days.today, name) / before - 1) * 100);
    return `${percent >= 0 ? "+" : "−"}${Math.abs(percent)} % on yesterday`;
  };
  return (
    <>
      <dl class="figures">
        <Figure name="Received"><Amount millisats={sum(days.today, "paid_millisats")} /><small>{change("paid_millisats")}</small></Figure>
        {COUNTS.map(([counted, name]) => <Figure key={counted} name={name}>{count(sum(days.today, counted))}<small>{change(counted)}</small></Figure>)}
        <Figure name="Paid back and sent"><Amount millisats={sum(days.today, "refunded_millisats") + sum(days.today, "sent_millisats")} /></Figure>
      </dl>
      <div class="columns">
        <Card title="Received, by hour">
          <DayPlot title="Sats received, by hour" days={days} begin={begin} now={now} name="paid_millisats" unit={1000} write={(value) => sats(value * 1000)} />
        </Card>
        <Card title="Logins, by hour">
          <DayPlot title="Logins, by hour" days={days} begin={begin} now={now} name="logins" write={count} />
        </Card>
      </div>
    </>
  );
}

interface DayPlotProps { title: string; days: Days; begin: number; now: number; name: Counted; unit?: number; write: (value: number) => string }
function DayPlot({ title, days, begin, now, name, unit = 1, write }: DayPlotProps) {
  const times = Array.from({ length: 24 }, (_, hour) => begin + hour * HOUR);
  const values = (hours: Sums[]) => {
    const first = hours[0]?.from ?? 0;
    const at = new Map(hours.map((hour) => [Math.round((hour.from - first) / HOUR), hour[name] / unit]));
    return times.map((_, hour) => at.get(hour) ?? 0);
  };
  const series: Series[] = [
    { label: "Last week", style: "week", values: values(days.week) },
    { label: "Yesterday", style: "yesterday", values: values(days.yesterday) },
    { label: "Today", style: "today", values: values(days.today).map((value, hour) => ((times[hour] ?? 0) <= now ? value : null)) },
  ];
  return <Plot title={title} times={times} series={series} write={write} />;
}

function Latest() {
  const latest = useResource<Schemas["PaymentList"]>("/payments?order=newest&limit=7", { live: ["*"] });
  return (
    <Card title="Latest payments" actions={<Link to="/payments">All payments</Link>}>
      <Loaded {...latest}>
        {({ payments }) => (
          <Rows of={payments} empty={<Empty title="No payments yet" text="The first one appears here by itself." />}>
            {(payment: Payment) => (
              <li key={payment.stream_id}>
                <Link to={`/payments/${payment.stream_id}`}>
                  <Amount plain millisats={payment.settled_millisats ?? payment.amount_millisats} sign={payment.direction === "out" ? "−" : ""} />
                </Link>
                <span class="grow clip"><Text empty="No description">{payment.description}</Text></span>
                <Status of={payment.status} />
                <Time at={payment.created_at} />
              </li>
            )}
          </Rows>
        )}
      </Loaded>
    </Card>
  );
}

/** Why payments and logins of today failed, the most frequent reason first. */
function Failures({ begin }: { begin: number }) {
  const read = async (signal: AbortSignal) => {
    const page = (status: string) => get<{ logins: Login[] }>(withQuery("/logins", { from: begin, status, limit: 200 }), signal);
    const [unpaid, declined, timeout, failed] = await Promise.all([
      get<Schemas["PaymentList"]>(withQuery("/payments", { from: begin, status: "not_paid", limit: 200 }), signal),
      page("declined"),
      page("timeout"),
      page("error"),
    ]);
    const reasons = new Map<string, { count: number; to: string }>();
    const add = (reason: string, to: string) => reasons.set(reason, { to, count: (reasons.get(reason)?.count ?? 0) + 1 });
    for (const payment of unpaid.payments) add(payment.direction === "in" ? "Payment: not paid" : "Payment by you: not paid", "/payments?status=not_paid");
    for (const { reason } of declined.logins) add(`Login declined${reason ? `: ${reason}` : ""}`, "/logins?status=declined");
    for (const { reason } of timeout.logins) add(`Login: ${reason ?? "nobody answered in time"}`, "/logins?status=timeout");
    for (const { reason } of failed.logins) add(`Login failed${reason ? `: ${reason}` : ""}`, "/logins?status=error");
    return [...reasons].sort(([, one], [, other]) => other.count - one.count).slice(0, 7);
  };
  const failures = useLoaded(`failures ${begin}`, read, { live: ["*"] });
  return (
    <Card title="Failures of today, by reason">
      <Loaded {...failures}>
        {(reasons) => (
          <Rows of={reasons} empty={<Empty icon="check" title="None" text="No payment and no login has failed today." />}>
            {([reason, { count: number, to }]) => (
              <li key={reason}>
                <strong class="tally">{count(number)}</strong>
                <Link class="grow" to={to}><Text>{reason}</Text></Link>
              </li>
            )}
          </Rows>
        )}
      </Loaded>
    </Card>
  );
}

function Item({ name, to, children }: { name: string; to?: string; children: ComponentChildren }) {
  return <li>{to ? <Link class="grow" to={to}>{name}</Link> : <span class="grow">{name}</span>}{children}</li>;
}

function Money() {
  const wallet = useResource<Schemas["WalletInfo"]>("/wallet/info", { live: ["StatusUpdate"], every: 120 });
  return (
    <Card title="Money" actions={<Link to="/wallet">Wallet</Link>}>
      <Loaded {...wallet}>
        {({ backend, balance, node }) => (
          <ul class="rows">
            <Item name="Balance">
              {balance === null || balance === undefined ? <span class="muted">{backend === "none" ? "no Lightning backend" : "not told"}</span> : <Amount millisats={balance} />}
            </Item>
            {node && (
              <>
                <Item name="Largest payment without a new channel"><Amount millisats={node.inbound} /></Item>
                <Item name="On chain, to spend"><Amount millisats={node.on_chain.spendable} /></Item>
              </>
            )}
          </ul>
        )}
      </Loaded>
    </Card>
  );
}

/** What payments and logins depend on. */
function Health() {
  const ready = useResource<Schemas["Ready"]>("/health/ready", { every: 60 });
  const pending = useResource<Schemas["WebhookDeliveries"]>("/webhooks/deliveries?status=pending&limit=100", { live: ["*"] });
  const state = (good: boolean, label: string) => (
    <span class="with-icon"><span class={`dot ${good ? "good" : "bad"}`} /> {label}</span>
  );
  return (
    <Card title="Health">
      <Loaded {...ready}>
        {({ relays, store, wallet, rates, tickets, last_backup_at: backup }) => (
          <ul class="rows">
            <Item name="Relays" to="/relays">{state(relays.ready, `${relays.connected} of ${relays.total} connected`)}</Item>
            <Item name="Database">
              {state(store.ready && store.damaged_rows === 0, store.damaged_rows ? plural(store.damaged_rows, "damaged row") : store.ready ? "reads and writes" : "fails")}
            </Item>
            <Item name="Lightning backend" to="/wallet">
              {state(wallet.ready, wallet.backend === "none" ? "none" : wallet.ready ? wallet.backend : "away")}
            </Item>
            {rates.currencies.length > 0 && <Item name="Exchange rates">{state(rates.ready, rates.ready ? "known" : "missing")}</Item>}
            {tickets.mints.length > 0 && <Item name="Mints" to="/tickets">{state(tickets.ready, tickets.ready ? "respond" : "away")}</Item>}
            <Item name="Last backup">{backup ? <Time at={backup} ago /> : "none"}</Item>
            <Item name="Webhook backlog" to="/webhooks?status=pending">
              {pending.data && `${count(pending.data.deliveries.length)}${pending.data.next ? "+" : ""} pending`}
            </Item>
          </ul>
        )}
      </Loaded>
    </Card>
  );
}
