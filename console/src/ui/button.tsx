import type { ComponentChildren } from "preact";

interface ButtonProps {
  run: () => void;
  small?: boolean;
  primary?: boolean;
  disabled?: boolean | undefined;
  children: ComponentChildren;
}
export function Button({ run, small, primary, disabled, children }: ButtonProps) {
  return (
    <button type="button" class={`button ${small ? "small" : ""} ${primary ? "primary" : ""}`} disabled={disabled} onClick={run}>
      {children}
    </button>
  );
}
