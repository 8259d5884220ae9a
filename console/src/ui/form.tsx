import type { ComponentChildren, JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { amountIn, money, parseAmount } from "../format.ts";
import { usePrice } from "../price.ts";
import { setQuery } from "../router.tsx";
import { Icon } from "./icons.tsx";

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  optional?: boolean | undefined;
  children: (id: string, hint: string | undefined) => ComponentChildren;
}
export function Field({ label, hint, optional, children }: FieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}{optional && <span class="muted"> (optional)</span>}</label>
      {children(id, hint ? `${id}-hint` : undefined)}
      {hint && <small id={`${id}-hint`} class="hint">{hint}</small>}
    </div>
  );
}

/** What every field has: `useForm` gives the last two. */
interface Bound { label: string; hint?: ComponentChildren; value: string; set: (value: string) => void }

type InputProps = Omit<JSX.InputHTMLAttributes<HTMLInputElement>, "value" | "label"> & Bound & { optional?: boolean | undefined };
export function Input({ label, hint, optional, value, set, ...rest }: InputProps) {
  return (
    <Field label={label} hint={hint} optional={optional}>
      {(id, described) => (
        <input
          {...rest}
          id={id}
          aria-describedby={described}
          autocomplete="off"
          spellcheck={false}
          required={!optional}
          value={value}
          onInput={(event) => set(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export function Area({ label, hint, value, set }: Bound) {
  return (
    <Field label={label} hint={hint}>
      {(id, described) => <textarea id={id} aria-describedby={described} spellcheck={false} value={value} onInput={(event) => set(event.currentTarget.value)} />}
    </Field>
  );
}

type SelectProps = Bound & { options: [value: string, label: string][] };
export function Select({ label, value, set, options, hint }: SelectProps) {
  return (
    <Field label={label} hint={hint}>
      {(id, described) => (
        <select id={id} aria-describedby={described} value={value} onChange={(event) => set(event.currentTarget.value)}>
          {options.map(([option, name]) => <option key={option} value={option}>{name}</option>)}
        </select>
      )}
    </Field>
  );
}

/** A choice among few, above a list: its label is for screen readers. */
export function Filter({ label, value, set, options }: SelectProps) {
  return (
    <div class="filter" role="group" aria-label={label}>
      {options.map(([option, name]) => (
        <button key={option} type="button" aria-pressed={option === value} onClick={() => set(option)}>{name}</button>
      ))}
    </div>
  );
}

export function Check({ label, hint, value, set }: { label: string; hint?: string; value: boolean; set: (checked: boolean) => void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={value} onChange={(event) => set(event.currentTarget.checked)} />
      <span>{label}{hint && <small class="hint">{hint}</small>}</span>
    </label>
  );
}

/** An amount in sats or a currency; below it, how it is understood. */
export function AmountInput({ currency = "sats", hint, ...rest }: Bound & { currency?: string; optional?: boolean }) {
  const { value } = rest;
  const price = usePrice();
  const amount = parseAmount(value, currency);
  const isSats = currency === "sats";
  const read = amount === undefined ? undefined : amountIn(amount, currency);
  const about = isSats && amount !== undefined && price ? ` ≈ ${money(amount * 1000, price.value, price.currency)}` : "";
  const wrong = value !== "" && amount === undefined;
  return (
    <Input
      {...rest}
      inputMode={isSats ? "numeric" : "decimal"}
      aria-invalid={wrong}
      hint={wrong ? `Not an amount in ${isSats ? "sats" : currency}` : read ? read + about : hint}
    />
  );
}

type SearchProps = Bound & { placeholder: string; class?: string; inputMode?: "numeric" };
/** The field that searches in a list. */
export function Search({ label, set, ...rest }: SearchProps) {
  return (
    <input type="search" aria-label={label} autocomplete="off" spellcheck={false} {...rest} onInput={(event) => set(event.currentTarget.value)} />
  );
}

interface WideSearchProps { name: string; label: string; placeholder: string; found: string; find: (wanted: string) => void }
/** A search of the API, as `q` in the address, that begins with Enter; an empty field ends it. */
export function WideSearch({ name, label, placeholder, found, find }: WideSearchProps) {
  const [text, setText] = useState(found);
  const [asked, setAsked] = useState(found);
  if (asked !== found) {
    setAsked(found);
    setText(found);
  }
  const type = (text: string) => {
    setText(text);
    if (text === "") setQuery({ q: "" });
  };
  return (
    <form class="wide-search" role="search" aria-label={name} onSubmit={(event) => (event.preventDefault(), find(text.trim()))}>
      <Icon name="search" />
      <Search label={label} placeholder={placeholder} value={text} set={type} />
    </form>
  );
}
