// What a task does beside writing: thoughts, tool calls, sub-agents. One card for all that is between two messages: open while
// it works, a line when it is done, and everything kept inside.
import { Component, type JSX } from "preact";
import { useState } from "preact/hooks";
import { Icon, Spinner, type IconName } from "../icons";
import { span, t } from "../i18n";
import { Markdown } from "../markdown/markdown";
import { blocksOf, childOutput, same, segments, type Row, type Segment } from "../store/output";
import type { Turn } from "../store/turn";
import { textIn, type Block, type Item } from "../../tasks";
import { Message } from "./message";
import { exitOf, fieldsOf } from "../store/calls";
import { Progress, ToolBody, viewOf } from "./tools";

/** Where output is shown: whose it is, whether it still grows, whether its task waits for a person. */
export interface Place { turn: Turn | null; live: boolean; depth: number; asks?: boolean }

interface SegmentProps { segment: Segment; place: Place; last: boolean }

/** A piece of a task's output. It is drawn again only when its contents changed. */
export class SegmentView extends Component<SegmentProps> {
  override shouldComponentUpdate(next: SegmentProps): boolean {
    const was = this.props;
    return next.place.live !== was.place.live || next.place.turn !== was.place.turn || next.last !== was.last || !same(next.segment, was.segment);
  }

  override render({ segment, place, last }: SegmentProps): JSX.Element {
    if (segment.kind === "message") return <Message item={segment.item} place={place} />;
    return <Work rows={segment.rows} place={place} last={last} />;
  }
}

/** The output of a task or of a sub-agent. */
export function Output({ items, place }: { items: Item[]; place: Place }): JSX.Element {
  const list = segments(items);
  return <>{list.map((s, i) => <SegmentView key={s.kind === "work" ? s.id : s.item.id} segment={s} place={place} last={i === list.length - 1} />)}</>;
}

function Work({ rows, place, last }: { rows: Row[]; place: Place; last: boolean }): JSX.Element {
  const working = place.live && last;
  const [chosen, choose] = useState<boolean | null>(null);
  const single = rows.length === 1;
  const open = chosen ?? working;
  if (single && !isAgent(rows[0]!)) return <div class="work single"><RowView row={rows[0]!} place={place} last={last} /></div>;
  return (
    <section class={"work" + (open ? " open" : "")}>
      <button type="button" class="work-head" aria-expanded={open} onClick={() => choose(!open)}>
        {working ? <Spinner /> : <Icon name="check" />}
        <strong>{working ? t("working") : t("done")}</strong>
        <span class="meta grow">{summary(rows)}</span>
        <Icon name={open ? "chevronUp" : "chevronDown"} />
      </button>
      {open && <div class="work-rows">{rows.map((r, i) => <RowView key={r.kind === "call" ? r.id : r.item.id} row={r} place={place} last={last && i === rows.length - 1} />)}</div>}
    </section>
  );
}

function isAgent(r: Row): boolean { return r.kind === "call" && childOutput(r.result) !== null; }

/** What was done, in words: thought, 2 search, 1 sub-agent. */
function summary(rows: Row[]): string {
  const counts = new Map<string, number>();
  for (const r of rows) {
    const name = r.kind === "thought" ? t("thought").toLowerCase() : isAgent(r) ? t("subAgent").toLowerCase() : plain(r.call?.name ?? r.result?.name ?? "");
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, n]) => (n === 1 ? name : `${n} × ${name}`)).join(", ");
}

function plain(name: string): string { return name.replace(/[_-]+/g, " ").slice(0, 60); }

/** How long an item took, where that is worth saying. */
function timeOf(place: Place, item: Item | null): string {
  const ms = (item && place.turn?.took(item)) ?? 0;
  return ms >= 100 ? span(ms) : "";
}

interface RowProps { row: Row; place: Place; last: boolean }

class RowView extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    return next.place.live !== this.props.place.live || next.last !== this.props.last || !same(next.row, this.props.row);
  }
  override render({ row, place, last }: RowProps): JSX.Element {
    if (row.kind === "thought") return <Thought item={row.item} place={place} last={last} />;
    const child = childOutput(row.result);
    return child ? <SubAgent row={row} items={child} place={place} /> : <ToolRow row={row} place={place} />;
  }
}

interface LineProps {
  icon: IconName; state: "working" | "done" | "failed"; verb: string; object: string; mono?: boolean; aside: string; inside: (() => JSX.Element) | null; initially?: boolean; below?: JSX.Element | null;
}

/** One line of work, which opens if there is something inside. */
function Line({ icon, state, verb, object, mono, aside, inside, initially = false, below = null }: LineProps): JSX.Element {
  const [chosen, choose] = useState<boolean | null>(null);
  const open = chosen ?? initially;
  const head = <>
    {state === "working" ? <Spinner /> : <Icon name={state === "failed" ? "warn" : icon} />}
    <strong>{verb}</strong>
    <span class={"object" + (mono ? " mono" : "")}>{object}</span>
    <span class="aside">{aside}</span>
  </>;
  if (!inside) return <div class={"line " + state}><span class="line-head">{head}</span></div>;
  return (
    <div class={"line " + state}>
      <button type="button" class="line-head" aria-expanded={open} onClick={() => choose(!open)}>{head}<Icon name={open ? "chevronUp" : "chevronDown"} size={14} /></button>
      {below}
      {open && <div class="line-body">{inside()}</div>}
    </div>
  );
}

