import { useState } from "preact/hooks";
import { useMay } from "../access.ts";
import { call } from "../api.ts";
import { parseAmount, sats, startOfDay } from "../format.ts";
import { useForm, useResource } from "../hooks.ts";
import type { Schemas } from "../types.ts";
import { Action, AmountInput, Badge, Button, Card, Check, Empty, Icon, Id, Input, Rows, Screen, Select, Table, Text, Time, useDialog } from "../ui.ts";
import { SCOPES } from "../words.ts";

type Key = Schemas["ApiKey"];

/** The keys of programs: what each may do, and when it was used last. */
export function Keys() {
  const keys = useResource<Schemas["ApiKeyList"]>("/keys");
  const may = useMay("keys");
  const { dialog, open, ask, tell } = useDialog();
  const done = ({ secret }: Schemas["ApiKeyWithSecret"]) => {
    keys.reload();
    tell("The secret", secret ? (
      <><p>Put it where your program reads it: it is shown this once.</p><p><Id whole>{secret}</Id></p></>
    ) : <p>The key exists, and its secret was shown before. Rotate it to get another.</p>);
  };
  const create = () => open((close) => <NewKey close={close} done={done} />);
  const rotate = (key: Key) => open((close) => <Rotate of={key} close={close} done={done} />);
  const revoke = ({ id, name }: Key) =>
    ask({
      title: `Revoke ${name}?`,
      verb: "Revoke key",
      sensitive: true,
      text: "The program that has it can do nothing from now on; its connections end. Payments of it that wait for an approval are declined.",
      action: () => call("DELETE", `/keys/${encodeURIComponent(id)}`).then(keys.reload),
    });
  return (
    <Screen
      title="API keys"
      about="Give each program a key that can do only what it needs."
      actions={may && <Button primary run={create}><Icon name="plus" /> New key</Button>}
    >
      <Table
        caption="API keys, the newest first"
        {...keys}
        rows={keys.data && [...keys.data.keys].reverse()}
        id={({ id }) => id}
        columns={[
          {
            name: "Name",
            cell: ({ name, id, expired }) => (
              <>
                <strong><Text>{name}</Text></strong>{" "}
                {expired && <Badge tone="bad">expired</Badge>}
                <br />
                <small class="muted"><Id>{id}</Id></small>
              </>
            ),
          },
          { name: "May", kind: "grow", cell: (key) => <Limits {...key} /> },
          { name: "Last used", kind: "rest", cell: ({ last_used_at }) => <Time at={last_used_at} ago /> },
          { name: "Expires", kind: "rest", cell: ({ expires_at }) => <Time at={expires_at} /> },
        ]}
        actions={may && ((key) => <><Button small run={() => rotate(key)}>Rotate…</Button><Button small run={() => revoke(key)}>Revoke…</Button></>)}
        empty={<Empty icon="keys" title="No keys yet" text="The token of the configuration may do everything: keep it for yourself, and give your app a key." />}
      />
      {keys.data && keys.data.configured.length > 0 && (
        <Card title="Of the configuration" class="after">
          <Rows of={keys.data.configured}>
            {({ setting, last_used_at }) => (
              <li key={setting}>
                <code class="grow">{setting}</code>
                <span class="muted">{last_used_at ? "last used" : "not used"}</span>
                {last_used_at && <Time at={last_used_at} ago />}
              </li>
            )}
          </Rows>
        </Card>
      )}
      {dialog}
    </Screen>
  );
}

function Limits({ scopes, networks, own_streams_only, daily_budget_millisats, requests_per_second }: Key) {
  const limits = [
    own_streams_only && "own streams only",
    daily_budget_millisats !== undefined && `${sats(daily_budget_millisats)} a day`,
    requests_per_second !== undefined && `${requests_per_second} requests a second`,
    networks.length > 0 && `from ${networks.join(", ")}`,
  ].filter(Boolean);
  return (
    <div class="wrap">
      {scopes.map((scope) => <span key={scope} class="chip" title={SCOPES[scope]}>{scope}</span>)}
      {limits.length > 0 && <small class="muted">{limits.join(" · ")}</small>}
    </div>
  );
}

interface MadeProps { close: () => void; done: (key: Schemas["ApiKeyWithSecret"]) => void }
function NewKey({ close, done }: MadeProps) {
  const [scopes, setScopes] = useState<string[]>([]);
  const { values: { name, budget, until, networks, own }, field } = useForm({ name: "", budget: "", until: "", networks: "", own: false });
  const amount = parseAmount(budget, "sats");
  const action = async (key: string) => {
    const from = networks.split(/[\s,]+/).filter(Boolean);
    const body = {
      name,
      scopes,
      ...(amount && scopes.includes("payments:send") ? { daily_budget_millisats: amount * 1000 } : {}),
      ...(until ? { expires_at: startOfDay(new Date(`${until}T00:00:00`).getTime() / 1000, -1) } : {}),
      ...(from.length > 0 ? { networks: from } : {}),
      ...(own ? { own_streams_only: true } : {}),
    };
    done(await call<Schemas["ApiKeyWithSecret"]>("POST", "/keys", body, { key }));
  };
  return (
    <Action title="New API key" verb="Create key" sensitive disabled={scopes.length === 0} close={close} action={action}>
      <Input label="Name" hint="What the program is called." {...field("name")} maxLength={100} />
      <fieldset>
        <legend>It may</legend>
        {Object.entries(SCOPES).map(([scope, about]) => (
          <Check key={scope} label={scope} hint={about} value={scopes.includes(scope)} set={(on) => setScopes(on ? [...scopes, scope] : scopes.filter((other) => other !== scope))} />
        ))}
      </fieldset>
      {scopes.includes("payments:send") && <AmountInput label="At most a day, in sats" optional {...field("budget")} />}
      <div class="pair">
        <Input label="Last day" optional type="date" {...field("until")} />
        <Input label="From these networks" optional hint="CIDR or addresses" {...field("networks")} />
      </div>
      <Check label="Sees only what it has started" {...field("own")} />
    </Action>
  );
}

const OVERLAPS: [string, string][] = [["0", "at once"], ["3600", "in an hour"], ["86400", "in a day"], ["604800", "in a week"]];
function Rotate({ of, close, done }: MadeProps & { of: Key }) {
  const [overlap, setOverlap] = useState("86400");
  const rotate = (key: string) =>
    call<Schemas["ApiKeyWithSecret"]>("POST", `/keys/${encodeURIComponent(of.id)}/rotate`, { overlap_seconds: Number(overlap) }, { key });
  return (
    <Action title={`A new secret for ${of.name}`} verb="Make a new secret" sensitive close={close} action={(key) => rotate(key).then(done)}>
      <p>What the key may do stays as it is. Until the former secret ends, both are accepted.</p>
      <Select label="The former secret ends" value={overlap} set={setOverlap} options={OVERLAPS} />
    </Action>
  );
}
