import { useIsLimited, useMay, useSession } from "../access.ts";
import { call, codeOf, get } from "../api.ts";
import { amountIn, clockTime, dayOf, fullTime, isSats, parseAmount, sats } from "../format.ts";
import { useForm, useLoaded, useResource } from "../hooks.ts";
import { go, Link } from "../router.tsx";
import type { ApiEvent, Payment, Schemas } from "../types.ts";
import { Action, Amount, AmountInput, Button, Card, download, Empty, Fact, Facts, Failure, Icon, Id, Input, Loaded, Rows, Screen, Status, Text, Time, useDialog, UserLink } from "../ui.ts";
import { kindOf, sentence, statusOf } from "../words.ts";

interface Found { payment: Payment; refunds: Payment[] }

/** One payment with its refunds. */
async function findPayment(id: string, signal: AbortSignal): Promise<Found | null> {
  const { payments } = await get<Schemas["PaymentList"]>(`/payments?q=${encodeURIComponent(id)}&limit=1000`, signal);
  const payment = payments.find(({ stream_id }) => stream_id === id);
  return payment ? { payment, refunds: payments.filter(({ refund_of }) => refund_of === id) } : null;
}

export function PaymentScreen({ id }: { id: string }) {
  const entry = useLoaded(`payment ${id}`, (signal) => findPayment(id, signal), { live: ["StatusUpdate"] });
  const events = useResource<Schemas["EventPage"]>(`/events/${encodeURIComponent(id)}`, { live: ["StatusUpdate", "InvoiceResponse"] });
  const { dialog, open, tell } = useDialog();
  // Without the limit nobody would look at a refund of support.
  const isLimited = useIsLimited("wallet.approval_above_millisats");
  const may = useMay("refund") && (useSession().role === "admin" || isLimited);
  const payment = entry.data?.payment;
  const arrived = payment?.status === "paid" && payment.direction === "in";
  const refunded = (entry.data?.refunds ?? []).filter(({ status }) => status !== "not_paid").reduce((sum, { amount_millisats }) => sum + amount_millisats, 0);
  const left = payment ? (payment.settled_millisats ?? payment.amount_millisats) + (payment.fee_millisats ?? 0) - refunded : 0;
  const showRefund = ({ page_url, stream_id }: Schemas["RefundStarted"]) =>
    tell("The refund has begun", (
      <>
        <p>The payer's wallet was asked for an invoice, if it was asked to pay. Otherwise send this address to the payer, and to nobody else: whoever has it names where the money goes.</p>
        <p><Id whole>{page_url}</Id></p>
        <footer><Button primary run={() => go(`/payments/${stream_id}`)}>Show the refund</Button></footer>
      </>
    ));
  const refund = (payment: Payment) => open((close) => <Refund payment={payment} left={left} close={close} done={showRefund} />);
  return (
    <Screen
      title={payment ? sats(payment.settled_millisats ?? payment.amount_millisats) : "Payment"}
      back={{ to: "/payments", label: "Payments" }}
      actions={
        <>
          {arrived && <Link class="button" to={`/receipts/${id}`}>Receipt</Link>}
          {arrived && may && left > 0 && <Button run={() => refund(payment)}>Refund…</Button>}
        </>
      }
    >
      <Loaded {...entry} missing={<Empty icon="search" title="There is no such payment" text="The books keep payments for `payments.records_days` after their end." />}>
        {(found) => (
          <>
            <div class="columns">
              <Card title="Details"><Details {...found} events={events.data?.events ?? []} /></Card>
              <Card title="Timeline"><Timeline payment={found.payment} events={events.data?.events} error={events.error} /></Card>
            </div>
            {found.refunds.length > 0 && <Card title="Refunds"><Refunds of={found.refunds} /></Card>}
          </>
        )}
      </Loaded>
      {dialog}
    </Screen>
  );
}

