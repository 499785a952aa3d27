// The checkpoints of a run, as GET and POST /threads/{id}/history tell them, and what follows from them: where they stand among
// the frames, what each changed, how long each step took and what it used. Pure functions but for reading.
import { changes, type Change } from "./calls";
import { get, post } from "../wire/api";
import type { Frame } from "../wire/follow";

export interface Checkpoint {
  values: Record<string, unknown>;
  next: string[];
  metadata: { step?: number; source?: string; run_id?: string; [more: string]: unknown };
  created_at: string;
  checkpoint: { checkpoint_id: string };
  parent_checkpoint?: { checkpoint_id: string } | null;
}

export async function threadOf(run: string): Promise<string> {
  return (await get<{ thread_id: string }>("/runs/" + run)).thread_id;
}

/** A run's checkpoints, oldest first, and the one before them: that is where the run began. */
export async function checkpointsOf(thread: string, run: string): Promise<Checkpoint[]> {
  const own = (await post<Checkpoint[]>(`/threads/${thread}/history`, { limit: 1000, metadata: { run_id: run } })).toReversed();
  return own.filter((c) => (c.metadata["checkpoint_ns"] ?? "") === "");
}

interface Message { id?: string; usage_metadata?: { input_tokens?: number; output_tokens?: number } | null }

function messagesOf(c: Checkpoint): Message[] {
  const list = c.values["messages"];
  return Array.isArray(list) ? list as Message[] : [];
}

/** The number of the last frame that tells something which a checkpoint has. */
export function placesOf(list: readonly Checkpoint[], frames: readonly Frame[]): number[] {
  const told = new Map<string, number>();
  for (const f of frames) {
    const item = f["item"] as { id?: string; call_id?: string } | undefined;
    if (f.type !== "task.output_item.done" || !item) continue;
    for (const id of [item.id, item.call_id]) if (id) told.set(id, f.sequence_number);
  }
  let at = 0;
  return list.map((c) => {
    for (const m of messagesOf(c)) {
      const ids = [m.id, (m as { tool_call_id?: string }).tool_call_id].filter((x): x is string => typeof x === "string");
      for (const id of ids) for (const key of [id, "msg_" + id, "fco_" + id]) at = Math.max(at, told.get(key) ?? 0);
    }
    return at;
  });
}

export interface Lines { field: string; lines: Change[] }

/** What is different between two states: field by field, in lines of JSON, with a little of what is the same. */
export function differences(from: Record<string, unknown>, to: Record<string, unknown>): Lines[] {
  const out: Lines[] = [];
  for (const field of [...new Set([...Object.keys(from), ...Object.keys(to)])].sort()) {
    const a = field in from ? JSON.stringify(from[field], null, 2) : "", b = field in to ? JSON.stringify(to[field], null, 2) : "";
    if (a === b) continue;
    out.push({ field, lines: near(changes(a, b)) });
  }
  return out;
}

const around = 2, mostLines = 400;

function near(lines: Change[]): Change[] {
  const keep = new Set<number>();
  lines.forEach((l, i) => { if (l.kind !== "same") for (let j = i - around; j <= i + around; j++) keep.add(j); });
  const out: Change[] = [];
  let last = -1;
  lines.forEach((l, i) => {
    if (!keep.has(i)) return;
    if (last >= 0 && i > last + 1) out.push({ kind: "same", text: "…" });
    out.push(l);
    last = i;
  });
  return out.slice(0, mostLines);
}

export interface Step { name: string; step: number; ms: number; input: number; output: number; at: number }

/** What was done between checkpoints: the nodes that were due, how long it took, and what the models used that it added. */
export function stepsOf(list: readonly Checkpoint[]): Step[] {
  return list.slice(1).map((c, i) => {
    const before = list[i]!;
    const had = new Set(messagesOf(before).map((m) => m.id));
    let input = 0, output = 0;
    for (const m of messagesOf(c)) {
      if (had.has(m.id)) continue;
      input += m.usage_metadata?.input_tokens ?? 0;
      output += m.usage_metadata?.output_tokens ?? 0;
    }
    return { name: before.next.join(", ") || String(c.metadata.source ?? ""), step: Number(c.metadata.step ?? i), ms: Date.parse(c.created_at) - Date.parse(before.created_at), input, output, at: i + 1 };
  });
}
