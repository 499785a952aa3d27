// What a research leaves: its report, the headings of it, and where it cites what. Pure functions of the object and the text.
import { textIn, type Item, type TaskObject } from "../../tasks";
import { split } from "../markdown/split";
import { blocksOf, isPlan, sourcesOf } from "./output";

/** The report of a research: the last message of a task that works by a plan of its own with steps of a kind. */
export function reportOf(o: TaskObject | null): Item | null {
  if (!o?.plans?.some((p) => p.team_id === undefined && p.steps.some((s) => typeof s["kind"] === "string" && s["kind"] !== ""))) return null;
  const last = o.output.findLast((i) => i.type === "message");
  return last && !isPlan(last) && blocksOf(last).some((b) => textIn(b).length > 0) ? last : null;
}

export function textOf(item: Item): string { return blocksOf(item).map((b) => b.text ?? "").join("\n\n"); }

export interface Heading { depth: number; title: string }

/** The headings of a text, in their order, as they stand outside of lists, quotes and code. */
export function outline(text: string): Heading[] {
  const out: Heading[] = [];
  for (const b of split(text)) {
    if (b.kind !== "text") continue;
    const line = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*$/.exec(b.src);
    const under = line ? null : /^([\s\S]+)\n {0,3}(=+|-+)[ \t]*$/.exec(b.src);
    if (line) out.push({ depth: line[1]!.length, title: plain(line[2]!) });
    else if (under) out.push({ depth: under[2]!.startsWith("=") ? 1 : 2, title: plain(under[1]!) });
  }
  return out;
}

/** Words without the marks of Markdown and of citations. */
export function plain(text: string): string {
  return text.replace(/\[\^[\w-]+\]/g, "").replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[*`~#]+/g, "").replace(/(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu, "").replace(/\s+/g, " ").trim();
}

const definition = /^\[\^[\w-]{1,20}\]:/;

/** A report without the list of references at its end, which is shown from the sources themselves. */
export function bodyOf(text: string): string {
  const lines = text.split("\n");
  let at = lines.length;
  while (at > 0 && (lines[at - 1]!.trim() === "" || definition.test(lines[at - 1]!))) at--;
  if (at === lines.length || !lines.slice(at).some((l) => definition.test(l))) return text;
  if (at > 0 && /^#{1,6} /.test(lines[at - 1]!)) at--; // its heading
  return lines.slice(0, at).join("\n").trimEnd() + "\n";
}

export interface Spot { ref: string; words: string }

/** Where a text cites, in its order: the number, and the words before it. */
export function spots(text: string): Spot[] {
  const out: Spot[] = [];
  const code = /```[\s\S]*?(?:```|$)|`[^`\n]*`/g;
  const clean = bodyOf(text).replace(code, (m) => " ".repeat(m.length));
  for (const m of clean.matchAll(/\[\^([\w-]{1,20})\](?!:)/g)) {
    const before = clean.slice(Math.max(0, m.index - 400), m.index).replace(/(?:\[\^[\w-]{1,20}\]\s*)+$/, "");
    const line = before.slice(before.lastIndexOf("\n") + 1).replace(/^\s*(?:[-*+]|\d+[.)]|\|)\s+/, "");
    const from = Math.max(line.lastIndexOf(". ", line.length - 3), line.lastIndexOf("。", line.length - 2));
    out.push({ ref: m[1]!, words: plain(from > 0 ? line.slice(from + 1) : line).slice(-160) });
  }
  return out;
}

/** How many sources the sub-agents of a step found. */
export function foundBy(child: TaskObject | undefined): number {
  return child ? [...sourcesOf(child).keys()].filter((k) => !k.startsWith("u")).length : 0;
}

/** The child that works on a step: by its id, or else by its title. */
export function workerOf(o: TaskObject, step: { id: string; title: string }): TaskObject | undefined {
  return o.tasks?.find((c) => c.task_id === "step-" + step.id) ?? o.tasks?.find((c) => c.title !== undefined && c.title === step.title);
}
