import { Component, type ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { go } from "../router.tsx";
import { Button } from "./button.tsx";
import { Failure, Loading } from "./states.tsx";

export interface Column<T> {
  name: string;
  cell: (row: T) => ComponentChildren;
  /** `number`: to the right. `grow`: takes what is left, and is cut off. `rest`: not on phones. */
  kind?: "number" | "grow" | "rest";
}

interface TableProps<T> {
  caption: string;
  columns: Column<T>[];
  rows: T[] | undefined;
  id: (row: T) => string;
  /** Where a click on a row leads. */
  to?: (row: T) => string;
  /** The buttons of a row, if there are any. */
  actions?: false | ((row: T) => ComponentChildren);
  empty: ComponentChildren;
  error?: unknown;
  loading?: boolean;
  reload?: () => void;
  more?: (() => void) | undefined;
  /** Of a list of which one page is shown: to the first page, and to the next. */
  first?: (() => void) | undefined;
  next?: (() => void) | undefined;
}

/** Rows in the page at once: more are shown on demand, so that a list of thousands stays fast. */
const STEP = 200;

export function Table<T>({ caption, columns, rows, id, to, actions, empty, error, loading, reload, more, first, next }: TableProps<T>) {
  const [shown, setShown] = useState(STEP);
  const fresh = useFresh(rows, id);
  if (rows === undefined) return error ? <Failure error={error} retry={reload} /> : <Loading lines={8} />;
  const showMore = () => (rows.length > shown ? setShown(shown + STEP) : more?.());
  return (
    <>
      {error !== undefined && <Failure error={error} retry={reload} />}
      {rows.length === 0 && !more && !next ? empty : (
        <div class="table" role="region" aria-label={caption} tabIndex={0}>
          <table role="table">
            <caption class="hidden">{caption}</caption>
            <thead role="rowgroup">
              <tr role="row">
                {columns.map(({ name, kind }) => <th key={name} role="columnheader" scope="col" class={kind}>{name}</th>)}
                {actions && <th role="columnheader" scope="col" class="actions"><span class="hidden">Actions</span></th>}
              </tr>
            </thead>
            <tbody role="rowgroup">
              {rows.slice(0, shown).map((row) => (
                <Row key={id(row)} row={row} columns={columns} actions={actions} to={to} isFresh={fresh.has(id(row))} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {(first || next) && (
        <nav class="table-foot" aria-label="Pages">
          {first && <Button small run={first}>Newest</Button>}
          {next && <Button small disabled={loading} run={next}>{loading ? "Loading…" : "Older"}</Button>}
        </nav>
      )}
      {(rows.length > shown || more) && (
        <div class="table-foot">
          <Button small disabled={loading} run={showMore}>{loading ? "Loading…" : "Show more"}</Button>
        </div>
      )}
    </>
  );
}

interface RowProps<T> extends Pick<TableProps<T>, "columns" | "actions" | "to"> {
  row: T;
  isFresh: boolean;
}

/** A row is drawn once for what it shows: with thousands of them, more rows cost only themselves. */
class Row<T> extends Component<RowProps<T>> {
  override shouldComponentUpdate(next: RowProps<T>) {
    return next.row !== this.props.row || next.isFresh !== this.props.isFresh || Boolean(next.actions) !== Boolean(this.props.actions);
  }
  override render({ row, columns, actions, to, isFresh }: RowProps<T>) {
    const open = (event: MouseEvent) => {
      if (!to || (event.target as Element).closest("a,button,input,label")) return;
      if (!getSelection()?.toString()) go(to(row));
    };
    return (
      <tr role="row" class={`${to ? "linked" : ""} ${isFresh ? "fresh" : ""}`} onClick={open}>
        {columns.map(({ name, kind, cell }) => <td key={name} role="cell" class={kind}>{cell(row)}</td>)}
        {actions && <td role="cell" class="actions">{actions(row)}</td>}
      </tr>
    );
  }
}

/** The ids that a later reading has brought: they are tinted for a moment, so that what is new is seen. */
function useFresh<T>(rows: T[] | undefined, id: (row: T) => string): Set<string> {
  const known = useRef<Set<string>>();
  const fresh = new Set<string>();
  if (rows && known.current) for (const row of rows.slice(0, 50)) if (!known.current.has(id(row))) fresh.add(id(row));
  useEffect(() => {
    if (rows) known.current = new Set(rows.map(id));
  }, [rows]);
  return fresh.size < 20 ? fresh : new Set();
}
