// What a text with citations tells of itself: its headings, where it cites what, and where the list of references at its end begins. Laws:
//
//   - It is a function of the text alone, however it came.
//   - A piece costs what it brings and what is still open, whatever came before it. A list in which nothing is new stays the same object.
import type { Text } from "../../tasks";
import { Splitter, type Block } from "./split.js"; // with its ending, so that Node finds it in tests

export interface Heading { depth: number; title: string }

/** A place where a text cites: the number, and the words before it. */
export interface Spot { ref: string; words: string }

const seamLength = 64;

/** A text that was read as far as it goes, and whether another one is what it has grown to. */
export class Seam {
  private text: Text = "";
  private end = "";

  get length(): number { return this.text.length; }

  /** While it grows only the seam is compared, so that a token costs the same at the end of a long text; the whole once, at its end. */
  goesOn(text: Text, live: boolean): boolean {
    const was = this.text;
    if (text === was) return true;
    if (text.length < was.length) return false;
    return live ? text.slice(was.length - this.end.length, was.length) === this.end : text.slice(0, was.length) === was.slice(0);
  }

  /** Gives what is new. */
  take(text: Text): string {
    const piece = text.length > this.text.length ? text.slice(this.text.length) : "";
    this.end = (this.end + piece).slice(-seamLength);
    this.text = text;
    return piece;
  }
}

const definition = /^\[\^[\w-]{1,20}\]:/;
const halfDefinition = /^\[(?:\^(?:[\w-]{0,20}\]?)?)?$/;

/** Where the text of a report ends, and its references begin: what follows the last line that says something else. */
class Ending {
  private partial = "";
  private at = 0; // where the partial line begins
  private tail = -1; // where the empty lines and definitions at the end begin
  private heading = -1; // the last line before them, if it is a heading
  private defined = false;

  push(piece: string): void {
    const lines = (this.partial + piece).split("\n");
    this.partial = lines.pop()!;
    for (const l of lines) {
      this.line(l);
      this.at += l.length + 1;
    }
  }

  private line(l: string): void {
    const defines = definition.test(l);
    if (defines || l.trim() === "") {
      if (this.tail < 0) this.tail = this.at;
      this.defined ||= defines;
      return;
    }
    this.heading = /^#{1,6} /.test(l) ? this.at : -1;
    this.tail = -1;
    this.defined = false;
  }

  /** How long the text is without its references, and whether their heading was left out with them. */
  view(ended: boolean): { length: number; headed: boolean } {
    const half = !ended && halfDefinition.test(this.partial); // which it is, is not known yet: until then it is not shown
    const { tail, heading, defined } = this;
    if (!half) this.line(this.partial);
    const now = { tail: this.tail, heading: this.heading, defined: this.defined };
    Object.assign(this, { tail, heading, defined });
    if (!now.defined) return { length: half ? this.at : this.at + this.partial.length, headed: false };
    return { length: now.heading >= 0 ? now.heading : now.tail, headed: now.heading >= 0 };
  }
}

/** A list of which a part is settled, and the rest looked at anew each time. */
class Growth<T> {
  private settled = 0;
  private list: readonly T[] = [];

  next(settled: readonly T[], open: readonly T[]): readonly T[] {
    const rest = [...settled, ...open], same = this.list.length === this.settled + rest.length && JSON.stringify(this.list.slice(this.settled)) === JSON.stringify(rest);
    if (!same) this.list = [...this.list.slice(0, this.settled), ...rest];
    this.settled += settled.length;
    return this.list;
  }
}

/** Reads a text that may still grow. */
export class Reading {
  private seam = new Seam();
  private splitter = new Splitter();
  private ending = new Ending();
  private headings = new Growth<Heading>();
  private spots = new Growth<Spot>();

  /** What a text tells; `live` while it may still grow. */
  of(text: Text, live: boolean): { body: Text; headings: readonly Heading[]; spots: readonly Spot[] } {
    if (!this.seam.goesOn(text, live)) Object.assign(this, new Reading());
    const piece = this.seam.take(text);
    this.splitter.push(piece);
    this.ending.push(piece);
    const { blocks, settled } = this.splitter.view(!live);
    const n = Math.max(0, Math.min(settled, blocks.length - 2)); // the splitter needs the last two
    const done = blocks.slice(0, n), open = blocks.slice(n);
    this.splitter.release(n);
    const { length, headed } = this.ending.view(!live);
    const all = this.headings.next(done.flatMap(headingOf), open.flatMap(headingOf));
    return {
      body: length === text.length ? text : { length, slice: (from, to = length) => text.slice(from, Math.min(to, length)) },
      headings: headed ? all.slice(0, -1) : all, spots: this.spots.next(done.flatMap(spotsOf), open.flatMap(spotsOf)),
    };
  }
}

/** A heading as it stands outside of lists, quotes and code. */
function headingOf(b: Block): Heading[] {
  if (b.kind !== "text" || b.src.length > 2000) return [];
  const line = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*$/.exec(b.src);
  if (line) return [{ depth: line[1]!.length, title: plain(line[2]!) }];
  const under = /^([\s\S]+)\n {0,3}(=+|-+)[ \t]*$/.exec(b.src);
  return under ? [{ depth: under[2]!.startsWith("=") ? 1 : 2, title: plain(under[1]!) }] : [];
}

function spotsOf(b: Block): Spot[] {
  switch (b.kind) {
    case "text": case "item": return citedIn(b.src);
    case "head": case "row": return b.cells.flatMap(citedIn);
    default: return [];
  }
}

function citedIn(src: string): Spot[] {
  if (!src.includes("[^")) return [];
  const out: Spot[] = [];
  const clean = src.replace(/```[\s\S]*?(?:```|$)|`[^`\n]*`/g, (m) => " ".repeat(m.length));
  for (const m of clean.matchAll(/\[\^([\w-]{1,20})\](?!:)/g)) {
    const before = clean.slice(Math.max(0, m.index - 400), m.index);
    const whole = before.slice(before.lastIndexOf("\n") + 1);
    if (definition.test(whole)) continue;
    const line = whole.replace(/\[\^[\w-]{1,20}\]/g, "").replace(/^\s*(?:[-*+]|\d+[.)])\s+/, "").trimEnd();
    const from = Math.max(line.lastIndexOf(". ", line.length - 3), line.lastIndexOf("。", line.length - 2));
    out.push({ ref: m[1]!, words: plain(from > 0 ? line.slice(from + 1) : line).slice(-160) });
  }
  return out;
}

/** Words without the marks of Markdown and of citations. */
export function plain(text: string): string {
  return text.replace(/\[\^[\w-]+\]/g, "").replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[*`~#]+/g, "").replace(/(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu, "").replace(/\s+/g, " ").trim();
}
