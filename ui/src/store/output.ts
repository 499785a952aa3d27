// What a task's output is to a reader: work, and words. Pure functions of the object, for the parts that show it.
import { textIn, type Annotation, type Block, type Item, type TaskObject, type Text } from "../../tasks";
import { fieldsOf } from "./calls";

export type Row =
  | { kind: "thought"; item: Item }
  | { kind: "call"; id: string; call: Item | null; result: Item | null };

export type Segment = { kind: "work"; id: string; rows: Row[] } | { kind: "message"; item: Item };

/** Items in their order, calls together with their results, and what is between two messages in one piece. */
export function segments(output: readonly (Item | Block)[]): Segment[] {
  const out: Segment[] = [];
  const calls = new Map<string, Row & { kind: "call" }>();
  const work = (row: Row, id: string) => {
    const last = out[out.length - 1];
    if (last?.kind === "work") last.rows.push(row);
    else out.push({ kind: "work", id, rows: [row] });
  };
  for (const entry of output) {
    if (!isItem(entry) || /^handoff_to_/.test(entry.name ?? "")) continue; // who goes on is seen by what it does
    const item = entry;
    const call = item.call_id ?? item.id;
    if (item.type === "message") out.push({ kind: "message", item });
    else if (item.type === "reasoning") work({ kind: "thought", item }, item.id);
    else if (item.type === "tool_call") {
      const row: Row & { kind: "call" } = { kind: "call", id: call, call: item, result: null };
      calls.set(call, row);
      work(row, item.id);
    } else if (item.type === "tool_result") {
      const row = calls.get(call);
      if (row) row.result = item;
      else work({ kind: "call", id: call, call: null, result: item }, item.id);
    }
  }
  return out;
}

export function isItem(entry: Item | Block): entry is Item {
  return "id" in entry && typeof entry.id === "string";
}

/** The items of the sub-agent that a result contains, or null where it is a tool's. */
export function childOutput(result: Item | null): Item[] | null {
  const items = (result?.block_list ?? []).filter(isItem).filter((i) => i.task_id !== undefined);
  return items.length > 0 ? items : null;
}

export function blocksOf(item: Item | null): Block[] {
  return (item?.block_list ?? []).filter((b): b is Block => !isItem(b));
}

/** The files that were shown to the person, each once: what present_files was called with, and did not fail. */
export function presented(o: TaskObject | null): string[] {
  const out = new Set<string>();
  const visit = (list: readonly (Item | Block)[]) => {
    for (const e of list) {
      if (!isItem(e)) continue;
      visit(e.block_list ?? []);
      if (e.type !== "tool_call" || e.name !== "present_files") continue;
      const result = list.find((r) => isItem(r) && r.type === "tool_result" && r.call_id === e.call_id) as Item | undefined;
      const paths = fieldsOf(e.arguments ?? "")["filepaths"];
      if (result?.status === "completed" && result.is_error !== true && Array.isArray(paths)) for (const p of paths) out.add(String(p));
    }
  };
  visit(o?.output ?? []);
  return [...out];
}

/** Whether a message is a plan for programs. People see the plan itself, which is told beside it. */
export function isPlan(item: Item): boolean {
  const blocks = blocksOf(item);
  if (blocks.length !== 1) return false;
  const text = textIn(blocks[0]!);
  if (!text.slice(0, 64).trimStart().startsWith("{")) return false; // of an answer in words this is all that is looked at
  const fields = fieldsOf(text.slice(0));
  return "has_enough_context" in fields || "locale" in fields;
}

/** The words of an answer, without thoughts and tools. */
export function answerIn(o: TaskObject | null): Text {
  const messages = (o?.output ?? []).filter((i) => i.type === "message" && !isPlan(i)).map((i) => joined(blocksOf(i).map(textIn)));
  return joined(messages.filter((m) => m.length > 0));
}

export function answerText(o: TaskObject | null): string { return answerIn(o).slice(0); }

const gap = "\n\n";

/** Texts as one, with an empty line between two. Only what is asked for is read. */
export function joined(texts: readonly Text[]): Text {
  if (texts.length === 1) return texts[0]!;
  const length = texts.reduce((n, x) => n + x.length, 0) + gap.length * Math.max(0, texts.length - 1);
  const slice = (from: number, to = length) => {
    let out = "", at = 0;
    texts.forEach((x, i) => {
      for (const part of i === 0 ? [x] : [gap, x]) {
        if (from < at + part.length && to > at) out += part.slice(Math.max(0, from - at), to - at);
        at += part.length;
      }
    });
    return out;
  };
  return { length, slice };
}

