// A task's questions to a person: an approval, a clarification, the review of a plan, anything else. They wait for days, are found
// again after a reload, and are answered in place. Enter never allows anything.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { Interrupt, Item } from "../../tasks";
import { t, when } from "../i18n";
import { words } from "../store/threads";
import { Icon } from "../icons";
import { Button } from "./buttons";
import { Approval } from "./approval";
import { fieldsIn, Form } from "./form";
import { planIn, PlanReview } from "./plan";

interface AskProps { ask: Interrupt; call: Item | null; since: number; answer: (value: unknown) => Promise<void> }
export type Give = (value: unknown) => void;

export function Ask({ ask, call, since, answer }: AskProps): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const approval = ask.ask === "tool_approval" && (ask.options ?? []).length > 0;
  const give: Give = (value) => {
    setBusy(true);
    setProblem("");
    answer(value).catch((err: unknown) => {
      setProblem(err instanceof Error ? err.message : String(err));
      setBusy(false);
    });
  };
  const refused = member(ask.value, "problem"); // of the answer before
  const plan = planIn(ask.value);
  let body: ComponentChildren;
  if (approval) body = <Approval ask={ask} call={call} busy={busy} give={give} />;
  else if (plan) body = <PlanReview ask={ask} plan={plan} busy={busy} give={give} />;
  else if (fieldsIn(ask.value).length > 0) body = <Form ask={ask} busy={busy} give={give} />;
  else body = <Clarify ask={ask} busy={busy} give={give} />;
  return (
    <section class="ask" aria-label={t("questionWaits")}>
      <header>
        <h3>{words(ask.value) || (ask.ask === "tool_approval" ? t("allow") : t("asks"))}</h3>
        <span class="pill wait"><span class="dot" aria-hidden="true" />{t("waitingSince", when(since))}</span>
      </header>
      {refused !== "" && <p class="note fail"><Icon name="warn" />{refused}</p>}
      {body}
      {problem !== "" && <p class="note fail"><Icon name="warn" />{problem}</p>}
    </section>
  );
}

export function member(value: unknown, key: string): string {
  const v = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
  return typeof v === "string" ? v : "";
}

/** The answers that are offered: what is shown, and what is sent. */
function choices(ask: Interrupt): { label: string; value: string }[] {
  const own = typeof ask.value === "object" && ask.value !== null ? (ask.value as Record<string, unknown>)["options"] : undefined;
  const list: unknown[] = Array.isArray(own) && own.length > 0 ? own : (ask.options ?? []);
  return list.map((o) => {
    const label = member(o, "label") || member(o, "value");
    return label === "" ? { label: String(o), value: String(o) } : { label, value: member(o, "value") || label };
  });
}

/** One question with choices, free text, or both. */
function Clarify({ ask, busy, give }: { ask: Interrupt; busy: boolean; give: Give }): JSX.Element {
  const [text, setText] = useState("");
  const [picked, setPicked] = useState<string | null>(null);
  const options = choices(ask);
  const context = member(ask.value, "context");
  const decides = member(ask.value, "kind") === "human_input_request"; // such a question takes no answer for an answer
  return (
    <>
      {context !== "" && <p class="ask-context">{context}</p>}
      <Details value={ask.value} />
      <form onSubmit={(e) => { e.preventDefault(); const v = text.trim() || picked; if (v !== null && v !== "") give(v); }}>
        {options.map((o) => (
          <label key={o.value} class={"option" + (picked === o.value && text === "" ? " picked" : "")}>
            <input type="radio" name={"ask-" + ask.id} checked={picked === o.value && text === ""} onChange={() => { setPicked(o.value); setText(""); }} />{o.label}
          </label>
        ))}
        <textarea class="field" rows={options.length > 0 ? 1 : 2} value={text} aria-label={options.length > 0 ? t("somethingElse") : t("answer")} placeholder={options.length > 0 ? t("somethingElse") : t("answer") + "…"}
          onInput={(e) => setText(e.currentTarget.value)} onKeyDown={(e) => { if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); e.currentTarget.form?.requestSubmit(); } }} />
        <div class="row-actions">
          <Button primary submit disabled={busy || (text.trim() === "" && picked === null)}>{t("answer")}</Button>
          {decides && <Button plain disabled={busy} onClick={() => give("")}>{t("letItDecide")}</Button>}
        </div>
      </form>
    </>
  );
}

// Members that speak to programs, or are shown elsewhere.
const hidden = new Set(["kind", "version", "source", "request_id", "tool_call_id", "clarification_type", "input_mode", "options", "fields", "context", "problem", "plan", "action_requests", "review_configs"]);

/** What a question brings beside its words. */
export function Details({ value, without = [] }: { value: unknown; without?: string[] }): JSX.Element | null {
  if (typeof value !== "object" || value === null) return null;
  const said = words(value);
  const rest = Object.entries(value).filter(([k, v]) => v !== said && v !== null && v !== "" && !hidden.has(k) && !without.includes(k));
  if (rest.length === 0) return null;
  return <dl class="details">{rest.map(([k, v]) => <div key={k}><dt>{k}</dt><dd>{typeof v === "string" ? v : JSON.stringify(v)}</dd></div>)}</dl>;
}

/** An answer that was given, in a line. */
export function Answered({ resume }: { resume: unknown }): JSX.Element {
  const values = typeof resume === "object" && resume !== null && !Array.isArray(resume) ? Object.values(resume) : [resume];
  return <p class="answered"><Icon name="check" /><span class="meta">{t("youAnswered")}</span> <strong>{values.map(spoken).join(" · ")}</strong></p>;
}

function spoken(v: unknown): string {
  if (typeof v === "string") return v === "" ? t("letItDecide") : v === "approve" ? t("approveOnce") : v === "approve_for_thread" ? t("approveThread") : v === "reject" ? t("reject") : v === "accepted" ? t("planAccepted") : v;
  if (typeof v !== "object" || v === null) return String(v);
  const plan = planIn(v);
  if (plan) return t("planChanged", plan.steps.length);
  const decision = member(v, "decision");
  if (decision === "edit") return t("edited");
  if (decision === "reject") return t("reject") + (member(v, "reason") ? ": " + member(v, "reason") : "");
  if (member(v, "feedback") !== "") return member(v, "feedback");
  return Object.entries(v).map(([k, x]) => `${k}: ${Array.isArray(x) ? x.join(", ") : typeof x === "object" ? JSON.stringify(x) : String(x)}`).join(" · ");
}
