import { useState } from "preact/hooks";
import { useMay } from "../access.ts";
import { call } from "../api.ts";
import { count, parseAmount, sats } from "../format.ts";
import { useResource } from "../hooks.ts";
import { Qr } from "../qr.tsx";
import { go } from "../router.tsx";
import type { Schemas } from "../types.ts";
import { Action, Amount, AmountInput, Badge, Button, Card, Check, Dialog, Empty, Fact, Facts, Icon, Id, Input, Loaded, Screen, Text, Time } from "../ui.ts";

type Channel = Schemas["Channel"];
type Asked = "address" | "send" | "open" | "cost";

/** The Lightning backend: balance, channels, money on the chain. */
export function Wallet() {
  const wallet = useResource<Schemas["WalletInfo"]>("/wallet/info", { live: ["StatusUpdate"], every: 60 });
  const may = useMay("wallet");
  const node = wallet.data?.node;
  const channels = useResource<Schemas["Channels"]>(node ? "/wallet/channels" : null, { live: ["StatusUpdate"], every: 10 });
  const [asked, ask] = useState<Asked>();
  const [closed, shut] = useState<Channel>();
  const button = (what: Asked, label: string) => <Button run={() => ask(what)}>{label}</Button>;
  return (
    <Screen
      title="Wallet"
      about="The Lightning backend of the service."
      actions={
        node &&
        may && (
          <>
            {button("cost", "What does receiving cost?")}
            {button("address", "Address")}
            {button("open", "Open a channel…")}
            {button("send", "Send on chain…")}
          </>
        )
      }
    >
      <Loaded {...wallet}>
        {(info) =>
          info.backend === "none" ? (
            <Empty icon="wallet" title="No Lightning backend" text="Without one the service takes no payments. Set wallet.ln_backend in the configuration to nwc or embedded." />
          ) : (
            <Backend {...info} />
          )
        }
      </Loaded>
      {node && (
        <Card title="Channels">
          <Loaded {...channels}>
            {({ channels: list }) =>
              list.length === 0 ? (
                <Empty title="No channels yet" text="The first payment to you opens one, for a fee; or open one yourself, to pay." />
              ) : (
                <ul class="rows channels">
                  {list.map((channel) => (
                    <ChannelRow key={channel.channel_id} channel={channel} close={may ? () => shut(channel) : undefined} />
                  ))}
                </ul>
              )
            }
          </Loaded>
        </Card>
      )}
      {asked === "address" && <Address close={() => ask(undefined)} />}
      {asked === "send" && node && <Send spendable={node.on_chain.spendable} close={() => ask(undefined)} />}
      {asked === "open" && node && <Open spendable={node.on_chain.spendable} close={() => ask(undefined)} done={channels.reload} />}
      {asked === "cost" && <Cost close={() => ask(undefined)} />}
      {closed && <Close channel={closed} close={() => shut(undefined)} done={channels.reload} />}
    </Screen>
  );
}

function Backend({ backend, balance, alias, network, node }: Schemas["WalletInfo"]) {
  return (
    <>
      {node?.warnings.map(({ code, text }) => (
        <div key={code} class={`notice ${code === "low_inbound" ? "" : "bad"}`}><Icon name="warn" /><p>{text}</p></div>
      ))}
      <dl class="figures">
        <div class="figure">
          <dt>Balance on Lightning</dt>
          <dd>{balance === null || balance === undefined ? "not told" : <Amount millisats={balance} />}</dd>
        </div>
        {node && (
          <>
            <div class="figure">
              <dt>Largest payment to you without a new channel</dt>
              <dd><Amount millisats={node.inbound} /></dd>
            </div>
            <div class="figure">
              <dt>On chain, to spend</dt>
              <dd><Amount millisats={node.on_chain.spendable} />{node.on_chain.reserved > 0 && <small>and {sats(node.on_chain.reserved)} kept for closing channels</small>}</dd>
            </div>
          </>
        )}
      </dl>
      <Card title="Backend">
        <Facts>
          <Fact name="Kind">{backend === "nwc" ? "A wallet of yours, by Nostr Wallet Connect" : backend}</Fact>
          {alias && <Fact name="Calls itself"><Text>{alias}</Text></Fact>}
          {network && <Fact name="Network">{network}</Fact>}
          {node && (
            <>
              <Fact name="Node"><Id>{node.node_id}</Id></Fact>
              <Fact name="Chain">block {count(node.height)}, <Time at={node.synced_at} ago /></Fact>
              <Fact name="Costs so far">{sats(node.skimmed_fees)} kept by liquidity providers</Fact>
              <Fact name="On their way">{sats(node.pending.closing)} of closing channels, {sats(node.pending.sending)} being sent</Fact>
              <Fact name="Closed channels">
                {count(node.closures.cooperative)} by agreement, {count(node.closures.forced)} by force
                {node.closures.after_kill > 0 && `, ${count(node.closures.after_kill)} after a kill`}
              </Fact>
            </>
          )}
        </Facts>
      </Card>
    </>
  );
}

/** A channel with its two sides: what can be sent, and what can be received. */
function ChannelRow({ channel, close }: { channel: Channel; close: (() => void) | undefined }) {
  const part = (amount: number) => `${(100 * amount) / Math.max(channel.capacity, 1)}%`;
  return (
    <li>
      <div class="grow">
        <div class="sides" role="img" aria-label={`${sats(channel.outbound)} to send, ${sats(channel.inbound)} to receive, of ${sats(channel.capacity)}`}>
          <span style={{ width: part(channel.outbound) }} />
          <span style={{ width: part(channel.inbound) }} />
        </div>
        <div class="sides-words" aria-hidden="true">
          <span>{sats(channel.outbound)} to send</span>
          <span>{sats(channel.inbound)} to receive</span>
        </div>
        <p class="muted">
          with <Id>{channel.peer}</Id> · {sats(channel.capacity)} · opened by {channel.opened_by_service ? "you" : "the peer"}{" "}
          {!channel.usable && <Badge tone="wait">{channel.ready ? "not usable now" : "waits for its confirmation"}</Badge>}
        </p>
      </div>
      {close && <Button small run={close}>Close…</Button>}
    </li>
  );
}

