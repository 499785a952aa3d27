// Buttons. One with an icon alone has its name as label and as tooltip.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "../icons";
import { t } from "../i18n";

interface IconButtonProps {
  icon: IconName; label: string; onClick: (e: MouseEvent) => void;
  class?: string; disabled?: boolean; pressed?: boolean; expanded?: boolean; keys?: string;
}

export function IconButton({ icon, label, onClick, class: cls = "", disabled, pressed, expanded, keys }: IconButtonProps): JSX.Element {
  return (
    <button type="button" class={"icon-button " + cls} aria-label={label} title={keys ? `${label} (${keys})` : label} disabled={disabled}
      aria-pressed={pressed} aria-expanded={expanded} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}

interface ButtonProps { children: ComponentChildren; onClick?: () => void; primary?: boolean; small?: boolean; submit?: boolean; disabled?: boolean; icon?: IconName; plain?: boolean }

export function Button({ children, onClick, primary, small, submit, disabled, icon, plain }: ButtonProps): JSX.Element {
  const cls = ["button", primary && "primary", small && "small", plain && "plain"].filter(Boolean).join(" ");
  return <button type={submit ? "submit" : "button"} class={cls} disabled={disabled} onClick={onClick}>{icon && <Icon name={icon} size={14} />}{children}</button>;
}

/** Copies, and says so for a moment. */
export function CopyButton({ text, label }: { text: () => string; label: string }): JSX.Element {
  const [done, setDone] = useState(false);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = () => void copyText(text()).then(() => {
    setDone(true);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setDone(false), 1600);
  });
  return (
    <button type="button" class={"icon-button" + (done ? " ok" : "")} aria-label={label} title={done ? t("copied") : label} onClick={copy}>
      <Icon name={done ? "check" : "copy"} />
    </button>
  );
}

export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Plain addresses in the house have no clipboard; the old way works there.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
