import { useState } from "preact/hooks";
import { useMay } from "../access.ts";
import { call } from "../api.ts";
import { usePages, useResource } from "../hooks.ts";
import { FRAMEWORKS } from "../snippets.ts";
import type { Schemas, Setting } from "../types.ts";
import { Action, Badge, Button, Card, Check, Copy, Dialog, Empty, Field, Icon, Id, Input, Screen, Select, Table, Text, Time, UserLink } from "../ui.ts";

type App = Schemas["OidcClient"];
/** A client, with its secret if that is new. */
type Made = Schemas["OidcClientWithSecret"];

/** Apps to which users log in with OpenID Connect. */
export function Apps() {
  const apps = useResource<{ clients: App[] }>("/oidc/clients");
  const issuer = useIssuer();
  const may = useMay("apps");
  const [edited, edit] = useState<App | "new">();
  const [removed, remove] = useState<App>();
  const [shown, show] = useState<{ app: App; secret?: string }>();
  return (
    <Screen
      title="Apps"
      about="Apps to which your users log in with their Nostr key, by OpenID Connect."
      actions={may && <Button primary run={() => edit("new")}><Icon name="plus" /> New app</Button>}
    >
      <Table
        caption="OpenID Connect clients"
        rows={apps.data?.clients}
        error={apps.error}
        reload={apps.reload}
        id={({ client_id }) => client_id}
        columns={[
          {
            name: "App",
            cell: ({ name, client_id }) => <><strong><Text>{name}</Text></strong><br /><small class="muted">{client_id}</small></>,
          },
          { name: "Users come back to", kind: "grow", cell: ({ redirect_uris }) => <Text>{redirect_uris.join("  ")}</Text> },
          { name: "Kind", kind: "rest", cell: (app) => <Badge>{app.public ? "public" : "with a secret"}</Badge> },
          { name: "From", kind: "rest", cell: ({ source }) => <Badge>{source}</Badge> },
        ]}
        actions={(app) => (
          <>
            <Button small run={() => show({ app })}>Settings</Button>
            {may && app.source === "stored" && <><Button small run={() => edit(app)}>Change…</Button><Button small run={() => remove(app)}>Remove…</Button></>}
          </>
        )}
        empty={<Empty icon="apps" title="No apps yet" text="Gitea, Synapse, JupyterHub, anything behind Apache, and any app with an OpenID Connect library can let your users log in." />}
      />
      {apps.data?.clients.map(({ client_id, warning }) => warning && <p key={client_id} class="notice bad"><span><bdi>{client_id}</bdi>: {warning}.</span></p>)}
      <Consents />
      {edited && (
        <Edit
          app={edited === "new" ? undefined : edited}
          close={() => edit(undefined)}
          done={({ client, secret }) => {
            edit(undefined);
            apps.reload();
            if (secret || edited === "new") show({ app: client, ...(secret ? { secret } : {}) });
          }}
        />
      )}
      {shown && <Snippets {...shown} issuer={issuer} close={() => show(undefined)} />}
      {removed && (
        <Action
          title={`Remove ${removed.name}?`}
          verb="Remove app"
          danger
          sensitive
          close={() => remove(undefined)}
          action={async () => {
            await call("DELETE", `/oidc/clients/${encodeURIComponent(removed.client_id)}`);
            apps.reload();
          }}
        >
          <p>Nobody can log in to it any more, and all its tokens become invalid at once.</p>
        </Action>
      )}
    </Screen>
  );
}

/** The address of the pages is the issuer. */
function useIssuer(): string {
  const settings = useResource<{ settings: Setting[] }>("/settings");
  const value = settings.data?.settings.find(({ key }) => key === "pages.public_url")?.value;
  return typeof value === "string" ? value.replace(/\/+$/, "") : location.origin;
}

function Consents() {
  const consents = usePages<Schemas["OidcConsent"]>("/oidc/consents?limit=100", "consents");
  const [revoked, revoke] = useState<Schemas["OidcConsent"]>();
  const may = useMay("apps");
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
      {revoked && (
        <Action
          title="Revoke this consent?"
          verb="Revoke"
          danger
          sensitive
          close={() => revoke(undefined)}
          action={async () => {
            const { client_id, main_key } = revoked;
            await call("DELETE", "/oidc/consents", { client_id, main_key });
            consents.reload();
          }}
        >
          <p>The app's codes and tokens for this user stop working. The user is asked again at the next login.</p>
        </Action>
      )}
    </Card>
  );
}

