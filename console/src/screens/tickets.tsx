import { useState } from "preact/hooks";
import { useIsLimited, useMay } from "../access.ts";
import { call } from "../api.ts";
import { count } from "../format.ts";
import { usePages, useResource } from "../hooks.ts";
import type { Schemas } from "../types.ts";
import { Action, Button, Card, Dialog, Empty, Id, Input, Screen, Status, Table, Text, Time, UserLink } from "../ui.ts";

type Balance = Schemas["TicketBalance"];
type Outgoing = Schemas["OutgoingTicket"];

/** What the service's own ticket wallet holds, and what was sent and is not redeemed. */
export function Tickets() {
  const balances = useResource<Schemas["TicketBalances"]>("/cashu/balances", { live: ["CashuResponse"] });
  const outgoing = usePages<Outgoing>("/cashu/outgoing?limit=1000", "outgoing", ["CashuResponse", "StatusUpdate"]);
  const may = useMay("tickets");
  const isLimited = useIsLimited("wallet.approval_above_millisats", "wallet.daily_budget_millisats");
  const [withdrawn, withdraw] = useState<Balance>();
  const [reclaimed, reclaim] = useState<Outgoing>();
  return (
    <Screen title="Tickets" about="Tickets are Cashu tokens of your mints: what you hold, and what is on its way to users.">
      <Card title="Balances">
        <Table
          caption="Balances of the ticket wallet"
          rows={balances.data?.balances}
          error={balances.error}
          reload={balances.reload}
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
          rows={outgoing.items && [...outgoing.items].reverse()}
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
      {withdrawn && <Withdraw balance={withdrawn} close={() => withdraw(undefined)} done={balances.reload} />}
      {reclaimed && (
        <Action
          title={`Take back ${count(reclaimed.amount)} ${reclaimed.unit}?`}
          verb="Reclaim"
          danger
          sensitive
          close={() => reclaim(undefined)}
          action={async () => {
            await call("POST", `/cashu/outgoing/${reclaimed.stream_id}/reclaim`, {});
            outgoing.reload();
            balances.reload();
          }}
        >
          <p>The mint exchanges the ticket, so that the user can no longer redeem it; its value goes to your balance. If the user was faster, you are told.</p>
        </Action>
      )}
    </Screen>
  );
}

function Withdraw({ balance, close, done }: { balance: Balance; close: () => void; done: () => void }) {
  const [amount, setAmount] = useState(String(balance.amount));
  const [token, setToken] = useState<string>();
  const number = /^\d{1,15}$/.test(amount.trim()) ? Number(amount) : 0;
  if (token !== undefined) {
    return (
      <Dialog title="The token" close={close}>
        <p>Whoever has it has the money. Put it into another wallet now: it is not shown again.</p>
        <p><Id whole>{token}</Id></p>
      </Dialog>
    );
  }
  return (
    <Action
      title="Withdraw tickets"
      stays
      verb={`Withdraw ${count(number)} ${balance.unit}`}
      sensitive
      disabled={number < 1 || number > balance.amount}
      close={close}
      action={async (key) => {
        const { mint_url, unit } = balance;
        const ticket = await call<Schemas["Ticket"]>("POST", "/cashu/withdraw", { mint_url, unit, amount: number }, { key });
        done();
        setToken(ticket.token);
      }}
    >
      <p>Takes a token out of your balance, to move it to another wallet. A fee of the mint comes on top.</p>
      <Input label={`Amount in ${balance.unit}`} inputMode="numeric" value={amount} set={setAmount} />
    </Action>
  );
}