function Refunds({ of }: { of: Payment[] }) {
  return (
    <Rows of={of}>
      {({ stream_id, amount_millisats, status, created_at }) => (
        <li key={stream_id}>
          <Link to={`/payments/${stream_id}`}><Amount millisats={amount_millisats} /></Link>
          <Status of={status} />
          <Time at={created_at} />
        </li>
      )}
    </Rows>
  );
}

function Details({ payment, events }: { payment: Payment; events: ApiEvent[] }) {
  const text = (name: string) => {
    const value = events.map(({ data }) => (data as Record<string, unknown>)[name]).find((value) => typeof value === "string");
    return value as string | undefined;
  };
  const [invoice, preimage, comment, key] = ["invoice", "preimage", "comment", "main_key"].map(text);
  return (
    <Facts>
      <Fact name="Status"><Status of={payment.status} /></Fact>
      <Fact name={payment.direction === "in" ? "Asked for" : "Amount"}>
        <Amount millisats={payment.amount_millisats} />
        {payment.amount !== undefined && payment.currency && !isSats(payment.currency) && <span class="muted"> · {amountIn(payment.amount, payment.currency)}</span>}
      </Fact>
      {payment.rate && (
        <Fact name="Rate">
          {payment.rate.value} <span class="muted">from {payment.rate.source},</span> <Time at={payment.rate.at} />
        </Fact>
      )}
      {payment.settled_millisats !== undefined && <Fact name={payment.direction === "in" ? "Arrived" : "Paid"}><Amount millisats={payment.settled_millisats} /></Fact>}
      {payment.fee_millisats !== undefined && <Fact name="Fee"><Amount millisats={payment.fee_millisats} /></Fact>}
      {payment.overpaid_millisats !== undefined && <Fact name="Overpaid"><Amount millisats={payment.overpaid_millisats} /></Fact>}
      <Fact name="For"><Text empty="No description">{payment.description}</Text></Fact>
      {comment && <Fact name="The payer's comment"><Text>{comment}</Text></Fact>}
      <Fact name="Kind">{kindOf(payment.kind)}</Fact>
      {payment.request_id && <Fact name="Your reference"><Text>{payment.request_id}</Text></Fact>}
      {key && <Fact name="User"><UserLink of={key} /></Fact>}
      {payment.refund_of && <Fact name="Refund of"><Id to={`/payments/${payment.refund_of}`}>{payment.refund_of}</Id></Fact>}
      <Fact name="Stream"><Id>{payment.stream_id}</Id></Fact>
      {payment.payment_hash && <Fact name="Payment hash"><Id>{payment.payment_hash}</Id></Fact>}
      {preimage && <Fact name="Preimage"><Id>{preimage}</Id></Fact>}
      {invoice && <Fact name="Invoice"><Id>{invoice}</Id></Fact>}
      {payment.txid && <Fact name="Transaction"><Id>{payment.txid}</Id></Fact>}
      <Fact name="Requested"><Time at={payment.created_at} /></Fact>
      <Fact name="Changed"><Time at={payment.changed_at} /></Fact>
    </Facts>
  );
}

/** Everything that happened, the oldest first, with what the service knows of each step. */
function Timeline({ payment, events, error }: { payment: Payment; events: ApiEvent[] | undefined; error: unknown }) {
  const gone = codeOf(error) === "stream_not_found";
  return (
    <>
      <ol class="timeline">
        <Moment at={payment.created_at} title="Requested" tone="plain" />
        {events?.map((event) => {
          const data = event.data as Record<string, unknown>;
          const { label, tone } = statusOf(String(data["status"] ?? event.type));
          return <Moment key={event.index} at={event.timestamp} title={typeof data["status"] === "string" ? label : sentence(event.type)} tone={tone} data={data} />;
        })}
        {gone && payment.changed_at !== payment.created_at && <Moment at={payment.changed_at} title={statusOf(payment.status).label} tone={statusOf(payment.status).tone} />}
      </ol>
      {gone ? <p class="muted">The events of this payment are no longer kept, or are on the stream of its link or subscription.</p> : error !== undefined && <Failure error={error} />}
    </>
  );
}

