import { useState } from "preact/hooks";
import { visible } from "../format.ts";
import { get } from "../api.ts";
import { useAction, useLoaded } from "../hooks.ts";
import { newestEntries } from "../newest.ts";
import { setQuery } from "../router.tsx";
import type { Schemas } from "../types.ts";
import { Badge, Button, Dialog, Empty, Fact, Facts, Failure, Id, Screen, Status, Table, Text, Time } from "../ui.ts";
import { actionName, sentence } from "../words.ts";

type Entry = Schemas["AuditEntry"];

/** Who changed what. */
export function Audit({ query }: { query: URLSearchParams }) {
  const wanted = (query.get("q") ?? "").toLowerCase();
  const last = useLoaded("audit", (signal) => newestEntries(undefined, signal), { live: ["*"] });
  const [earlier, setEarlier] = useState<Entry[]>([]);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  const [shown, show] = useState<Entry>();
  const all = last.data && unique([...last.data, ...earlier]);
  const oldest = all?.at(-1)?.sequence ?? 1;
  const rows = all?.filter((entry) => wanted === "" || textOf(entry).includes(wanted));
  const more = async () => {
    setBusy(true);
    try {
      const page = await newestEntries(oldest);
      setEarlier((known) => [...known, ...page]);
      setProblem(undefined);
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Screen
      title="Audit log"
      about="Every change that a program or a person made, and every refusal. An entry names no user and no secret."
      actions={<Verify />}
    >
      <div class="filters">
        <input type="search" aria-label="Search in the entries that are shown" placeholder="Who, what, or an id" value={query.get("q") ?? ""} onInput={(event) => setQuery({ q: event.currentTarget.value })} />
      </div>
      <Table
        caption="Audit log, the newest first"
        rows={rows}
        error={problem ?? last.error}
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
      {shown && (
        <Dialog title={`${actionName(shown.action)}, number ${shown.sequence}`} close={() => show(undefined)}>
          <Facts>
            <Fact name="Who"><Text>{shown.actor}</Text></Fact>
            <Fact name="When"><Time at={shown.at} /></Fact>
            <Fact name="From"><Text>{shown.address}</Text></Fact>
            <Fact name="Outcome">{shown.outcome}</Fact>
            {Object.entries(shown.details as Record<string, unknown>).map(([name, value]) => (
              <Fact key={name} name={visible(name)}><Text>{String(value)}</Text></Fact>
            ))}
            <Fact name="Request"><Id>{shown.request_id}</Id></Fact>
            <Fact name="Hash"><Id>{shown.hash}</Id></Fact>
          </Facts>
        </Dialog>
      )}
    </Screen>
  );
}

/** Whether the log is as it was written. */
function Verify() {
  const [found, show] = useState<Schemas["AuditVerification"]>();
  const { busy, error, run } = useAction();
  const verify = () => run(async () => show(await get<Schemas["AuditVerification"]>("/audit/verification")));
  return (
    <>
      <Button disabled={busy} run={() => void verify()}>{busy ? "Verifying…" : "Verify"}</Button>
      {error !== undefined && <Failure error={error} />}
      {found && (
        <Dialog title={found.fault ? "The log was tampered with or is damaged" : "Every entry is as it was written"} close={() => show(undefined)}>
          {found.fault && <p class="notice bad" role="alert">{sentence(found.fault)}.</p>}
          <Facts>
            <Fact name="Newest entry">{found.head ? <Id>{found.head}</Id> : "The log is empty"}</Fact>
            {found.removed > 0 && <Fact name="Removed after their retention">{`up to ${found.removed}`}</Fact>}
          </Facts>
          <p class="muted">Note the newest entry elsewhere: usher audit verify --head then finds an older database in the place of this one, too.</p>
        </Dialog>
      )}
    </>
  );
}

const textOf = ({ actor, action, outcome, address, request_id, details }: Entry) =>
  [actor, action, actionName(action), outcome, address, request_id, JSON.stringify(details)].join(" ").toLowerCase();

const unique = (entries: Entry[]) => [...new Map(entries.map((entry) => [entry.sequence, entry])).values()];