/** A thought is over when something follows it, though a server may say so only at the end of the whole turn. */
function Thought({ item, place, last }: { item: Item; place: Place; last: boolean }): JSX.Element {
  const blocks = item.summary ?? [];
  const live = place.live && last && item.status === "in_progress";
  const took = timeOf(place, item);
  const inside = () => <div class="thought">{blocks.map((b, i) => <Markdown key={i} text={textIn(b)} live={live && i === blocks.length - 1} />)}</div>;
  return <Line icon="thought" state={live ? "working" : "done"} verb={live ? t("thinking") : t("thought")} object={oneLine(blocks, live)}
    aside={took} inside={blocks.some((b) => textIn(b).length > 0) ? inside : null} />;
}

const longestLine = 400; // more does not fit on a line

/** The line of a thought that is shown: its first, and while it is thought the one that is being written. */
function oneLine(blocks: Block[], live: boolean): string {
  const block = live ? blocks.findLast((b) => textIn(b).length > 0) : blocks.find((b) => textIn(b).length > 0);
  if (!block) return "";
  const text = textIn(block);
  const part = live ? text.slice(Math.max(0, text.length - longestLine)) : text.slice(0, longestLine);
  const lines = part.trim().split("\n").filter((l) => l.trim() !== "");
  return ((live ? lines.at(-1) : lines[0]) ?? "").replace(/[*_`#]/g, "");
}

/** The argument that says most about a call: its only one, or one that is usually called so. */
export function gist(args: string): string {
  const fields = fieldsOf(args);
  for (const key of ["query", "title", "command", "code", "path", "url", "question", "prompt", "description", "name"]) {
    if (typeof fields[key] === "string" && fields[key] !== "") return firstLine(fields[key]);
  }
  if (Array.isArray(fields["filepaths"])) return fields["filepaths"].map((p) => String(p).split("/").at(-1)).join(", ");
  const first = Object.values(fields).find((v) => typeof v === "string" || typeof v === "number");
  return first === undefined ? "" : firstLine(String(first));
}

function firstLine(text: string): string { return text.trimStart().split("\n", 1)[0]!; }

const mostWhileWritten = 32_768;

function ToolRow({ row, place }: { row: Row & { kind: "call" }; place: Place }): JSX.Element {
  const name = row.call?.name ?? row.result?.name ?? "";
  const arriving = place.live && row.call?.status === "in_progress";
  // A long file that is written is shown to the end when it is there: until then a token of it must not cost the whole.
  const args = arriving ? textIn(row.call!).slice(0, mostWhileWritten) : row.call?.arguments ?? "";
  const running = place.live && !arriving && (row.result === null || row.result.status === "in_progress");
  const failed = row.result?.is_error === true;
  const blocks = blocksOf(row.result);
  const passages = blocks.filter((b) => typeof b.id === "number").length;
  const took = timeOf(place, row.result);
  const isSearch = /search/i.test(name);
  const view = viewOf(name, blocks);
  const exit = view === "terminal" ? exitOf(blocks.map((b) => b.text ?? "").join("")) : null;
  const verb = isSearch ? (arriving || running ? t("searching") : t("searched")) : plain(name);
  const state = arriving || running ? "working" : failed || (exit && exit.code !== 0) ? "failed" : "done";
  const progress = running ? (row.result?.progress ?? row.call?.progress) : undefined;
  const aside = [
    arriving ? t("writing") : running ? t("running") : exit ? t("exitCode", exit.code) : failed ? t("failed") : passages === 1 ? t("passage") : passages > 1 ? t("passages", passages) : row.result?.status === "incomplete" || row.result === null ? (place.asks ? t("waits") : t("incomplete")) : "",
    took,
  ].filter((s) => s !== "").join(" · ");
  // What grows is looked at while it does; an edit and a file are what the call is about.
  const grows = (arriving || running) && (view === "terminal" || view === "diff" || blocks.length > 0);
  return <Line icon={isSearch ? "search" : view === "terminal" ? "terminal" : view === "plain" || view === "finds" ? "tool" : "file"} state={state} verb={verb} object={gist(args)} mono={view === "terminal"} aside={aside}
    initially={failed || grows || view === "files"} below={progress ? <Progress of={progress} /> : null}
    inside={() => <ToolBody name={name} args={args} blocks={blocks} result={row.result} turn={place.turn} live={place.live} />} />;
}

function SubAgent({ row, items, place }: { row: Row & { kind: "call" }; items: Item[]; place: Place }): JSX.Element {
  const live = place.live && row.result?.status === "in_progress";
  const [chosen, choose] = useState<boolean | null>(null);
  const open = chosen ?? live;
  const n = items.filter((i) => i.type !== "tool_result").length;
  const failed = row.result?.is_error === true;
  const title = gist(row.call ? textIn(row.call).slice(0, mostWhileWritten) : "") || plain(row.call?.name ?? "");
  return (
    <section class={"agent" + (failed ? " failed" : "")}>
      <button type="button" class="agent-head" aria-expanded={open} onClick={() => choose(!open)}>
        {live ? <Spinner /> : <Icon name={failed ? "warn" : "agent"} />}
        <span class="meta">{t("subAgent")}</span>
        <strong class="grow">{title}</strong>
        <span class="meta">{failed ? t("failed") : n === 1 ? t("step") : t("steps", n)}</span>
        <Icon name={open ? "chevronUp" : "chevronDown"} size={14} />
      </button>
      {open && <div class="agent-body"><Output items={items} place={{ ...place, live, depth: place.depth + 1 }} /></div>}
    </section>
  );
}
