import { useState } from "preact/hooks";
import { useMay, useSession, useSettings } from "../access.ts";
import { call } from "../api.ts";
import { escaped, visible } from "../format.ts";
import { useForm, useResource } from "../hooks.ts";
import { setQuery } from "../router.tsx";
import type { Operators, Schemas, Setting } from "../types.ts";
import { Action, Badge, Button, Card, Empty, Filter, Icon, Id, Input, Loaded, Screen, Search, Snippet, Table, Text, Time, useDialog } from "../ui.ts";

const TABS: [string, string][] = [["look", "Look and name"], ["operators", "Operators"], ["values", "All values"]];

/** The look and name of the service, who works here, and every value that is in force. */
export function Settings({ query }: { query: URLSearchParams }) {
  const settings = useSettings();
  const tab = query.get("tab") ?? "look";
  return (
    <Screen title="Settings" about={settings.data ? undefined : "What is in force, and where it comes from."}>
      <div class="filters"><Filter label="Part" value={tab} set={(tab) => setQuery({ tab })} options={TABS} /></div>
      {tab === "operators" ? <People /> : (
        <Loaded {...settings}>{({ settings: list }) => (tab === "values" ? <Values settings={list} /> : <Look settings={list} />)}</Loaded>
      )}
    </Screen>
  );
}

const isSet = (value: unknown) => value !== null && value !== undefined && value !== "not set" && value !== "";
const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

/** The line of `config.toml` that sets a key. */
function lineOf(key: string, value: unknown): string {
  const at = key.lastIndexOf(".");
  // Outside of all tables is a list of tables.
  if (at < 0) return `[[${key}]]\n…`;
  const shown = !isSet(value) || value === "set" ? '"…"' : Array.isArray(value) || typeof value !== "object" ? escaped(JSON.stringify(value)) : "…";
  return `[${key.slice(0, at)}]\n${key.slice(at + 1)} = ${shown}`;
}
const variableOf = (key: string) => `SERVICE__${key.toUpperCase().replaceAll(".", "__")}`;

function Values({ settings }: { settings: Setting[] }) {
  const [wanted, setWanted] = useState("");
  const { dialog, tell } = useDialog();
  const change = (setting: Setting) =>
    tell(setting.key, <div class="form">{waysTo(setting).map(([how, text]) => <div key={how}><p>{how}</p><Snippet text={text} /></div>)}</div>);
  const rows = settings.filter(({ key, value }) => `${key} ${textOf(value)}`.toLowerCase().includes(wanted.toLowerCase()));
  return (
    <>
      <div class="filters">
        <Search label="Search in the settings" placeholder="Setting or value" value={wanted} set={setWanted} />
      </div>
      <Table
        caption="Settings in force"
        rows={rows}
        id={({ key }) => key}
        columns={[
          { name: "Setting", cell: ({ key }) => <code>{key}</code> },
          { name: "Value", kind: "grow", cell: ({ value }) => (isSet(value) ? <Text>{textOf(value)}</Text> : <span class="muted">not set</span>) },
          { name: "From", cell: ({ source }) => <Badge tone={source === "default" ? "plain" : "good"}>{source}</Badge> },
        ]}
        actions={(setting) => <Button small run={() => change(setting)}>How to change</Button>}
        empty={<Empty icon="search" title="Nothing found" />}
      />
      {dialog}
    </>
  );
}

/** Where a value of this source is changed, and what to write there; and the other way. */
function waysTo({ key, value, source }: Setting): [how: string, text: string][] {
  const file = "Write this into config.toml in the data directory, run usher config check, and restart the service:";
  if (source === "secret_file") return [["The secret is in a file of its own. Change that file, and restart the service. Its path is the value of:", `${variableOf(key)}_FILE`]];
  if (source === "environment") return [["It comes from the environment, which is before the file. Change the variable, and restart the service:", `${variableOf(key)}=…`], ["Or remove the variable, and write into config.toml:", lineOf(key, value)]];
  return [[file, lineOf(key, value)], ["Or set this variable in the environment, which is before the file:", `${variableOf(key)}=…`]];
}

const PROFILE = [
  ["name", "Short name", "Without spaces."],
  ["display_name", "Name", "On every page, and in users' wallets."],
  ["picture", "Address of a picture", "https; users' wallets load it."],
  ["about", "About", ""],
  ["nip05", "NIP-05 name", "name@domain"],
] as const;
type Profile = Record<(typeof PROFILE)[number][0], string>;

/** The contrast of white text on a colour (WCAG 2.2). */
function contrastWithWhite(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05);
}

