import { useState } from "preact/hooks";
import { withQuery } from "../api.ts";
import { csvCell, startOfDay } from "../format.ts";
import { useLoaded, usePages } from "../hooks.ts";
import { newestPayments, type Books } from "../newest.ts";
import { setQuery } from "../router.tsx";
import type { Payment } from "../types.ts";
import { Amount, download, Screen, Status, Text, Time } from "../ui/bits.tsx";
import { Filter, Input } from "../ui/form.tsx";
import { Icon } from "../ui/icons.tsx";
import { Empty } from "../ui/states.tsx";
import { Table, type Column } from "../ui/table.tsx";
import { kindOf } from "../words.ts";
import { Button } from "../ui/button.tsx";

const STATUSES: [string, string][] = [
  ["", "All"],
  ["paid", "Paid"],
  ["open", "Open"],
  ["not_paid", "Not paid"],
  ["unknown", "Unknown"],
];
const DIRECTIONS: [string, string][] = [["", "In and out"], ["in", "In"], ["out", "Out"]];

export const PAYMENT_COLUMNS: Column<Payment>[] = [
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
    cell: ({ kind, direction }) => (
      <span class="muted with-icon"><Icon name={direction === "out" ? "out" : "in"} /> {kindOf(kind)}</span>
    ),
  },
  { name: "Reference", kind: "rest", cell: ({ request_id }) => <Text>{request_id}</Text> },
  { name: "Time", kind: "number", cell: ({ created_at }) => <Time at={created_at} /> },
];

/** All payments, the newest first; those that are found by a search. */
export function Payments({ query }: { query: URLSearchParams }) {
  const found = query.get("q") ?? "";
  const direction = query.get("direction") ?? "";
  const list = useList(query);
  const rows = list.items?.filter((payment) => !direction || payment.direction === direction);
  const filtered = found !== "" || direction !== "" || query.has("status") || query.has("from") || query.has("to");
  return (
    <Screen
      title="Payments"
      about="Every payment to you and by you, as your books have it."
      actions={
        <Button disabled={!rows?.length} run={() => rows && exportCsv(rows)}><Icon name="download" /> CSV</Button>
      }
    >
      <SearchField found={found} />
      <div class="filters">
        <Filter label="Status" value={query.get("status") ?? ""} set={(status) => setQuery({ status })} options={STATUSES} />
        <Filter label="Direction" value={direction} set={(direction) => setQuery({ direction })} options={DIRECTIONS} />
        <span class="range">
          <Input label="From" type="date" optional value={query.get("from") ?? ""} set={(from) => setQuery({ from })} />
          <Input label="Until" type="date" optional value={query.get("to") ?? ""} set={(to) => setQuery({ to })} />
        </span>
      </div>
      <Table
        caption="Payments, the newest first"
        rows={rows}
        id={({ stream_id }) => stream_id}
        to={({ stream_id }) => `/payments/${stream_id}`}
        columns={PAYMENT_COLUMNS}
        error={list.error}
        loading={list.loading}
        reload={list.reload}
        more={list.more}
        empty={
          filtered ? (
            <Empty
              icon="search"
              title="Nothing found"
              text="A search finds an order reference, a stream, a payment hash, an invoice, or three letters or more of a description."
              action={
                <Button run={() => setQuery({ q: "", status: "", direction: "", from: "", to: "" })}>Show all payments</Button>
              }
            />
          ) : (
            <Empty icon="payments" title="No payments yet" text="The first one appears here by itself. A payment link is the quickest way to get one." />
          )
        }
      />
    </Screen>
  );
}

function useList(query: URLSearchParams) {
  const found = query.get("q") ?? "";
  const status = query.get("status") ?? "";
  const from = dayStart(query.get("from")) ?? 0;
  const last = dayStart(query.get("to"));
  const to = last === undefined ? undefined : startOfDay(last, -1);
  const key = JSON.stringify([status, from, to ?? 0]);
  const [earlier, setEarlier] = useState<{ key: string; books: Books[] }>({ key, books: [] });
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  // Requests are booked with the service's clock, which may be ahead of the browser's.
  const end = () => to ?? Math.floor(Date.now() / 1000) + 86_400;
  const first = useLoaded(found ? null : `payments ${key}`, (signal) => newestPayments(from, end(), status, signal), { live: ["*"] });
  const path = found ? withQuery("/payments", { q: found, status, from: from || undefined, to }) : null;
  const search = usePages<Payment>(path, "payments", ["*"]);
  if (found) return search;
  const books = earlier.key === key ? earlier.books : [];
  const oldest = books.at(-1) ?? first.data;
  // What the first reading has when it reads again may overlap with what was read before.
  const items = first.data && unique([first.data, ...books].flatMap(({ payments }) => payments));
  const reached = oldest?.reached ?? null;
  const more = async () => {
    if (reached === null) return;
    setBusy(true);
    try {
      const next = await newestPayments(from, reached, status);
      setEarlier({ key, books: [...books, next] });
      setProblem(undefined);
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return { items, error: problem ?? first.error, loading: first.loading || busy, reload: first.reload, more: reached === null ? undefined : more };
}

function unique(payments: Payment[]): Payment[] {
  const known = new Map<string, Payment>();
  for (const payment of payments) if (!known.has(payment.stream_id)) known.set(payment.stream_id, payment);
  return [...known.values()];
}

function dayStart(day: string | null): number | undefined {
  const time = day ? new Date(`${day}T00:00:00`).getTime() / 1000 : NaN;
  return Number.isFinite(time) && time >= 0 ? time : undefined;
}

function SearchField({ found }: { found: string }) {
  const [text, setText] = useState(found);
  const [asked, setAsked] = useState(found);
  if (asked !== found) {
    setAsked(found);
    setText(found);
  }
  return (
    <form
      class="wide-search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        setQuery({ q: text.trim() });
      }}
    >
      <Icon name="search" />
      <input
        type="search"
        aria-label="Search by reference, payment hash, invoice or description"
        placeholder="Reference, payment hash, invoice, stream or description"
        value={text}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => {
          setText(event.currentTarget.value);
          if (event.currentTarget.value === "") setQuery({ q: "" });
        }}
      />
    </form>
  );
}

function exportCsv(payments: Payment[]) {
  const names = ["created_at", "stream_id", "direction", "kind", "status", "amount_millisats", "settled_millisats", "fee_millisats", "currency", "amount", "description", "request_id", "payment_hash"] as const;
  const lines = payments.map((payment) =>
    names.map((name) => csvCell(name === "created_at" ? new Date(payment[name] * 1000).toISOString() : payment[name])).join(","),
  );
  download("payments.csv", "text/csv;charset=utf-8", `${names.join(",")}\n${lines.join("\n")}\n`);
}
