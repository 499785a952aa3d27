// Plans: a list that lives while a task works, and one that a person may change before it does.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Interrupt, Plan } from "../../tasks";
import { Icon, Spinner } from "../icons";
import { t, type Word } from "../i18n";
import { keep } from "../prefs";
import type { Give } from "./asks";
import { Button, IconButton } from "./buttons";

const states: Record<string, Word> = { pending: "stepPending", running: "working", done: "done", failed: "failed", skipped: "stepSkipped" };

/** A plan as it stands: each step with its mark, and with the state in words for those who do not see it. */
export function PlanList({ plan, live }: { plan: Plan; live: boolean }): JSX.Element | null {
  const [chosen, choose] = useState<boolean | null>(null);
  const done = plan.steps.filter((s) => s.status === "done" || s.status === "skipped").length;
  const open = chosen ?? (live || done < plan.steps.length);
  if (plan.steps.length === 0) return null;
  return (
    <section class={"plan" + (open ? " open" : "")}>
      <button type="button" class="work-head" aria-expanded={open} onClick={() => choose(!open)}>
        <Icon name="thought" /><strong class="grow">{plan.title || t("plan")}</strong><span class="meta">{t("branch", done, plan.steps.length)}</span><Icon name={open ? "chevronUp" : "chevronDown"} />
      </button>
      {open && <ol class="steps">{plan.steps.map((s, i) => {
        const detail = typeof s["detail"] === "string" ? s["detail"] : "";
        return (
          <li key={s.id} class={"step " + (s.status in states ? s.status : "pending")}>
            <Mark status={s.status} live={live} /><span class="num">{i + 1}</span>
            <span class="grow"><span class="step-title">{s.title}</span><span class="sr"> ({t(states[s.status] ?? "stepPending")})</span>{detail !== "" && detail !== s.title && <span class="meta">{detail}</span>}</span>
            {s.status === "failed" && <span class="meta fail-text">{t("failed")}</span>}
          </li>
        );
      })}</ol>}
    </section>
  );
}

function Mark({ status, live }: { status: string; live: boolean }): JSX.Element {
  if (status === "running" && live) return <Spinner />;
  return <Icon name={status === "done" ? "check" : status === "failed" ? "warn" : status === "skipped" ? "skip" : "ring"} />;
}

type Step = Record<string, unknown>;
interface Proposed { title: string; steps: Step[]; whole: Record<string, unknown> }

/** The plan that a question brings, or that an answer sent. */
export function planIn(value: unknown): Proposed | null {
  if (typeof value !== "object" || value === null) return null;
  const o = value as Record<string, unknown>;
  const whole = typeof o["plan"] === "object" && o["plan"] !== null ? o["plan"] as Record<string, unknown> : o;
  const steps = whole["steps"];
  if (!Array.isArray(steps) || !steps.every((s) => typeof s === "object" && s !== null && !Array.isArray(s))) return null;
  return { title: typeof whole["title"] === "string" ? whole["title"] : "", steps: steps as Step[], whole };
}

function word(s: Step, key: string): string { return typeof s[key] === "string" ? s[key] : ""; }

/** Which member of a step has its text. */
function about(steps: Step[]): string { return steps.some((s) => "detail" in s) ? "detail" : "description"; }

