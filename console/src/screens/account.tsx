import { useContext } from "preact/hooks";
import { SessionContext, useSession } from "../access.ts";
import { endSession } from "../api.ts";
import { ROOT } from "../base.ts";
import { useAction } from "../hooks.ts";
import { Badge, Button, Card, Fact, Facts, Failure, Id, Screen, Table, Time, useDialog } from "../ui.ts";
import { visible } from "../format.ts";
import { SCOPES } from "../words.ts";

/** Who is logged in, and where else. */
export function Account() {
  const session = useSession();
  const context = useContext(SessionContext);
  const { dialog, ask } = useDialog();
  const { busy, error, run } = useAction();
  const logOut = () => run(() => endSession().then(() => location.assign(ROOT)));
  const end = (id: string) =>
    ask({
      title: "End this session?",
      verb: "End session",
      text: "The browser that has it has to log in again. What it has begun continues.",
      action: () => endSession(id).then(context?.reload),
    });
  return (
    <Screen title="Your account" actions={<Button disabled={busy} run={() => void logOut()}>Log out</Button>}>
      {error !== undefined && <Failure error={error} />}
      <Card>
        <Facts>
          <Fact name="Name"><bdi>{visible(session.name)}</bdi></Fact>
          <Fact name="Key"><Id>{session.key}</Id></Fact>
          <Fact name="Role">{session.role && <Badge>{session.role}</Badge>} {session.approver && <Badge>approver</Badge>}</Fact>
          <Fact name="May read and do">
            {session.scopes.map((scope) => <span key={scope} class="chip" title={SCOPES[scope]}>{scope}</span>)}
          </Fact>
          <Fact name="This session ends"><Time at={session.expires_at} ago /></Fact>
          <Fact name="Version of Usher">{session.version}</Fact>
        </Facts>
      </Card>
      <Card title="Your sessions">
        <Table
          caption="Your sessions"
          rows={session.sessions}
          id={({ id }) => id}
          empty={null}
          columns={[
            { name: "Began", cell: ({ began_at }) => <Time at={began_at} /> },
            { name: "Last used", cell: ({ last_used_at }) => <Time at={last_used_at} ago />, kind: "grow" },
            { name: "This one", cell: ({ current }) => (current ? <Badge tone="good">This browser</Badge> : "") },
          ]}
          actions={({ id, current }) => !current && <Button small run={() => end(id)}>End</Button>}
        />
      </Card>
      {dialog}
    </Screen>
  );
}
