import { withQuery } from "../api.ts";
import { usePaged } from "../hooks.ts";
import { go, setQuery } from "../router.tsx";
import type { Login } from "../types.ts";
import { Empty, Filter, Screen, Status, Table, Text, Time, UserLink, WideSearch } from "../ui.ts";
import { methodOf, optionsOf } from "../words.ts";

const STATUSES = optionsOf("approved", "declined", "timeout", "error");

/** Who logged in, and who could not. */
export function Logins({ query }: { query: URLSearchParams }) {
  const status = query.get("status") ?? "";
  const found = query.get("q") ?? "";
  const list = usePaged<Login>(withQuery("/logins", { status, q: found }), "logins", query, ["StatusUpdate", "KeyHandshake"]);
  const find = (wanted: string) => (/^[0-9a-f]{64}$/.test(wanted) ? go(`/users/${wanted}`) : setQuery({ q: wanted }));
  return (
    <Screen title="Logins and users" about="Recent logins of your users. A user is a key: open one to see all that is kept of it.">
      <WideSearch
        name="Users and logins"
        label="Find a user by key, or a login by its stream"
        placeholder="Key of a user (64 hex characters), or a stream"
        found={found}
        find={(text) => find(text.toLowerCase())}
      />
      <div class="filters"><Filter label="Outcome" value={status} set={(status) => setQuery({ status })} options={STATUSES} /></div>
      <Table
        {...list}
        caption="Logins, the newest first"
        id={({ stream_id, at }) => `${stream_id} ${at}`}
        columns={[
          { name: "User", cell: ({ main_key }) => <UserLink of={main_key} /> },
          { name: "Outcome", cell: ({ status }) => <Status of={status} /> },
          { name: "With", cell: ({ method }) => (method ? methodOf(method) : <span class="muted">—</span>) },
          { name: "App", kind: "rest", cell: ({ app }) => <Text empty="your app">{app}</Text> },
          { name: "Reason", kind: "grow", cell: ({ reason }) => <Text empty="">{reason}</Text> },
          { name: "Time", kind: "number", cell: ({ at }) => <Time at={at} /> },
        ]}
        empty={<Empty icon="users" title={status || found ? "Nothing found" : "No logins yet"} text="Logins appear here by themselves." />}
      />
    </Screen>
  );
}
