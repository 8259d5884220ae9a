import { useState } from "preact/hooks";
import { useMay } from "../access.ts";
import { call, codeOf, get, withQuery } from "../api.ts";
import { count, escaped, plural } from "../format.ts";
import { useLoaded, useNow } from "../hooks.ts";
import { newestFirst, streamsFrom } from "../newest.ts";
import { setQuery } from "../router.tsx";
import type { ApiEvent, Delivery, Schemas } from "../types.ts";
import { Action, Button, Card, Copy, Empty, Fact, Facts, Filter, Id, Loaded, Screen, Status, Table, Text, Time, useDialog } from "../ui.ts";

const STATUSES: [string, string][] = [["failed", "Failed"], ["pending", "Pending"], ["delivered", "Delivered"]];
/** What was delivered is read of streams that began within so long, in seconds. */
const SPANS: [string, string][] = [["3600", "Last hour"], ["86400", "Last day"], ["604800", "Last week"]];
const MOST = 5000;

/** Deliveries of one status, as far as they are read. */
async function readDeliveries(status: string, span: number, signal: AbortSignal) {
  const deliveries: Delivery[] = [];
  let after: string | null | undefined = status === "delivered" ? `${streamsFrom(Date.now() / 1000 - span)}:0` : "";
  while (after !== null && after !== undefined && deliveries.length < MOST) {
    const page: Schemas["WebhookDeliveries"] = await get(withQuery("/webhooks/deliveries", { status, after, limit: 1000 }), signal);
    deliveries.push(...page.deliveries);
    after = page.next;
  }
  return { deliveries: newestFirst(deliveries, ({ timestamp }) => timestamp), isCut: Boolean(after) };
}

export function Webhooks({ query }: { query: URLSearchParams }) {
  const status = query.get("status") ?? "failed";
  const span = query.get("span") ?? "86400";
  const list = useLoaded(`deliveries ${status} ${status === "delivered" ? span : ""}`, (signal) => readDeliveries(status, Number(span), signal), { live: ["*"], every: 30 });
  const rows = list.data?.deliveries;
  const may = useMay("webhooks");
  const { dialog, open, ask } = useDialog();
  const [sent, setSent] = useState<string>();
  const resend = (deliveries: Delivery[]) => open((close) => <ResendAll deliveries={deliveries} close={close} done={list.reload} />);
  const test = () =>
    ask({
      title: "Send a test event?",
      verb: "Send",
      danger: false,
      text: "Posts an event of the type `Test` to your app, signed like any other. Your app should answer with success and do nothing.",
      action: async () => setSent((await call<{ event_id: string }>("POST", "/webhooks/test")).event_id),
    });
  return (
    <Screen
      title="Webhooks"
      about="What was posted to your app: each event, in order, until it answers with success."
      actions={
        may && (
          <>
            {status === "failed" && rows && rows.length > 0 && <Button run={() => resend(rows)}>Send all again…</Button>}
            <Button run={test}>Send a test event…</Button>
          </>
        )
      }
    >
      {sent && <div class="notice good" role="status"><p>A test event is on its way: <Id>{sent}</Id></p></div>}
      <div class="filters">
        <Filter label="Status" value={status} set={(status) => setQuery({ status })} options={STATUSES} />
        {status === "delivered" && <Filter label="Of streams that began in the" value={span} set={(span) => setQuery({ span })} options={SPANS} />}
      </div>
      {list.data?.isCut && <p class="muted">The first {count(MOST)} of these.</p>}
      <Table
        caption={`Deliveries: ${status}`}
        {...list}
        rows={rows}
        id={({ id }) => id}
        to={({ id, status }) => `/webhooks/${encodeURIComponent(id)}?status=${status}`}
        columns={[
          { name: "Event", cell: ({ type }) => <strong>{type}</strong> },
          { name: "Status", cell: ({ status }) => <Status of={status} /> },
          { name: "Answer", kind: "grow", cell: (delivery) => <Answer {...delivery} /> },
          { name: "Attempts", kind: "rest", cell: ({ attempts }) => count(attempts) },
          { name: "Next attempt", kind: "rest", cell: ({ next_attempt_at }) => <Time at={next_attempt_at} ago /> },
          { name: "Happened", kind: "number", cell: ({ timestamp }) => <Time at={timestamp} /> },
        ]}
        empty={
          status === "failed" ? (
            <Empty icon="check" title="Nothing has failed" text="An event is given up after three days of attempts. Then it waits here to be sent again." />
          ) : (
            <Empty icon="webhooks" title="None" text="Without webhook.url in the configuration there are no deliveries." />
          )
        }
      />
      {dialog}
    </Screen>
  );
}

function Answer({ last_status, last_error, last_attempt_at }: Delivery) {
  if (last_error) return <Text>{last_error}</Text>;
  if (last_status) return <span class="muted">{last_status}</span>;
  return <span class="muted">{last_attempt_at ? "no response" : "not sent yet"}</span>;
}

const SINCE: [string, string][] = [["0", "All"], ...SPANS];

