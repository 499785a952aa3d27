// One turn: the question, what was done, the answer, and what can be done with it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { TaskObject } from "../../tasks";
import { useNow } from "../clock";
import { Icon, Spinner } from "../icons";
import { money, number, span, t } from "../i18n";
import { go } from "../route";
import type { Conversation } from "../store/conversation";
import { fileName, saveText } from "../store/files";
import { answerText, presented } from "../store/output";
import { reportOf, workerOf } from "../store/report";
import type { Turn } from "../store/turn";
import { Answered, Ask } from "./asks";
import { Button, CopyButton, IconButton } from "./buttons";
import { Presented, Sent } from "./files";
import { planIn, PlanList } from "./plan";
import { ReportCard } from "./reportcard";
import { inTeam, TeamView } from "./team";
import { Output } from "./work";

export function TurnView({ turn, conversation, last }: { turn: Turn; conversation: Conversation; last: boolean }): JSX.Element {
  const o = turn.object.value;
  const ended = turn.ended.value;
  const live = turn.state.value === "known" && !ended;
  const team = o?.teams?.at(-1);
  const report = reportOf(o);
  // A child whose work stands in a step or in a team's column is not listed once more.
  const steps = new Set(o ? (o.plans ?? []).flatMap((p) => p.steps.map((s) => workerOf(o, s)?.task_id)) : []);
  return (
    <article class={"turn" + (last ? " last" : "") + (team ? " with-team" : "")} data-task={turn.id} data-status={o?.status ?? ""}>
      {turn.question !== null && <Question turn={turn} conversation={conversation} ended={ended} />}
      {turn.question === null && turn.resume !== undefined && <Answered resume={turn.resume} />}
      <div class="answer">
        <h2 class="sr">{t("answerWord")}</h2>
        {(o?.attempt ?? 1) > 1 && <p class="note"><Icon name="again" />{t("retryNote")}</p>}
        {!o?.interrupts?.some((ask) => planIn(ask.value)) && o?.plans?.filter((p) => !team || p.team_id === undefined).map((plan) => <PlanList key={plan.id} plan={plan} live={live} task={o} turn={turn} />)}
        {o && team && <TeamView o={o} team={team} turn={turn} live={live} />}
        {o && <Output items={report ? o.output.filter((i) => i.id !== report.id) : o.output} place={{ turn, live: live && !report, depth: 0, asks: last && o.status === "input_required" }} />}
        <Children o={o} turn={turn} live={live} without={steps} />
        {report && <ReportCard item={report} turn={turn} conversation={conversation} live={live} />}
        {live && (o?.output.length ?? 0) === 0 && <Waiting turn={turn} status={o?.status} />}
        {!o && ended && <p class="meta"><Spinner /> {t("loading")}</p>}
        {o && ended && <Presented paths={presented(o)} />}
        {o && <End turn={turn} o={o} conversation={conversation} last={last} />}
      </div>
      {o && ended && <Foot turn={turn} o={o} conversation={conversation} />}
    </article>
  );
}

/** Nothing has come yet. */
function Waiting({ turn, status }: { turn: Turn; status: string | undefined }): JSX.Element {
  const now = useNow(true);
  return <p class="waiting"><Spinner /><span>{status === "queued" ? t("queued") : t("working")}</span><span class="meta">{span(Math.max(0, Math.floor((now - turn.created) / 1000) * 1000)).replace(".0", "")}</span></p>;
}

const several = 4;

/** Sub-agents that no tool's result contains. Of many there is one line that counts them, and the list opens below it. */
function Children({ o, turn, live, without }: { o: TaskObject | null; turn: Turn; live: boolean; without: Set<string | undefined> }): JSX.Element | null {
  const list = (o?.tasks ?? []).filter((c) => !without.has(c.task_id) && !(o && inTeam(o, c)));
  const [open, setOpen] = useState(false);
  if (list.length === 0) return null;
  const all = list.map((child) => <Child key={child.task_id} child={child} turn={turn} live={live} many={list.length > several} />);
  if (list.length <= several) return <>{all}</>;
  const done = list.filter((c) => c.status === "completed").length, failed = list.filter((c) => c.status === "failed").length;
  return (
    <section class={"work" + (open ? " open" : "")}>
      <button type="button" class="work-head" aria-expanded={open} onClick={() => setOpen(!open)}>
        {live && done + failed < list.length ? <Spinner /> : <Icon name={failed > 0 ? "warn" : "check"} />}
        <strong>{t("nAgents", list.length)}</strong><span class="meta grow">{[t("nDone", done), failed > 0 ? t("nFailed", failed) : ""].filter(Boolean).join(" · ")}</span><Icon name={open ? "chevronUp" : "chevronDown"} />
      </button>
      {open && <div class="work-rows">{all}</div>}
    </section>
  );
}

/** A sub-agent that no tool's result contains. */
function Child({ child, turn, live, many }: { child: TaskObject; turn: Turn; live: boolean; many: boolean }): JSX.Element {
  const [chosen, choose] = useState<boolean | null>(null);
  const failed = child.status === "failed";
  const working = live && child.status !== "completed" && child.status !== "canceled" && child.status !== "expired" && !failed;
  const open = chosen ?? (working && !many);
  const n = child.output.filter((i) => i.type !== "tool_result").length;
  return (
    <section class={"agent" + (failed ? " failed" : "")}>
      <button type="button" class="agent-head" aria-expanded={open} onClick={() => choose(!open)}>
        {working ? <Spinner /> : <Icon name={failed ? "warn" : "agent"} />}<span class="meta">{t("subAgent")}</span><strong class="grow">{child.title ?? child.agent ?? ""}</strong>
        <span class="meta">{failed ? t("failed") : n === 1 ? t("step") : t("steps", n)}</span><Icon name={open ? "chevronUp" : "chevronDown"} size={14} />
      </button>
      {open && <div class="agent-body"><Output items={child.output} place={{ turn, live: working, depth: 1 }} /></div>}
    </section>
  );
}

