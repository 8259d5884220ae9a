import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useMay } from "../access.ts";
import { call } from "../api.ts";
import { count, parseAmount, sats } from "../format.ts";
import { useForm, useResource } from "../hooks.ts";
import { Qr } from "../qr.tsx";
import { go } from "../router.tsx";
import type { Schemas } from "../types.ts";
import { Action, Amount, AmountInput, Badge, Button, Card, Check, Empty, Fact, Facts, Figure, Icon, Id, Input, Loaded, Rows, Screen, Text, Time, useDialog } from "../ui.ts";

type Channel = Schemas["Channel"];

/** The Lightning backend: balance, channels, money on the chain. */
export function Wallet() {
  const wallet = useResource<Schemas["WalletInfo"]>("/wallet/info", { live: ["StatusUpdate"], every: 60 });
  const may = useMay("wallet");
  const node = wallet.data?.node;
  const channels = useResource<Schemas["Channels"]>(node ? "/wallet/channels" : null, { live: ["StatusUpdate"], every: 10 });
  const { dialog, open, tell } = useDialog();
  const spendable = node?.on_chain.spendable ?? 0;
  const shut = (channel: Channel) => open((close) => <Close channel={channel} close={close} done={channels.reload} />);
  const none = <Empty title="No channels yet" text="The first payment to you opens one, for a fee; or open one yourself, to pay." />;
  const showAddress = (address: string) =>
    tell("A new address", <div class="center"><Qr text={`bitcoin:${address}`} label="Code of the address" /><Id whole>{address}</Id></div>);
  return (
    <Screen
      title="Wallet"
      about="The Lightning backend of the service."
      actions={
        node &&
        may && (
          <>
            <Button run={() => open((close) => <Cost close={close} />)}>What does receiving cost?</Button>
            <Button run={() => open((close) => <Address close={close} done={showAddress} />)}>Address</Button>
            <Button run={() => open((close) => <Open spendable={spendable} close={close} done={channels.reload} />)}>Open a channel…</Button>
            <Button run={() => open((close) => <Send spendable={spendable} close={close} />)}>Send on chain…</Button>
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
            {({ channels: list }) => (
              <Rows class="channels" of={list} empty={none}>
                {(channel) => (
                  <ChannelRow key={channel.channel_id} {...channel}>
                    {may && channel.funding && <Button small run={() => shut(channel)}>Close…</Button>}
                  </ChannelRow>
                )}
              </Rows>
            )}
          </Loaded>
        </Card>
      )}
      {dialog}
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
        <Figure name="Balance on Lightning">{balance === null || balance === undefined ? "not told" : <Amount millisats={balance} />}</Figure>
        {node && (
          <>
            <Figure name="Largest payment to you without a new channel"><Amount millisats={node.inbound} /></Figure>
            <Figure name="On chain, to spend">
              <Amount millisats={node.on_chain.spendable} />
              {node.on_chain.reserved > 0 && <small>and {sats(node.on_chain.reserved)} kept for closing channels</small>}
            </Figure>
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
function ChannelRow({ children, ...channel }: Channel & { children: ComponentChildren }) {
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
      {children}
    </li>
  );
}

function Address({ close, done }: { close: () => void; done: (address: string) => void }) {
  const action = async (key: string) => done((await call<Schemas["BitcoinAddress"]>("POST", "/wallet/addresses", {}, { key })).address);
  return (
    <Action title="A new address" verb="Show an address" close={close} action={action}>
      <p>Bitcoin that is sent there is the node's on-chain balance: for channels, for fees, or to send on.</p>
    </Action>
  );
}

function Send({ spendable, close }: { spendable: number; close: () => void }) {
  const { values: { address, text, all, rate }, field } = useForm({ address: "", text: "", all: false, rate: "" });
  const amount = parseAmount(text, "sats");
  const what = all ? "everything" : amount ? sats(amount * 1000) : "";
  const isReady = address.trim() && (all || amount !== undefined);
  const action = async (key: string) => {
    const body = { address: address.trim(), amount: all ? "all" : (amount ?? 0) * 1000, ...(rate ? { fee_rate: Number(rate) } : {}) };
    const started = await call<Schemas["StreamStarted"]>("POST", "/wallet/send", body, { key });
    go(`/payments/${started.stream_id}`);
  };
  return (
    <Action title="Send on chain" verb={`Send ${what}`} danger sensitive disabled={!isReady} close={close} action={action}>
      <p>
        Sends bitcoin of the on-chain balance ({sats(spendable)}). A transaction cannot be taken back. Above the limit for approvals somebody else
        approves it first.
      </p>
      <Input label="Address" {...field("address")} />
      {!all && <AmountInput label="Amount in sats" {...field("text")} />}
      <Check label="Send everything" {...field("all")} />
      <Input label="Fee rate, in sat per virtual byte" optional type="number" min="1" hint="Without one, that of the chain source." {...field("rate")} />
    </Action>
  );
}

function Open({ spendable, close, done }: { spendable: number; close: () => void; done: () => void }) {
  const { values: { text, peer }, field } = useForm({ text: "", peer: "" });
  const amount = parseAmount(text, "sats");
  const body = { amount: (amount ?? 0) * 1000, ...(peer.trim() ? { peer: peer.trim() } : {}) };
  const verb = `Open${amount ? ` with ${sats(amount * 1000)}` : ""}`;
  const action = (key: string) => call("POST", "/wallet/channels", body, { key }).then(done);
  return (
    <Action title="Open a channel" verb={verb} sensitive disabled={amount === undefined} close={close} action={action}>
      <p>
        For payments by you. Payments to you open channels by themselves. The money comes from the on-chain balance ({sats(spendable)}), and the
        miner fee on top.
      </p>
      <AmountInput label="Amount in sats" {...field("text")} />
      <Input label="Peer" optional hint="<node id>@<host>:<port>; without one, the liquidity provider." {...field("peer")} />
    </Action>
  );
}

function Close({ channel, close, done }: { channel: Channel; close: () => void; done: () => void }) {
  const [force, setForce] = useState(false);
  const action = () => call("POST", `/wallet/channels/${channel.channel_id}/close`, force ? { force } : {}).then(done);
  return (
    <Action title="Close this channel?" verb={force ? "Close by force" : "Close channel"} danger sensitive close={close} action={action}>
      <p>
        Your side, {sats(channel.outbound)}, goes to the on-chain balance, less miner fees. {sats(channel.inbound)} can no longer be received over
        it.
      </p>
      <Check label="By force" hint="Only if the peer is gone for good: it takes longer, and costs three to four times as much." value={force} set={setForce} />
    </Action>
  );
}

function Cost({ close }: { close: () => void }) {
  const [text, setText] = useState("50000");
  const [cost, setCost] = useState<{ amount: number } & Schemas["ReceivingCost"]>();
  const amount = parseAmount(text, "sats");
  const action = async () => {
    const sum = (amount ?? 0) * 1000;
    setCost({ amount: sum, ...(await call<Schemas["ReceivingCost"]>("POST", "/wallet/receiving-cost", { amount: sum })) });
  };
  return (
    <Action title="What does receiving cost?" stays verb="Ask" disabled={amount === undefined} close={close} action={action}>
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
