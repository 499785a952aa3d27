// A run as its readers get it: the frames of the task wire, in lanes and as a list, and at any of them what a reader had seen by
// then; beside them the frames of other wires, and the checkpoints with what changed between them. It reads public routes alone.
// All frames carry numbers, and only those of items carry times, so the axis counts frames; times are those of checkpoints.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Tasks, type TaskObject } from "../../tasks";
import { number, t } from "../i18n";
import { go, route } from "../route";
import { checkpointsOf, placesOf, threadOf, type Checkpoint } from "../store/checkpoints";
import { saveText } from "../store/files";
import { StatePane, StepsPane } from "./inspectstate";
import { WirePane, type Wire } from "./inspectwires";
import { IconButton } from "../parts/buttons";
import { Connection } from "../parts/connection";
import { Output } from "../parts/work";
import { follow, type Frame } from "../wire/follow";

interface Bit { from: number; to: number; name: string; kind: "turn" | "tool" | "agent-bit" | "life" }

export function InspectorPage({ id, seq }: { id: string; seq: number | null }): JSX.Element {
  const [frames, setFrames] = useState<Frame[]>([]);
  const [problem, setProblem] = useState("");
  const playing = useSignal(false);
  const speed = useSignal(4);
  const [wire, setWire] = useState<Wire>("task");
  const [side, setSide] = useState<"reader" | "state" | "steps">("reader");
  const [kind, setKind] = useState("");
  const [picked, setPicked] = useState<number | null>(null);
  const [table, setTable] = useState(false);
  const [saved, setSaved] = useState<{ thread: string; list: Checkpoint[] }>({ thread: "", list: [] });
  useEffect(() => {
    const life = new AbortController();
    let list: Frame[] = [];
    let timer = 0;
    const show = () => { timer = 0; setFrames(list); };
    void follow(id, {
      frames: (some) => { list = [...list, ...some]; timer ||= window.setTimeout(show, 100); },
      again: () => { list = []; },
    }, life.signal).catch((err: unknown) => setProblem(err instanceof Error ? err.message : String(err)));
    return () => { life.abort(); clearTimeout(timer); };
  }, [id]);
  const end = frames.length - 1;
  const ended = frames.some((f) => f.task_id === id && /^task\.(completed|failed|canceled|expired|input_required)$/.test(f.type));
  useEffect(() => {
    let live = true;
    void threadOf(id).then(async (thread) => { const list = await checkpointsOf(thread, id); if (live) setSaved({ thread, list }); }).catch(() => {});
    return () => { live = false; };
  }, [id, ended]);
  const places = useMemo(() => placesOf(saved.list, frames), [saved, frames]);
  const at = clamp(seq ?? end, end);
  const to = (n: number) => go({ name: "run", id, seq: clamp(n, end) }, true);
  // A key and the timer count from where the address is now, not from what was drawn last: keys come faster than pictures.
  const last = useRef(end);
  last.current = end;
  const by = (n: number) => { const r = route.peek(); if (r.name === "run") go({ ...r, seq: clamp((r.seq ?? last.current) + n, last.current) }, true); };
  const play = () => {
    const r = route.peek();
    if (!playing.peek() && r.name === "run" && (r.seq ?? last.current) >= last.current) by(-last.current); // from the beginning
    playing.value = !playing.peek();
  };
  useEffect(() => {
    if (!playing.value) return;
    if (at >= end) { playing.value = false; return; }
    const timer = setTimeout(() => by(speed.value > 16 ? 4 : 1), Math.max(16, 160 / speed.value));
    return () => clearTimeout(timer);
  }, [playing.value, at, end]);
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.altKey || e.ctrlKey || e.metaKey) return; // the browser's own: back, for one
      if (document.querySelector("dialog[open]") || (e.target instanceof HTMLElement && e.target.closest("input:not([type=range]), textarea, select"))) return;
      const step = e.shiftKey ? 10 : 1;
      if (e.key === "ArrowLeft") { e.preventDefault(); by(-step); }
      if (e.key === "ArrowRight") { e.preventDefault(); by(step); }
      if (e.key === " ") { e.preventDefault(); play(); }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  // Several checkpoints may stand at one frame: the one that was picked counts for as long as the head is there.
  const marked = picked !== null && places[picked] === at ? picked : Math.max(0, places.findLastIndex((p) => p <= at));
  const pick = (n: number) => { setPicked(n); to(places[n] ?? end); };
  const team = frames.some((f) => f.type === "task.team.formed");
  const kinds = useMemo(() => [...new Set(frames.map(kindOf))].sort(), [frames]);
  const bits = useMemo(() => lanesOf(frames, id), [frames, id]);
  const seen = useMemo(() => {
    const tasks = new Tasks();
    for (const f of frames.slice(0, at + 1)) tasks.apply(f);
    return tasks.task(id);
  }, [frames, at, id]);
  return (
    <main class="inspector" aria-label={t("inspect")}>
      <header class="bar">
        <IconButton icon="left" label={t("back")} onClick={() => history.back()} />
        <h1 class="bar-title">{t("runTitle", id.slice(0, 8))}</h1><span class="meta">{number(frames.length)} {t("events").toLowerCase()}</span><span class="grow" />
        <span class="meta not-phone hint">{t("inspectorHint")}</span>
        <label class="pick"><span class="sr">{t("speed")}</span><select value={speed.value} title={t("speed")} onChange={(e) => { speed.value = Number(e.currentTarget.value); }}>{[1, 4, 16, 64].map((n) => <option key={n} value={n}>{n} ×</option>)}</select></label>
        <IconButton icon="start" label={t("first")} onClick={() => to(0)} />
        <IconButton icon={playing.value ? "pause" : "play"} label={playing.value ? t("pause") : t("play")} onClick={play} />
        <IconButton icon="end" label={t("last")} onClick={() => to(end)} />
        <IconButton icon="count" label={table ? t("asLanes") : t("asTable")} pressed={table} onClick={() => setTable(!table)} />
        <IconButton icon="download" label={t("journalFile")} onClick={() => saveText(frames.map((f) => JSON.stringify(f)).join("\n") + "\n", `run-${id.slice(0, 8)}.jsonl`, "application/x-ndjson")} />
        {saved.thread !== "" && <IconButton icon="quote" label={t("conversationWord")} onClick={() => go({ name: "thread", id: saved.thread })} />}
      </header>
      <Connection />
      {problem !== "" && <p class="empty">{problem}</p>}
      {frames.length > 0 && <>
        {table ? <LaneTable bits={bits} to={to} /> : <section class="lanes" aria-hidden="true">
          {(["life", "turn", "tool", "agent-bit"] as const).filter((k) => k === "life" || bits.some((b) => b.kind === k)).map((kind) => (
            <div class="lane" key={kind}><span>{laneName(kind)}</span>
              <div class="track" onClick={(e) => { const box = e.currentTarget.getBoundingClientRect(); to(Math.round(((e.clientX - box.left) / box.width) * end)); }}>
                {bits.filter((b) => b.kind === kind).map((b, i) => (
                  <span key={i} class={"bit " + kind} title={b.name} style={{ left: (100 * b.from) / Math.max(1, end) + "%", ...(kind === "life" ? {} : { width: (100 * Math.max(1, b.to - b.from)) / Math.max(1, end) + "%" }) }}>{kind === "life" ? "" : b.name}</span>
                ))}
                <span class="head-line" style={{ left: (100 * at) / Math.max(1, end) + "%" }} />
              </div></div>
          ))}
          {saved.list.length > 0 && <div class="lane"><span>{t("checkpoints")}</span><div class="track">
            {places.map((p, i) => <button key={i} type="button" tabIndex={-1} class={"diamond" + (i === marked ? " here" : "")} title={`${i} · ${saved.list[i]!.next.join(", ")}`} style={{ left: (100 * p) / Math.max(1, end) + "%" }} onClick={() => { pick(i); setSide("state"); }} />)}
            <span class="head-line" style={{ left: (100 * at) / Math.max(1, end) + "%" }} />
          </div></div>}
        </section>}
        <input class="scrub" type="range" min={0} max={end} value={at} aria-label={t("atEvent", at)} onInput={(e) => to(Number(e.currentTarget.value))} />
        <div class="panes">
          <Events frames={frames} at={at} to={to} kind={kind} kinds={kinds} choose={setKind} />
          <section class="pane"><div class="tabs pane-tabs" role="group" aria-label={t("wire")}>{(["task", "values", "updates", "messages-tuple", ...(team ? ["team"] : [])] as Wire[]).map((w) => <button key={w} type="button" aria-pressed={wire === w} onClick={() => setWire(w)}>{w}</button>)}</div>
            <div class="pane-body" tabIndex={0} role="region" aria-label={t("frame")}><WirePane wire={wire} frames={frames} at={at} thread={saved.thread} run={id} ended={ended} /></div></section>
          <section class="pane"><div class="tabs pane-tabs" role="group" aria-label={t("whatWasSeen")}>{(["reader", "state", "steps"] as const).map((w) => <button key={w} type="button" aria-pressed={side === w} onClick={() => setSide(w)}>{t(w === "reader" ? "whatWasSeen" : w === "state" ? "checkpoints" : "stepsAndCost")}</button>)}</div>
            <div class="pane-body" tabIndex={0} role="region" aria-label={t("whatWasSeen")}>
              {side === "reader" && <Seen object={seen} />}
              {side === "state" && <StatePane list={saved.list} at={marked} choose={pick} thread={saved.thread} run={id} />}
              {side === "steps" && <StepsPane list={saved.list} at={marked} choose={pick} />}
            </div></section>
        </div>
      </>}
    </main>
  );
}

