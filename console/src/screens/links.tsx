import { useMay, useSession } from "../access.ts";
import { call, get, withQuery } from "../api.ts";
import { amountIn, parseAmount, startOfDay, visible } from "../format.ts";
import { useForm, useLoaded, usePages, useResource } from "../hooks.ts";
import { justBefore } from "../newest.ts";
import { Qr, svgOf } from "../qr.tsx";
import { go } from "../router.tsx";
import type { Link, Schemas } from "../types.ts";
import { Action, Amount, AmountInput, Button, Card, download, Empty, Fact, Facts, Filter, Icon, Id, Input, Loaded, Screen, Select, Status, Table, Text, Time, useDialog } from "../ui.ts";

function price({ amount, min, max, currency }: Link): string {
  if (amount !== undefined) return amountIn(amount, currency);
  return `${amountIn(min ?? 0, currency)} – ${amountIn(max ?? 0, currency)}`;
}

/** Payment links: the newest first. */
export function Links() {
  const list = usePages<Link>("/payment-links?order=newest&limit=1000", "links", ["StatusUpdate"]);
  const may = useMay("links");
  const { dialog, open } = useDialog();
  const button = may && <Button primary run={() => open((close) => <NewLink close={close} />)}><Icon name="plus" /> New link</Button>;
  return (
    <Screen title="Links" about="A link is a page, and a code for paper, at which many people can pay." actions={button}>
      <Table
        {...list}
        caption="Payment links, the newest first"
        rows={list.items}
        id={({ stream_id }) => stream_id}
        to={({ stream_id }) => `/links/${stream_id}`}
        columns={[
          { name: "Price", kind: "number", cell: (link) => <strong>{price(link)}</strong> },
          { name: "Status", cell: ({ status }) => <Status of={status === "open" ? "link_open" : status} /> },
          { name: "For", kind: "grow", cell: ({ description }) => <Text>{description}</Text> },
          { name: "Payments", kind: "number", cell: ({ payments, max_payments }) => (max_payments ? `${payments} of ${max_payments}` : payments) },
          { name: "Ends", kind: "rest", cell: ({ expires_at }) => <Time at={expires_at} /> },
          { name: "Created", kind: "rest", cell: ({ created_at }) => <Time at={created_at} /> },
        ]}
        empty={<Empty icon="links" title="No links yet" text="Make one for what you sell at a fixed price, or for tips; print its code." action={button} />}
      />
      {dialog}
    </Screen>
  );
}

function NewLink({ close }: { close: () => void }) {
  const session = useSession();
  const own = session.currency?.toUpperCase();
  const currencies: [string, string][] = [["sats", "sats"], ...(own && own !== "SATS" ? [[own, own] as [string, string]] : [])];
  const { values, field } = useForm({ description: "", kind: "fixed", currency: "sats", amount: "", max: "", most: "", until: "" });
  const { description, kind, currency, amount, max, most, until } = values;
  const low = parseAmount(amount, currency);
  const high = parseAmount(max, currency);
  const isFixed = kind === "fixed";
  const action = async (key: string) => {
    const day = until ? startOfDay(new Date(`${until}T00:00:00`).getTime() / 1000, -1) : undefined;
    const body = {
      description,
      currency,
      ...(isFixed ? { amount: low } : { min: low, max: high }),
      ...(most ? { max_payments: Number(most) } : {}),
      ...(day ? { expires_at: day } : {}),
    };
    const made = await call<Schemas["PaymentLinkCreated"]>("POST", "/payment-links", body, { key });
    go(`/links/${made.stream_id}`);
  };
  return (
    <Action title="New payment link" verb="Create link" close={close} action={action} disabled={low === undefined || (!isFixed && high === undefined)}>
      <Input label="What it is for" hint="Payers see it, in their wallet and on the page." {...field("description")} maxLength={500} />
      <Filter label="Price" {...field("kind")} options={[["fixed", "Fixed price"], ["range", "The payer chooses"]]} />
      {currencies.length > 1 && <Select label="Currency" {...field("currency")} options={currencies} />}
      {isFixed ? <AmountInput label={`Price in ${currency}`} currency={currency} {...field("amount")} /> : (
        <div class="pair">
          <AmountInput label={`From, in ${currency}`} currency={currency} {...field("amount")} />
          <AmountInput label={`To, in ${currency}`} currency={currency} {...field("max")} />
        </div>
      )}
      <div class="pair">
        <Input label="Payments, at most" optional type="number" min="1" {...field("most")} />
        <Input label="Last day" optional type="date" {...field("until")} />
      </div>
    </Action>
  );
}

