// Stands for @mermaid-js/parser, which is larger than all the rest of mermaid that we use. Of what it reads, models write charts of
// pies; their grammar is a few lines.

interface Pie { showData: boolean; title?: string; accTitle?: string; accDescr?: string; sections: { label: string; value: number }[] }

export function parse(kind: string, text: string): Promise<Pie> {
  return Promise.resolve().then(() => {
    if (kind !== "pie") throw new Error("this kind of diagram is not drawn here");
    return pie(text);
  });
}

export function pie(text: string): Pie {
  const out: Pie = { showData: false, sections: [] };
  const lines = text.split(/\r?\n/).map((l) => l.replace(/%%.*$/, "").trim()).filter((l) => l !== "");
  let head = lines.shift() ?? "";
  if (!/^pie\b/.test(head)) throw new Error(`a pie begins with "pie", not with "${head.slice(0, 40)}"`);
  head = head.slice("pie".length).trim();
  if (/^showData\b/.test(head)) { out.showData = true; head = head.slice("showData".length).trim(); }
  if (head !== "") lines.unshift(head);
  for (const line of lines) {
    const said = /^(title|accTitle|accDescr)\b\s*:?\s*(.*)$/.exec(line);
    const section = /^"([^"]*)"\s*:\s*(\d+(?:\.\d+)?)$/.exec(line) ?? /^'([^']*)'\s*:\s*(\d+(?:\.\d+)?)$/.exec(line);
    if (said) out[said[1] as "title"] = said[2]!;
    else if (line === "showData") out.showData = true;
    else if (section) out.sections.push({ label: section[1]!, value: Number(section[2]) });
    else throw new Error(`a slice of a pie is written as "label" : number, not as ${line.slice(0, 60)}`);
  }
  return out;
}
