import { useState } from "preact/hooks";
import { useMay, useSettings } from "../access.ts";
import { call } from "../api.ts";
import { useForm, usePages, useResource } from "../hooks.ts";
import { FRAMEWORKS } from "../snippets.ts";
import type { Schemas } from "../types.ts";
import { Action, Area, Badge, Button, Card, Check, Empty, Icon, Id, Input, Screen, Select, Snippet, Table, Text, Time, useDialog, UserLink } from "../ui.ts";

type App = Schemas["OidcClient"];
/** A client, with its secret if that is new. */
type Made = Schemas["OidcClientWithSecret"];

/** Apps to which users log in with OpenID Connect. */
export function Apps() {
  const apps = useResource<{ clients: App[] }>("/oidc/clients");
  const may = useMay("apps");
  const { dialog, open, ask, tell } = useDialog();
  const show = (app: App, secret?: string) => tell(`Settings for ${app.name}`, <Snippets app={app} secret={secret} />);
  const edit = (app?: App) => {
    const done = ({ client, secret }: Made) => {
      apps.reload();
      if (secret || !app) show(client, secret);
    };
    open((close) => <Edit app={app} close={close} done={done} />);
  };
  const remove = ({ name, client_id }: App) =>
    ask({
      title: `Remove ${name}?`,
      verb: "Remove app",
      sensitive: true,
      text: "Nobody can log in to it any more, and all its tokens become invalid at once.",
      action: () => call("DELETE", `/oidc/clients/${encodeURIComponent(client_id)}`).then(apps.reload),
    });
  return (
    <Screen
      title="Apps"
      about="Apps to which your users log in with their Nostr key, by OpenID Connect."
      actions={may && <Button primary run={() => edit()}><Icon name="plus" /> New app</Button>}
    >
      <Table
        caption="OpenID Connect clients"
        {...apps}
        rows={apps.data?.clients}
        id={({ client_id }) => client_id}
        columns={[
          { name: "App", cell: ({ name, client_id }) => <><strong><Text>{name}</Text></strong><br /><small class="muted">{client_id}</small></> },
          { name: "Users come back to", kind: "grow", cell: ({ redirect_uris }) => <Text>{redirect_uris.join("  ")}</Text> },
          { name: "Kind", kind: "rest", cell: (app) => <Badge>{app.public ? "public" : "with a secret"}</Badge> },
          { name: "From", kind: "rest", cell: ({ source }) => <Badge>{source}</Badge> },
        ]}
        actions={(app) => (
          <>
            <Button small run={() => show(app)}>Settings</Button>
            {may && app.source === "stored" && <><Button small run={() => edit(app)}>Change…</Button><Button small run={() => remove(app)}>Remove…</Button></>}
          </>
        )}
        empty={<Empty icon="apps" title="No apps yet" text="Gitea, Synapse, JupyterHub, anything behind Apache, and any app with an OpenID Connect library can let your users log in." />}
      />
      {apps.data?.clients.map(({ client_id, warning }) => warning && <p key={client_id} class="notice bad"><span><bdi>{client_id}</bdi>: {warning}.</span></p>)}
      <Consents />
      {dialog}
    </Screen>
  );
}

/** The address of the pages is the issuer. */
function useIssuer(): string {
  const value = useSettings().data?.settings.find(({ key }) => key === "pages.public_url")?.value;
  return typeof value === "string" ? value.replace(/\/+$/, "") : location.origin;
}

function Consents() {
  const consents = usePages<Schemas["OidcConsent"]>("/oidc/consents?limit=100", "consents");
  const { dialog, ask } = useDialog();
  const may = useMay("apps");
  const revoke = ({ client_id, main_key }: Schemas["OidcConsent"]) =>
    ask({
      title: "Revoke this consent?",
      verb: "Revoke",
      sensitive: true,
      text: "The app's codes and tokens for this user stop working. The user is asked again at the next login.",
      action: () => call("DELETE", "/oidc/consents", { client_id, main_key }).then(consents.reload),
    });
  if (!consents.items?.length) return null;
  return (
    <Card title="What users have agreed to" class="after">
      <Table
        {...consents}
        caption="Consents of users"
        rows={consents.items}
        id={({ client_id, main_key }) => `${client_id} ${main_key}`}
        columns={[
          { name: "App", cell: ({ client_id }) => <Text>{client_id}</Text> },
          { name: "User", cell: ({ main_key }) => <UserLink of={main_key} /> },
          { name: "Scopes", kind: "grow", cell: ({ scopes }) => <Text>{scopes.join(" ")}</Text> },
          { name: "Agreed", kind: "rest", cell: ({ agreed_at }) => <Time at={agreed_at} /> },
        ]}
        actions={(consent) => may && <Button small run={() => revoke(consent)}>Revoke…</Button>}
        empty={null}
      />
      {dialog}
    </Card>
  );
}