/** Sends many again, one after the other: within a stream in their order. */
function ResendAll({ deliveries, close, done }: { deliveries: Delivery[]; close: () => void; done: () => void }) {
  const now = useNow();
  const [span, setSpan] = useState("0");
  const [progress, setProgress] = useState<number>();
  const chosen = deliveries.filter(({ timestamp }) => span === "0" || timestamp >= now - Number(span));
  const action = async () => {
    for (const [at, { id }] of [...chosen].reverse().entries()) {
      setProgress(at);
      await call("POST", `/webhooks/deliveries/${encodeURIComponent(id)}/retry`).catch((error: unknown) => {
        if (codeOf(error) !== "delivery_not_found") throw error;
      });
    }
    done();
  };
  return (
    <Action title="Send again" verb={`Send ${plural(chosen.length, "delivery", "deliveries")}`} disabled={chosen.length === 0} close={close} action={action}>
      <p>Posts these events to your app again, the oldest first. An app that handles ids twice notices: each keeps its id.</p>
      <Filter label="Failed events of" value={span} set={setSpan} options={SINCE} />
      {progress !== undefined && <progress max={chosen.length} value={progress} aria-label="Sent again" />}
    </Action>
  );
}

/** One delivery: what was posted, and what came back. */
export function DeliveryScreen({ id, query }: { id: string; query: URLSearchParams }) {
  const [stream = "", index = "0"] = id.split(":");
  const status = query.get("status") ?? "failed";
  const may = useMay("webhooks");
  const { dialog, ask } = useDialog();
  const resend = () =>
    ask({
      title: "Send this event again?",
      verb: "Send again",
      danger: false,
      text: "Posts it to your app again, with the same id and the same body, until your app answers with success.",
      action: () => call("POST", `/webhooks/deliveries/${encodeURIComponent(id)}/retry`).then(() => setQuery({ status: "pending" })),
    });
  const event = useLoaded(`delivery event ${id}`, (signal) => readEvent(stream, Number(index), signal));
  const delivery = useLoaded(`delivery ${id} ${status}`, (signal) => findDelivery(id, stream, Number(index), status, signal), { live: ["*"] });
  const back = { to: `/webhooks?status=${status}`, label: "Webhooks" };
  const body = event.data && escaped(JSON.stringify({ stream_id: stream, ...event.data }, null, 2));
  return (
    <Screen title="Delivery" back={back} actions={may && <Button run={resend}>Send again…</Button>}>
      <div class="columns">
        <Card title="Delivery">
          <Loaded {...delivery} missing={<Empty title="It is no longer listed" text="Its stream was removed." />}>
            {(found) => <DeliveryFacts {...found} />}
          </Loaded>
        </Card>
        <Card title="Body" actions={body && <Copy text={body} label="Copy the body" />}>
          <Loaded {...event}>{() => <pre tabIndex={0}>{body}</pre>}</Loaded>
        </Card>
      </div>
      {dialog}
    </Screen>
  );
}

async function readEvent(stream: string, index: number, signal: AbortSignal): Promise<ApiEvent | undefined> {
  const page = await get<Schemas["EventPage"]>(`/events/${encodeURIComponent(stream)}?after=${index}&limit=1`, signal);
  return page.events.find((event) => event.index === index);
}

/** The list finds one by the one before it, in each status: it may have been delivered meanwhile. */
async function findDelivery(id: string, stream: string, index: number, status: string, signal: AbortSignal): Promise<Delivery | null> {
  const after = index > 0 ? `${stream}:${index - 1}` : undefined;
  for (const tried of new Set([status, "delivered", "pending", "failed"])) {
    for (let next: string | null | undefined = after ?? `${before(stream)}:0`; next; ) {
      const page: Schemas["WebhookDeliveries"] = await get(withQuery("/webhooks/deliveries", { status: tried, after: next, limit: 100 }), signal);
      const found = page.deliveries.find((delivery) => delivery.id === id);
      if (found) return found;
      next = page.deliveries.at(-1) && (page.deliveries.at(-1)?.stream_id ?? "") <= stream ? page.next : null;
    }
  }
  return null;
}

/** An id just before that of a stream. */
const before = (stream: string) => streamsFrom(parseInt(stream.replaceAll("-", "").slice(0, 12), 16) / 1000 || 0);

function DeliveryFacts(delivery: Delivery) {
  return (
    <Facts>
      <Fact name="Status"><Status of={delivery.status} /></Fact>
      <Fact name="Answer">
        <Answer {...delivery} />
        {delivery.last_error && delivery.last_status ? <span class="muted"> ({delivery.last_status})</span> : null}
      </Fact>
      <Fact name="Attempts">{count(delivery.attempts)}</Fact>
      <Fact name="Last attempt"><Time at={delivery.last_attempt_at} /></Fact>
      {delivery.next_attempt_at && <Fact name="Next attempt"><Time at={delivery.next_attempt_at} ago /></Fact>}
      <Fact name="Event">{delivery.type}</Fact>
      <Fact name="Happened"><Time at={delivery.timestamp} /></Fact>
      <Fact name="Id"><Id>{delivery.id}</Id></Fact>
      <Fact name="Stream"><Id {...(delivery.type === "StatusUpdate" ? { to: `/payments/${delivery.stream_id}` } : {})}>{delivery.stream_id}</Id></Fact>
    </Facts>
  );
}
