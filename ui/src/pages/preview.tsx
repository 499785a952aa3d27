// A file as people read it. Nothing of it runs here: text becomes elements that are written down in this page, and what could run
// stands in a frame with an origin of its own, to which the server gives no network.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { number, t } from "../i18n";
import { Code } from "../markdown/code";
import { Markdown } from "../markdown/markdown";
import { needsKey, size } from "../store/files";
import { headers, refusal } from "../wire/api";

const mostText = 1 << 19;
const mostPicture = 32 << 20;
const mostRows = 1000;

type Kind = "markdown" | "table" | "picture" | "frame" | "pdf" | "text" | "none";

const languages: Record<string, string> = {
  py: "python", go: "go", ts: "typescript", tsx: "typescript", js: "javascript", mjs: "javascript", jsx: "javascript", json: "json", jsonl: "json", sh: "bash", yaml: "yaml", yml: "yaml",
  html: "xml", htm: "xml", svg: "xml", xml: "xml", css: "css", sql: "sql", c: "c", h: "c", cpp: "cpp", java: "java", rs: "rust", diff: "diff", patch: "diff",
};

function kindOf(ext: string): Kind {
  if (ext === "md" || ext === "markdown") return "markdown";
  if (ext === "csv" || ext === "tsv") return "table";
  if (/^(png|jpe?g|gif|webp|avif)$/.test(ext)) return "picture";
  if (/^(html?|svg)$/.test(ext)) return needsKey() ? "text" : "frame"; // a frame cannot show a key
  if (ext === "pdf") return "pdf";
  if (ext in languages || /^(txt|log|toml|ini|cfg|conf|env|tex|bib|rst|csv|srt|vtt|makefile|mod|sum)$/.test(ext)) return "text";
  return "none";
}

export function FilePreview({ address, name }: { address: string; name: string }): JSX.Element {
  const ext = (/\.([^.]+)$/.exec(name)?.[1] ?? "").toLowerCase();
  const [source, setSource] = useState(false);
  const kind = source ? "text" : kindOf(ext);
  const toggle = kindOf(ext) === "frame" || kindOf(ext) === "markdown" || kindOf(ext) === "table"
    ? <p class="preview-tools"><span class="segmented">{[false, true].map((s) => <button key={String(s)} type="button" aria-pressed={source === s} onClick={() => setSource(s)}>{s ? t("sourceText") : t("preview")}</button>)}</span></p> : null;
  return <>{toggle}<Content kind={kind} ext={ext} address={address} name={name} /></>;
}

function Content({ kind, ext, address, name }: { kind: Kind; ext: string; address: string; name: string }): JSX.Element {
  switch (kind) {
    case "none": return <p class="meta">{t("noPreview")}</p>;
    case "picture": return <PictureFile address={address} name={name} />;
    case "pdf": return <PdfFile address={address} name={name} />;
    case "frame": return <iframe class="preview-frame" title={name} src={address + "?preview=true"} sandbox="allow-scripts" referrerpolicy="no-referrer" loading="lazy" />;
    default: return <TextFile kind={kind} ext={ext} address={address} />;
  }
}

/** A PDF, by the browser's own reader. */
function PdfFile({ address, name }: { address: string; name: string }): JSX.Element {
  if (needsKey() || !navigator.pdfViewerEnabled) return <p class="meta">{t("noPreview")}</p>;
  return <iframe class="preview-frame" title={name} src={address + "?preview=true"} referrerpolicy="no-referrer" />;
}

async function load(address: string, most: number): Promise<{ blob: Blob; whole: number }> {
  const answer = await fetch(address, { headers: headers({ Range: `bytes=0-${most - 1}` }) });
  if (!answer.ok) throw await refusal(answer);
  const blob = await answer.blob();
  const whole = Number(/\/(\d+)$/.exec(answer.headers.get("Content-Range") ?? "")?.[1] ?? blob.size);
  return { blob, whole };
}

function useLoaded<T>(address: string, most: number, read: (b: Blob) => Promise<T>): { value: T | null; whole: number; problem: string } {
  const [state, set] = useState<{ value: T | null; whole: number; problem: string }>({ value: null, whole: 0, problem: "" });
  useEffect(() => {
    let live = true;
    load(address, most).then(async ({ blob, whole }) => ({ value: await read(blob), whole, problem: "" }))
      .catch((err: unknown) => ({ value: null, whole: 0, problem: err instanceof Error ? err.message : String(err) }))
      .then((s) => { if (live) set(s); });
    return () => { live = false; };
  }, [address]);
  return state;
}

function TextFile({ kind, ext, address }: { kind: Kind; ext: string; address: string }): JSX.Element {
  const { value, whole, problem } = useLoaded(address, mostText, (b) => b.text());
  if (problem !== "") return <p class="note fail">{problem}</p>;
  if (value === null) return <p class="meta">{t("loading")}</p>;
  return (
    <>
      {whole > mostText && <p class="note">{t("cutShort", size(mostText), size(whole))}</p>}
      {kind === "markdown" ? <Markdown text={value} live={false} /> : kind === "table" ? <Table text={value} by={ext === "tsv" ? "\t" : ","} /> : <Code lang={languages[ext] ?? ""} text={value} closed />}
    </>
  );
}

function PictureFile({ address, name }: { address: string; name: string }): JSX.Element {
  const { value, problem } = useLoaded(address, mostPicture, async (b) => URL.createObjectURL(b));
  useEffect(() => () => { if (value) URL.revokeObjectURL(value); }, [value]);
  if (problem !== "") return <p class="note fail">{problem}</p>;
  return value === null ? <p class="meta">{t("loading")}</p> : <img class="preview-picture" src={value} alt={name} />;
}

/** The cells of a text whose rows may hold quoted cells, with line breaks and doubled quotes inside. */
export function cells(text: string, by: string): string[][] {
  const rows: string[][] = [[]];
  let cell = "", quoted = false;
  const end = () => { rows[rows.length - 1]!.push(cell); cell = ""; };
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (quoted) {
      if (c !== '"') cell += c;
      else if (text[i + 1] === '"') { cell += '"'; i++; }
      else quoted = false;
    } else if (c === '"' && cell === "") quoted = true;
    else if (c === by) end();
    else if (c === "\n") { if (cell.endsWith("\r")) cell = cell.slice(0, -1); end(); rows.push([]); }
    else cell += c;
  }
  if (cell !== "" || rows[rows.length - 1]!.length > 0) end(); else rows.pop();
  return rows;
}

function Table({ text, by }: { text: string; by: string }): JSX.Element {
  const [head = [], ...rows] = cells(text.replace(/^\ufeff/, ""), by);
  const numeric = head.map((_, i) => rows.length > 0 && rows.slice(0, 50).every((r) => (r[i] ?? "") === "" || /^[-+]?[\d.,\s%€$]+$/.test(r[i]!)));
  return (
    <>
      <div class="md-table" tabIndex={0} role="region" aria-label={t("table")}><table>
        <thead><tr>{head.map((c, i) => <th key={i} class={numeric[i] ? "right" : ""}>{c}</th>)}</tr></thead>
        <tbody>{rows.slice(0, mostRows).map((r, j) => <tr key={j}>{head.map((_, i) => <td key={i} class={numeric[i] ? "right" : ""}>{r[i] ?? ""}</td>)}</tr>)}</tbody>
      </table></div>
      <p class="meta">{rows.length > mostRows ? t("rowsOf", number(mostRows), number(rows.length)) : t("rows", number(rows.length))}</p>
    </>
  );
}
