import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { needsStepUp, useSession } from "../access.ts";
import { stepUp } from "../api.ts";
import { visible } from "../format.ts";
import { useAction } from "../hooks.ts";
import { Icon } from "./icons.tsx";
import { Failure } from "./states.tsx";
import { Button } from "./button.tsx";

interface DialogProps { title: string; close: () => void; children: ComponentChildren }

/** A dialog of the browser's own: it holds the focus, and Escape closes it. */
export function Dialog({ title: name, close, children }: DialogProps) {
  const title = visible(name);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    dialog.current?.querySelector<HTMLElement>("form input, form textarea, form select")?.focus();
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onMouseDown={(event) => event.target === dialog.current && close()}
    >
      <div class="dialog">
        <header>
          <h2><bdi>{title}</bdi></h2>
          <button type="button" class="icon-button" aria-label="Close" onClick={close}><Icon name="close" /></button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

interface ActionProps {
  title: string;
  /** What will happen, in a sentence; and the fields that it needs. */
  children: ComponentChildren;
  /** The word on the button: what it does. */
  verb: string;
  danger?: boolean;
  /** Money, keys and the like: a fresh login is needed first. */
  sensitive?: boolean;
  disabled?: boolean;
  /** Stays open after the action, to show what came of it. */
  stays?: boolean;
  /** Gets an idempotency key, which stays the same when a failed action is tried again. */
  action: (key: string) => Promise<void>;
  close: () => void;
}

/** Asks before something changes, does it, and shows the service's reason if it is refused. */
export function Action({ title, children, verb, danger, sensitive, disabled, stays, action, close }: ActionProps) {
  const { busy, error, run } = useAction();
  const [key] = useState(() => crypto.randomUUID());
  const session = useSession();
  if (sensitive && needsStepUp(session)) {
    return (
      <Dialog title={title} close={close}>
        <p>This needs a login of the last minutes. Log in again; you come back to this screen.</p>
        <footer><Button run={close}>Cancel</Button><Button primary run={stepUp}>Log in again</Button></footer>
      </Dialog>
    );
  }
  return (
    <Dialog title={title} close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy && !disabled) void run(() => action(key)).then((done) => done && !stays && close());
        }}
      >
        {children}
        {error !== undefined && <Failure error={error} />}
        <footer>
          <Button run={close}>Cancel</Button>
          <button type="submit" class={`button ${danger ? "danger" : "primary"}`} disabled={busy || disabled}>
            {busy ? "One moment…" : verb}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
