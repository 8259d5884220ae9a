import { useState } from "preact/hooks";
import { useMay } from "../access.ts";
import { call, codeOf, get, withQuery } from "../api.ts";
import { count, plural } from "../format.ts";
import { useLoaded, useResource } from "../hooks.ts";
import { Link } from "../router.tsx";
import type { Schemas, User, UserRecords } from "../types.ts";
import { Action, Button, Card, Dialog, Empty, Fact, Facts, Id, Loaded, Rows, Screen, Text, Time, useDialog } from "../ui.ts";
import { sentence } from "../words.ts";

const RECORDS: [UserRecords, string, ((id: string) => string)?][] = [
  ["payments", "Payments", (id) => `/payments/${id}`],
  ["subscriptions", "Subscriptions", (id) => `/subscriptions/${encodeURIComponent(id)}`],
  ["logins", "Logins", (id) => `/logins?q=${id}`],
  ["passkeys", "Passkeys"],
  ["signers", "Remote signers"],
  ["consents", "Consents to apps"],
];

/** A request looks through a part of the streams: this adds the parts up, and shows what is found so far. */
async function readUser(id: string, signal: AbortSignal, show: (user: User) => void): Promise<User> {
  const path = `/users/${encodeURIComponent(id)}`;
  const pages = [await get<User>(path, signal)];
  for (let next = pages[0]?.next; next; next = pages.at(-1)?.next) {
    show(sum(pages));
    pages.push(await get<User>(withQuery(path, { after: next }), signal));
  }
  return sum(pages);
}

function sum(pages: User[]): User {
  const user = { ...(pages.at(-1) as User) };
  for (const kind of ["logins", "payments", "subscriptions"] as const) {
    user[kind] = pages.flatMap((page) => page[kind]);
    user[`${kind}_total`] = pages.reduce((sum, page) => sum + page[`${kind}_total`], 0);
  }
  const times = (name: "first_seen" | "last_seen") => pages.map((page) => page[name]).filter((at) => typeof at === "number");
  user.first_seen = times("first_seen").sort((one, other) => one - other)[0] ?? null;
  user.last_seen = times("last_seen").sort((one, other) => other - one)[0] ?? null;
  return user;
}

/** All that is kept of a user, and what erases it. */
export function UserScreen({ id }: { id: string }) {
  const user = useLoaded<User>(`user ${id}`, (signal, show) => readUser(id, signal, show));
  const profile = useResource<Schemas["Profile"]>(`/profile/${encodeURIComponent(id)}`);
  const may = useMay("users");
  const { dialog, open } = useDialog();
  const done = (result: Schemas["UserErasure"]) => {
    user.reload();
    open((close) => <Erased result={result} close={close} />);
  };
  const erase = () => open((close) => <Erase id={id} close={close} done={done} />);
  const unknown = codeOf(user.error) === "user_not_found" && user.data === undefined;
  return (
    <Screen
      title="User"
      back={{ to: "/logins", label: "Logins and users" }}
      actions={may && user.data && <Button run={erase}>Erase…</Button>}
    >
      <Card>
        <Facts>
          <Fact name="Key"><Id whole>{id}</Id></Fact>
          {profile.data && (
            <Fact name="Calls itself">
              <Text>{profile.data.display_name ?? profile.data.name}</Text>
              {profile.data.nip05 && <span class="muted"> · <Text>{profile.data.nip05}</Text></span>}
            </Fact>
          )}
          {user.data && (
            <>
              <Fact name="First seen"><Time at={user.data.first_seen} /></Fact>
              <Fact name="Last seen"><Time at={user.data.last_seen} ago /></Fact>
            </>
          )}
        </Facts>
        {user.data && user.loading && <p class="muted">Looking through the streams…</p>}
      </Card>
      {unknown ? (
        <Empty icon="users" title="Nothing is kept of this user" text="Nobody has logged in or paid with this key, or it was erased." />
      ) : (
        <Loaded {...user}>
          {(kept) => (
            <div class="cards">
              {RECORDS.map(([kind, title, to]) => (
                <Records key={kind} title={title} ids={kept[kind] ?? []} total={kept[`${kind}_total`] ?? 0} to={to} />
              ))}
            </div>
          )}
        </Loaded>
      )}
      {dialog}
    </Screen>
  );
}

interface RecordsProps { title: string; ids: string[]; total: number; to: ((id: string) => string) | undefined }
function Records({ title, ids, total, to }: RecordsProps) {
  const [all, showAll] = useState(false);
  const shown = all ? ids : ids.slice(0, 6);
  return (
    <Card title={title} actions={<span class="muted">{count(total)}</span>}>
      <Rows of={shown} empty={<p class="muted">None</p>}>{(id) => <li key={id}><Id {...(to ? { to: to(id) } : {})}>{id}</Id></li>}</Rows>
      {ids.length > shown.length && (
        <Button small run={() => showAll(true)}>Show {count(ids.length)} {total > ids.length && ` of ${count(total)}`}</Button>
      )}
    </Card>
  );
}

interface EraseProps { id: string; close: () => void; done: (result: Schemas["UserErasure"]) => void }
/** An erasure takes several requests: it goes on until there is nothing left to look through. */
function Erase({ id, close, done }: EraseProps) {
  const [typed, setTyped] = useState("");
  const action = async () => {
    let result: Schemas["UserErasure"] | undefined;
    for (let after: string | null | undefined = ""; after !== null && after !== undefined; after = result.next) {
      const page: Schemas["UserErasure"] = await call("DELETE", `/users/${id}${after ? `?after=${encodeURIComponent(after)}` : ""}`);
      result = result ? add(result, page) : page;
    }
    if (result) done(result);
  };
  return (
    <Action title="Erase this user?" verb="Erase for ever" danger disabled={typed.trim().toLowerCase() !== id.slice(0, 8)} action={action} close={close}>
      <p>
        Removes what is kept of the user: passkeys, remote signer, consents with all sessions, and the finished streams about them with their
        events. The books name no user and stay. Nothing that money depends on is removed; what has to stay is listed afterwards. This cannot be
        undone.
      </p>
      <div class="field">
        <label for="erase-key">The first eight characters of the key, <code>{id.slice(0, 8)}</code></label>
        <input id="erase-key" value={typed} autocomplete="off" spellcheck={false} onInput={(event) => setTyped(event.currentTarget.value)} />
      </div>
    </Action>
  );
}

function add(one: Schemas["UserErasure"], other: Schemas["UserErasure"]): Schemas["UserErasure"] {
  const erased = { ...one.erased };
  for (const name of Object.keys(erased) as (keyof typeof erased)[]) erased[name] += other.erased[name];
  return { ...other, erased, kept: [...one.kept, ...other.kept] };
}

function Erased({ result, close }: { result: Schemas["UserErasure"]; close: () => void }) {
  return (
    <Dialog title="The user is erased" close={close}>
      <Facts>
        {Object.entries(result.erased).map(([name, number]) => <Fact key={name} name={sentence(name)}>{count(number)}</Fact>)}
      </Facts>
      {result.kept.length > 0 && (
        <>
          <h3>{plural(result.kept.length, "thing")} had to stay</h3>
          <Rows of={result.kept}>
            {({ reason, stream_id, until }, at) => (
              <li key={at}>
                <span class="grow">{sentence(reason)}</span>
                {stream_id && <Id>{stream_id}</Id>}
                {until && <Time at={until} />}
              </li>
            )}
          </Rows>
        </>
      )}
      <footer><Link class="button" to="/logins">Logins and users</Link><Button primary run={close}>Done</Button></footer>
    </Dialog>
  );
}
