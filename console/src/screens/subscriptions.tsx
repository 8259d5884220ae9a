import { useMay } from "../access.ts";
import { call, withQuery } from "../api.ts";
import { amountIn } from "../format.ts";
import { usePages, useResource } from "../hooks.ts";
import { setQuery } from "../router.tsx";
import type { Subscription } from "../types.ts";
import { Amount, Button, Card, Empty, Fact, Facts, Filter, Id, Loaded, Screen, Status, Table, Text, Time, useDialog, UserLink } from "../ui.ts";

const STATES: [string, string][] = [
  ["active", "Active"],
  ["", "All"],
  ["closed_by_user", "Closed by users"],
  ["closed_by_provider", "Closed by you"],
  ["completed", "Completed"],
  ["ended", "Ended"],
];
const LIVE = ["Subscription", "SubscriptionClosed", "StatusUpdate"];

export function Subscriptions({ query }: { query: URLSearchParams }) {
  const state = query.get("state") ?? "active";
  const list = usePages<Subscription>(withQuery("/subscriptions", { state: state === "all" ? "" : state, order: "newest", limit: 1000 }), "subscriptions", LIVE);
  return (
    <Screen title="Subscriptions" about="What users have agreed to pay again and again.">
      <div class="filters">
        <Filter label="State" value={state === "all" ? "" : state} set={(state) => setQuery({ state: state || "all" })} options={STATES} />
      </div>
      <Table
        {...list}
        caption="Subscriptions, the newest first"
        rows={list.items}
        id={({ subscription_id }) => subscription_id}
        to={({ subscription_id }) => `/subscriptions/${encodeURIComponent(subscription_id)}`}
        columns={[
          { name: "Amount", kind: "number", cell: ({ amount, currency }) => <strong>{amountIn(amount, currency)}</strong> },
          { name: "How often", cell: ({ authorized_recurrence }) => authorized_recurrence.calendar },
          { name: "State", cell: ({ state }) => <Status of={state} /> },
          { name: "For", kind: "grow", cell: ({ description }) => <Text>{description}</Text> },
          { name: "User", kind: "rest", cell: ({ main_key }) => <UserLink of={main_key} /> },
          { name: "Payments", kind: "rest", cell: ({ payments_made, authorized_recurrence: { max_payments } }) => (max_payments ? `${payments_made} of ${max_payments}` : payments_made) },
          { name: "Next due", kind: "number", cell: ({ next_payment_due }) => <Time at={next_payment_due} /> },
        ]}
        empty={<Empty icon="subscriptions" title="No subscriptions" text="Your app asks users for them; those that are agreed appear here." />}
      />
    </Screen>
  );
}

export function SubscriptionScreen({ id }: { id: string }) {
  const subscription = useResource<Subscription>(`/subscriptions/${encodeURIComponent(id)}`, { live: LIVE });
  const may = useMay("subscriptions");
  const { dialog, ask } = useDialog();
  const { data } = subscription;
  const end = ({ main_key }: Subscription) =>
    ask({
      title: "Close this subscription?",
      verb: "Close subscription",
      text: "No further payment is asked for, and the user's wallet is told. It cannot be opened again: the user would have to agree to a new one.",
      action: () => call("POST", "/payments/recurring/close", { subscription_id: id, main_key, subkeys: [] }).then(subscription.reload),
    });
  return (
    <Screen
      title="Subscription"
      back={{ to: "/subscriptions", label: "Subscriptions" }}
      actions={may && data?.state === "active" && <Button run={() => end(data)}>Close…</Button>}
    >
      <Card><Loaded {...subscription}>{(info) => <Details {...info} />}</Loaded></Card>
      {dialog}
    </Screen>
  );
}

function Details(info: Subscription) {
  const { authorized_recurrence: recurrence } = info;
  return (
    <Facts>
      <Fact name="State"><Status of={info.state} /></Fact>
      <Fact name="Amount"><strong>{amountIn(info.amount, info.currency)}</strong>, {recurrence.calendar}</Fact>
      <Fact name="At most"><Amount millisats={info.authorized_amount} /></Fact>
      <Fact name="For"><Text>{info.description}</Text></Fact>
      <Fact name="User"><UserLink of={info.main_key} /></Fact>
      <Fact name="Payments made">{recurrence.max_payments ? `${info.payments_made} of ${recurrence.max_payments}` : info.payments_made}</Fact>
      <Fact name="Charged">{info.auto_charge ? "by Usher, when due" : "by your app"}</Fact>
      {info.next_payment_due && <Fact name="Next due"><Time at={info.next_payment_due} /></Fact>}
      <Fact name="First due"><Time at={recurrence.first_payment_due} /></Fact>
      {recurrence.until && <Fact name="Until"><Time at={recurrence.until} /></Fact>}
      <Fact name="Agreed"><Time at={info.created_at} /></Fact>
      {info.ended_at && <Fact name="Ended"><Time at={info.ended_at} /></Fact>}
      {info.reason && <Fact name="Reason"><Text>{info.reason}</Text></Fact>}
      {info.request_id && <Fact name="Your reference"><Text>{info.request_id}</Text></Fact>}
      <Fact name="Id"><Id>{info.subscription_id}</Id></Fact>
    </Facts>
  );
}