/** Where the head may stand: a number of an event that there is. */
function clamp(n: number, end: number): number { return Math.max(0, Math.min(end, n)); }

function laneName(kind: Bit["kind"]): string { return t(kind === "life" ? "lifeLane" : kind === "turn" ? "turnsLane" : kind === "tool" ? "toolsLane" : "subLane"); }

/** The lanes in words, for those who do not see them. */
function LaneTable({ bits, to }: { bits: Bit[]; to: (n: number) => void }): JSX.Element {
  return (
    <div class="lanes table-scroll lane-table" tabIndex={0} role="region" aria-label={t("lane")}><table class="figures">
      <thead><tr><th scope="col">{t("lane")}</th><th scope="col">{t("name")}</th><th scope="col" class="right">{t("fromEvent")}</th><th scope="col" class="right">{t("toEvent")}</th></tr></thead>
      <tbody>{bits.map((b, i) => <tr key={i}><td>{laneName(b.kind)}</td><td><button type="button" class="link" onClick={() => to(b.from)}>{b.name}</button></td><td class="right">{b.from}</td><td class="right">{b.to}</td></tr>)}</tbody>
    </table></div>
  );
}

/** Frames of a kind: the part of their type that says what they are about. */
function kindOf(f: Frame): string { return f.type.replace(/^task\./, "").split(".")[0]!; }

