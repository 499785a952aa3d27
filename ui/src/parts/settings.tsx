// What can be set for this browser, the list of keys, and the server's key where it wants one.
import { signal, type Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { t, type Word } from "../i18n";
import { announce, lang, motion, theme } from "../prefs";
import { giveKey, keyWanted } from "../wire/api";
import { refresh } from "../store/threads";
import { Button, IconButton } from "./buttons";
import { Dialog } from "./dialog";

const shown = signal<"" | "settings" | "keys">("");
export function openSettings(): void { shown.value = "settings"; }
export function openKeys(): void { shown.value = "keys"; }

export function Settings(): JSX.Element | null {
  if (keyWanted.value) return <KeyDialog />;
  if (shown.value === "") return null;
  const close = () => { shown.value = ""; };
  const settings = shown.value === "settings";
  return (
    <Dialog label={settings ? t("settings") : t("keys")} close={close}>
      <header class="dialog-head"><h2>{settings ? t("settings") : t("keys")}</h2><IconButton icon="close" label={t("close")} onClick={close} /></header>
      {settings ? <SettingsBody /> : <Keys />}
    </Dialog>
  );
}

export function SettingsBody(): JSX.Element {
  return (
    <div class="settings">
      <Choice name={t("theme")} value={theme} options={[["auto", t("auto")], ["light", t("light")], ["dark", t("dark")]]} />
      <Choice name={t("language")} value={lang} options={[["en", "English"], ["zh", "中文"]]} />
      <Choice name={t("motion")} value={motion} options={[["auto", t("auto")], ["off", t("motionOff")]]} />
      <Choice name={t("announceLabel")} value={announce} options={[["text", t("announceText")], ["state", t("announceState")], ["off", t("off")]]} />
      <p class="meta"><a href="/docs">{t("apiDocs")}</a> · <a href="#/components" onClick={() => { shown.value = ""; }}>{t("components")}</a></p>
    </div>
  );
}

function Choice<T extends string>({ name, value, options }: { name: string; value: Signal<T>; options: [T, string][] }): JSX.Element {
  return (
    <fieldset class="choice"><legend>{name}</legend><div class="segmented">
      {options.map(([v, label]) => <button key={v} type="button" aria-pressed={value.value === v} onClick={() => { value.value = v; }}>{label}</button>)}
    </div></fieldset>
  );
}

const keys: [string, Word][] = [
  ["Enter", "kSend"], ["Shift Enter", "kLine"], ["/", "kComposer"], ["Ctrl K", "kPalette"], ["Ctrl Shift O", "kNew"], ["Esc", "kClose"], ["Esc Esc", "kStop"],
  ["[ ]", "kSource"], ["Alt ↑ ↓", "kTurn"], ["i", "kInspect"], ["?", "kHelp"],
];

function Keys(): JSX.Element {
  return <dl class="keys">{keys.map(([k, word]) => <div key={word}><dt><kbd>{k}</kbd></dt><dd>{t(word)}</dd></div>)}</dl>;
}

function KeyDialog(): JSX.Element {
  const [key, setKey] = useState("");
  return (
    <Dialog label={t("keyNeeded")} close={() => {}}>
      <h2>{t("keyNeeded")}</h2><p class="meta">{t("keyHint")}</p>
      <form onSubmit={(e) => { e.preventDefault(); giveKey(key); void refresh(); }}>
        <input class="field" type="password" aria-label={t("key")} placeholder={t("key")} value={key} autofocus onInput={(e) => setKey(e.currentTarget.value)} />
        <div class="row-actions"><Button primary submit disabled={key.trim() === ""}>{t("use")}</Button></div>
      </form>
    </Dialog>
  );
}
