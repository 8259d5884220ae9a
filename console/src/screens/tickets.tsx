import { useState } from "preact/hooks";
import { useIsLimited, useMay } from "../access.ts";
import { call } from "../api.ts";
import { count } from "../format.ts";
import { usePages, useResource } from "../hooks.ts";
import type { Schemas } from "../types.ts";
import { Action, Button, Card, Empty, Id, Input, Screen, Status, Table, Text, Time, useDialog, UserLink } from "../ui.ts";

type Balance = Schemas["TicketBalance"];
type Outgoing = Schemas["OutgoingTicket"];

/** What the service's own ticket wallet holds, and what was sent and is not redeemed. */
export function Tickets() {
  const balances = useResource<Schemas["TicketBalances"]>("/cashu/balances", { live: ["CashuResponse"] });
  const outgoing = usePages<Outgoing>("/cashu/outgoing?order=newest&limit=1000", "outgoing", ["CashuResponse", "StatusUpdate"]);
  const may = useMay("tickets");
  const isLimited = useIsLimited("wallet.approval_above_millisats", "wallet.daily_budget_millisats");
  const { dialog, open, ask, tell } = useDialog();
  const showToken = (token: string) => {
    balances.reload();
    tell("The token", (
      <>
        <p>Whoever has it has the money. Put it into another wallet now: it is not shown again.</p>
        <p><Id whole>{token}</Id></p>
      </>
    ));
  };
  const withdraw = (balance: Balance) => open((close) => <Withdraw balance={balance} close={close} done={showToken} />);
  const reclaim = ({ amount, unit, stream_id }: Outgoing) =>
    ask({
      title: `Take back ${count(amount)} ${unit}?`,
      verb: "Reclaim",
      sensitive: true,
      text: "The mint exchanges the ticket, so that the user can no longer redeem it; its value goes to your balance. If the user was faster, you are told.",
      action: async () => {
        await call("POST", `/cashu/outgoing/${stream_id}/reclaim`, {});
        outgoing.reload();
        balances.reload();
      },
    });
  return (
    <Screen title="Tickets" about="Tickets are Cashu tokens of your mints: what you hold, and what is on its way to users.">
      <Card title="Balances">
        <Table
          caption="Balances of the ticket wallet"
          {...balances}
          rows={balances.data?.balances}
          id={({ mint_url, unit }) => `${mint_url} ${unit}`}
          columns={[
            { name: "Amount", kind: "number", cell: ({ amount, unit }) => <strong>{`${count(amount)} ${unit}`}</strong> },
            { name: "Mint", kind: "grow", cell: ({ mint_url }) => <Text>{mint_url}</Text> },
            { name: "Set aside", kind: "rest", cell: ({ set_aside }) => (set_aside ? <span title="The mint says that it is spent, and you have not spent it">{count(set_aside)}</span> : <span class="muted">—</span>) },
          ]}
          actions={may && isLimited === false && ((balance) => balance.amount > 0 && <Button small run={() => withdraw(balance)}>Withdraw…</Button>)}
          empty={<Empty title="Nothing" text="What you redeem or take back is kept here." />}
        />
        {may && isLimited && <p class="muted">A limit on what is sent counts no withdrawals: only a program with the token can withdraw.</p>}
      </Card>
      <Card title="Sent and not redeemed">
        <Table
          {...outgoing}
          caption="Tickets that were sent and are not redeemed, the newest first"
          rows={outgoing.items}
          id={({ stream_id }) => stream_id}
          columns={[
            { name: "Amount", kind: "number", cell: ({ amount, unit }) => <strong>{`${count(amount)} ${unit}`}</strong> },
            { name: "Status", cell: ({ status }) => <Status of={status} /> },
            { name: "User", kind: "grow", cell: ({ main_key }) => <UserLink of={main_key} /> },
            { name: "Mint", kind: "rest", cell: ({ mint_url }) => <Text>{mint_url}</Text> },
            { name: "Sent", kind: "rest", cell: ({ created_at }) => <Time at={created_at} /> },
            { name: "Until", kind: "number", cell: ({ expires_at }) => <Time at={expires_at} /> },
          ]}
          actions={may && ((ticket) => ticket.status !== "reclaiming" && <Button small run={() => reclaim(ticket)}>Reclaim…</Button>)}
          empty={<Empty icon="tickets" title="None" text="Every ticket that was sent is redeemed or taken back." />}
        />
      </Card>
      {dialog}
    </Screen>
  );
}

interface WithdrawProps { balance: Balance; close: () => void; done: (token: string) => void }
function Withdraw({ balance: { mint_url, unit, amount: most }, close, done }: WithdrawProps) {
  const [text, setText] = useState(String(most));
  const amount = /^\d{1,15}$/.test(text.trim()) ? Number(text) : 0;
  const verb = `Withdraw ${count(amount)} ${unit}`;
  const action = async (key: string) => done((await call<Schemas["Ticket"]>("POST", "/cashu/withdraw", { mint_url, unit, amount }, { key })).token);
  return (
    <Action title="Withdraw tickets" verb={verb} sensitive disabled={amount < 1 || amount > most} close={close} action={action}>
      <p>Takes a token out of your balance, to move it to another wallet. A fee of the mint comes on top.</p>
      <Input label={`Amount in ${unit}`} inputMode="numeric" value={text} set={setText} />
    </Action>
  );
}
