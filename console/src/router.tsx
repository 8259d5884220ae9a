import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ROOT } from "./base.ts";

const watchers = new Set<() => void>();
const tell = () => watchers.forEach((watcher) => watcher());
addEventListener("popstate", tell);

/** Where the browser is: the path below the console, and the parameters. */
export interface Place { path: string; query: URLSearchParams }

const here = (): Place => ({
  path: location.pathname.startsWith(ROOT) ? location.pathname.slice(ROOT.length).replace(/\/+$/, "") || "/" : "/",
  query: new URLSearchParams(location.search),
});

export function usePlace(): Place {
  const [place, setPlace] = useState(here);
  useEffect(() => {
    const watcher = () => setPlace(here());
    watchers.add(watcher);
    return () => void watchers.delete(watcher);
  }, []);
  return place;
}

/** Goes to a path below the console. */
export function go(path: string, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", ROOT + (path === "/" ? "" : path));
  if (!replace) scrollTo(0, 0);
  tell();
}

/** Sets parameters of this screen; an empty value removes one. Another selection begins at its first page. */
export function setQuery(changes: Record<string, string>, replace = true) {
  const { path, query } = here();
  query.delete("after");
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  go(text ? `${path}?${text}` : path, replace);
}

type LinkProps = Omit<JSX.AnchorHTMLAttributes<HTMLAnchorElement>, "href"> & { to: string; children?: ComponentChildren };

/** A link to another screen. */
export function Link({ to, children, ...rest }: LinkProps) {
  return (
    <a
      {...rest}
      href={ROOT + (to === "/" ? "" : to)}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0) return;
        event.preventDefault();
        go(to);
      }}
    >
      {children}
    </a>
  );
}
