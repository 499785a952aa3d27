// What agents remember of a person: summaries and facts, each of which can be removed, and a switch.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "../icons";
import { t, when } from "../i18n";
import { Button, IconButton } from "../parts/buttons";
import { address } from "../route";
import { find } from "../store/threads";
import { send } from "../wire/api";
import { Shown, useRead } from "./shelves";

interface Fact { id: string; content: string; category: string; confidence: number; updatedAt?: string; source?: string; status?: string }
interface Memory { user: Record<string, { summary: string }>; history: Record<string, { summary: string }>; facts: Fact[] | null }

export function MemoryShelf(): JSX.Element {
  const [read, again] = useRead<Memory>("/memory");
  const [status, look] = useRead<{ enabled: boolean; user_enabled: boolean }>("/memory/status");
  const [text, setText] = useState("");
  const [editing, setEditing] = useState("");
  const [problem, setProblem] = useState("");
  const change = (method: string, path: string, body?: unknown) => {
    setProblem("");
    return send(method, path, body).then(() => { again(); look(); return true; }, (err: unknown) => { setProblem(err instanceof Error ? err.message : String(err)); return false; });
  };
  return (
    <>
      {status.state === "read" && <p class="row-actions"><span class={"tag" + (status.value.user_enabled ? " good" : " bad")}>{status.value.user_enabled ? t("isOn") : t("off")}</span>
        <Button small onClick={() => void change("PUT", "/memory/status", { enabled: !status.value.user_enabled })}>{status.value.user_enabled ? t("turnOff") : t("turnOn")}</Button></p>}
      <Shown of={read}>{(m) => {
        const parts = [...Object.entries(m.user), ...Object.entries(m.history)].filter(([, s]) => s.summary !== "");
        const facts = (m.facts ?? []).toReversed();
        return (
          <>
            {parts.length > 0 && <ul class="cards">{parts.map(([name, s]) => <li key={name} class="card"><h3>{name.replace(/([A-Z])/g, " $1").toLowerCase()}</h3><p>{s.summary}</p></li>)}</ul>}
            <form class="row-actions" onSubmit={(e) => { e.preventDefault(); void change("POST", "/memory/facts", { content: text.trim() }).then((well) => { if (well) setText(""); }); }}>
              <span class="grow"><input class="field" value={text} placeholder={t("rememberThis")} aria-label={t("rememberThis")} onInput={(e) => setText(e.currentTarget.value)} /></span><Button submit disabled={text.trim() === ""}>{t("remember")}</Button>
            </form>
            {problem !== "" && <p class="note fail"><Icon name="warn" />{problem}</p>}
            {facts.length === 0 && <p class="meta">{t("nothingYet")}</p>}
            <ul class="facts">{facts.map((f) => (
              <li key={f.id} class="card">{editing === f.id
                ? <Edit text={f.content} cancel={() => setEditing("")} save={(content) => void change("PATCH", "/memory/facts/" + encodeURIComponent(f.id), { content }).then((well) => { if (well) setEditing(""); })} />
                : <p class="fact"><span class="grow">{f.content}</span>
                  <IconButton icon="pencil" label={`${t("change")}: ${f.content.slice(0, 60)}`} onClick={() => setEditing(f.id)} />
                  <IconButton icon="trash" label={`${t("forget")}: ${f.content.slice(0, 60)}`} onClick={() => void change("DELETE", "/memory/facts/" + encodeURIComponent(f.id))} /></p>}
                <p class="tags"><span class="tag">{f.category}</span>{f.updatedAt && <span class="meta">{when(Date.parse(f.updatedAt))}</span>}{f.source && find(f.source) && <a class="meta" href={address({ name: "thread", id: f.source })}>{find(f.source)!.title || t("untitled")}</a>}</p></li>
            ))}</ul>
          </>
        );
      }}</Shown>
    </>
  );
}

function Edit({ text, save, cancel }: { text: string; save: (text: string) => void; cancel: () => void }): JSX.Element {
  const [now, setNow] = useState(text);
  return (
    <form class="row-actions" onSubmit={(e) => { e.preventDefault(); save(now.trim()); }} onKeyDown={(e) => { if (e.key === "Escape") { e.stopPropagation(); cancel(); } }}>
      <span class="grow"><input class="field" value={now} aria-label={t("change")} ref={(el) => { if (el && document.activeElement !== el && !el.dataset["met"]) { el.dataset["met"] = "1"; el.focus(); } }} onInput={(e) => setNow(e.currentTarget.value)} /></span>
      <Button small primary submit disabled={now.trim() === "" || now === text}>{t("save")}</Button><Button small plain onClick={cancel}>{t("cancel")}</Button>
    </form>
  );
}
