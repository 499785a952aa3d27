// A task's questions to a person: an approval, a clarification, anything else. They wait for days, are found again after a
// reload, and are answered in place. Enter never allows anything.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Interrupt, Item } from "../../tasks";
import { t, when } from "../i18n";
import { words } from "../store/threads";
import { Icon } from "../icons";
import { Button } from "./buttons";
import { pretty } from "./work";

interface AskProps { ask: Interrupt; call: Item | null; since: number; answer: (value: unknown) => Promise<void> }

export function Ask({ ask, call, since, answer }: AskProps): JSX.Element {
  const [text, setText] = useState("");
  const [picked, setPicked] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const options = (ask.options ?? []).map(String);
  const approval = ask.ask === "tool_approval";
  const title = words(ask.value) || (approval ? t("allow") : t("asks"));
  const give = (value: unknown) => {
    setBusy(true);
    answer(value).catch((err: unknown) => {
      setProblem(err instanceof Error ? err.message : String(err));
      setBusy(false);
    });
  };
  const name = "ask-" + ask.id;
  return (
    <section class="ask" aria-label={t("questionWaits")}>
      <header>
        <h3>{title}</h3>
        <span class="pill wait"><span class="dot" aria-hidden="true" />{t("waitingSince", when(since))}</span>
      </header>
      <Details value={ask.value} />
      {approval && call && <pre class="raw" tabIndex={0}>{call.name} {pretty(call.arguments ?? "")}</pre>}
      {approval && options.length > 0
        ? <div class="row-actions">{options.map((o) => <Button key={o} disabled={busy} onClick={() => give(o)}>{o}</Button>)}</div>
        : (
          <form onSubmit={(e) => { e.preventDefault(); const v = text.trim() || picked; if (v !== null && v !== "") give(v); }}>
            {options.map((o) => (
              <label key={o} class={"option" + (picked === o && text === "" ? " picked" : "")}>
                <input type="radio" name={name} checked={picked === o && text === ""} onChange={() => { setPicked(o); setText(""); }} />{o}
              </label>
            ))}
            <input type="text" class="field" value={text} aria-label={t("somethingElse")} placeholder={options.length > 0 ? t("somethingElse") : t("answer") + "…"} onInput={(e) => setText(e.currentTarget.value)} />
            <div class="row-actions"><Button primary submit disabled={busy || (text.trim() === "" && picked === null)}>{t("answer")}</Button></div>
          </form>
        )}
      {problem !== "" && <p class="note fail"><Icon name="warn" />{problem}</p>}
    </section>
  );
}

/** What a question brings beside its words. */
function Details({ value }: { value: unknown }): JSX.Element | null {
  if (typeof value !== "object" || value === null) return null;
  const said = words(value);
  const rest = Object.entries(value).filter(([, v]) => v !== said && v !== null);
  if (rest.length === 0) return null;
  return <dl class="details">{rest.map(([k, v]) => <div key={k}><dt>{k}</dt><dd>{typeof v === "string" ? v : JSON.stringify(v)}</dd></div>)}</dl>;
}

/** An answer that was given, in a line. */
export function Answered({ resume }: { resume: unknown }): JSX.Element {
  const values = typeof resume === "object" && resume !== null && !Array.isArray(resume) ? Object.values(resume) : [resume];
  const text = values.map((v) => (typeof v === "string" ? v : JSON.stringify(v))).join(" · ");
  return <p class="answered"><Icon name="check" /><span class="meta">{t("youAnswered")}</span> <strong>{text}</strong></p>;
}