const FRAMEWORK_NAMES = FRAMEWORKS.map(({ name }, at): [string, string] => [String(at), name]);

interface EditProps { app: App | undefined; close: () => void; done: (made: Made) => void }
function Edit({ app, close, done }: EditProps) {
  const [framework, setFramework] = useState("0");
  const chosen = FRAMEWORKS[Number(framework)];
  const { values, field } = useForm({
    id: app?.client_id ?? "",
    name: app?.name ?? "",
    back: app?.redirect_uris.join("\n") ?? "",
    after: app?.post_logout_redirect_uris?.join("\n") ?? "",
    isPublic: app?.public ?? false,
    pkce: app?.require_pkce ?? true,
    algorithm: app?.signing_algorithm ?? "RS256",
    rotated: false,
  });
  const { id, name, back, after, isPublic, pkce, algorithm, rotated } = values;
  const lines = (text: string) => text.split(/\s+/).filter(Boolean);
  const action = async (key: string) => {
    const changes = { name, redirect_uris: lines(back), post_logout_redirect_uris: lines(after), require_pkce: isPublic || pkce, signing_algorithm: algorithm };
    const made = app
      ? await call<Made>("PATCH", `/oidc/clients/${encodeURIComponent(app.client_id)}`, { ...changes, ...(rotated ? { rotate_secret: true } : {}) })
      : await call<Made>("POST", "/oidc/clients", { ...(id ? { client_id: id } : {}), public: isPublic, ...changes }, { key });
    done(made);
  };
  return (
    <Action title={app ? "Change the app" : "New app"} verb={app ? "Save" : "Create app"} sensitive close={close} action={action} disabled={lines(back).length === 0}>
      {!app && (
        <>
          <Select
            label="What is it?"
            value={framework}
            set={(value) => {
              setFramework(value);
              field("pkce").set(!FRAMEWORKS[Number(value)]?.noPkce);
            }}
            options={FRAMEWORK_NAMES}
          />
          <Input label="Client id" optional hint="Letters, digits, dot, underscore, hyphen. By default a random one." {...field("id")} maxLength={64} />
        </>
      )}
      <Input label="Name" hint="Users are shown it." {...field("name")} maxLength={100} />
      <Area label="Users come back to" hint={`One address a line, such as ${chosen?.redirect ?? ""}. Compared character by character.`} {...field("back")} />
      <Area label="After logging out (optional)" hint="One address a line." {...field("after")} />
      {!app && <Check label="It runs on its users' devices" hint="A single-page or native app: it gets no secret." {...field("isPublic")} />}
      {!isPublic && <Check label="Require PKCE" hint="Without, only for apps that cannot do it, such as Gitea." {...field("pkce")} />}
      {app && !isPublic && <Check label="Give it a new secret" hint="The previous one is refused at once." {...field("rotated")} />}
      <Select label="ID tokens are signed with" {...field("algorithm")} options={[["RS256", "RS256: every library accepts it"], ["ES256", "ES256"]]} />
    </Action>
  );
}

function Snippets({ app, secret }: { app: App; secret: string | undefined }) {
  const issuer = useIssuer();
  const [framework, setFramework] = useState("0");
  const text = FRAMEWORKS[Number(framework)]?.snippet(issuer, app.client_id, secret || (app.public ? "(none)" : "SECRET")) ?? "";
  return (
    <div class="form">
      {secret && <div class="notice" role="status"><p>Its secret is shown this once: <Id whole>{secret}</Id></p></div>}
      <Select label="The app's framework" value={framework} set={setFramework} options={FRAMEWORK_NAMES} />
      <Snippet text={text} label="Copy the settings" />
    </div>
  );
}
