import { type ComponentChildren, Fragment } from "preact";
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
    const shown = dialog.current;
    return () => {
      // What is behind an open dialog takes no focus.
      shown?.close();
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
  action: (key: string) => Promise<unknown>;
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

/** What a dialog asks that has no fields: most take something away, so `danger` is the default. */
type Question = Omit<ActionProps, "children" | "close"> & { text: ComponentChildren };
let turns = 0;

/**
 * The dialog of a screen: `open` shows one in the place of what is open, `ask` one that only asks before it acts, and `tell` one
 * that only shows something. Each begins anew. What `open` is given keeps the values of the moment at which it was opened. A dialog
 * that another has replaced closes nothing.
 */
export function useDialog() {
  const [shown, show] = useState<{ turn: number; view: (close: () => void) => ComponentChildren }>();
  const close = () => show((now) => (now === shown ? undefined : now));
  const open = (view: (close: () => void) => ComponentChildren) => show({ turn: ++turns, view });
  const ask = ({ text, ...question }: Question) => open((close) => <Action danger {...question} close={close}><p>{text}</p></Action>);
  const tell = (title: string, content: ComponentChildren) => open((close) => <Dialog title={title} close={close}>{content}</Dialog>);
  return { dialog: shown && <Fragment key={shown.turn}>{shown.view(close)}</Fragment>, open, ask, tell };
}
