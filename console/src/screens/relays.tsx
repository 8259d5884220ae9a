import { useState } from "preact/hooks";
import { useMay } from "../access.ts";
import { call } from "../api.ts";
import { count } from "../format.ts";
import { useResource } from "../hooks.ts";
import type { Schemas } from "../types.ts";
import { Action, Badge, Button, Empty, Icon, Input, Screen, Status, Table, Text, Time, useDialog } from "../ui.ts";

type Relay = Schemas["Relay"];

/** The relays that connect the service with users' wallets. */
export function Relays() {
  const relays = useResource<Schemas["Relays"]>("/relays", { every: 10 });
  const may = useMay("relays");
  const { dialog, open } = useDialog();
  const add = () => open((close) => <Add close={close} done={relays.reload} />);
  const remove = ({ relay }: Relay) =>
    open((close) => (
      <Action title="Remove this relay?" verb="Remove" danger close={close} action={() => call("DELETE", "/relays", { relay }).then(relays.reload)}>
        <p><Text>{relay}</Text></p>
        <p>Wallets that know no other relay of yours no longer reach you. A configured relay stays removed until you add it again.</p>
      </Action>
    ));
  return (
    <Screen
      title="Relays"
      about="They connect the service with users' wallets. Use at least two, of different operators."
      actions={may && <Button primary run={add}><Icon name="plus" /> Add a relay</Button>}
    >
      <Table
        caption="Relays"
        {...relays}
        rows={relays.data?.relays}
        id={({ relay }) => relay}
        columns={[
          { name: "Relay", cell: ({ relay }) => <Text>{relay}</Text> },
          { name: "State", cell: ({ status }) => <Status of={status} /> },
          { name: "Reason", kind: "grow", cell: ({ reason }) => <Text empty="">{reason}</Text> },
          { name: "Since", kind: "rest", cell: ({ since }) => <Time at={since} /> },
          { name: "Why", kind: "rest", cell: ({ origin }) => <Badge>{origin}</Badge> },
          { name: "Hears wallets", kind: "rest", cell: ({ subscribed }) => (subscribed ? "yes" : "not yet") },
          { name: "To send", kind: "number", cell: ({ queued }) => count(queued) },
        ]}
        actions={may && ((relay) => relay.origin !== "user" && <Button small run={() => remove(relay)}>Remove…</Button>)}
        empty={<Empty icon="relays" title="No relays" text="Without one, few users can be reached: add one." />}
      />
      {dialog}
    </Screen>
  );
}

function Add({ close, done }: { close: () => void; done: () => void }) {
  const [relay, setRelay] = useState("wss://");
  return (
    <Action title="Add a relay" verb="Add" close={close} action={() => call("POST", "/relays", { relay: relay.trim() }).then(done)}>
      <p>New login links name it, and what waits is sent to it as well. It stays after a restart.</p>
      <Input label="Address" value={relay} set={setRelay} />
    </Action>
  );
}
