// A team at work: the phases in a line, the experts side by side, and below them what the lead makes of it. It is drawn from the
// task's object alone: its team, its plan, and the children whose ids are "<phase>.<expert>".
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Plan, TaskObject, Team } from "../../tasks";
import { useNow } from "../clock";
import { Icon, Spinner } from "../icons";
import { span, t } from "../i18n";
import { offers } from "../store/routes";
import { newID, send } from "../wire/api";
import { foundBy } from "../store/report";
import type { Turn } from "../store/turn";
import { IconButton } from "./buttons";
import { Output } from "./work";

interface Part { phase: string; title: string; child: TaskObject }

/** What an expert does, phase by phase, in the order of the plan. */
export function partsOf(o: TaskObject, member: string, plan: Plan | undefined): Part[] {
  const order = (plan?.steps ?? []).map((s) => s.id);
  return (o.tasks ?? []).flatMap((child): Part[] => {
    const dot = child.task_id.lastIndexOf(".");
    const mine = dot > 0 ? child.task_id.slice(dot + 1) === member : child.agent === member;
    if (!mine && child.agent !== member) return [];
    const phase = dot > 0 ? child.task_id.slice(0, dot) : "";
    return [{ phase, title: plan?.steps.find((s) => s.id === phase)?.title ?? child.title ?? phase, child }];
  }).sort((a, b) => order.indexOf(a.phase) - order.indexOf(b.phase));
}

export function TeamView({ o, team, turn, live }: { o: TaskObject; team: Team; turn: Turn; live: boolean }): JSX.Element {
  const plan = o.plans?.find((p) => p.team_id === team.id);
  const writes = o.output.some((i) => i.type === "message");
  return (
    <section class="team" aria-label={t("team")}>
      <Phases plan={plan} live={live} writes={writes} done={o.status === "completed"} />
      <div class="experts" tabIndex={0} role="region" aria-label={t("experts")}>
        {team.members.map((m) => <Expert key={m.id} member={m} parts={partsOf(o, m.id, plan)} turn={turn} live={live} />)}
      </div>
      {(writes || live) && <h3 class="synthesis-head">{writes ? (live ? <Spinner /> : <Icon name="check" />) : <Icon name="ring" />}{t("synthesis")}{!writes && <span class="meta">{t("synthesisWaits")}</span>}</h3>}
      {team.reason !== undefined && team.reason !== "" && <p class="note"><Icon name="info" />{team.reason}</p>}
    </section>
  );
}

/** Who belongs to the team and is shown in it; others are sub-agents like any. */
export function inTeam(o: TaskObject, child: TaskObject): boolean {
  return (o.teams ?? []).some((team) => team.members.some((m) => child.agent === m.id || child.task_id.endsWith("." + m.id)));
}

function Phases({ plan, live, writes, done }: { plan: Plan | undefined; live: boolean; writes: boolean; done: boolean }): JSX.Element | null {
  if (!plan) return null;
  const last = done ? "done" : writes ? (live ? "running" : "done") : "pending";
  const steps = [...plan.steps.map((s) => ({ id: s.id, title: s.title, status: s.status })), { id: "synthesis", title: t("synthesis"), status: last }];
  return (
    <ol class="phases" aria-label={t("phases")}>
      {steps.map((s) => (
        <li key={s.id} class={s.status}>
          {s.status === "running" && live ? <Spinner /> : <Icon size={14} name={s.status === "done" ? "check" : s.status === "failed" ? "warn" : s.status === "skipped" ? "skip" : "ring"} />}
          <span>{s.title}</span>{(s.status === "failed" || s.status === "skipped") && <span class="meta">{t(s.status === "failed" ? "failed" : "stepSkipped")}</span>}
        </li>
      ))}
    </ol>
  );
}

function Expert({ member, parts, turn, live }: { member: { id: string; name: string; role?: string }; parts: Part[]; turn: Turn; live: boolean }): JSX.Element {
  const now = parts.at(-1);
  const working = live && now !== undefined && isOpen(now.child);
  const sources = parts.reduce((n, p) => n + foundBy(p.child), 0);
  return (
    <article class="expert" aria-label={member.name} data-expert={member.id}>
      <header>
        <div class="grow"><h4>{member.name}</h4>{member.role !== undefined && member.role !== "" && <p class="meta">{member.role}</p>}</div>
        <State part={now} working={working} />
        {working && turn.id !== "" && <IconButton icon="stop" label={t("stopExpert", member.name)} onClick={() => void send("POST", `/tasks/${encodeURIComponent(now.child.task_id)}/cancel?root=${turn.id}`, { action: "interrupt" }).catch(() => {})} />}
      </header>
      <div class="expert-body">
        {parts.length === 0 && <p class="meta">{live ? t("notBegun") : t("notNeeded")}</p>}
        {parts.map((p, i) => <PartView key={p.child.task_id} part={p} turn={turn} live={live && isOpen(p.child)} last={i === parts.length - 1} alone={parts.length === 1} />)}
        {sources > 0 && !working && <p class="meta">{sources === 1 ? t("oneSource") : t("nSources", sources)}</p>}
      </div>
      {live && turn.id !== "" && offers("/teams/{run}/commands") && <Speak turn={turn} expert={member} />}
    </article>
  );
}

