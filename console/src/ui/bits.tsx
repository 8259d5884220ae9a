import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { fullTime, money, relative, sats, short, shortTime, visible } from "../format.ts";
import { useNow } from "../hooks.ts";
import { usePrice } from "../price.ts";
import { Link } from "../router.tsx";
import { statusOf, type Tone } from "../words.ts";
import { Icon } from "./icons.tsx";

/** A text that a stranger may have written: isolated, and with nothing hidden in it. */
export function Text({ children, empty = "—" }: { children: string | null | undefined; empty?: string }) {
  if (!children) return empty ? <span class="muted">{empty}</span> : null;
  const text = visible(children);
  return (
    <bdi class="text" title={text.length > 40 ? text : undefined}>
      {text}
    </bdi>
  );
}

export function Badge({ tone = "plain", children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

export function Status({ of }: { of: string }) {
  const { label, tone } = statusOf(of);
  return <Badge tone={tone}>{label}</Badge>;
}

/** A time in the browser's zone; `relative` also says how long ago. */
export function Time({ at, ago = false }: { at: number | null | undefined; ago?: boolean }) {
  useNow();
  const now = Date.now() / 1000;
  if (at === null || at === undefined) return <span class="muted">—</span>;
  return <time dateTime={new Date(at * 1000).toISOString()} title={fullTime(at)}>{ago ? relative(at, now) : shortTime(at, now)}</time>;
}

/** An amount in sats, and about how much that is in the operator's currency. */
export function Amount({ millisats, plain = false, sign = "" }: { millisats: number; plain?: boolean; sign?: string }) {
  const price = usePrice();
  return (
    <span class="amount">
      <span>{sign}{sats(millisats)}</span>
      {price && !plain && <small>≈ {money(millisats, price.value, price.currency)}</small>}
    </span>
  );
}

export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" class="icon-button" aria-label={done ? "Copied" : label} title={label} onClick={() => void copy()}>
      <Icon name={done ? "check" : "copy"} />
    </button>
  );
}

/** Lines to copy. */
export function Snippet({ text, label }: { text: string; label?: string }) {
  return <div class="snippet"><pre tabIndex={0}>{text}</pre><Copy text={text} {...(label ? { label } : {})} /></div>;
}

/** An id: shortened, whole in the title, and to copy. */
export function Id({ children, to, whole = false }: { children: string; to?: string; whole?: boolean }) {
  const text = whole ? children : short(children);
  return (
    <span class="id">
      {to ? <Link to={to} title={children}><code>{text}</code></Link> : <code title={children}>{text}</code>}
      <Copy text={children} />
    </span>
  );
}

export const UserLink = ({ of }: { of: string | null | undefined }) =>
  of ? <Id to={`/users/${of}`}>{of}</Id> : <span class="muted">—</span>;

/** Names and values, as a list. */
export function Facts({ children }: { children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>;
}
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return <div><dt>{name}</dt><dd>{children}</dd></div>;
}

interface RowsProps<T> { of: T[]; empty?: ComponentChildren; class?: string; children: (item: T, at: number) => ComponentChildren }
/** A short list: `children` makes a `<li>` of each. */
export function Rows<T>({ of, empty, class: name = "", children }: RowsProps<T>) {
  return of.length === 0 && empty ? <>{empty}</> : <ul class={`rows ${name}`}>{of.map(children)}</ul>;
}

/** A number that matters, large. */
export function Figure({ name, children }: { name: string; children: ComponentChildren }) {
  return <div class="figure"><dt>{name}</dt><dd>{children}</dd></div>;
}

interface CardProps { title?: string; actions?: ComponentChildren; children: ComponentChildren; class?: string }
export function Card({ title, actions, children, class: name = "" }: CardProps) {
  return (
    <section class={`card ${name}`}>
      {(title || actions) && <header>{title && <h2>{title}</h2>}{actions && <div class="actions">{actions}</div>}</header>}
      {children}
    </section>
  );
}

interface ScreenProps {
  title: string;
  about?: ComponentChildren;
  back?: { to: string; label: string };
  actions?: ComponentChildren;
  children: ComponentChildren;
}
/** A screen: its heading, what can be done, and its content. */
export function Screen({ title, about, back, actions, children }: ScreenProps) {
  return (
    <>
      <header class="screen-head">
        <div>
          {back && <Link class="back" to={back.to}><Icon name="back" /> {back.label}</Link>}
          <h1>{title}</h1>
          {about && <p class="muted">{about}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}

/** Offers a text as a file. */
export function download(name: string, type: string, content: string) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
