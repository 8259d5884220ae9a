import { useState } from "preact/hooks";
import { useMay } from "../access.ts";
import { call } from "../api.ts";
import { usePages } from "../hooks.ts";
import type { Schemas } from "../types.ts";
import { Action, Button, Empty, Input, Screen, Status, Table, Time } from "../ui.ts";

type Check = Schemas["OpenVerificationSession"];

/** Age checks that staff decides: the user tells the number on their page. */
export function AgeChecks() {
  const list = usePages<Check>("/verification/sessions?status=open&limit=1000", "sessions", ["CashuResponse", "StatusUpdate"]);
  const may = useMay("age-checks");
  const [decided, decide] = useState<{ check: Check; decision: "approve" | "reject" }>();
  const [reason, setReason] = useState("");
  const [number, setNumber] = useState("");
  const wanted = number.trim();
  const rows = list.items?.filter((check) => wanted === "" || String(check.number ?? "").startsWith(wanted));
  const button = (check: Check, decision: "approve" | "reject") => (
    <Button small run={() => { setReason(""); decide({ check, decision }); }}>{decision === "approve" ? "Approve…" : "Reject…"}</Button>
  );
  return (
    <Screen title="Age checks" about="Ask the user for the number on their page, look at their document, and decide. Nothing of it is kept but pass or fail.">
      <div class="filters">
        <input type="search" class="short" aria-label="Number on the user's page" placeholder="Number on the page" inputMode="numeric" value={number} onInput={(event) => setNumber(event.currentTarget.value)} />
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
        actions={may && ((check) => check.status === "open" && <>{button(check, "reject")}{button(check, "approve")}</>)}
        empty={<Empty icon="checks" title={wanted ? "No open check has this number" : "Nobody waits"} text={wanted ? "Ask the user to read it again." : "Checks that your staff decides appear here by themselves."} />}
      />
      {decided && (
        <Action
          title={decided.decision === "approve" ? "Approve this check?" : "Reject this check?"}
          verb={decided.decision === "approve" ? "Approve" : "Reject"}
          danger={decided.decision === "reject"}
          close={() => decide(undefined)}
          action={async () => {
            const body = { decision: decided.decision, ...(reason && decided.decision === "reject" ? { reason } : {}) };
            await call("POST", `/verification/sessions/${encodeURIComponent(decided.check.session_id)}/decision`, body);
            list.reload();
          }}
        >
          <p>
            Does the user's page show <strong class="big-number">{decided.check.number ?? "—"}</strong>?{" "}
            {decided.decision === "approve" ? `You have seen that they are ${decided.check.minimum_age} or older: they get a proof of it.` : "They get no proof, and may try again."} This cannot be changed.
          </p>
          {decided.decision === "reject" && <Input label="Reason" optional hint="Your app gets it; write no personal data." value={reason} set={setReason} maxLength={200} />}
        </Action>
      )}
    </Screen>
  );
}
