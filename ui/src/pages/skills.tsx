// Skills: what each is for, its text, and a switch. Those of one's own can be installed, written and removed.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { Icon } from "../icons";
import { t } from "../i18n";
import { Markdown } from "../markdown/markdown";
import { Button, IconButton } from "../parts/buttons";
import { get, headers, refusal, send } from "../wire/api";
import { Shown, useRead } from "./shelves";

interface Skill { name: string; description: string; license: string | null; category: string; enabled: boolean; editable: boolean; allowed_tools?: string[]; required_secrets?: string[]; problem?: string }
type Open = { name: string; text: string; editing: boolean };

export function SkillsShelf(): JSX.Element {
  const [read, again] = useRead<{ skills: Skill[] }>("/skills");
  const [open, setOpen] = useState<Open | null>(null);
  const [problem, setProblem] = useState("");
  const fail = (err: unknown) => setProblem(err instanceof Error ? err.message : String(err));
  const change = (what: Promise<unknown>) => { setProblem(""); return what.then(again, fail); };
  const path = (name: string) => "/skills/" + encodeURIComponent(name);
  const own = (name: string) => "/skills/custom/" + encodeURIComponent(name);
  const show = (name: string, editing: boolean) => (open?.name === name && open.editing === editing ? setOpen(null)
    : void get<{ content: string }>(path(name)).then((s) => setOpen({ name, text: s.content, editing }), fail));
  return (
    <>
      <Install done={again} fail={fail} begin={() => setProblem("")} />
      {problem !== "" && <p class="note fail" role="alert"><Icon name="warn" />{problem}</p>}
      <Shown of={read}>{({ skills }) => skills.length === 0 ? <p class="meta">{t("nothingYet")}</p> : (
        <ul class="facts">{skills.map((s) => (
          <li key={s.name} class={"card" + (s.enabled ? "" : " off")} data-skill={s.name}>
            <h3><span class="grow">{s.name}</span><span class="tag">{s.editable ? t("own") : t("builtIn")}</span><span class={"tag" + (s.enabled ? " good" : "")}>{s.enabled ? t("isOn") : t("off")}</span></h3>
            <p>{s.description}</p>{s.problem && <p class="fail-text">{s.problem}</p>}
            {(s.allowed_tools ?? s.required_secrets) && <p class="tags">{s.allowed_tools?.map((x) => <span class="tag" key={x}>{x}</span>)}{s.required_secrets?.map((x) => <span class="tag warm" key={x}>{x}</span>)}</p>}
            <p class="row-actions"><Button small onClick={() => show(s.name, false)}>{open?.name === s.name && !open.editing ? t("close") : t("openReport")}</Button>
              {!s.problem && <Button small plain onClick={() => void change(send("PUT", path(s.name), { enabled: !s.enabled }))}>{s.enabled ? t("turnOff") : t("turnOn")}</Button>}
              {s.editable && <Button small plain onClick={() => show(s.name, true)}>{t("change")}</Button>}
              {s.editable && <IconButton icon="trash" label={`${t("delete")}: ${s.name}`} onClick={() => void change(send("DELETE", own(s.name)))} />}</p>
            {open?.name === s.name && (open.editing
              ? <Editor text={open.text} cancel={() => setOpen(null)} save={(content) => send("PUT", own(s.name), { content }).then(() => { setOpen(null); setProblem(""); again(); }, fail)} />
              : <div class="skill-text"><Markdown text={open.text.replace(/^---\n[\s\S]*?\n---\n/, "")} live={false} /></div>)}
          </li>
        ))}</ul>
      )}</Shown>
    </>
  );
}

/** An archive with a SKILL.md in it; the server looks at the whole of it before it keeps anything. */
function Install({ done, fail, begin }: { done: () => void; fail: (err: unknown) => void; begin: () => void }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const [busy, setBusy] = useState(false);
  const install = async (file: File) => {
    const form = new FormData();
    form.append("file", file, file.name);
    const answer = await fetch("/skills/install", { method: "POST", headers: headers({ Accept: "application/json" }), body: form });
    if (!answer.ok) throw await refusal(answer);
  };
  return (
    <p class="row-actions"><Button icon="plus" disabled={busy} onClick={() => input.current?.click()}>{t("installSkill")}</Button><span class="meta">{t("installHint")}</span>
      <input ref={input} type="file" hidden accept=".skill,.zip" aria-label={t("installSkill")} onChange={(e) => {
        const file = e.currentTarget.files?.[0];
        e.currentTarget.value = "";
        if (!file) return;
        begin();
        setBusy(true);
        void install(file).then(done, fail).finally(() => setBusy(false));
      }} /></p>
  );
}

function Editor({ text, save, cancel }: { text: string; save: (text: string) => Promise<void>; cancel: () => void }): JSX.Element {
  const [now, setNow] = useState(text);
  return (
    <form class="skill-edit" onSubmit={(e) => { e.preventDefault(); void save(now); }}>
      <textarea class="field mono" rows={14} value={now} aria-label="SKILL.md" spellcheck={false} onInput={(e) => setNow(e.currentTarget.value)} />
      <span class="row-actions"><Button small primary submit disabled={now === text}>{t("save")}</Button><Button small plain onClick={cancel}>{t("cancel")}</Button></span>
    </form>
  );
}
