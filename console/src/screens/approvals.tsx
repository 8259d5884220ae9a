import { useSession } from "../access.ts";
import { call } from "../api.ts";
import { sats } from "../format.ts";
import { usePages } from "../hooks.ts";
import type { Schemas } from "../types.ts";
import { Action, Amount, Button, Card, Empty, Fact, Facts, Id, Loaded, Screen, Text, Time, useDialog } from "../ui.ts";
import { kindOf } from "../words.ts";

type Approval = Schemas["Approval"];

/** Payments by the service that wait until somebody else than who asked for them approves: all, or the one with an id. */
export function Approvals({ id }: { id?: string }) {
  const list = usePages<Approval>("/approvals?limit=1000", "approvals", ["StatusUpdate"], 60);
  const shown = list.items?.filter(({ stream_id }) => id === undefined || stream_id === id);
  const session = useSession();
  const { dialog, open } = useDialog();
  const decide = (approval: Approval, decision: "approve" | "decline") => {
    const [approves, amount] = [decision === "approve", sats(approval.amount_millisats)];
    open((close) => (
      <Action
        title={approves ? `Pay ${amount}?` : "Decline this payment?"}
        verb={approves ? `Approve ${amount}` : "Decline"}
        danger={!approves}
        sensitive
        close={close}
        action={() => call("POST", `/approvals/${approval.stream_id}`, { decision }).then(list.reload)}
      >
        <p>{approves ? "The payment goes on at once, and cannot be taken back." : "It ends unpaid. Until the same invoice has expired, it cannot be asked for again."}</p>
        <Details approval={approval} />
      </Action>
    ));
  };
  const card = (approval: Approval) => {
    const decisions = session.approver && (
      <>
        <Button small run={() => decide(approval, "decline")}>Decline…</Button>
        <Button small primary run={() => decide(approval, "approve")}>Approve…</Button>
      </>
    );
    return (
      <Card key={approval.stream_id} title={`${kindOf(approval.kind)} of ${sats(approval.amount_millisats)}`} actions={decisions}>
        <Details approval={approval} />
      </Card>
    );
  };
  return (
    <Screen title="Approvals" {...(id === undefined ? {} : { back: { to: "/approvals", label: "Everything that waits" } })} about="Payments by you above the limit. Look at the payee before you approve: the payee wrote the description.">
      <Loaded {...list} data={shown}>
        {(approvals) => (approvals.length > 0 ? approvals.map(card) : id === undefined ? (
          <Empty icon="check" title="Nothing waits" text="With wallet.approval_above_millisats, larger payments by the service wait here for a second person." />
        ) : <Empty icon="check" title="This payment does not wait any more" text="It was approved or declined, or its time is over." />)}
      </Loaded>
      {dialog}
    </Screen>
  );
}

function Details({ approval }: { approval: Approval }) {
  const { role } = useSession();
  return (
    <Facts>
      <Fact name="Amount">
        <Amount millisats={approval.amount_millisats} /> <span class="muted">and at most {sats(approval.max_fee_millisats)} of fees</span>
      </Fact>
      {approval.payee && <Fact name="Payee"><Id whole>{approval.payee}</Id></Fact>}
      {approval.address && <Fact name="Address"><Id whole>{approval.address}</Id></Fact>}
      {approval.refund_of && <Fact name="Refund of"><Id {...(role ? { to: `/payments/${approval.refund_of}` } : {})}>{approval.refund_of}</Id></Fact>}
      <Fact name="For"><Text empty="Unknown: the invoice says nothing">{approval.description}</Text></Fact>
      <Fact name="Asked for by">{approval.key_name && <>key <Text>{approval.key_name}</Text>, </>}<Text>{approval.requested_by}</Text> <span class="muted">·</span> <Time at={approval.requested_at} ago /></Fact>
      <Fact name="Until"><Time at={approval.expires_at} ago /></Fact>
    </Facts>
  );
}
