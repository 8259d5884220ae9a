import { useState } from "preact/hooks";
import { useMay } from "../access.ts";
import { call } from "../api.ts";
import { count } from "../format.ts";
import { useResource } from "../hooks.ts";
import type { Schemas } from "../types.ts";
import { Action, Badge, Button, Empty, Icon, Input, Screen, Status, Table, Text, Time } from "../ui.ts";

type Relay = Schemas["Relay"];

/** The relays that connect the service with users' wallets. */
export function Relays() {
  const relays = useResource<Schemas["Relays"]>("/relays", { every: 10 });
  const may = useMay("relays");
  const [adding, add] = useState(false);
  const [removed, remove] = useState<Relay>();
  const [address, setAddress] = useState("wss://");
  return (
    <Screen
      title="Relays"
      about="They connect the service with users' wallets. Use at least two, of different operators."
      actions={may && <Button primary run={() => add(true)}><Icon name="plus" /> Add a relay</Button>}
    >
      <Table
        caption="Relays"
        rows={relays.data?.relays}
        error={relays.error}
        reload={relays.reload}
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
      {adding && (
        <Action
          title="Add a relay"
          verb="Add"
          close={() => add(false)}
          action={async () => {
            await call("POST", "/relays", { relay: address.trim() });
            relays.reload();
            setAddress("wss://");
          }}
        >
          <p>New login links name it, and what waits is sent to it as well. It stays after a restart.</p>
          <Input label="Address" value={address} set={setAddress} />
        </Action>
      )}
      {removed && (
        <Action
          title="Remove this relay?"
          verb="Remove"
          danger
          close={() => remove(undefined)}
          action={async () => {
            await call("DELETE", "/relays", { relay: removed.relay });
            relays.reload();
          }}
        >
          <p><Text>{removed.relay}</Text></p>
          <p>Wallets that know no other relay of yours no longer reach you. A configured relay stays removed until you add it again.</p>
        </Action>
      )}
    </Screen>
  );
}