function Address({ close }: { close: () => void }) {
  const [made, setMade] = useState<string>();
  if (made === undefined) {
    return (
      <Action
        title="A new address"
        stays
        verb="Show an address"
        close={close}
        action={async (key) => setMade((await call<Schemas["BitcoinAddress"]>("POST", "/wallet/addresses", {}, { key })).address)}
      >
        <p>Bitcoin that is sent there is the node's on-chain balance: for channels, for fees, or to send on.</p>
      </Action>
    );
  }
  return (
    <Dialog title="A new address" close={close}>
      <div class="center"><Qr text={`bitcoin:${made}`} label="Code of the address" /><Id whole>{made}</Id></div>
    </Dialog>
  );
}

function Send({ spendable, close }: { spendable: number; close: () => void }) {
  const [address, setAddress] = useState("");
  const [text, setText] = useState("");
  const [all, setAll] = useState(false);
  const [rate, setRate] = useState("");
  const amount = parseAmount(text, "sats");
  const what = all ? "everything" : amount ? sats(amount * 1000) : "";
  return (
    <Action
      title="Send on chain"
      verb={`Send ${what}`}
      danger
      sensitive
      disabled={!address.trim() || (!all && amount === undefined)}
      close={close}
      action={async (key) => {
        const body = { address: address.trim(), amount: all ? "all" : (amount ?? 0) * 1000, ...(rate ? { fee_rate: Number(rate) } : {}) };
        const started = await call<Schemas["StreamStarted"]>("POST", "/wallet/send", body, { key });
        go(`/payments/${started.stream_id}`);
      }}
    >
      <p>
        Sends bitcoin of the on-chain balance ({sats(spendable)}). A transaction cannot be taken back. Above the limit for approvals somebody else
        approves it first.
      </p>
      <Input label="Address" value={address} set={setAddress} />
      {!all && <AmountInput label="Amount in sats" value={text} set={setText} />}
      <Check label="Send everything" checked={all} set={setAll} />
      <Input label="Fee rate, in sat per virtual byte" optional type="number" min="1" hint="Without one, that of the chain source." value={rate} set={setRate} />
    </Action>
  );
}

function Open({ spendable, close, done }: { spendable: number; close: () => void; done: () => void }) {
  const [text, setText] = useState("");
  const [peer, setPeer] = useState("");
  const amount = parseAmount(text, "sats");
  return (
    <Action
      title="Open a channel"
      verb={`Open${amount ? ` with ${sats(amount * 1000)}` : ""}`}
      sensitive
      disabled={amount === undefined}
      close={close}
      action={async (key) => {
        await call("POST", "/wallet/channels", { amount: (amount ?? 0) * 1000, ...(peer.trim() ? { peer: peer.trim() } : {}) }, { key });
        done();
      }}
    >
      <p>
        For payments by you. Payments to you open channels by themselves. The money comes from the on-chain balance ({sats(spendable)}), and the
        miner fee on top.
      </p>
      <AmountInput label="Amount in sats" value={text} set={setText} />
      <Input label="Peer" optional hint="<node id>@<host>:<port>; without one, the liquidity provider." value={peer} set={setPeer} />
    </Action>
  );
}

function Close({ channel, close, done }: { channel: Channel; close: () => void; done: () => void }) {
  const [force, setForce] = useState(false);
  return (
    <Action
      title="Close this channel?"
      verb={force ? "Close by force" : "Close channel"}
      danger
      sensitive
      close={close}
      action={async () => {
        await call("POST", `/wallet/channels/${channel.channel_id}/close`, force ? { force } : {});
        done();
      }}
    >
      <p>
        Your side, {sats(channel.outbound)}, goes to the on-chain balance, less miner fees. {sats(channel.inbound)} can no longer be received over
        it.
      </p>
      <Check label="By force" hint="Only if the peer is gone for good: it takes longer, and costs three to four times as much." checked={force} set={setForce} />
    </Action>
  );
}

function Cost({ close }: { close: () => void }) {
  const [text, setText] = useState("50000");
  const [cost, setCost] = useState<{ amount: number } & Schemas["ReceivingCost"]>();
  const amount = parseAmount(text, "sats");
  return (
    <Action
      title="What does receiving cost?"
      stays
      verb="Ask"
      disabled={amount === undefined}
      close={close}
      action={async () => {
        const sum = (amount ?? 0) * 1000;
        setCost({ amount: sum, ...(await call<Schemas["ReceivingCost"]>("POST", "/wallet/receiving-cost", { amount: sum })) });
      }}
    >
      <p>What the liquidity provider would keep now of a payment to you. Nothing is changed.</p>
      <AmountInput label="Amount in sats" value={text} set={setText} />
      {cost && (
        <p class="notice good" role="status">
          {cost.opens_channel ? `${sats(cost.amount)} would open a channel: ${sats(cost.opening_fee)} (${((100 * cost.opening_fee) / cost.amount).toFixed(1)} %).` : `${sats(cost.amount)} cost nothing: they fit into a channel.`}
        </p>
      )}
    </Action>
  );
}
