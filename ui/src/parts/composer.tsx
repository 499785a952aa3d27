// Where a question is written. It is an island: typing waits for nothing, and what was typed is kept until it is sent.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "../icons";
import { t, type Word } from "../i18n";
import { keep } from "../prefs";
import { assistants, choiceOf, keepChoice, modelOf, plans, usable } from "../store/choices";
import { attach, limits, type Attached } from "../store/files";
import { IconButton } from "./buttons";
import { Attachments } from "./files";

interface ComposerProps { draft: string; placeholder: string; send: (text: string, files: Attached[]) => void; stop: (() => void) | null; focus: boolean }

export function Composer({ draft, placeholder, send, stop, focus }: ComposerProps): JSX.Element {
  const [text, setText] = useState(() => keep.get("draft." + draft) ?? "");
  const [files, setFiles] = useState<Attached[]>([]);
  const [over, setOver] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  // At once, and not after the first picture: the first letters belong here, and who has gone elsewhere by then must not be called back.
  // A phone's keyboard must not jump up by itself.
  useLayoutEffect(() => { if (focus && !matchMedia("(pointer: coarse)").matches) area.current?.focus({ preventScroll: true }); }, []);
  const change = (value: string) => { setText(value); keep.set("draft." + draft, value); };
  const add = (list: FileList | null | undefined) => {
    const some = [...(list ?? [])];
    if (some.length > 0 && limits.peek() !== null) setFiles((was) => [...was, ...attach(some, was)]);
  };
  // Files may be dropped anywhere: beside the field a browser would leave the page and show them.
  useEffect(() => {
    const carries = (e: DragEvent) => e.dataTransfer?.types.includes("Files") === true;
    const hover = (e: DragEvent) => { if (carries(e)) { e.preventDefault(); setOver(limits.peek() !== null); } };
    const leave = (e: DragEvent) => { if (e.relatedTarget === null) setOver(false); };
    const drop = (e: DragEvent) => { if (carries(e)) { e.preventDefault(); add(e.dataTransfer?.files); } setOver(false); };
    addEventListener("dragover", hover);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => { removeEventListener("dragover", hover); removeEventListener("dragleave", leave); removeEventListener("drop", drop); };
  }, []);
  const bad = files.some((f) => f.problem !== "");
  const ready = text.trim() !== "" && !bad;
  const submit = () => {
    if (!ready) return;
    const value = text.trim();
    change("");
    setFiles([]);
    send(value, files);
  };
  return (
    <form class={"composer" + (over ? " over" : "")} aria-label={t("composer")} onSubmit={(e) => { e.preventDefault(); submit(); }}>
      <Attachments list={files} remove={(a) => setFiles((was) => was.filter((f) => f !== a))} />
      <textarea ref={area} id="composer" rows={1} value={text} placeholder={over ? t("dropHere") : placeholder} aria-label={placeholder} onInput={(e) => change(e.currentTarget.value)}
        onPaste={(e) => { if (e.clipboardData?.files.length) { e.preventDefault(); add(e.clipboardData.files); } }}
        onKeyDown={(e) => {
          if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); submit(); }
        }} />
      <div class="composer-row">
        {limits.value && <><input ref={picker} type="file" multiple class="sr" tabIndex={-1} aria-label={t("addFiles")} onChange={(e) => { add(e.currentTarget.files); e.currentTarget.value = ""; area.current?.focus(); }} />
        <IconButton icon="clip" label={t("addFiles")} onClick={() => picker.current?.click()} /></>}
        <Choices thread={draft} />
        {stop && text.trim() === ""
          ? <IconButton icon="stop" label={t("stop")} keys="Esc Esc" class="send stop" onClick={stop} />
          : <button type="submit" class={"icon-button send" + (ready ? " ready" : "")} aria-label={t("send")} title={bad ? t("removeBad") : t("send")} disabled={!ready}><Icon name="up" /></button>}
      </div>
    </form>
  );
}

/** Assistants that are ways of working, and have a button of their own. */
const modes: [string, IconName, Word, Word][] = [["research", "research", "research", "researchHint"], ["team", "team", "team", "teamHint"]];

/** Who answers, and how. Where there is nothing to choose nothing is shown. */
function Choices({ thread }: { thread: string }): JSX.Element {
  const choice = choiceOf(thread);
  const model = modelOf(choice);
  const has = (id: string) => assistants.value.some((a) => a.id === id);
  const others = assistants.value.filter((a) => !modes.some(([id]) => id === a.id));
  const set = (more: Partial<typeof choice>) => keepChoice(thread, { ...choice, ...more });
  return (
    <>
      {modes.map(([id, icon, word, hint]) => has(id) && (
        <button key={id} type="button" class="pick toggle" aria-pressed={choice.assistant === id} title={t(hint)} onClick={() => set({ assistant: choice.assistant === id ? "" : id })}><Icon name={icon} size={14} />{t(word)}</button>
      ))}
      {others.length > 1 && (
        <label class="pick"><span class="sr">{t("assistant")}</span>
          <select value={others.some((a) => a.id === choice.assistant) ? choice.assistant : "agent"} title={t("assistant")} onChange={(e) => set({ assistant: e.currentTarget.value === "agent" ? "" : e.currentTarget.value })}>
            {others.map((a) => <option key={a.id} value={a.id}>{a.name}</option>)}
          </select></label>
      )}
      <span class="grow" />
      {usable.value.length > 1 && (
        <label class="pick"><span class="sr">{t("model")}</span>
          <select value={model?.name ?? ""} title={t("model")} onChange={(e) => set({ model: e.currentTarget.value })}>
            {usable.value.map((m) => <option key={m.name} value={m.name}>{m.name}</option>)}
          </select></label>
      )}
      {model?.thinking && <button type="button" class="pick toggle" aria-pressed={choice.thinking} title={t("thinkingHint")} onClick={() => set({ thinking: !choice.thinking })}><Icon name="thought" size={14} />{t("thinkingWord")}</button>}
      {plans(choice) && <button type="button" class="pick toggle" aria-pressed={choice.plan} title={t("planHint")} onClick={() => set({ plan: !choice.plan })}><Icon name="check" size={14} />{t("plan")}</button>}
      {plans(choice) && <button type="button" class="pick toggle" aria-pressed={choice.subs} title={t("subsHint")} onClick={() => set({ subs: !choice.subs })}><Icon name="agent" size={14} />{t("subs")}</button>}
      {choice.agent !== "" && choice.assistant === "" && <button type="button" class="pick toggle" aria-pressed="true" title={t("removeAgent")} onClick={() => set({ agent: "" })}>{choice.agent}<Icon name="close" size={14} /></button>}
    </>
  );
}
