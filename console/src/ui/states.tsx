import type { ComponentChildren } from "preact";
import { codeOf, messageOf } from "../api.ts";
import { visible } from "../format.ts";
import { Icon, type IconName } from "./icons.tsx";
import { Button } from "./button.tsx";

/** What went wrong, in the words of the API. */
export function Failure({ error, retry }: { error: unknown; retry?: (() => void) | undefined }) {
  const isRefused = codeOf(error) === "scope_missing" || codeOf(error) === "role_not_allowed";
  if (isRefused) return <Empty icon="approvals" title="Your role does not include this" text={messageOf(error)} />;
  return (
    <div class="notice bad" role="alert">
      <Icon name="warn" />
      <p>{visible(messageOf(error))}</p>
      {retry && <Button small run={retry}>Try again</Button>}
    </div>
  );
}

interface EmptyProps { icon?: IconName; title: string; text?: ComponentChildren; action?: ComponentChildren }
export function Empty({ icon, title, text, action }: EmptyProps) {
  return <div class="empty">{icon && <Icon name={icon} />}<strong>{title}</strong>{text && <p>{text}</p>}{action}</div>;
}

/** Lines of grey in place of what is being read. */
export function Loading({ lines = 5 }: { lines?: number }) {
  return (
    <div class="loading" role="status" aria-label="Loading">{Array.from({ length: lines }, (_, line) => <span key={line} />)}</div>
  );
}

interface LoadedProps<T> {
  data: T | undefined;
  error: unknown;
  reload?: () => void;
  lines?: number;
  /** In place of `null`: there is none. */
  missing?: ComponentChildren;
  children: (data: NonNullable<T>) => ComponentChildren;
}
/** What was read, or why not, or that it is being read. What is known stays while a later reading fails. */
export function Loaded<T>({ data, error, reload, lines, missing, children }: LoadedProps<T>) {
  if (data === undefined) return error ? <Failure error={error} retry={reload} /> : <Loading {...(lines ? { lines } : {})} />;
  return <>{error !== undefined && <Failure error={error} retry={reload} />}{data === null ? missing : children(data as NonNullable<T>)}</>;
}