interface EditProps { app: App | undefined; close: () => void; done: (made: Made) => void }
function Edit({ app, close, done }: EditProps) {
  const [framework, setFramework] = useState("0");
  const chosen = FRAMEWORKS[Number(framework)];
  const [id, setId] = useState(app?.client_id ?? "");
  const [name, setName] = useState(app?.name ?? "");
  const [back, setBack] = useState(app?.redirect_uris.join("\n") ?? "");
  const [after, setAfter] = useState(app?.post_logout_redirect_uris?.join("\n") ?? "");
  const [isPublic, setPublic] = useState(app?.public ?? false);
  const [pkce, setPkce] = useState(app?.require_pkce ?? true);
  const [algorithm, setAlgorithm] = useState(app?.signing_algorithm ?? "RS256");
  const [rotated, rotate] = useState(false);
  const lines = (text: string) => text.split(/\s+/).filter(Boolean);
  const action = async (key: string) => {
    const changes = { name, redirect_uris: lines(back), post_logout_redirect_uris: lines(after), require_pkce: isPublic || pkce, signing_algorithm: algorithm };
    const made = app
      ? await call<Made>("PATCH", `/oidc/clients/${encodeURIComponent(app.client_id)}`, { ...changes, ...(rotated ? { rotate_secret: true } : {}) })
      : await call<Made>("POST", "/oidc/clients", { ...(id ? { client_id: id } : {}), public: isPublic, ...changes }, { key });
    done(made);
  };
  const area = (label: string, value: string, set: (value: string) => void, hint: string) => (
    <Field label={label} hint={hint}>
      {(id, described) => <textarea id={id} aria-describedby={described} spellcheck={false} value={value} onInput={(event) => set(event.currentTarget.value)} />}
    </Field>
  );
  return (
    <Action title={app ? "Change the app" : "New app"} verb={app ? "Save" : "Create app"} sensitive close={close} action={action} disabled={lines(back).length === 0}>
      {!app && (
        <>
          <Select
            label="What is it?"
            value={framework}
            set={(value) => {
              setFramework(value);
              setPkce(!FRAMEWORKS[Number(value)]?.noPkce);
            }}
            options={FRAMEWORKS.map(({ name }, at) => [String(at), name])}
          />
          <Input label="Client id" optional hint="Letters, digits, dot, underscore, hyphen. By default a random one." value={id} set={setId} maxLength={64} />
        </>
      )}
      <Input label="Name" hint="Users are shown it." value={name} set={setName} maxLength={100} />
      {area("Users come back to", back, setBack, `One address a line, such as ${chosen?.redirect ?? ""}. Compared character by character.`)}
      {area("After logging out (optional)", after, setAfter, "One address a line.")}
      {!app && <Check label="It runs on its users' devices" hint="A single-page or native app: it gets no secret." checked={isPublic} set={setPublic} />}
      {!isPublic && <Check label="Require PKCE" hint="Without, only for apps that cannot do it, such as Gitea." checked={pkce} set={setPkce} />}
      {app && !isPublic && <Check label="Give it a new secret" hint="The previous one is refused at once." checked={rotated} set={rotate} />}
      <Select label="ID tokens are signed with" value={algorithm} set={setAlgorithm} options={[["RS256", "RS256: every library accepts it"], ["ES256", "ES256"]]} />
    </Action>
  );
}

interface SnippetsProps { app: App; secret?: string; issuer: string; close: () => void }
function Snippets({ app, secret, issuer, close }: SnippetsProps) {
  const [framework, setFramework] = useState("0");
  const text = FRAMEWORKS[Number(framework)]?.snippet(issuer, app.client_id, secret || (app.public ? "(none)" : "SECRET")) ?? "";
  return (
    <Dialog title={`Settings for ${app.name}`} close={close}>
      <div class="form">
        {secret && <div class="notice" role="status"><p>Its secret is shown this once: <Id whole>{secret}</Id></p></div>}
        <Select label="The app's framework" value={framework} set={setFramework} options={FRAMEWORKS.map(({ name }, at) => [String(at), name])} />
        <div class="snippet"><pre tabIndex={0}>{text}</pre><Copy text={text} label="Copy the settings" /></div>
      </div>
    </Dialog>
  );
}
