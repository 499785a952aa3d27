// What is inside of a tool call: a terminal, a diff, finds, files; for tools that nobody knows, arguments and result as text.
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Block, Item } from "../../tasks";
import { number, t } from "../i18n";
import { Away, safe } from "../markdown/inline";
import { changes, fieldsOf, findsIn, plainOutput, type Change, type Find } from "../store/calls";
import type { Turn } from "../store/turn";
import { One } from "./blocks";
import { CopyButton } from "./buttons";
import { FileLink } from "./filelink";
import { opened } from "./sources";

export type View = "terminal" | "diff" | "files" | "finds" | "plain";

/** How a tool's call is shown, by its name and by what it brought. */
export function viewOf(name: string, blocks: Block[]): View {
  if (name === "bash" || name === "python") return "terminal";
  if (name === "str_replace" || name === "write_file") return "diff";
  if (name === "present_files") return "files";
  return findsIn(blocks).finds.length > 0 ? "finds" : "plain";
}

interface BodyProps { name: string; args: string; blocks: Block[]; result: Item | null; turn: Turn | null; live: boolean }

export function ToolBody(p: BodyProps): JSX.Element {
  const error = p.result?.is_error === true;
  const rest = (list: Block[]) => list.map((b, i) => <One key={i} block={b} error={error} />);
  switch (viewOf(p.name, p.blocks)) {
    case "terminal": return <Terminal name={p.name} args={p.args} blocks={p.blocks} error={error} />;
    case "diff": return <><Edit name={p.name} args={p.args} />{error && rest(p.blocks)}</>;
    case "files": {
      const paths = fieldsOf(p.args)["filepaths"];
      return <><ul class="file-links">{(Array.isArray(paths) ? paths : []).map(String).map((path) => <li key={path}><FileLink path={path} /></li>)}</ul>{error && rest(p.blocks)}</>;
    }
    case "finds": {
      const { finds, rest: more } = findsIn(p.blocks);
      return <><Finds finds={finds} turn={p.turn} />{rest(more)}</>;
    }
  }
  return (
    <>
      {p.args !== "" && p.args !== "{}" && <><h4>{t("arguments")}</h4><pre class="raw" tabIndex={0}>{pretty(p.args)}</pre></>}
      <h4>{t("result")}</h4>
      {p.result === null && <p class="meta">{p.live ? t("noResult") : t("outcomeUnknown")}</p>}
      {rest(p.blocks)}
    </>
  );
}

export function pretty(json: string): string {
  try { return JSON.stringify(JSON.parse(json), null, 2); } catch { return json; }
}

/** A command and what it printed. It follows the end for as long as the reader is there. */
function Terminal({ name, args, blocks, error }: { name: string; args: string; blocks: Block[]; error: boolean }): JSX.Element {
  const el = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const fields = fieldsOf(args);
  const script = String(fields["command"] ?? fields["code"] ?? "");
  const output = plainOutput(blocks.map((b) => b.text ?? "").join(""));
  const others = blocks.filter((b) => b.type !== "text");
  useLayoutEffect(() => {
    const box = el.current;
    if (box && atEnd.current) box.scrollTop = box.scrollHeight;
  }, [output, script]);
  return (
    <>
      <figure class={"terminal" + (error ? " failed" : "")}>
        <figcaption><span>{name}</span><CopyButton text={() => output} label={t("copyOutput")} /></figcaption>
        <div class="terminal-text" ref={el} tabIndex={0} role="region" aria-label={t("output")}
          onScroll={(e) => { const b = e.currentTarget; atEnd.current = b.scrollHeight - b.scrollTop - b.clientHeight < 24; }}>
          <pre class="terminal-script">{script.split("\n").map((l, i) => <span key={i}><i aria-hidden="true">{name === "python" ? ">>> " : i === 0 ? "$ " : "  "}</i>{l}{"\n"}</span>)}</pre>
          <pre>{output}</pre>
        </div>
      </figure>
      {others.map((b, i) => <One key={i} block={b} />)}
    </>
  );
}

const mostLines = 2000;

/** A change of a file, from what the call says. */
function Edit({ name, args }: { name: string; args: string }): JSX.Element {
  const fields = fieldsOf(args);
  const word = (key: string) => (typeof fields[key] === "string" ? fields[key] : "");
  const lines = name === "str_replace" ? changes(word("old_str"), word("new_str")) : changes("", word("content").replace(/\n$/, ""));
  const path = word("path");
  const plus = lines.filter((l) => l.kind === "new").length, minus = lines.filter((l) => l.kind === "gone").length;
  return (
    <figure class="diff">
      <figcaption><FileLink path={path} /><span class="diff-counts"><ins>+{number(plus)}</ins> <del>−{number(minus)}</del></span></figcaption>
      <pre tabIndex={0} role="region" aria-label={t("changeOf", path)}>{lines.slice(0, mostLines).map((l, i) => <DiffLine key={i} line={l} />)}{lines.length > mostLines && <span class="meta">{t("moreLines", number(lines.length - mostLines))}</span>}</pre>
    </figure>
  );
}

function DiffLine({ line }: { line: Change }): JSX.Element {
  const sign = line.kind === "new" ? "+" : line.kind === "gone" ? "−" : " ";
  return <span class={"diff-line " + line.kind}><i>{sign}</i>{line.text}{"\n"}</span>;
}

function Finds({ finds, turn }: { finds: Find[]; turn: Turn | null }): JSX.Element {
  return (
    <ol class="finds">
      {finds.map((f, i) => {
        const inside = <>
          <span class="find-head"><span class="num">{f.ref ?? ""}</span><span class="name">{f.title}</span><span class="meta">{short(f.source)}</span></span>
          {f.snippet !== "" && <span class="snippet">{f.snippet}</span>}
        </>;
        const to = safe(f.url);
        return (
          <li key={i}>
            {f.ref !== null && turn
              ? <button type="button" class="find" onClick={(e) => { opened.value = { turn, ref: String(f.ref), quote: "", from: e.currentTarget as HTMLElement }; }}>{inside}</button>
              : to ? <Away to={to} class="find">{inside}</Away> : <span class="find">{inside}</span>}
          </li>
        );
      })}
    </ol>
  );
}

/** The file's name in a place like tributary/wire/task.md#try-it; an address's host stays. */
function short(place: string): string { return place.includes("/") ? (place.split("#")[0]!.split("/").at(-1) ?? "") : place; }

/** How a call is coming on: a bar where it is known how much there is, and what is being done now. */
export function Progress({ of }: { of: NonNullable<Item["progress"]> }): JSX.Element | null {
  const { message = "", done = 0, total = 0 } = of;
  if (message === "" && total <= 0) return null;
  return (
    <div class="progress">
      {total > 0 && <progress max={total} value={Math.min(done, total)} aria-label={message || t("working")} />}
      <span class="meta">{[total > 0 ? `${number(round(done))} / ${number(round(total))}` : done > 0 ? number(round(done)) : "", message].filter(Boolean).join(" · ")}</span>
    </div>
  );
}

function round(n: number): number { return Math.round(n * 100) / 100; }
