import { useState } from "preact/hooks";
import { visible } from "../format.ts";
import { get } from "../api.ts";
import { useAction, useLoaded } from "../hooks.ts";
import { newestEntries } from "../newest.ts";
import { setQuery } from "../router.tsx";
import type { Schemas } from "../types.ts";
import { Badge, Button, Empty, Fact, Facts, Failure, Id, Screen, Search, Status, Table, Text, Time, useDialog } from "../ui.ts";
import { actionName, sentence } from "../words.ts";

type Entry = Schemas["AuditEntry"];

/** Who changed what. */
export function Audit({ query }: { query: URLSearchParams }) {
  const wanted = (query.get("q") ?? "").toLowerCase();
  const last = useLoaded("audit", (signal) => newestEntries(undefined, signal), { live: ["*"] });
  const [earlier, setEarlier] = useState<Entry[]>([]);
  const { busy, error, run } = useAction();
  const { dialog, tell } = useDialog();
  const show = (entry: Entry) => tell(`${actionName(entry.action)}, number ${entry.sequence}`, <Details {...entry} />);
  const all = last.data && unique([...last.data, ...earlier]);
  const oldest = all?.at(-1)?.sequence ?? 1;
  const rows = all?.filter((entry) => wanted === "" || textOf(entry).includes(wanted));
  const more = () =>
    run(async () => {
      const page = await newestEntries(oldest);
      setEarlier((known) => [...known, ...page]);
    });
  return (
    <Screen
      title="Audit log"
      about="Every change that a program or a person made, and every refusal. An entry names no user and no secret."
      actions={<Verify />}
    >
      <div class="filters">
        <Search label="Search in the entries that are shown" placeholder="Who, what, or an id" value={query.get("q") ?? ""} set={(q) => setQuery({ q })} />
      </div>
      <Table
        caption="Audit log, the newest first"
        rows={rows}
        error={error ?? last.error}
        loading={busy}
        reload={last.reload}
        more={oldest > 1 ? more : undefined}
        id={({ sequence }) => String(sequence)}
        columns={[
          { name: "Number", kind: "number", cell: ({ sequence }) => <span class="muted">{sequence}</span> },
          { name: "Who", cell: ({ actor }) => <Text>{actor}</Text> },
          {
            name: "What",
            kind: "grow",
            cell: (entry) => <button type="button" class="link" onClick={() => show(entry)}>{actionName(entry.action)}</button>,
          },
          { name: "Outcome", cell: ({ outcome }) => (outcome === "ok" || outcome === "begun" ? <Status of={outcome} /> : <Badge tone="bad">{outcome}</Badge>) },
          { name: "From", kind: "rest", cell: ({ address }) => <Text>{address}</Text> },
          { name: "Time", kind: "number", cell: ({ at }) => <Time at={at} /> },
        ]}
        empty={<Empty icon="audit" title={wanted ? "Nothing found" : "Nothing has been changed yet"} />}
      />
      {dialog}
    </Screen>
  );
}

function Details({ actor, at, address, outcome, details, request_id, hash }: Entry) {
  return (
    <Facts>
      <Fact name="Who"><Text>{actor}</Text></Fact>
      <Fact name="When"><Time at={at} /></Fact>
      <Fact name="From"><Text>{address}</Text></Fact>
      <Fact name="Outcome">{outcome}</Fact>
      {Object.entries(details as Record<string, unknown>).map(([name, value]) => (
        <Fact key={name} name={visible(name)}><Text>{String(value)}</Text></Fact>
      ))}
      <Fact name="Request"><Id>{request_id}</Id></Fact>
      <Fact name="Hash"><Id>{hash}</Id></Fact>
    </Facts>
  );
}

/** Whether the log is as it was written. */
function Verify() {
  const { dialog, tell } = useDialog();
  const { busy, error, run } = useAction();
  const verify = async () => {
    const found = await get<Schemas["AuditVerification"]>("/audit/verification");
    tell(found.fault ? "The log was tampered with or is damaged" : "Every entry is as it was written", <Verified {...found} />);
  };
  return (
    <>
      <Button disabled={busy} run={() => void run(verify)}>{busy ? "Verifying…" : "Verify"}</Button>
      {error !== undefined && <Failure error={error} />}
      {dialog}
    </>
  );
}

function Verified({ fault, head, removed }: Schemas["AuditVerification"]) {
  return (
    <>
      {fault && <p class="notice bad" role="alert">{sentence(fault)}.</p>}
      <Facts>
        <Fact name="Newest entry">{head ? <Id>{head}</Id> : "The log is empty"}</Fact>
        {removed > 0 && <Fact name="Removed after their retention">{`up to ${removed}`}</Fact>}
      </Facts>
      <p class="muted">Note the newest entry elsewhere: usher audit verify --head then finds an older database in the place of this one, too.</p>
    </>
  );
}

const textOf = ({ actor, action, outcome, address, request_id, details }: Entry) =>
  [actor, action, actionName(action), outcome, address, request_id, JSON.stringify(details)].join(" ").toLowerCase();

const unique = (entries: Entry[]) => [...new Map(entries.map((entry) => [entry.sequence, entry])).values()];
