import { call } from "../api.ts";
import { parseAmount, sats } from "../format.ts";
import { useForm, useResource } from "../hooks.ts";
import { Action, AmountInput, Button, Card, Empty, Input, Screen, Select, Table, useDialog } from "../ui.ts";
import { sentence } from "../words.ts";

interface Outcome { outcome: string; for: string | null; amount_millisats: number | null; times_left: number }

const OUTCOMES = ["approve", "decline", "fail", "slow", "pay_late", "offline"];
const REQUESTS = ["login", "payment", "subscription", "ticket"];
const options = (words: string[]) => words.map((word): [string, string] => [word, sentence(word)]);

/** What only `usher dev` has: the test user's phone, and how their wallet answers its next requests. */
export function TestMode() {
  const { data, error, reload } = useResource<{ outcomes: Outcome[] }>("/dev/outcomes", { live: ["*"], every: 10 });
  const { dialog, open } = useDialog();
  return (
    <Screen
      title="Test wallet"
      about="The wallet of the test user, and what it does with the next requests. The money is not real."
      actions={
        <>
          <a class="button" href="/phone" target="_blank" rel="noopener">Open the phone</a>
          <Button primary run={() => open((close) => <Script close={close} done={reload} />)}>Script an outcome…</Button>
        </>
      }
    >
      <Card
        title="Scripted outcomes"
        actions={data && data.outcomes.length > 0 && <Button small run={() => void call("DELETE", "/dev/outcomes").finally(reload)}>Forget all</Button>}
      >
        <Table
          caption="Scripted outcomes, the next first"
          rows={data?.outcomes}
          error={error}
          reload={reload}
          id={(scripted) => String(data?.outcomes.indexOf(scripted))}
          columns={[
            { name: "The wallet will", cell: ({ outcome }) => sentence(outcome) },
            { name: "For", cell: (scripted) => (scripted.for ? sentence(scripted.for) : "Any request"), kind: "grow" },
            { name: "Of", cell: ({ amount_millisats }) => (amount_millisats === null ? "Any amount" : sats(amount_millisats)) },
            { name: "Times", cell: ({ times_left }) => (times_left === 0 ? "Always" : times_left), kind: "number" },
          ]}
          empty={<Empty icon="phone" title="Nothing is scripted" text="The phone asks its user about each request, or approves all of them (usher dev --auto-approve)." />}
        />
      </Card>
      {dialog}
    </Screen>
  );
}

function Script({ close, done }: { close: () => void; done: () => void }) {
  const { values: { outcome, request, amount, times }, field } = useForm({ outcome: "decline", request: "", amount: "", times: "1" });
  const millisats = (parseAmount(amount, "sats") ?? 0) * 1000;
  const body = { outcome, times: Number(times), ...(request && { for: request }), ...(millisats && { amount_millisats: millisats }) };
  return (
    <Action title="Script an outcome" verb="Script it" close={close} action={() => call("POST", "/dev/outcomes", body).then(done)}>
      <Select label="The wallet will" {...field("outcome")} options={options(OUTCOMES)} />
      <Select label="For" {...field("request")} options={[["", "Any request"], ...options(REQUESTS)]} />
      <AmountInput label="Of this amount" optional {...field("amount")} />
      <Input label="Times" hint="0: always" inputMode="numeric" {...field("times")} />
    </Action>
  );
}
