// Cuts a growing Markdown text into top-level blocks, line by line. Laws:
//
//   - The blocks are a function of the text alone, however it was cut into pieces on its way (tested letter by letter).
//   - A finished block is never looked at again, and its object stays the same: who shows it need not compare contents.
//   - The cost of a piece is that of its own lines, whatever came before it. A paragraph that is longer than anybody writes is several
//     blocks, each of which goes on with the one before it (`more`), so that its end costs no more than that of a short one.
//
// Only what must be known to cut is decided here. What is inside of a block is read by the library marked, once.

export type Block =
  | { kind: "text"; src: string; lines: number; indented?: boolean; more?: boolean }
  | { kind: "code"; lang: string; text: string; lines: Lines; closed: boolean; fence: string; indent: number }
  | { kind: "math"; text: string; closed: boolean }
  | { kind: "item"; ordered: boolean; mark: string; start: number; src: string; offset: number; first: boolean; loose: boolean; nth: number; from: number }
  | { kind: "head"; cells: string[]; align: Align[] }
  | { kind: "row"; cells: string[] };

/** A text in parts of some lines, which stay the same strings, and the lines that do not fill one yet. */
export interface Lines { parts: readonly string[]; rest: string; count: number }

const linesOfPart = 40;
export const noLines: Lines = { parts: [], rest: "", count: 0 };

export function withLine({ parts, rest, count }: Lines, line: string): Lines {
  return count < linesOfPart ? { parts, rest: rest + line, count: count + 1 } : { parts: [...parts, rest], rest: line, count: 1 };
}

export type Align = "" | "left" | "right" | "center";

const fenceLine = /^( {0,3})(`{3,}|~{3,})[ \t]*([^`\n]*)$/;
const listLine = /^( {0,3})([-*+]|(\d{1,9})([.)]))([ \t]+|$)/;
const ruleLine = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const headingLine = /^ {0,3}#{1,6}(?:[ \t]|$)/;
const delimiterLine = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

export class Splitter {
  private blocks: Block[] = [];
  private open = false; // whether the last block may still grow
  private blank = false; // whether the line before was empty
  private midway = false; // whether the line that comes is the rest of one whose beginning was taken in
  private partial = "";
  private tried = 0; // how far its beginning was looked at for a place to cut it
  length = 0;

  /** Takes in the next piece of the text. */
  push(piece: string): void {
    this.length += piece.length;
    const lines = (this.partial + piece).split("\n");
    const last = lines.pop()!;
    for (const l of lines) {
      this.line(this.begin(l.endsWith("\r") ? l.slice(0, -1) : l));
      this.tried = 0;
    }
    this.partial = this.begin(last);
  }

  /** Takes in the beginning of a line that is too long for one block, as often as it is; what it gives back is the rest. */
  private begin(line: string): string {
    while (line.length > longestText && this.inParagraph(line)) {
      const { cut, tried } = seam(line, this.tried);
      this.tried = tried;
      if (cut < 0 || (!this.midway && startsBlock(line.slice(0, cut)))) break;
      this.line(line.slice(0, cut));
      this.midway = true;
      this.tried = 0;
      line = line.slice(cut);
    }
    return line;
  }

  /** Whether a line would be a paragraph, or go on with one. */
  private inParagraph(line: string): boolean {
    if (this.midway) return true;
    const last = this.open ? this.blocks[this.blocks.length - 1] : undefined;
    return !startsBlock(line) && !/^(?: {4}|\t)/.test(line) && (last === undefined || (last.kind === "text" && !last.indented && !quoted(last.src)));
  }