/** Something said to one expert while it works. It is on the server's disk when the field is empty again. */
function Speak({ turn, expert }: { turn: Turn; expert: { id: string; name: string } }): JSX.Element {
  const [text, setText] = useState("");
  const [said, setSaid] = useState("");
  const [problem, setProblem] = useState("");
  const key = useRef("");
  const say = () => {
    const words = text.trim();
    if (words === "") return;
    key.current ||= newID(); // the same words sent again are the same message
    send("POST", `/teams/${turn.id}/commands`, { type: "speak", expert: expert.id, text: words, message_id: key.current })
      .then(() => { key.current = ""; setText(""); setProblem(""); setSaid(words); }, (err: unknown) => setProblem(err instanceof Error ? err.message : String(err)));
  };
  return (
    <form class="speak" onSubmit={(e) => { e.preventDefault(); say(); }}>
      {said !== "" && <p class="meta">{t("youSaid", said)}</p>}
      {problem !== "" && <p class="meta fail-text">{problem}</p>}
      <span class="row-actions"><input class="field grow" value={text} placeholder={t("askExpert", expert.name)} aria-label={t("askExpert", expert.name)} onInput={(e) => { setText(e.currentTarget.value); key.current = ""; }} />
        <button type="submit" class="icon-button" aria-label={t("send")} disabled={text.trim() === ""}><Icon name="up" /></button></span>
    </form>
  );
}

/** Which try it is that is shown. An expert begins once; what is tried again is a call of its model, and what comes of that says so. */
export function attemptOf(child: TaskObject): number {
  return child.output.reduce((n, item) => Math.max(n, item.attempt ?? 1), child.attempt ?? 1);
}

function isOpen(child: TaskObject): boolean { return child.status === "created" || child.status === "queued" || child.status === "working"; }

function State({ part, working }: { part: Part | undefined; working: boolean }): JSX.Element | null {
  const now = useNow(working);
  if (!part) return null;
  const from = Date.parse(String(part.child["created_at"] ?? "")), to = Date.parse(String(part.child["ended_at"] ?? ""));
  const took = working ? now - from : to - from;
  const s = part.child.status;
  const attempt = attemptOf(part.child);
  const word = working ? "" : s === "completed" ? t("done") : s === "failed" ? t("failed") : s === "canceled" ? t("stopped") : s === "expired" ? t("late") : t("waits");
  return (
    <span class={"expert-state " + (working ? "working" : (s ?? ""))}>
      {attempt > 1 && <span class="pill again">{t("attemptN", attempt)}</span>}
      {working ? <Spinner /> : <Icon size={14} name={s === "completed" ? "check" : s === "failed" ? "warn" : "stop"} />}
      <span>{[word, Number.isFinite(took) && took >= 0 ? span(working ? Math.floor(took / 1000) * 1000 : took).replace(".0 ", " ") : ""].filter(Boolean).join(" · ")}</span>
    </span>
  );
}

/** One phase of an expert. Those that are over fold when the next begins. */
function PartView({ part, turn, live, last, alone }: { part: Part; turn: Turn; live: boolean; last: boolean; alone: boolean }): JSX.Element {
  const [chosen, choose] = useState<boolean | null>(null);
  const open = chosen ?? last;
  const attempt = attemptOf(part.child);
  const error = part.child.error?.message ?? "";
  return (
    <section class="expert-part">
      {!alone && <button type="button" class="part-head" aria-expanded={open} onClick={() => choose(!open)}>
        {live ? <Spinner /> : <Icon size={14} name={part.child.status === "completed" ? "check" : "warn"} />}<span class="grow">{part.title}</span><Icon name={open ? "chevronUp" : "chevronDown"} size={14} /></button>}
      {(open || alone) && <div class="part-body">
        {attempt > 1 && <p class="void">{t("attemptVoid", attempt - 1)}</p>}
        <Output items={part.child.output} place={{ turn, live, depth: 1 }} />
        {error !== "" && <p class="note fail"><Icon name="warn" />{error}</p>}
      </div>}
    </section>
  );
}
