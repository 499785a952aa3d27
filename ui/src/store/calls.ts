// What a tool call says to a reader: its arguments as far as they have come, its output as a terminal shows it, an edit as a
// diff, finds as a list. Pure functions of the text.
import type { Block } from "../../tasks";

/** The members of an object that may still be written: what is open is closed where it stands. */
export function fieldsOf(args: string): Record<string, unknown> {
  for (const text of [args, closed(args)]) {
    try {
      const v: unknown = JSON.parse(text);
      if (typeof v === "object" && v !== null && !Array.isArray(v)) return v as Record<string, unknown>;
    } catch { /* the next one */ }
  }
  return {};
}

function closed(args: string): string {
  const ends: string[] = [];
  let quoted = false, name = true, last = 0, keep = "";
  for (let i = 0; i < args.length; i++) {
    const c = args[i]!;
    if (quoted) {
      if (c === "\\") { if (i + (args[i + 1] === "u" ? 5 : 1) >= args.length) return finish(args.slice(0, i), true); i++; } else if (c === '"') quoted = false;
      continue;
    }
    if (c === '"') { quoted = true; name = ends.at(-1) === "}" && /[{,]\s*$/.test(args.slice(last, i)); }
    else if (c === "{" || c === "[") { ends.push(c === "{" ? "}" : "]"); last = i; }
    else if (c === "}" || c === "]") ends.pop();
    else if (c === ",") { keep = args.slice(0, i); last = i; }
  }
  return finish(args, quoted);

  function finish(text: string, inside: boolean): string {
    const tail = ends.toReversed().join("");
    if (inside && name) return (keep === "" ? "{" : keep) + tail; // the name of a member, which nobody needs yet
    if (inside) return text + '"' + tail;
    const cut = text.replace(/,\s*$/, "");
    try { JSON.parse(cut + tail); return cut + tail; } catch { return (keep === "" ? "{" : keep) + tail; }
  }
}

// Colours and cursor movements: CSI, OSC, and the short ones.
// eslint-disable-next-line no-control-regex
const escapes = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_]|[ -/]+[0-~])/g;

/** Output as a plain terminal shows it: without colours, and with what a carriage return writes over gone. */
export function plainOutput(text: string): string {
  let out = text.includes("\u001b") ? text.replace(escapes, "").replaceAll("\u001b", "") : text;
  out = out.replaceAll("\r\n", "\n");
  if (out.includes("\r")) out = out.split("\n").map((l) => l.slice(l.replace(/\r+$/, "").lastIndexOf("\r") + 1).replace(/\r+$/, "")).join("\n");
  return out.replace(/[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f]/g, "");
}

/** How a command ended, from the line that the sandbox writes last. */
export function exitOf(text: string): { code: number; output: string } | null {
  const m = /(?:^|\n)\[(?:ended by \w+, )?exit code (-?\d+)[^\]]*\](?:\n\[[^\n]*\])?\s*$/.exec(text);
  return m ? { code: Number(m[1]), output: text } : null;
}

export interface Change { kind: "same" | "gone" | "new"; text: string }

const tooManyToCompare = 400_000;

/** Two texts line by line: what both have, in their order, and what only one has. */
export function changes(before: string, after: string): Change[] {
  const a = before === "" ? [] : before.split("\n"), b = after === "" ? [] : after.split("\n");
  let from = 0, tail = 0;
  while (from < a.length && from < b.length && a[from] === b[from]) from++;
  while (tail < a.length - from && tail < b.length - from && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const out: Change[] = a.slice(0, from).map((text) => ({ kind: "same", text }));
  out.push(...middle(a.slice(from, a.length - tail), b.slice(from, b.length - tail)));
  for (const text of a.slice(a.length - tail)) out.push({ kind: "same", text });
  return out;
}

function middle(a: string[], b: string[]): Change[] {
  const gone = (text: string): Change => ({ kind: "gone", text }), fresh = (text: string): Change => ({ kind: "new", text });
  if (a.length * b.length > tooManyToCompare) return [...a.map(gone), ...b.map(fresh)];
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width); // of the common subsequences of what follows
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i * width + j] = a[i] === b[j] ? longest[(i + 1) * width + j + 1]! + 1 : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!);
    }
  }
  const out: Change[] = [];
  let i = 0, j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) { out.push({ kind: "same", text: a[i]! }); i++; j++; }
    else if (longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!) out.push(gone(a[i++]!));
    else out.push(fresh(b[j++]!));
  }
  return [...out, ...a.slice(i).map(gone), ...b.slice(j).map(fresh)];
}

export interface Find { ref: number | null; title: string; source: string; snippet: string; url: string }

/** What a search brought: blocks that can be cited or have an address, or a text that is a list of pages in JSON. */
export function findsIn(blocks: Block[]): { finds: Find[]; rest: Block[] } {
  const finds: Find[] = [], rest: Block[] = [];
  for (const b of blocks) {
    if (b.type === "text" && (typeof b.id === "number" || (b.url ?? "") !== "")) {
      const [title = "", ...place] = (b.name ?? "").split(" — ");
      const url = b.url ?? "";
      finds.push({ ref: typeof b.id === "number" ? b.id : null, title: title || url, source: place.join(" — ") || host(url), snippet: flat(b.text ?? ""), url });
      continue;
    }
    const pages = b.type === "text" ? pagesIn(b.text ?? "") : null;
    if (pages) finds.push(...pages); else rest.push(b);
  }
  return { finds, rest };
}

function pagesIn(text: string): Find[] | null {
  if (!/^\s*[[{]/.test(text)) return null;
  let v: unknown;
  try { v = JSON.parse(text); } catch { return null; }
  const list: unknown = Array.isArray(v) ? v : (v as Record<string, unknown>)["results"];
  if (!Array.isArray(list) || list.length === 0) return null;
  const out: Find[] = [];
  for (const e of list as unknown[]) {
    if (typeof e !== "object" || e === null) return null;
    const o = e as Record<string, unknown>;
    const word = (...keys: string[]) => { for (const k of keys) if (typeof o[k] === "string") return o[k]; return ""; };
    const url = word("url", "link", "href");
    const title = word("title", "name") || url;
    if (title === "") return null;
    out.push({ ref: null, title, source: host(url) || word("source", "path"), snippet: flat(word("snippet", "content", "text", "description", "summary")), url });
  }
  return out;
}

function host(url: string): string { try { return new URL(url).host; } catch { return url; } }
function flat(text: string): string { return text.replace(/\s+/g, " ").trim().slice(0, 400); }