  /** The blocks as they stand. Those before `settled` do not change any more. */
  view(ended: boolean): { blocks: readonly Block[]; settled: number } {
    if (this.partial === "" || (!ended && /^\s*(?:[-*+_#>|=~`]+|\d{1,9}[.)]?)?\s*$/.test(this.partial))) {
      return { blocks: this.blocks, settled: this.settled(ended) };
    }
    // The last line may still grow: look at what it makes, and take it back.
    const saved = { blocks: this.blocks, open: this.open, blank: this.blank, midway: this.midway };
    const keep = Math.max(0, saved.blocks.length - 1);
    this.blocks = saved.blocks.slice();
    this.line(this.partial);
    const blocks = this.blocks;
    Object.assign(this, saved);
    return { blocks, settled: ended ? blocks.length : keep };
  }

  /** Forgets the first blocks, which are settled and kept by who shows them: what is left to look at does not grow with the text. */
  release(n: number): void { this.blocks.splice(0, n); }

  private settled(ended: boolean): number {
    return ended || !this.open ? this.blocks.length : Math.max(0, this.blocks.length - 1);
  }

  private add(block: Block, open: boolean): void {
    this.blocks.push(block);
    this.open = open;
    this.blank = false;
  }

  private set(block: Block): void {
    this.blocks[this.blocks.length - 1] = block;
    this.blank = false;
  }

  private line(line: string): void {
    const last = this.open ? this.blocks[this.blocks.length - 1] : undefined;
    if (last?.kind === "code" && !last.closed) return this.inCode(last, line);
    if (last?.kind === "math" && !last.closed) return this.inMath(last, line);
    if (this.midway) {
      this.midway = false;
      return this.add({ kind: "text", src: line, lines: 2, more: true }, true); // no table's head: it has no line of its own
    }
    if (line.trim() === "") {
      this.blank = true;
      if (last?.kind !== "item" && !(last?.kind === "text" && last.indented)) this.open = false;
      return;
    }
    const indent = line.length - line.trimStart().length;
    const item = listLine.exec(line);
    if (last?.kind === "item") {
      if (indent >= last.offset || (indent >= 2 && !item)) return this.grow(last, line);
      if (!this.blank && !item && !startsBlock(line)) return this.grow(last, line);
    }
    const fence = fenceLine.exec(line);
    if (fence) {
      return this.add({ kind: "code", lang: fence[3]!.trim().split(/[\s{]/)[0] ?? "", text: "", lines: noLines, closed: false, fence: fence[2]!, indent: fence[1]!.length }, true);
    }
    if (/^ {0,3}\$\$\s*$/.test(line) || /^ {0,3}\\\[\s*$/.test(line)) return this.add({ kind: "math", text: "", closed: false }, true);
    const para = last?.kind === "text" && !last.indented && !this.blank ? last : undefined;
    if (para && !para.more && /^ {0,3}(?:=+|-+)[ \t]*$/.test(line) && !quoted(para.src)) { // a heading by underlining
      this.set({ ...para, src: para.src + "\n" + line, lines: para.lines + 1 });
      this.open = false;
      return;
    }
    if (para && para.lines === 1 && line.includes("|") && delimiterLine.test(line)) {
      const head = cells(para.src), marks = cells(line);
      if (para.src.includes("|") && head.length === marks.length) return this.set({ kind: "head", cells: head, align: marks.map(alignment) });
    }
    if (headingLine.test(line) || ruleLine.test(line)) return this.add({ kind: "text", src: line, lines: 1 }, false);
    if (item && !(para && item[3] !== undefined && item[3] !== "1")) return this.item(item, line, last);
    if ((last?.kind === "head" || last?.kind === "row") && !startsBlock(line)) return this.add({ kind: "row", cells: cells(line) }, true);
    if (last?.kind === "text" && last.indented && indent >= 4) {
      const gap = this.blank ? "\n\n" : "\n";
      return this.set({ ...last, src: last.src + gap + line, lines: last.lines + 1 });
    }
    const quoteBegins = para !== undefined && quoted(line) && !quoted(para.src);
    if (para && !quoteBegins && para.src.length > longestText && !quoted(para.src) && settledMarks(para.src)) return this.add({ kind: "text", src: line, lines: 2, more: true }, true);
    if (para && !quoteBegins) return this.set({ ...para, src: para.src + "\n" + line, lines: para.lines + 1 });
    this.add({ kind: "text", src: line, lines: 1, ...(indent >= 4 ? { indented: true } : {}) }, true);
  }

  private item(m: RegExpExecArray, line: string, last: Block | undefined): void {
    const ordered = m[3] !== undefined;
    const mark = ordered ? m[4]! : m[2]!;
    const same = last?.kind === "item" && last.ordered === ordered && last.mark === mark;
    const offset = m[0].trim() === line.trim() ? m[1]!.length + m[2]!.length + 1 : Math.min(m[0].length, m[1]!.length + m[2]!.length + 4);
    this.add({
      kind: "item", ordered, mark, start: Number(m[3] ?? 0), src: line.slice(m[0].length), offset,
      first: !same, loose: same && this.blank, nth: same ? last.nth + 1 : 0, from: same ? last.from : Number(m[3] ?? 0),
    }, true);
  }

  private grow(item: Block & { kind: "item" }, line: string): void {
    const indent = line.length - line.trimStart().length;
    const gap = this.blank ? "\n\n" : "\n";
    this.set({ ...item, src: item.src + gap + line.slice(Math.min(indent, item.offset)), loose: item.loose || this.blank });
  }

  private inCode(code: Block & { kind: "code" }, line: string): void {
    const m = fenceLine.exec(line);
    if (m && m[3]!.trim() === "" && m[2]![0] === code.fence[0] && m[2]!.length >= code.fence.length) {
      this.set({ ...code, closed: true });
      this.open = false;
      return;
    }
    let cut = 0;
    while (cut < code.indent && line[cut] === " ") cut++;
    const more = line.slice(cut) + "\n";
    this.set({ ...code, text: code.text + more, lines: withLine(code.lines, more) }); // the whole is not read while it grows
  }

  private inMath(math: Block & { kind: "math" }, line: string): void {
    if (/^\s*(?:\$\$|\\\])\s*$/.test(line)) {
      this.set({ ...math, closed: true });
      this.open = false;
      return;
    }
    this.set({ ...math, text: math.text + line + "\n" });
  }
}

function quoted(line: string): boolean { return line.trimStart().startsWith(">"); }

const longestText = 4096;

/**
 * Where a line of a paragraph that is too long is cut: after the first sentence beyond that length at which no mark is open; if there is
 * none for long, between two words, or anywhere. It depends on what stands before it and one letter more, so not on how the text came.
 * What was `tried` before is not tried again.
 */
function seam(line: string, tried: number): { cut: number; tried: number } {
  const ends = /[.!?…]["”’)]?[ \t]+(?=[^ \t\r])|[。！？](?=[^ \t\r])/g;
  ends.lastIndex = Math.max(longestText, tried);
  while (ends.exec(line) && ends.lastIndex <= 2 * longestText) {
    tried = ends.lastIndex;
    if (settledMarks(line.slice(0, tried))) return { cut: tried, tried };
  }
  const gap = /[ \t]+(?=[^ \t\r])/g;
  gap.lastIndex = 2 * longestText;
  if (gap.exec(line) && gap.lastIndex <= 3 * longestText) return { cut: gap.lastIndex, tried };
  if (line.length <= 3 * longestText + 1) return { cut: -1, tried };
  return { cut: 3 * longestText + (/[\ud800-\udbff]/.test(line[3 * longestText - 1]!) ? 1 : 0), tried };
}

/** Whether a text may be cut at its end: what it opened is closed. */
function settledMarks(text: string): boolean {
  const plain = text.replace(/\\./g, "").replace(/(`+)[^`]*?\1(?!`)/g, "");
  const even = (mark: RegExp) => (plain.match(mark)?.length ?? 0) % 2 === 0;
  return !plain.includes("`") && even(/\*\*/g) && even(/~~/g) && even(/(?<!\*)\*(?!\*)/g) && even(/(?<![\p{L}\p{N}_])_|_(?![\p{L}\p{N}_])/gu)
    && plain.lastIndexOf("[") <= plain.lastIndexOf("]") && !/\]\([^)]*$/.test(plain) && !/\$\S[^$]{0,200}$/.test(plain);
}

/** Whether a line ends a paragraph that stands before it. */
function startsBlock(line: string): boolean {
  return headingLine.test(line) || ruleLine.test(line) || fenceLine.test(line) || /^ {0,3}>/.test(line) || listLine.test(line);
}

/** The cells of a row of a table. A bar in a code span or after a backslash does not separate. */
export function cells(row: string): string[] {
  const text = row.trim().replace(/^\|/, "");
  const out: string[] = [];
  let cell = "", code = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (c === "\\" && text[i + 1] === "|") { cell += "|"; i++; continue; }
    if (c === "`") code = !code && text.indexOf("`", i + 1) > 0;
    if (c === "|" && !code) { out.push(cell.trim()); cell = ""; } else cell += c;
  }
  if (cell.trim() !== "") out.push(cell.trim());
  return out;
}

function alignment(mark: string): Align {
  const left = mark.startsWith(":"), right = mark.endsWith(":");
  return left && right ? "center" : right ? "right" : left ? "left" : "";
}

/** All blocks of a whole text. */
export function split(text: string): readonly Block[] {
  const s = new Splitter();
  s.push(text);
  return s.view(true).blocks;
}

/**
 * The end of a text that is still being written, such that no half-written mark is shown: what is open is closed, and a link
 * without its end is its text.
 */
export function heal(src: string): string {
  const spans = src.split(/(?<!\\)`/);
  if (spans.length % 2 === 0) { // inside of a code span
    return spans[spans.length - 1] === "" ? src.slice(0, -1) : src + "`";
  }
  let text = src
    .replace(/!?\[\^?\d*$/, "")
    .replace(/!?\[([^\]\n]*)\]\([^)\n]*$/, "$1")
    .replace(/(!?)\[([^\]\n]*)\]?$/, (whole, _bang, label: string) => (/\]$/.test(whole) ? whole : label))
    .replace(/(?<=\s|^)[*_~]{1,3}$/, "");
  const plain = text.replace(/`[^`]*`/g, "");
  for (const mark of ["**", "~~"]) {
    const n = plain.split(mark).length - 1;
    if (n % 2 === 1) {
      // "**bold*" is on its way to "**bold**".
      if (text.endsWith(mark)) text = text.slice(0, -mark.length);
      else text = (mark === "**" && /[^*]\*$/.test(text) ? text.slice(0, -1) : text.trimEnd()) + mark;
      return text;
    }
  }
  const singles = plain.replaceAll("**", "").replace(/^\s*\*\s/gm, "").match(/(?<![\\*])\*(?=\S)|(?<=\S)\*(?!\*)/g)?.length ?? 0;
  if (singles % 2 === 1) text = text.endsWith("*") ? text.slice(0, -1) : text.trimEnd() + "*";
  return text;
}