const SHOWN_ELSEWHERE = new Set(["status", "invoice", "preimage", "payment_hash", "amount", "currency", "amount_millisats", "rate", "request_id", "main_key"]);

function Moment({ at, title, tone, data = {} }: { at: number; title: string; tone: string; data?: Record<string, unknown> }) {
  const more = Object.entries(data).filter(([name, value]) => !SHOWN_ELSEWHERE.has(name) && value !== null && typeof value !== "object");
  return (
    <li class={tone}>
      <strong>{title}</strong>
      <time dateTime={new Date(at * 1000).toISOString()} title={fullTime(at)}>{dayOf(at)}, {clockTime(at)}</time>
      {more.map(([name, value]) => (
        <p key={name}>
          <span class="muted">{sentence(name)}:</span>{" "}
          {/_until$|_at$/.test(name) && typeof value === "number" ? <Time at={value} /> : <Text>{/fee|millisats|received/.test(name) && typeof value === "number" ? sats(value) : String(value)}</Text>}
        </p>
      ))}
    </li>
  );
}

interface RefundProps { payment: Payment; left: number; close: () => void; done: (begun: Schemas["RefundStarted"]) => void }
function Refund({ payment, left, close, done }: RefundProps) {
  const whole = Math.floor(left / 1000);
  const { values: { text, reference }, field } = useForm({ text: String(whole), reference: "" });
  const amount = parseAmount(text, "sats");
  const body = { amount: amount === whole ? left : (amount ?? 0) * 1000, ...(reference ? { request_id: reference } : {}) };
  const isWrong = amount === undefined || amount > Math.ceil(left / 1000);
  const verb = amount ? `Refund ${sats(amount * 1000)}` : "Refund";
  const action = async (key: string) => done(await call("POST", `/payments/${payment.stream_id}/refund`, body, { key }));
  return (
    <Action title="Refund" verb={verb} danger sensitive disabled={isWrong} close={close} action={action}>
      <p>
        Pays the payer back, at most {sats(left)}. The payer is asked for an invoice; then your Lightning backend pays it. Above the limit for
        approvals somebody else has to approve it first.
      </p>
      <AmountInput label="Amount in sats" {...field("text")} />
      <Input label="Your reference" optional {...field("reference")} maxLength={200} />
    </Action>
  );
}

/** A receipt to print, of a payment that was paid. */
export function ReceiptScreen({ id }: { id: string }) {
  const { service } = useSession();
  const receipt = useResource<Schemas["Receipt"]>(`/payments/${encodeURIComponent(id)}/receipt`);
  return (
    <Screen
      title="Receipt"
      back={{ to: `/payments/${id}`, label: "Payment" }}
      actions={
        <>
          <Button disabled={!receipt.data} run={() => receipt.data && download(`receipt-${id}.json`, "application/json", JSON.stringify(receipt.data, null, 2))}><Icon name="download" /> JSON</Button>
          <Button run={() => print()}>Print</Button>
        </>
      }
    >
      <Card class="receipt">
        <Loaded {...receipt}>
          {(paid) => (
            <Facts>
              {service && <Fact name="From"><Text>{service}</Text></Fact>}
              <Fact name="Paid">
                <strong>{paid.amount !== undefined && paid.currency && !isSats(paid.currency) ? `${amountIn(paid.amount, paid.currency)} (${sats(paid.amount_millisats)})` : sats(paid.amount_millisats)}</strong>
              </Fact>
              <Fact name="For"><Text>{paid.description}</Text></Fact>
              <Fact name="On">{fullTime(paid.paid_at)}</Fact>
              {paid.rate && <Fact name="Rate">{paid.rate.value} ({paid.rate.source})</Fact>}
              {paid.request_id && <Fact name="Reference"><Text>{paid.request_id}</Text></Fact>}
              <Fact name="Receipt number"><Id whole>{paid.stream_id}</Id></Fact>
              {paid.payment_hash && <Fact name="Payment hash"><Id whole>{paid.payment_hash}</Id></Fact>}
            </Facts>
          )}
        </Loaded>
      </Card>
    </Screen>
  );
}
