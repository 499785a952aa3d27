// Plans: a list that lives while a task works, and one that a person may change before it does.
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Interrupt, Plan, PlanStep, TaskObject } from "../../tasks";
import { Icon, Spinner } from "../icons";
import { t, type Word } from "../i18n";
import { keep } from "../prefs";
import { foundBy, workerOf } from "../store/report";
import type { Turn } from "../store/turn";
import type { Give } from "./asks";
import { Button, IconButton } from "./buttons";
import { Output } from "./work";

const states: Record<string, Word> = { pending: "stepPending", running: "working", done: "done", failed: "failed", skipped: "stepSkipped" };

/** A plan as it stands: each step with its mark, and with the state in words for those who do not see it. */
export function PlanList({ plan, live, task, turn = null, always = false }: { plan: Plan; live: boolean; task?: TaskObject; turn?: Turn | null; always?: boolean }): JSX.Element | null {
  const [chosen, choose] = useState<boolean | null>(null);
  const done = plan.steps.filter((s) => s.status === "done" || s.status === "skipped").length;
  const open = chosen ?? (always || live || done < plan.steps.length);
  if (plan.steps.length === 0) return null;
  return (
    <section class={"plan" + (open ? " open" : "")}>
      <button type="button" class="work-head" aria-expanded={open} onClick={() => choose(!open)}>
        <Icon name="thought" /><strong class="grow">{plan.title || t("plan")}</strong><span class="meta">{t("branch", done, plan.steps.length)}</span><Icon name={open ? "chevronUp" : "chevronDown"} />
      </button>
      {open && <ol class="steps">{plan.steps.map((s, i) => <StepRow key={s.id} step={s} n={i + 1} live={live} worker={task && workerOf(task, s)} turn={turn} />)}</ol>}
    </section>
  );
}