function Seen({ object }: { object: TaskObject | undefined }): JSX.Element | null {
  if (!object) return null;
  return <div class="answer"><p class="meta">{object.status}</p><Output items={object.output} place={{ turn: null, live: object.status === "working", depth: 0 }} /></div>;
}

const around = 150;

/** The list shows a stretch around where we are: a run may have a hundred thousand. */
function Events({ frames, at, to, kind, kinds, choose }: { frames: Frame[]; at: number; to: (n: number) => void; kind: string; kinds: string[]; choose: (kind: string) => void }): JSX.Element {
  const here = useRef<HTMLButtonElement>(null);
  useEffect(() => { here.current?.scrollIntoView({ block: "nearest" }); }, [at]);
  const list = kind === "" ? frames : frames.filter((f) => kindOf(f) === kind);
  const here0 = kind === "" ? at : Math.max(0, list.findLastIndex((f) => f.sequence_number <= at));
  const from = Math.max(0, here0 - around);
  return (
    <section class="pane"><header class="pane-head"><h2>{t("events")}</h2><label class="pick"><span class="sr">{t("filterKind")}</span><select value={kind} onChange={(e) => choose(e.currentTarget.value)}><option value="">{t("allKinds")}</option>{kinds.map((k) => <option key={k} value={k}>{k.replaceAll("_", " ")}</option>)}</select></label></header><ul class="pane-body">
      {list.slice(from, here0 + around).map((f) => (
        <li key={f.sequence_number}><button type="button" ref={f.sequence_number === at ? here : null} class={"list-row event" + (f.sequence_number === at ? " selected" : "")} aria-current={f.sequence_number === at} onClick={() => to(f.sequence_number)}>
          <span class="num">{f.sequence_number}</span><span class="grow">{about(f)}</span>
        </button></li>
      ))}
    </ul></section>
  );
}

function about(f: Frame): string {
  const name = f.type.replace(/^task\./, "").replaceAll("_", " ");
  const item = f["item"] as { type?: string; name?: string } | undefined;
  const delta = f["delta"];
  return name + (typeof delta === "string" ? ` “${delta.slice(0, 40)}”` : item?.type ? ` ${item.type}${item.name ? " " + item.name : ""}` : "");
}

/** Stretches of frames: messages and thoughts, tool calls, sub-agents; and the marks of the task's life. */
export function lanesOf(frames: readonly Frame[], root: string): Bit[] {
  const out: Bit[] = [];
  const open = new Map<string, Bit>();
  for (const f of frames) {
    const n = f.sequence_number;
    const item = f["item"] as { id?: string; type?: string; name?: string; call_id?: string } | undefined;
    const name = f.type.slice(5);
    if (name === "output_item.added" && item) {
      const tool = item.type === "tool_call" || item.type === "tool_result";
      const key = tool ? "call " + (item.call_id ?? item.id) : String(item.id);
      if (!open.has(key)) {
        const bit: Bit = { from: n, to: n, name: item.name ?? item.type ?? "", kind: tool ? "tool" : "turn" };
        open.set(key, bit);
        out.push(bit);
      }
    } else if (name === "output_item.done" && item) {
      const bit = open.get(String(item.id)) ?? open.get("call " + (item.call_id ?? item.id));
      if (bit) bit.to = n;
    } else if (!name.includes(".") && f.task_id !== root) {
      const bit = open.get("task " + f.task_id);
      if (bit) bit.to = n;
      else {
        const fresh: Bit = { from: n, to: n, name: String(f["title"] ?? f["agent"] ?? f.task_id), kind: "agent-bit" };
        open.set("task " + f.task_id, fresh);
        out.push(fresh);
      }
    } else if (!name.includes(".")) out.push({ from: n, to: n, name, kind: "life" });
  }
  const done = new Set([...open.values()].filter((b) => b.to > b.from));
  for (const b of out) if (b.kind !== "life" && !done.has(b)) b.to = frames.length - 1; // it still goes on
  return out;
}
