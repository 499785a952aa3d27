// What of a growing Markdown text is said aloud next. Laws:
//
//   - What is said begins where the last ended: said again and again, it is a beginning of the text, in its order.
//   - It ends with a sentence or a line, unless one alone is longer than may be said at a time. What is written just now waits.
//   - It reads no more letters than may be said at a time, however long the text is.

import type { Text } from "../../tasks";

export interface Said { said: string; upTo: number }

/** The next words from a position on, of at most so many letters; of a text that has ended also the last ones, if that is all that is left. */
export function sentences(text: Text, from: number, most: number, ended: boolean): Said {
  const left = text.length - from;
  if (left <= 0 || (ended && left > most)) return { said: "", upTo: from };
  const part = text.slice(from, from + most);
  const end = ended ? part.length : (lastEnd(part) ?? (left > most ? lastWord(part) : 0));
  return { said: aloud(part.slice(0, end)), upTo: from + end };
}

/** Where the last whole sentence ends. */
function lastEnd(part: string): number | null {
  let end: number | null = null;
  for (const m of part.matchAll(/[.!?…][)"”’]*(?=\s)|[。！？]|\n/g)) end = m.index + m[0].length;
  return end;
}

/** Where the last whole word ends; half a letter is none. */
function lastWord(part: string): number {
  const space = part.search(/\s\S*$/);
  return space > 0 ? space : /[\ud800-\udbff]$/.test(part) ? part.length - 1 : part.length;
}

/** Markdown without its marks. */
function aloud(text: string): string {
  return text
    .replace(/\[\^[\w-]{1,20}\]/g, "")
    .replace(/!?\[([^\]\n]*)\]\([^)\n]*\)/g, "$1")
    .replace(/^[ \t]*(?:```|~~~).*$/gm, "")
    .replace(/^[ \t]*\|?[ \t:|-]*-[ \t:|-]*$/gm, "")
    .replace(/^[ \t]*(?:#{1,6}|>+|[-*+])[ \t]+/gm, "")
    .replace(/\*\*|__|~~|`|\*(?=\S)|(?<=\S)\*/g, "")
    .replace(/\|/g, " ")
    .trim().replace(/([\p{L}\p{N})])[ \t]*\n\s*/gu, "$1. ") // a pause where a line ends
    .replace(/\s+/g, " ");
}