export interface Source { ref: string; title: string; place: string; url: string; text: string; quote: string }

/**
 * All that can be cited in a task, by its number: what it found itself, its sub-agents' finds among it, and of what earlier
 * tasks of the thread have found whatever it cites. The pool of a thread is one.
 */
export function sourcesOf(o: TaskObject | null, earlier: readonly TaskObject[] = []): Map<string, Source> {
  const out = new Map<string, Source>();
  const visit = (list: readonly (Item | Block)[]) => {
    for (const e of list) {
      if (isItem(e)) { visit(e.block_list ?? []); for (const child of e.tasks ?? []) visit(child.output); continue; }
      if (typeof e.id === "number" && e.id > 0 && !out.has(String(e.id))) {
        const [title = "", ...place] = (e.name ?? "").split(" — ");
        const url = e.url ?? "";
        out.set(String(e.id), { ref: String(e.id), title: title || url, place: place.join(" — ") || url, url, text: e.text ?? "", quote: "" });
      }
    }
  };
  const through = (task: TaskObject | null) => {
    visit(task?.output ?? []);
    for (const child of task?.tasks ?? []) through(child);
  };
  through(o);
  const missing = [...citedIn(o).keys()].filter((ref) => !out.has(ref));
  for (const ref of missing) {
    for (const old of earlier) {
      const source = sourcesOf(old).get(ref);
      if (source) out.set(ref, source);
    }
  }
  for (const [i, a] of urlCitations(o).entries()) {
    out.set("u" + (i + 1), { ref: "u" + (i + 1), title: a.title || a.url || "", place: a.url ?? "", url: a.url ?? "", text: a.quote ?? "", quote: a.quote ?? "" });
  }
  return out;
}

/** What a provider's own search cites, one for each address, in the order of the text. */
function urlCitations(o: TaskObject | null): Annotation[] {
  const seen = new Map<string, Annotation>();
  for (const item of o?.output ?? []) {
    for (const b of blocksOf(item)) for (const a of b.annotations ?? []) if (a.type === "url_citation" && a.url && !seen.has(a.url)) seen.set(a.url, a);
  }
  return [...seen.values()];
}

/** The numbers that a text really cites: those that its annotations name. */
export function citedIn(o: TaskObject | null): Map<string, number> {
  const out = new Map<string, number>();
  for (const item of o?.output ?? []) {
    for (const b of blocksOf(item)) {
      for (const a of b.annotations ?? []) {
        if (a.type === "reference_to_block" && a.reference_id !== undefined) out.set(String(a.reference_id), (out.get(String(a.reference_id)) ?? 0) + 1);
      }
    }
  }
  return out;
}

/** The text with a marker at the end of each stretch that a provider's search supports. Indices count code points. */
export function withMarkers(block: Block, sources: Map<string, Source>): string {
  const marks = (block.annotations ?? []).filter((a) => a.type === "url_citation" && a.url);
  const text = block.text ?? "";
  if (marks.length === 0) return text;
  const points = [...text];
  const refs = new Map([...sources.values()].filter((s) => s.ref.startsWith("u")).map((s) => [s.url, s.ref]));
  for (const a of marks.toSorted((x, y) => y.end_index - x.end_index)) {
    const ref = refs.get(a.url!);
    if (ref && a.end_index <= points.length) points.splice(a.end_index, 0, `[^${ref}]`);
  }
  return points.join("");
}

/** The number that people see: the pool's own, or for a web page its place among the web pages. */
export function label(ref: string): string { return ref.replace(/^u/, ""); }

/** What stands in quotation marks at the end of the text before a marker. */
export function quoteBefore(before: string): string {
  return /[“"„«]([^”"“»]{8,})[”"“»][\s.,;]*$/.exec(before.slice(-2000))?.[1] ?? "";
}

/** Whether two values have the same contents. Strings that did not change are the same object, so this is cheap. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const ka = Object.keys(a), kb = Object.keys(b);
  return ka.length === kb.length && ka.every((k) => same((a as Record<string, unknown>)[k], (b as Record<string, unknown>)[k]));
}
