// Where a question is written. It is an island: typing waits for nothing, and what was typed is kept until it is sent.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../icons";
import { t } from "../i18n";
import { keep } from "../prefs";
import { IconButton } from "./buttons";

interface ComposerProps { draft: string; placeholder: string; send: (text: string) => void; stop: (() => void) | null; focus: boolean }

export function Composer({ draft, placeholder, send, stop, focus }: ComposerProps): JSX.Element {
  const [text, setText] = useState(() => keep.get("draft." + draft) ?? "");
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    setText(keep.get("draft." + draft) ?? "");
    // A phone's keyboard must not jump up by itself.
    if (focus && !matchMedia("(pointer: coarse)").matches) area.current?.focus({ preventScroll: true });
  }, [draft]);
  const change = (value: string) => { setText(value); keep.set("draft." + draft, value); };
  const submit = () => {
    const value = text.trim();
    if (value === "") return;
    change("");
    send(value);
  };
  return (
    <form class="composer" aria-label={t("composer")} onSubmit={(e) => { e.preventDefault(); submit(); }}>
      <textarea ref={area} id="composer" rows={1} value={text} placeholder={placeholder} aria-label={placeholder} onInput={(e) => change(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); submit(); }
        }} />
      <div class="composer-row">
        {stop && text.trim() === ""
          ? <IconButton icon="stop" label={t("stop")} keys="Esc Esc" class="send stop" onClick={stop} />
          : <button type="submit" class={"icon-button send" + (text.trim() === "" ? "" : " ready")} aria-label={t("send")} title={t("send")} disabled={text.trim() === ""}><Icon name="up" /></button>}
      </div>
    </form>
  );
}