/** A step, with how many sources were found for it; what was done for it opens below. */
function StepRow({ step: s, n, live, worker, turn }: { step: PlanStep; n: number; live: boolean; worker: TaskObject | undefined; turn: Turn | null }): JSX.Element {
  const [open, setOpen] = useState(false);
  const detail = typeof s["detail"] === "string" ? s["detail"] : "";
  const failure = s.status === "failed" && typeof s["result"] === "string" ? s["result"] : "";
  const found = foundBy(worker);
  const inside = <>
    <Mark status={s.status} live={live} /><span class="num">{n}</span>
    <span class="grow"><span class="step-title">{s.title}</span><span class="sr"> ({t(states[s.status] ?? "stepPending")})</span>{detail !== "" && detail !== s.title && <span class="meta">{detail}</span>}{failure !== "" && <span class="meta fail-text">{failure}</span>}</span>
    {found > 0 && <span class="meta">{found === 1 ? t("oneSource") : t("nSources", found)}</span>}
    {s.status === "failed" && <span class="meta fail-text">{t("failed")}</span>}
  </>;
  const cls = s.status in states ? s.status : "pending";
  if (!worker || worker.output.length === 0) return <li class={"step " + cls}>{inside}</li>;
  return (
    <li class={"step-with " + (open ? "open" : "")}>
      <button type="button" class={"step " + cls} aria-expanded={open} onClick={() => setOpen(!open)}>{inside}<Icon name={open ? "chevronUp" : "chevronDown"} size={14} /></button>
      {open && <div class="agent-body"><Output items={worker.output} place={{ turn, live: live && s.status === "running", depth: 1 }} /></div>}
    </li>
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

/** The member of a step in which a remark of the reader waits; the server never sees it. */
const remark = "page_remark";

/** Which member of a step has its text. */
function about(steps: Step[]): string { return steps.some((s) => "detail" in s) ? "detail" : "description"; }

/** The review of a plan: accept it, change it, or say in words what should be different. Nothing runs before. */
export function PlanReview({ ask, plan, busy, give }: { ask: Interrupt; plan: Proposed; busy: boolean; give: Give }): JSX.Element {
  const key = "plan." + ask.id;
  const [steps, setSteps] = useState<Step[]>(() => kept(key) ?? plan.steps);
  const [removed, setRemoved] = useState<{ step: Step; at: number }[]>([]);
  const gone = removed.at(-1);
  const [text, setText] = useState("");
  const change = (list: Step[]) => { setSteps(list); keep.set(key, JSON.stringify(list)); };
  const changed = JSON.stringify(steps) !== JSON.stringify(plan.steps);
  const full = steps.filter((s) => word(s, "title").trim() !== "");
  const detail = about(plan.steps);
  const done: Give = (v) => { keep.set(key, ""); give(v); };
  // A remark on a step goes with the step where the plan is accepted, and to the planner where it plans anew.
  const remarks = full.flatMap((s, i) => (word(s, remark).trim() === "" ? [] : [`${i + 1}. ${word(s, "title")}: ${word(s, remark).trim()}`]));
  const settled = full.map(({ [remark]: _, ...s }, i) => {
    const said = word(full[i]!, remark).trim();
    return said === "" ? s : { ...s, [detail]: [word(s, detail), said].filter(Boolean).join("\n") };
  });
  const accept = () => { if (full.length > 0 && !busy) done(changed ? { plan: { ...plan.whole, steps: settled } } : (ask.options?.[0] ?? "accepted")); };
  const anew = [...remarks, text.trim()].filter(Boolean).join("\n");
  const [dragged, setDragged] = useState<number | null>(null);
  const drop = (to: number) => {
    if (dragged === null || dragged === to) return;
    const list = steps.toSpliced(dragged, 1);
    list.splice(to, 0, steps[dragged]!);
    setDragged(to);
    change(list);
  };
  // The focus goes with a step that moves: the second press of a key moves the same step on, and not the other one back.
  const form = useRef<HTMLFormElement>(null);
  const goes = useRef<{ to: number; control: number } | null>(null);
  const controls = (i: number) => [...(form.current?.querySelectorAll<HTMLLIElement>(".review-steps > li")[i]?.querySelectorAll<HTMLElement>("textarea:not(.step-remark *), .step-tools button") ?? [])];
  useLayoutEffect(() => {
    const g = goes.current;
    goes.current = null;
    if (!g) return;
    const list = controls(g.to);
    const same = list[g.control];
    (same instanceof HTMLButtonElement && same.disabled ? list[0] : same)?.focus();
  });
  const move = (i: number, by: number) => {
    const to = i + by;
    if (to < 0 || to >= steps.length) return;
    const control = controls(i).indexOf(document.activeElement as HTMLElement);
    if (control >= 0) goes.current = { to, control };
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
    <form ref={form} class="review" onSubmit={(e) => e.preventDefault()} onKeyDown={(e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); accept(); } }}>
      {plan.title !== "" && <p class="review-title">{plan.title}</p>}
      {typeof plan.whole["thought"] === "string" && plan.whole["thought"] !== "" && <p class="meta">{plan.whole["thought"]}</p>}
      <ol class="review-steps">
        {steps.map((s, i) => (
          <li key={i} class={dragged === i ? "dragged" : ""} onDragOver={(e) => { if (dragged !== null) { e.preventDefault(); drop(i); } }} onDrop={(e) => { e.preventDefault(); setDragged(null); }} onKeyDown={(e) => { if (e.altKey && (e.key === "ArrowUp" || e.key === "ArrowDown")) { e.preventDefault(); e.stopPropagation(); move(i, e.key === "ArrowUp" ? -1 : 1); } }}>
            <span class="grip" draggable aria-hidden="true" title={t("dragStep")} onDragStart={(e) => { setDragged(i); if (e.dataTransfer) { e.dataTransfer.effectAllowed = "move"; e.dataTransfer.setData("text/plain", String(i)); } }} onDragEnd={() => setDragged(null)}><Icon name="grip" size={14} /></span>
            <span class="num">{i + 1}</span>
            <span class="grow">
              <textarea class="field step-input" rows={1} value={word(s, "title")} placeholder={t("stepTitle")} aria-label={t("stepN", i + 1)} onKeyDown={(e) => { if (e.key === "Enter" && !e.isComposing && !e.ctrlKey && !e.metaKey) e.preventDefault(); }} onInput={(e) => set(i, "title", e.currentTarget.value.replace(/\n/g, " "))} />
              <textarea class="field step-about" rows={1} value={word(s, detail)} placeholder={t("stepAbout")} aria-label={t("stepAboutN", i + 1)} onInput={(e) => set(i, detail, e.currentTarget.value)} />
              {remark in s && <span class="step-remark"><Icon name="comment" size={14} /><textarea class="field step-about" rows={1} value={word(s, remark)} placeholder={t("commentHint")} aria-label={t("commentN", i + 1)} ref={(el) => { if (el && word(s, remark) === "" && !el.dataset["seen"]) { el.dataset["seen"] = "1"; el.focus(); } }} onInput={(e) => set(i, remark, e.currentTarget.value)} />
                <IconButton icon="close" label={t("removeComment", i + 1)} onClick={() => change(steps.map((x, j) => { if (j !== i) return x; const { [remark]: _, ...rest } = x; return rest; }))} /></span>}
            </span>
            <span class="step-tools">
              <IconButton icon="comment" label={t("commentStep", i + 1)} disabled={remark in s} onClick={() => set(i, remark, "")} />
              <IconButton icon="chevronUp" label={t("moveUp", i + 1)} disabled={i === 0} onClick={() => move(i, -1)} />
              <IconButton icon="chevronDown" label={t("moveDown", i + 1)} disabled={i === steps.length - 1} onClick={() => move(i, 1)} />
              <IconButton icon="trash" label={t("removeStep", i + 1)} onClick={() => { setRemoved([...removed, { step: s, at: i }]); change(steps.filter((_, j) => j !== i)); }} />
            </span>
          </li>
        ))}
      </ol>
      {gone && <p class="note"><span class="grow">{t("removed", word(gone.step, "title"))}</span><button type="button" class="link" onClick={() => { change(steps.toSpliced(gone.at, 0, gone.step)); setRemoved(removed.slice(0, -1)); }}>{t("putBack")}</button></p>}
      <div class="row-actions"><Button small icon="plus" onClick={add}>{t("addStep")}</Button>{changed && <Button small plain onClick={() => { change(plan.steps); setRemoved([]); }}>{t("asProposed")}</Button>}</div>
      <div class="review-words"><textarea class="field" rows={1} value={text} aria-label={t("planWords")} placeholder={t("planWords")} onInput={(e) => setText(e.currentTarget.value)} />
        <Button disabled={busy || anew === ""} onClick={() => done({ feedback: anew })}>{t("anotherPlan")}</Button></div>
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