/** The review of a plan: accept it, change it, or say in words what should be different. Nothing runs before. */
export function PlanReview({ ask, plan, busy, give }: { ask: Interrupt; plan: Proposed; busy: boolean; give: Give }): JSX.Element {
  const key = "plan." + ask.id;
  const [steps, setSteps] = useState<Step[]>(() => kept(key) ?? plan.steps);
  const [removed, setRemoved] = useState<{ step: Step; at: number } | null>(null);
  const [text, setText] = useState("");
  const change = (list: Step[]) => { setSteps(list); keep.set(key, JSON.stringify(list)); };
  const changed = JSON.stringify(steps) !== JSON.stringify(plan.steps);
  const full = steps.filter((s) => word(s, "title").trim() !== "");
  const detail = about(plan.steps);
  const done: Give = (v) => { keep.set(key, ""); give(v); };
  const accept = () => { if (full.length > 0 && !busy) done(changed ? { plan: { ...plan.whole, steps: full } } : (ask.options?.[0] ?? "accepted")); };
  const move = (i: number, by: number) => {
    const to = i + by;
    if (to < 0 || to >= steps.length) return;
    const list = [...steps];
    [list[i], list[to]] = [list[to]!, list[i]!];
    change(list);
  };
  const set = (i: number, k: string, v: string) => change(steps.map((s, j) => (j === i ? { ...s, [k]: v } : s)));
  const add = () => {
    const like = steps.at(-1) ?? plan.steps.at(-1) ?? {};
    const fresh: Step = { title: "", [detail]: "" };
    for (const k of ["step_type", "need_search", "kind"]) if (k in like) fresh[k] = like[k];
    change([...steps, fresh]);
  };
  return (
    <form class="review" onSubmit={(e) => e.preventDefault()} onKeyDown={(e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); accept(); } }}>
      {plan.title !== "" && <p class="review-title">{plan.title}</p>}
      {typeof plan.whole["thought"] === "string" && plan.whole["thought"] !== "" && <p class="meta">{plan.whole["thought"]}</p>}
      <ol class="review-steps">
        {steps.map((s, i) => (
          <li key={i} onKeyDown={(e) => { if (e.altKey && (e.key === "ArrowUp" || e.key === "ArrowDown")) { e.preventDefault(); e.stopPropagation(); move(i, e.key === "ArrowUp" ? -1 : 1); } }}>
            <span class="num">{i + 1}</span>
            <span class="grow">
              <input type="text" class="field step-input" value={word(s, "title")} placeholder={t("stepTitle")} aria-label={t("stepN", i + 1)} onInput={(e) => set(i, "title", e.currentTarget.value)} />
              <textarea class="field step-about" rows={1} value={word(s, detail)} placeholder={t("stepAbout")} aria-label={t("stepAboutN", i + 1)} onInput={(e) => set(i, detail, e.currentTarget.value)} />
            </span>
            <span class="step-tools">
              <IconButton icon="chevronUp" label={t("moveUp", i + 1)} disabled={i === 0} onClick={() => move(i, -1)} />
              <IconButton icon="chevronDown" label={t("moveDown", i + 1)} disabled={i === steps.length - 1} onClick={() => move(i, 1)} />
              <IconButton icon="trash" label={t("removeStep", i + 1)} onClick={() => { setRemoved({ step: s, at: i }); change(steps.filter((_, j) => j !== i)); }} />
            </span>
          </li>
        ))}
      </ol>
      {removed && <p class="note"><span class="grow">{t("removed", word(removed.step, "title"))}</span><button type="button" class="link" onClick={() => { change(steps.toSpliced(removed.at, 0, removed.step)); setRemoved(null); }}>{t("putBack")}</button></p>}
      <div class="row-actions"><Button small icon="plus" onClick={add}>{t("addStep")}</Button>{changed && <Button small plain onClick={() => { change(plan.steps); setRemoved(null); }}>{t("asProposed")}</Button>}</div>
      <div class="review-words"><textarea class="field" rows={1} value={text} aria-label={t("planWords")} placeholder={t("planWords")} onInput={(e) => setText(e.currentTarget.value)} />
        <Button disabled={busy || text.trim() === ""} onClick={() => done({ feedback: text.trim() })}>{t("anotherPlan")}</Button></div>
      <div class="row-actions review-end"><Button primary disabled={busy || full.length === 0} onClick={accept}>{changed ? t("acceptChanged") : t("acceptPlan")}</Button><span class="meta">{t("nothingRuns")}</span></div>
    </form>
  );
}

function kept(key: string): Step[] | null {
  try {
    const v: unknown = JSON.parse(keep.get(key) ?? "null");
    return Array.isArray(v) ? v as Step[] : null;
  } catch { return null; }
}