async function findLink(id: string, signal: AbortSignal): Promise<Link | null> {
  const { links } = await get<Schemas["PaymentLinkList"]>(withQuery("/payment-links", { after: justBefore(id), limit: 1 }), signal);
  return links.find(({ stream_id }) => stream_id === id) ?? null;
}

/** One link: its code to print, and what was paid at it. */
export function LinkScreen({ id }: { id: string }) {
  const { data: link, ...loaded } = useLoaded(`link ${id}`, (signal) => findLink(id, signal), { live: ["StatusUpdate"] });
  const may = useMay("links");
  const { dialog, ask } = useDialog();
  const end = () =>
    ask({
      title: "Close this link?",
      verb: "Close link",
      text: "It gives out no more invoices, and cannot be opened again. An invoice that was given out before can still be paid, for five minutes.",
      action: () => call("DELETE", `/payment-links/${id}`).then(loaded.reload),
    });
  return (
    <Screen
      title={link ? visible(link.description) || "Payment link" : "Link"}
      back={{ to: "/links", label: "Links" }}
      actions={may && link?.status === "open" && <Button run={end}>Close…</Button>}
    >
      <Loaded data={link} {...loaded} missing={<Empty icon="links" title="There is no such link" text="Links stay for 61 days after their end." />}>
        {(link) => (
          <>
            <div class="columns"><Code {...link} /><Card title="Details" class="screen-only"><Details {...link} /></Card></div>
            <PaidAt id={id} payments={link.payments} />
          </>
        )}
      </Loaded>
      {dialog}
    </Screen>
  );
}

function Code(link: Link) {
  return (
    <Card
      title="Code"
      actions={
        <>
          <Button small run={() => download("payment-link.svg", "image/svg+xml", svgOf(link.lnurl))}><Icon name="download" /> SVG</Button>
          <Button small run={() => print()}>Print or PDF</Button>
        </>
      }
    >
      <div class="center">
        <Qr text={link.lnurl} label="Code of the payment link, for wallets" />
        <strong class="big-number">{price(link)}</strong>
        <Text>{link.description}</Text>
      </div>
    </Card>
  );
}

function Details(link: Link) {
  return (
    <Facts>
      <Fact name="Status"><Status of={link.status === "open" ? "link_open" : link.status} /></Fact>
      <Fact name="Page"><Id whole>{link.page_url}</Id></Fact>
      <Fact name="For wallets"><Id>{link.lnurl}</Id></Fact>
      <Fact name="Payments">{link.max_payments ? `${link.payments} of ${link.max_payments}` : link.payments}</Fact>
      {link.expires_at !== undefined && <Fact name="Ends"><Time at={link.expires_at} /></Fact>}
      {link.request_id && <Fact name="Your reference"><Text>{link.request_id}</Text></Fact>}
      <Fact name="Created"><Time at={link.created_at} /></Fact>
      <Fact name="Stream"><Id>{link.stream_id}</Id></Fact>
    </Facts>
  );
}

interface PaidData { status: string; payment_id?: string; amount_millisats?: number; comment?: string }

/** The last payments of a link, from its stream. */
function PaidAt({ id, payments }: { id: string; payments: number }) {
  const from = Math.max(0, payments - 100);
  const page = useResource<Schemas["EventPage"]>(`/events/${id}?after=${from}&limit=1000`, { live: ["StatusUpdate"] });
  const paid = page.data && [...page.data.events].reverse();
  return (
    <Card title="Payments" class="screen-only">
      <Table
        caption="Payments at this link, the newest first"
        {...page}
        rows={paid}
        id={({ index }) => String(index)}
        to={({ data }) => `/payments/${(data as PaidData).payment_id}`}
        empty={<Empty title="Nobody has paid yet" />}
        columns={[
          { name: "Amount", kind: "number", cell: ({ data }) => <Amount millisats={(data as PaidData).amount_millisats ?? 0} /> },
          { name: "Status", cell: ({ data }) => <Status of={(data as PaidData).status} /> },
          { name: "Comment", kind: "grow", cell: ({ data }) => <Text>{(data as PaidData).comment}</Text> },
          { name: "Time", kind: "number", cell: ({ timestamp }) => <Time at={timestamp} /> },
        ]}
      />
    </Card>
  );
}
