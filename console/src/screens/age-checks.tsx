import { useState } from "preact/hooks";
import { useMay } from "../access.ts";
import { call } from "../api.ts";
import { usePages } from "../hooks.ts";
import type { Schemas } from "../types.ts";
import { Action, Button, Empty, Input, Screen, Search, Status, Table, Time, useDialog } from "../ui.ts";

type Check = Schemas["OpenVerificationSession"];

/** Age checks that staff decides: the user tells the number on their page. */
export function AgeChecks() {
  const list = usePages<Check>("/verification/sessions?status=open&limit=1000", "sessions", ["CashuResponse", "StatusUpdate"]);
  const may = useMay("age-checks");
  const { dialog, open } = useDialog();
  const [number, setNumber] = useState("");
  const wanted = number.trim();
  const rows = list.items?.filter((check) => wanted === "" || String(check.number ?? "").startsWith(wanted));
  const decide = (check: Check, approves: boolean) =>
    open((close) => <Decide check={check} approves={approves} close={close} done={list.reload} />);
  return (
    <Screen title="Age checks" about="Ask the user for the number on their page, look at their document, and decide. Nothing of it is kept but pass or fail.">
      <div class="filters">
        <Search class="short" label="Number on the user's page" placeholder="Number on the page" inputMode="numeric" value={number} set={setNumber} />
      </div>
      <Table
        {...list}
        caption="Open age checks, the oldest first"
        rows={rows}
        id={({ session_id }) => session_id}
        columns={[
          { name: "Number", cell: ({ number }) => <strong class="big-number">{number ?? "—"}</strong> },
          { name: "Age", kind: "grow", cell: ({ minimum_age }) => `${minimum_age} or older` },
          { name: "Status", kind: "rest", cell: ({ status }) => <Status of={status} /> },
          { name: "Since", kind: "rest", cell: ({ created_at }) => <Time at={created_at} ago /> },
          { name: "Ends", cell: ({ expires_at }) => <Time at={expires_at} ago /> },
        ]}
        actions={may && ((check) => check.status === "open" && (
          <><Button small run={() => decide(check, false)}>Reject…</Button><Button small run={() => decide(check, true)}>Approve…</Button></>
        ))}
        empty={<Empty icon="checks" title={wanted ? "No open check has this number" : "Nobody waits"} text={wanted ? "Ask the user to read it again." : "Checks that your staff decides appear here by themselves."} />}
      />
      {dialog}
    </Screen>
  );
}

function Decide({ check, approves, close, done }: { check: Check; approves: boolean; close: () => void; done: () => void }) {
  const [reason, setReason] = useState("");
  const body = { decision: approves ? "approve" : "reject", ...(reason && { reason }) };
  const action = () => call("POST", `/verification/sessions/${encodeURIComponent(check.session_id)}/decision`, body).then(done);
  const verb = approves ? "Approve" : "Reject";
  return (
    <Action title={`${verb} this check?`} verb={verb} danger={!approves} close={close} action={action}>
      <p>
        Does the user's page show <strong class="big-number">{check.number ?? "—"}</strong>?{" "}
        {approves ? `You have seen that they are ${check.minimum_age} or older: they get a proof of it.` : "They get no proof, and may try again."} This cannot be changed.
      </p>
      {!approves && <Input label="Reason" optional hint="Your app gets it; write no personal data." value={reason} set={setReason} maxLength={200} />}
    </Action>
  );
}