/** How the service is called and its colour, beside the head of its login page as it will be. */
function Look({ settings }: { settings: Setting[] }) {
  const { service } = useSession();
  const may = useMay("profile");
  const now = (key: string) => {
    const value = settings.find((setting) => setting.key === key)?.value;
    return isSet(value) ? textOf(value) : "";
  };
  const { values: profile, field } = useForm(() => Object.fromEntries(PROFILE.map(([name]) => [name, now(`profile.${name}`)])) as Profile);
  const [accent, setAccent] = useState(now("pages.accent_color"));
  const isReadable = contrastWithWhite(accent) >= 4.5;
  const hint = isReadable ? "Dark pages have a lighter tint of it." : "White text on it is hard to read, so the service refuses it.";
  const { dialog, ask } = useDialog();
  const [done, setDone] = useState(false);
  const publish = () =>
    ask({
      title: "Publish this profile?",
      verb: "Publish",
      danger: false,
      text: "It replaces the service's profile on your relays. Users' wallets and others show it from then on.",
      action: async () => {
        await call("PUT", "/profile", Object.fromEntries(PROFILE.map(([name]) => [name, profile[name].trim() || null])));
        setDone(true);
      },
    });
  const shown = visible(profile.display_name || profile.name || service || "Usher");
  const keep = ["[profile]", ...PROFILE.filter(([name]) => profile[name]).map(([name]) => `${name} = ${escaped(JSON.stringify(profile[name]))}`)];
  if (accent !== now("pages.accent_color")) keep.push("", "[pages]", `accent_color = "${accent}"`);
  return (
    <div class="columns">
      <Card title="Profile on Nostr">
        <form class="form" onSubmit={(event) => (event.preventDefault(), publish())}>
          {PROFILE.map(([name, label, hint]) => (
            <Input key={name} label={label} hint={hint} optional readOnly={!may} {...field(name)} maxLength={500} />
          ))}
          {may && (
            <div class="actions">
              <button type="submit" class="button primary">Publish…</button>
              {done && <Badge tone="good">Published</Badge>}
            </div>
          )}
        </form>
      </Card>
      <div>
        <Card title="The login page">
          <div class="center">
            <div class="preview" aria-label="Preview of the login page" style={{ "--accent": accent, "--on-accent": "#ffffff" }}>
              <span class="monogram" aria-hidden="true">{[...shown][0]?.toUpperCase()}</span>
              <bdi class="muted">{shown}</bdi>
              <h3>Log in</h3>
              <span class="button primary">Log in with a passkey</span>
              <span class="button">Log in with a wallet</span>
            </div>
            <Input label="Colour of buttons and links" type="color" value={accent} set={setAccent} hint={hint} />
          </div>
        </Card>
        <Card title="To keep it after a restart">
          <p>The profile of the file is published at each start. Write this into config.toml, and restart for a new colour:</p>
          <Snippet text={keep.join("\n")} />
        </Card>
      </div>
      {dialog}
    </div>
  );
}

const ROLES: [string, string][] = [["viewer", "Viewer"], ["support", "Support"], ["admin", "Admin"]];
const ROLE_WORDS: Record<string, string> = {
  viewer: "Sees everything, changes nothing.",
  support: "Links, refunds up to the limit of approvals, webhooks, age checks, subscriptions, erasing users.",
  admin: "Everything.",
};

/** Who works in the console, and who is invited. */
function People() {
  const people = useResource<Operators>("/operators");
  const may = useMay("operators");
  const { dialog, open, ask, tell } = useDialog();
  const showLink = (name: string, { page_url, expires_at }: Schemas["NewInvitation"]) => {
    people.reload();
    tell("The invitation", (
      <>
        <p>Send it to {name} in a way that only they can read. It works once, and ends <Time at={expires_at} ago />.</p>
        <p><Id whole>{page_url ?? ""}</Id></p>
      </>
    ));
  };
  const invite = () => open((close) => <Invite close={close} done={showLink} />);
  const remove = ({ name, key }: Operators["operators"][number]) =>
    ask({
      title: `Remove ${name}?`,
      verb: "Remove",
      sensitive: true,
      text: "Their sessions end at once, and they cannot log in to the console again.",
      action: () => call("DELETE", `/operators/${key}`).then(people.reload),
    });
  return (
    <>
      <Card title="Operators" actions={may && <Button small run={invite}><Icon name="plus" /> Invite</Button>}>
        <Table
          caption="Operators"
          {...people}
          rows={people.data?.operators}
          id={({ key }) => key}
          columns={[
            { name: "Name", cell: ({ name }) => <Text>{name}</Text> },
            { name: "Role", cell: ({ role }) => <Badge>{role}</Badge> },
            { name: "Key", kind: "grow", cell: ({ key }) => <Id>{key}</Id> },
            { name: "From", kind: "rest", cell: ({ source }) => <Badge>{source}</Badge> },
            { name: "Last used", kind: "rest", cell: ({ last_used_at }) => <Time at={last_used_at} ago /> },
          ]}
          actions={(operator) => may && operator.source !== "configuration" && <Button small run={() => remove(operator)}>Remove…</Button>}
          empty={<Empty title="Nobody yet" />}
        />
      </Card>
      {people.data && people.data.invitations.length > 0 && (
        <Card title="Invitations">
          <ul class="rows">
            {people.data.invitations.map(({ name, role, expires_at }, at) => (
              <li key={at}>
                <span class="grow"><Text>{name}</Text> <Badge>{role}</Badge></span>
                <span class="muted">ends</span> <Time at={expires_at} ago />
              </li>
            ))}
          </ul>
        </Card>
      )}
      {dialog}
    </>
  );
}

interface InviteProps { close: () => void; done: (name: string, invitation: Schemas["NewInvitation"]) => void }
function Invite({ close, done }: InviteProps) {
  const { values, field } = useForm({ name: "", role: "support" });
  const action = async (key: string) => done(values.name, await call("POST", "/operators/invitations", values, { key }));
  return (
    <Action title="Invite a colleague" verb="Make an invitation" sensitive close={close} action={action}>
      <p>A link with which your colleague binds their own passkey. Nobody types a key.</p>
      <Input label="Name" {...field("name")} maxLength={64} hint="It is in the audit log with each change." />
      <Filter label="Role" {...field("role")} options={ROLES} />
      <p class="muted">{ROLE_WORDS[values.role]}</p>
    </Action>
  );
}
