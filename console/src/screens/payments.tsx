import { get, withQuery } from "../api.ts";
import { csvCell, startOfDay } from "../format.ts";
import { useAction, usePaged } from "../hooks.ts";
import { setQuery } from "../router.tsx";
import type { Payment, Schemas } from "../types.ts";
import { Amount, Button, type Column, download, Empty, Failure, Filter, Icon, Input, Screen, Status, Table, Text, Time, WideSearch } from "../ui.ts";
import { kindOf, optionsOf } from "../words.ts";

const STATUSES = optionsOf("paid", "open", "not_paid", "unknown");
const DIRECTIONS: [string, string][] = [["", "In and out"], ["in", "In"], ["out", "Out"]];

const COLUMNS: Column<Payment>[] = [
  {
    name: "Amount",
    kind: "number",
    cell: (payment) => <Amount millisats={payment.settled_millisats ?? payment.amount_millisats} sign={payment.direction === "out" ? "−" : ""} />,
  },
  { name: "Status", cell: ({ status }) => <Status of={status} /> },
  { name: "For", kind: "grow", cell: ({ description }) => <Text empty="No description">{description}</Text> },
  {
    name: "Kind",
    kind: "rest",
    cell: ({ kind, direction }) => <span class="muted with-icon"><Icon name={direction === "out" ? "out" : "in"} /> {kindOf(kind)}</span>,
  },
  { name: "Reference", kind: "rest", cell: ({ request_id }) => <Text>{request_id}</Text> },
  { name: "Time", kind: "number", cell: ({ created_at }) => <Time at={created_at} /> },
];

/** All payments, the newest first; those that are found by a search. */
export function Payments({ query }: { query: URLSearchParams }) {
  const [found, status, direction] = ["q", "status", "direction"].map((name) => query.get(name) ?? "");
  const last = dayStart(query.get("to"));
  const path = withQuery("/payments", {
    order: "newest",
    q: found,
    status,
    direction,
    from: dayStart(query.get("from")),
    to: last === undefined ? undefined : startOfDay(last, -1),
  });
  const list = usePaged<Payment>(path, "payments", query, ["*"]);
  const { busy, error, run } = useAction();
  const isSelected = ["q", "status", "direction", "from", "to"].some((name) => query.has(name));
  return (
    <Screen
      title="Payments"
      about="Every payment to you and by you, as your books have it."
      actions={
        <Button disabled={busy || !list.rows?.length} run={() => void run(() => exportCsv(path))}>
          <Icon name="download" /> {busy ? "One moment…" : "CSV"}
        </Button>
      }
    >
      {error !== undefined && <Failure error={error} />}
      <WideSearch
        name="This list"
        label="Search by reference, payment hash, invoice or description"
        placeholder="Reference, payment hash, invoice, stream or description"
        found={found ?? ""}
        find={(q) => setQuery({ q })}
      />
      <div class="filters">
        <Filter label="Status" value={status ?? ""} set={(status) => setQuery({ status })} options={STATUSES} />
        <Filter label="Direction" value={direction ?? ""} set={(direction) => setQuery({ direction })} options={DIRECTIONS} />
        <span class="range">
          <Input label="From" type="date" optional value={query.get("from") ?? ""} set={(from) => setQuery({ from })} />
          <Input label="Until" type="date" optional value={query.get("to") ?? ""} set={(to) => setQuery({ to })} />
        </span>
      </div>
      <Table
        {...list}
        caption="Payments, the newest first"
        id={({ stream_id }) => stream_id}
        to={({ stream_id }) => `/payments/${stream_id}`}
        columns={COLUMNS}
        empty={
          isSelected ? (
            <Empty
              icon="search"
              title="Nothing found"
              text="A search finds an order reference, a stream, a payment hash, an invoice, or three letters or more of a description."
              action={<Button run={() => setQuery({ q: "", status: "", direction: "", from: "", to: "" })}>Show all payments</Button>}
            />
          ) : (
            <Empty icon="payments" title="No payments yet" text="The first one appears here by itself. A payment link is the quickest way to get one." />
          )
        }
      />
    </Screen>
  );
}

function dayStart(day: string | null): number | undefined {
  const time = day ? new Date(`${day}T00:00:00`).getTime() / 1000 : NaN;
  return Number.isFinite(time) && time >= 0 ? time : undefined;
}

/** Most payments in one file: `usher payments export` has no limit. */
const MOST_EXPORTED = 50_000;

/** Everything that is selected, as CSV. */
async function exportCsv(path: string) {
  const payments: Payment[] = [];
  for (let after: string | null | undefined = ""; after !== null && after !== undefined && payments.length < MOST_EXPORTED; ) {
    const page: Schemas["PaymentList"] = await get(withQuery(path, { after, limit: 1000 }));
    payments.push(...page.payments);
    after = page.next;
  }
  const names = ["created_at", "stream_id", "direction", "kind", "status", "amount_millisats", "settled_millisats", "fee_millisats", "currency", "amount", "description", "request_id", "payment_hash"] as const;
  const lines = payments.map((payment) =>
    names.map((name) => csvCell(name === "created_at" ? new Date(payment[name] * 1000).toISOString() : payment[name])).join(","),
  );
  download("payments.csv", "text/csv;charset=utf-8", `${names.join(",")}\n${lines.join("\n")}\n`);
}
