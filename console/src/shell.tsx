import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useSession } from "./access.ts";
import { useResource } from "./hooks.ts";
import { onConnection } from "./live.ts";
import { PriceContext, useCurrentPrice } from "./price.ts";
import { go, Link, usePlace } from "./router.tsx";
import { screenOf, screensFor } from "./screens.tsx";
import type { Schemas } from "./types.ts";
import { Icon } from "./ui/icons.tsx";
import { visible } from "./format.ts";
import { Search as SearchField } from "./ui/form.tsx";

/** What is around every screen: menu, search, connection. */
export function Shell() {
  const session = useSession();
  const place = usePlace();
  const [open, setOpen] = useState(false);
  const price = useCurrentPrice();
  // Who only approves payments begins there.
  const path = place.path === "/" && !session.role ? "/approvals" : place.path;
  const screen = screenOf(path, session);
  const main = useRef<HTMLElement>(null);
  const service = visible(session.service ?? "Usher");
  useEffect(() => setOpen(false), [place.path]);
  useEffect(() => {
    document.title = `${screen.title} · ${service}`;
  }, [screen.title, service]);
  useSearchKey();
  return (
    <PriceContext.Provider value={price}>
      <a class="skip" href="#content" onClick={(event) => (event.preventDefault(), main.current?.focus())}>Skip to the content</a>
      <div class={`shell ${open ? "open" : ""}`}>
        <header class="bar">
          <button type="button" class="icon-button" aria-label="Menu" aria-expanded={open} onClick={() => setOpen(!open)}>
            <Icon name="menu" />
          </button>
          <strong><bdi>{service}</bdi></strong>
        </header>
        <nav class="side" aria-label="Console">
          <div class="service">
            <span class="monogram" aria-hidden="true">{[...service][0]?.toUpperCase()}</span>
            <strong><bdi>{service}</bdi></strong>
            {session.test_mode && <span class="badge wait">Test</span>}
          </div>
          {session.role && <Search />}
          <Menu path={path} />
          <Foot />
        </nav>
        <main ref={main} id="content" tabIndex={-1} key={screen.key}>{screen.view(place)}</main>
      </div>
    </PriceContext.Provider>
  );
}

function Menu({ path }: { path: string }) {
  const session = useSession();
  const waiting = useWaiting(session.role !== null);
  const groups = new Map<string, ComponentChildren[]>();
  for (const { path: to, title, icon, group } of screensFor(session)) {
    const isCurrent = to === "/" ? path === "/" : path === to || path.startsWith(`${to}/`) || (to === "/logins" && path.startsWith("/users/")) || (to === "/payments" && path.startsWith("/receipts/"));
    const number = waiting[to];
    const entry = (
      <li key={to}>
        <Link to={to} aria-current={isCurrent ? "page" : undefined}>
          <Icon name={icon} />
          <span>{title}</span>
          {number ? <span class="count">{number}</span> : null}
        </Link>
      </li>
    );
    groups.set(group, [...(groups.get(group) ?? []), entry]);
  }
  return (
    <div class="menu">
      {[...groups].map(([group, entries]) => <div key={group}>{group && <h2>{group}</h2>}<ul>{entries}</ul></div>)}
    </div>
  );
}

/** How many things wait for a person, by the screen that has them. */
function useWaiting(isOperator: boolean): Record<string, string> {
  const live = ["StatusUpdate", "CashuResponse"];
  const approvals = useResource<Schemas["ApprovalList"]>("/approvals?limit=100", { live, every: 60 });
  const checks = useResource<Schemas["VerificationSessionList"]>(isOperator ? "/verification/sessions?status=open&limit=100" : null, { live, every: 60 });
  const failed = useResource<Schemas["WebhookDeliveries"]>(isOperator ? "/webhooks/deliveries?status=failed&limit=100" : null, { every: 120 });
  const size = (list: { next?: string | null } | undefined, length: number | undefined) =>
    length ? `${length}${list?.next ? "+" : ""}` : "";
  return {
    "/approvals": size(approvals.data, approvals.data?.approvals?.length),
    "/age-checks": size(checks.data, checks.data?.sessions?.length),
    "/webhooks": size(failed.data, failed.data?.deliveries?.length),
  };
}

const HEX_KEY = /^[0-9a-f]{64}$/i;

/** Finds payments; a user's key leads to the user. `/` goes here. */
function Search() {
  const place = usePlace();
  const [text, setText] = useState("");
  const current = place.path === "/payments" ? (place.query.get("q") ?? "") : "";
  useEffect(() => setText(current), [current]);
  const find = (event: Event) => {
    event.preventDefault();
    const wanted = text.trim();
    if (wanted === "") go("/payments");
    else if (/^user:/.test(wanted) || (HEX_KEY.test(wanted) && place.path.startsWith("/users"))) go(`/users/${wanted.replace(/^user:\s*/, "").toLowerCase()}`);
    else go(`/payments?q=${encodeURIComponent(wanted)}`);
  };
  return (
    <form class="search" role="search" aria-label="All payments" onSubmit={find}>
      <Icon name="search" />
      <SearchField label="Search payments" placeholder="Search payments" value={text} set={setText} />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}

/** `/` focuses the search of the screen, or else of the menu. */
function useSearchKey() {
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.metaKey || event.ctrlKey || event.altKey) return;
      if ((event.target as Element).closest("input,textarea,select,dialog")) return;
      const field = document.querySelector<HTMLInputElement>("main input[type=search]") ?? document.querySelector<HTMLInputElement>(".search input");
      event.preventDefault();
      field?.focus();
      field?.select();
    };
    addEventListener("keydown", focus);
    return () => removeEventListener("keydown", focus);
  }, []);
}

function Foot() {
  const session = useSession();
  const [connected, setConnected] = useState(false);
  useEffect(() => onConnection(setConnected), []);
  return (
    <div class="foot">
      <Link to="/account"><strong><bdi>{visible(session.name)}</bdi></strong><small>{session.role ?? "approver"}</small></Link>
      {session.role && <span class={`dot ${connected ? "good" : "wait"}`} role="status" title={connected ? "New events appear by themselves" : "Connecting to the event stream"}>
        <span class="hidden">{connected ? "Live" : "Not live"}</span>
      </span>}
    </div>
  );
}
