import { useCallback, useEffect, useReducer, useRef, useState } from "preact/hooks";
import { get, markUnasked, withQuery } from "./api.ts";
import { onEvents } from "./live.ts";
import { setQuery } from "./router.tsx";

/** What was read last from each path: a screen that is opened again shows it while it reads anew. */
const kept = new Map<string, unknown>();
const MOST_KEPT = 60;

export interface Resource<T> { data: T | undefined; error: unknown; loading: boolean; reload: () => void }

export interface ResourceOptions {
  /** Reads again after an event of one of these types; `*` is any. */
  live?: string[] | undefined;
  /** Reads again after so many seconds. */
  every?: number | undefined;
}

/** Reads a path of the API, and keeps what it has shown while it reads again. Nothing is read while the path is `null`. */
export function useResource<T>(path: string | null, options: ResourceOptions = {}): Resource<T> {
  return useLoaded<T>(path, (signal) => get<T>(path ?? "", signal), options);
}

/** The same for what takes several requests; `key` names what is loaded. `show` shows what is known until all is, the first time. */
export function useLoaded<T>(
  key: string | null,
  load: (signal: AbortSignal, show: (data: T) => void) => Promise<T>,
  { live, every }: ResourceOptions = {},
): Resource<T> {
  const [, render] = useReducer((turn: number) => turn + 1, 0);
  const state = useRef<{ key: string | null; data?: T | undefined; error?: unknown; running: number }>({ key: null, running: 0 });
  const loader = useRef(load);
  loader.current = load;
  const abort = useRef<AbortController>();
  if (state.current.key !== key) state.current = { key, data: key === null ? undefined : (kept.get(key) as T | undefined), running: 0 };
  const read = useCallback((isAsked: boolean) => {
    if (key === null) return;
    abort.current?.abort();
    const controller = new AbortController();
    if (!isAsked) markUnasked(controller.signal);
    abort.current = controller;
    const mine = state.current;
    mine.running++;
    render(undefined as never);
    const isFirst = mine.data === undefined;
    const show = (data: T) => {
      if (!isFirst || state.current !== mine) return;
      mine.data = data;
      render(undefined as never);
    };
    loader
      .current(controller.signal, show)
      .then(
        (data) => {
          kept.delete(key);
          kept.set(key, data);
          if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value ?? "");
          mine.data = data;
          mine.error = undefined;
        },
        (error: unknown) => {
          if (!controller.signal.aborted) mine.error = error;
        },
      )
      .finally(() => {
        mine.running--;
        if (state.current === mine) render(undefined as never);
      });
  }, [key]);
  const reload = useCallback(() => read(true), [read]);
  useEffect(() => {
    reload();
    return () => abort.current?.abort();
  }, [reload]);
  useLive(live, () => read(false));
  useEffect(() => {
    if (!every) return;
    const timer = setInterval(() => document.hidden || read(false), every * 1000);
    return () => clearInterval(timer);
  }, [read, every]);
  const { data, error, running } = state.current;
  return { data, error, loading: running > 0, reload };
}

/** Calls a function soon after events of these types, once for many. */
export function useLive(types: string[] | undefined, action: () => void) {
  const latest = useRef(action);
  latest.current = action;
  const names = types?.join();
  useEffect(() => (names ? onEvents(names.split(","), () => latest.current()) : undefined), [names]);
}

/**
 * A list whose page is in the address, as `after`: one page is shown at a time, and only the first changes by itself. Later pages
 * are entries of the browser's history.
 */
export function usePaged<T>(path: string, member: string, query: URLSearchParams, live: string[]) {
  const after = query.get("after");
  const { data, ...page } = useResource<Record<string, unknown>>(withQuery(path, { after }), after ? {} : { live });
  const next = data?.["next"] as string | null | undefined;
  return {
    ...page,
    rows: data?.[member] as T[] | undefined,
    first: after ? () => setQuery({ after: "" }) : undefined,
    next: next ? () => setQuery({ after: next }, false) : undefined,
  };
}

/** A list of the API that is read page by page, each below the one before. */
export function usePages<T>(path: string, member: string, live?: string[], every?: number) {
  const [more, setMore] = useState<{ path: string; items: T[]; next: string | null | undefined }>({ path, items: [], next: undefined });
  const { busy, error, run } = useAction();
  const first = useResource<Record<string, unknown>>(path, { live, every });
  const later = more.path === path ? more : { path, items: [], next: undefined };
  const next = later.next !== undefined ? later.next : (first.data?.["next"] as string | null | undefined);
  const loadMore = () =>
    run(async () => {
      if (!next) return;
      const page = await get<Record<string, unknown>>(withQuery(path, { after: next }));
      setMore({ path, items: [...later.items, ...(page[member] as T[])], next: (page["next"] as string | null | undefined) ?? null });
    });
  const items = first.data ? [...((first.data[member] as T[] | undefined) ?? []), ...later.items] : undefined;
  return { items, error: error ?? first.error, loading: first.loading || busy, more: next ? loadMore : undefined, reload: first.reload };
}

/** Who is told that time has passed: one timer for all. */
const clocks = new Set<(now: number) => void>();
setInterval(() => document.hidden || clocks.forEach((tell) => tell(Date.now() / 1000)), 30_000);

/** The time in Unix seconds, which moves on each half minute. */
export function useNow(): number {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    clocks.add(setNow);
    return () => void clocks.delete(setNow);
  }, []);
  return now;
}

/** Runs a change: whether it runs, and what went wrong. */
export function useAction() {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const run = async (action: () => Promise<unknown>) => {
    setBusy(true);
    setError(undefined);
    try {
      await action();
      return true;
    } catch (problem) {
      setError(problem);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, run };
}

/** The values of a form: `field` gives a field its value, and what sets it. */
export function useForm<T extends object>(start: T | (() => T)) {
  const [values, setValues] = useState(start);
  const field = <K extends keyof T>(name: K) => ({
    value: values[name],
    set: (value: T[K]) => setValues((now) => ({ ...now, [name]: value })),
  });
  return { values, field };
}