function Question({ turn, conversation, ended }: { turn: Turn; conversation: Conversation; ended: boolean }): JSX.Element {
  const [editing, setEditing] = useState(false);
  const versions = conversation.versions(turn);
  const at = versions.indexOf(turn);
  if (editing) return <Editor text={turn.question ?? ""} cancel={() => setEditing(false)} done={(text) => { setEditing(false); void conversation.replace(turn, text); }} />;
  const state = turn.state.value;
  return (
    <div class="question">
      <h2 class="sr">{t("youAsked")}</h2>
      <Sent names={turn.files.value} />
      <div class="bubble">{turn.question}</div>
      <div class="question-tools">
        {state === "sending" && <span class="meta">{t("sending")}</span>}
        {state === "unsent" && <>
          <span class="meta fail-text"><Icon name="warn" size={14} /> {t("notSent", turn.problem.value)}</span>
          <Button small onClick={() => void conversation.deliver(turn)}>{t("sendAgain")}</Button>
          <IconButton icon="close" label={t("takeBack")} onClick={() => void conversation.takeBack(turn)} />
        </>}
        {versions.length > 1 && <span class="versions">
          <IconButton icon="left" label={t("earlierBranch")} disabled={at <= 0} onClick={() => conversation.choose(versions[at - 1]!)} />
          <span class="meta">{t("branch", at + 1, versions.length)}</span>
          <IconButton icon="right" label={t("laterBranch")} disabled={at >= versions.length - 1} onClick={() => conversation.choose(versions[at + 1]!)} />
        </span>}
        {state === "known" && ended && <IconButton icon="pencil" label={t("edit")} onClick={() => setEditing(true)} />}
      </div>
    </div>
  );
}

function Editor({ text, cancel, done }: { text: string; cancel: () => void; done: (text: string) => void }): JSX.Element {
  const [value, setValue] = useState(text);
  return (
    <form class="question editing" onSubmit={(e) => { e.preventDefault(); if (value.trim() !== "") done(value.trim()); }}>
      <textarea class="field" value={value} aria-label={t("edit")} ref={(el) => el?.focus()} onInput={(e) => setValue(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === "Escape") { e.stopPropagation(); cancel(); }
          if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); e.currentTarget.form?.requestSubmit(); }
        }} />
      <div class="row-actions"><Button onClick={cancel} plain>{t("cancel")}</Button><Button primary submit disabled={value.trim() === "" || value.trim() === text}>{t("saveAndAsk")}</Button></div>
    </form>
  );
}

/** How the answer ended where that is not simply well. */
function End({ turn, o, conversation, last }: { turn: Turn; o: TaskObject; conversation: Conversation; last: boolean }): JSX.Element | null {
  const again = turn.question === null ? null : <button type="button" class="link" onClick={() => void conversation.replace(turn, turn.question!)}>{t("tryAgain")}</button>;
  switch (o.status) {
    case "canceled": return <p class="note"><Icon name="stop" /><span class="grow">{t("stoppedNote")}</span>{again}</p>;
    case "expired": return <p class="note"><Icon name="stop" /><span class="grow">{t("expiredNote")}</span>{again}</p>;
    case "failed": return <p class="note fail"><Icon name="warn" /><span class="grow">{t("failedNote", o.error?.message ?? "")}</span>{again}</p>;
    case "input_required": {
      if (!last) return null;
      const open = o.output.filter((i) => i.type === "tool_call" && !o.output.some((r) => r.type === "tool_result" && r.call_id === i.call_id && r.status === "completed"));
      return <>{(o.interrupts ?? []).map((ask) => (
        <Ask key={ask.id} ask={ask} call={open[0] ?? null} since={Date.parse(String(o["ended_at"] ?? "")) || turn.created} answer={(value) => conversation.answer(turn, { [ask.id]: value })} />
      ))}</>;
    }
    case "completed": return o.output.length === 0 ? <p class="meta">{t("noOutput")}</p> : null;
  }
  return null;
}

function Foot({ turn, o, conversation }: { turn: Turn; o: TaskObject; conversation: Conversation }): JSX.Element | null {
  if (o.status === "input_required") return null;
  const text = answerText(o);
  const used = o.usage ? o.usage.input_tokens + o.usage.output_tokens : 0;
  const cost = o.usage?.["cost_micros"] ?? 0;
  const took = Date.parse(String(o["ended_at"] ?? "")) - Date.parse(String(o["created_at"] ?? ""));
  return (
    <footer class="foot">
      {o.warnings?.map((w, i) => <p key={i} class="meta">{w.message}</p>)}
      <div class="foot-row">
        {text !== "" && <CopyButton text={() => text} label={t("copy")} />}
        {text !== "" && <IconButton icon="download" label={t("saveAnswer")} onClick={() => saveText(text + "\n", fileName(turn.question ?? "", "answer") + ".md", "text/markdown")} />}
        {turn.question !== null && <IconButton icon="again" label={t("again")} onClick={() => void conversation.replace(turn, turn.question!)} />}
        <IconButton icon="inspect" label={t("inspect")} onClick={() => go({ name: "run", id: turn.id, seq: null })} />
        <span class="meta grow right">{[used > 0 ? t("tokens", number(used)) : "", cost > 0 ? money(cost) : "", Number.isFinite(took) ? span(took) : ""].filter(Boolean).join(" · ")}</span>
      </div>
    </footer>
  );
}
