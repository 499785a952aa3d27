// A report beside the conversation: its outline, its text with citations that lead to their passages and back, what was done for
// it, its sources, and ways to take it along.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Icon } from "../icons";
import { t } from "../i18n";
import { Cite } from "../markdown/inline";
import { Markdown } from "../markdown/markdown";
import { plain, Reading, type Heading, type Spot } from "../markdown/reading";
import { CopyButton, IconButton } from "../parts/buttons";
import { PlanList } from "../parts/plan";
import { Chip, closeSource, opened, Passage } from "../parts/sources";
import { Output } from "../parts/work";
import { lang } from "../prefs";
import { go } from "../route";
import type { Conversation } from "../store/conversation";
import { label, quoteBefore, sourcesOf, type Source } from "../store/output";
import { reportOf, textOf } from "../store/report";
import { addressOf, download, fileName, saveText, type ThreadFile } from "../store/files";
import { offers } from "../store/routes";
import type { Turn } from "../store/turn";
import type { Item, TaskObject, Text } from "../../tasks";
import { get, send } from "../wire/api";
import { exported } from "./export";

const tab = signal<"report" | "activity" | "sources">("report");

export function ReportPane({ conversation, task }: { conversation: Conversation; task: string }): JSX.Element | null {
  const turn = conversation.turns.value.find((x) => x.id === task);
  const o = turn?.object.value ?? null;
  const item = reportOf(o);
  const close = () => { closeSource(); go({ name: "thread", id: conversation.thread }); };
  useEffect(() => { tab.value = "report"; }, [task]);
  const text = item ? textOf(item) : "";
  const live = item?.status === "in_progress" && turn?.ended.value === false;
  const reading = useRef(new Reading());
  const { body, headings, spots: where } = reading.current.of(text, live);
  const sources = useSources(turn, o, live ? item : null);
  const cited = useMemo(() => [...new Set(where.map((s) => s.ref))].filter((ref) => sources.has(ref)), [where, sources]);
  const paper = useRef<HTMLDivElement>(null);
  const title = headings[0]?.title ?? turn?.question ?? t("report");
  return (
    <aside class="report" aria-label={t("report")}>
      <header class="bar">
        <div class="tabs" role="tablist" aria-label={t("report")}>
          {(["report", "activity", "sources"] as const).map((name) => (
            <button key={name} type="button" role="tab" id={"tab-" + name} aria-selected={tab.value === name} aria-controls="report-body" tabIndex={tab.value === name ? 0 : -1} onClick={() => { tab.value = name; }}
              onKeyDown={(e) => { const by = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0; if (by) { const all = [...e.currentTarget.parentElement!.children] as HTMLElement[]; const next = all[(all.indexOf(e.currentTarget) + by + all.length) % all.length]!; next.focus(); next.click(); } }}>
              {t(name === "report" ? "report" : name === "activity" ? "activity" : "sources")}{name === "sources" && <span class="meta"> {sources.size}</span>}
            </button>
          ))}
        </div>
        <span class="grow" />
        {text.length > 0 && <CopyButton text={() => text.slice(0)} label={t("copyReport")} />}
        {text.length > 0 && !live && <Download text={text.slice(0)} title={title} thread={conversation.thread} paper={paper} sources={sources} cited={cited} open={() => { tab.value = "report"; }} />}
        <IconButton icon="close" label={t("closeReport")} keys="Esc" onClick={close} />
      </header>
      <div class="report-inside" id="report-body" role="tabpanel" aria-labelledby={"tab-" + tab.value}>
        {tab.value === "report" && turn && (text.length === 0
          ? <p class="empty">{turn.ended.value ? t("noReport") : t("reportLater")}</p>
          : <Paper turn={turn} body={body} headings={headings} live={live} sources={sources} cited={cited} where={where} paper={paper} />)}
        {tab.value === "activity" && turn && o && <div class="report-scroll" tabIndex={0} role="region" aria-label={t("activity")}><div class="report-side">
          {o.plans?.map((p) => <PlanList key={p.id} plan={p} live={!turn.ended.value} task={o} turn={turn} always />)}
          <Output items={o.output.filter((i) => i !== item)} place={{ turn, live: !turn.ended.value, depth: 0 }} />
        </div></div>}
        {tab.value === "sources" && turn && <SourceList turn={turn} sources={[...sources.values()]} where={where} jump={(ref, n) => { tab.value = "report"; requestAnimationFrame(() => requestAnimationFrame(() => toChip(paper.current, ref, n))); }} />}
      </div>
      {opened.value && <Peek where={opened.value.turn === turn ? where : []} jump={(ref, n) => { tab.value = "report"; requestAnimationFrame(() => requestAnimationFrame(() => toChip(paper.current, ref, n))); }} toList={() => { tab.value = "sources"; }} />}
    </aside>
  );
}

/** What a report can cite. It is looked for again when something was found: not for each word that the report, which is `written` now, grows by. */
function useSources(turn: Turn | undefined, o: TaskObject | null, written: Item | null): Map<string, Source> {
  return useMemo(() => sourcesOf(o, turn?.earlier() ?? []), [turn, written?.id ?? o, written ? o?.output.length : 0]);
}

interface PaperProps { turn: Turn; body: Text; headings: readonly Heading[]; live: boolean; sources: Map<string, Source>; cited: string[]; where: readonly Spot[]; paper: { current: HTMLDivElement | null } }

function Paper({ turn, body, headings, live, sources, cited, where, paper }: PaperProps): JSX.Element {
  // The same function for as long as it says the same: with another one each chip of the text would be drawn again.
  const cite = useMemo(() => (mark: string, before: string) => {
    const source = sources.get(mark);
    return source ? <Chip turn={turn} mark={mark} source={source} settled quote={source.quote || quoteBefore(before)} /> : null;
  }, [turn, sources]);
  return (
    <div class="report-columns">
      <Outline heads={headings} paper={paper} />
      <div class="report-scroll" tabIndex={0} role="region" aria-label={t("report")}>
        <div class="report-text" ref={paper}>
          <Cite.Provider value={cite}><Markdown text={body} live={live} /></Cite.Provider>
          <References turn={turn} sources={sources} cited={cited} where={where} paper={paper} />
        </div>
      </div>
    </div>
  );
}

function References({ turn, sources, cited, where, paper }: Pick<PaperProps, "turn" | "sources" | "cited" | "where" | "paper">): JSX.Element | null {
  const lit = opened.value?.ref;
  return useMemo(() => cited.length === 0 ? null : (
    <section class="references" aria-labelledby="references">
      <h3 class="md-h2" id="references">{t("references")}</h3>
      <ol>{cited.map((ref) => {
        const s = sources.get(ref)!;
        return (
          <li key={ref} data-reference={ref} class={ref === lit ? "lit" : ""}>
            <button type="button" class="num" aria-label={`${t("source")} ${label(ref)}, ${s.title}`} onClick={(e) => { opened.value = { turn, ref, quote: s.quote, from: e.currentTarget as HTMLElement }; }}>{label(ref)}</button>
            <span class="grow"><span class="ref-title">{s.title}</span>{s.place !== s.title && <span class="meta"> {s.place}</span>}</span>
            <Backs count={where.filter((w) => w.ref === ref).length} jump={(n) => toChip(paper.current, ref, n)} mark={label(ref)} />
          </li>
        );
      })}</ol>
    </section>
  ), [turn, sources, cited, where, lit, lang.value]);
}

/** ↑ a b c: the places in the text where a source is cited. */
function Backs({ count, jump, mark }: { count: number; jump: (n: number) => void; mark: string }): JSX.Element {
  return <span class="backs"><span aria-hidden="true">↑</span>{Array.from({ length: Math.min(count, 12) }, (_, n) => (
    <button type="button" key={n} class="link" aria-label={t("placeOf", n + 1, mark)} onClick={() => jump(n)}>{String.fromCharCode(97 + n)}</button>
  ))}</span>;
}

/** Brings the nth citation of a source into sight, and lights it up. */
export function toChip(inside: HTMLElement | null, ref: string, n: number): void {
  const chip = inside?.querySelectorAll<HTMLElement>(`.chip[data-ref="${CSS.escape(ref)}"]`)[n];
  if (!chip) return;
  chip.scrollIntoView({ block: "center" });
  chip.focus({ preventScroll: true });
  chip.classList.add("flash");
  setTimeout(() => chip.classList.remove("flash"), 1600);
}

function Outline({ heads, paper }: { heads: readonly Heading[]; paper: { current: HTMLDivElement | null } }): JSX.Element | null {
  const [at, setAt] = useState(0);
  const elements = () => [...(paper.current?.querySelectorAll<HTMLElement>(".md :is(h3, h4, h5, h6)") ?? [])].filter((h) => !h.closest("li, blockquote"));
  useEffect(() => {
    const scroller = paper.current?.parentElement;
    if (!scroller) return;
    let due = 0;
    const look = () => {
      due = 0;
      const top = scroller.getBoundingClientRect().top + 80;
      const list = elements();
      let now = 0;
      list.forEach((h, i) => { if (h.getBoundingClientRect().top <= top) now = i; });
      setAt(now);
    };
    const moved = () => { due ||= requestAnimationFrame(look); };
    scroller.addEventListener("scroll", moved, { passive: true });
    return () => { scroller.removeEventListener("scroll", moved); cancelAnimationFrame(due); };
  }, [heads.length]);
  return useMemo(() => {
    if (heads.length < 2) return null;
    const least = heads.reduce((n, h, i) => (i > 0 && h.depth < n ? h.depth : n), 6);
    return (
      <nav class="outline" aria-label={t("outline")}>
        <h2>{t("outline")}</h2>
        <ol>{heads.map((h, i) => (
          <li key={i} class={i === at ? "here" : ""}><button type="button" class={"depth-" + Math.max(0, Math.min(3, h.depth - least))} aria-current={i === at} onClick={() => { elements()[i]?.scrollIntoView({ block: "start" }); setAt(i); }}>{h.title}</button></li>
        ))}</ol>
      </nav>
    );
  }, [heads, at, lang.value]);
}

function SourceList({ turn, sources, where, jump }: { turn: Turn; sources: Source[]; where: readonly Spot[]; jump: (ref: string, n: number) => void }): JSX.Element {
  return (
    <div class="report-scroll" tabIndex={0} role="region" aria-label={t("sources")}><ol class="report-side source-cards">
      {sources.map((s) => {
        const places = where.filter((w) => w.ref === s.ref);
        return (
          <li key={s.ref} data-source={s.ref} class={opened.value?.ref === s.ref ? "lit" : ""}>
            <button type="button" class="list-row" onClick={(e) => { opened.value = { turn, ref: s.ref, quote: s.quote, from: e.currentTarget as HTMLElement }; }}>
              <span class="num">{label(s.ref)}</span><span class="grow"><strong>{s.title}</strong>{s.place !== s.title && <span class="meta">{s.place}</span>}</span>
              <span class="meta">{places.length > 0 ? t("cited", places.length) : t("notCited")}</span>
            </button>
            {places.length > 0 && <ul class="places">{places.slice(0, 12).map((p, n) => (
              <li key={n}><button type="button" onClick={() => jump(s.ref, n)}><Icon name="quote" size={14} /><span>{p.words}</span></button></li>
            ))}</ul>}
          </li>
        );
      })}
    </ol></div>
  );
}

/** The passage behind the citation that was clicked, at the foot of the report. */
function Peek({ where, jump, toList }: { where: readonly Spot[]; jump: (ref: string, n: number) => void; toList: () => void }): JSX.Element | null {
  const o = opened.value;
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => { body.current?.querySelector("mark")?.scrollIntoView({ block: "nearest" }); }, [o]);
  if (!o) return null;
  const s = sourcesOf(o.turn.object.value, o.turn.earlier()).get(o.ref);
  return (
    <section class="peek" aria-label={t("passageOf")}>
      <header><span class="chip open still" aria-hidden="true">{label(o.ref)}</span><h3>{s?.title ?? t("gone")}</h3>
        <Backs count={where.filter((w) => w.ref === o.ref).length} mark={label(o.ref)} jump={(n) => jump(o.ref, n)} />
        <button type="button" class="link" onClick={toList}>{t("allSources")}</button>
        <IconButton icon="close" label={t("close")} keys="Esc" onClick={closeSource} /></header>
      <div class="peek-body" ref={body} tabIndex={0} role="region" aria-label={t("passageOf")}>{s && <Passage source={s} quote={o.quote} />}</div>
    </section>
  );
}

/** The name of the file that the report grew in, if it did: the one that has the same text. */
async function fileOf(thread: string, text: string): Promise<string | null> {
  const { files } = await get<{ files: ThreadFile[] }>(`/threads/${thread}/artifacts`);
  for (const f of files.filter((x) => /^report(-\d+)?\.md$/.test(x.filename)).reverse()) {
    const has = await send("GET", addressOf(thread, f.path)).then((a) => a.text(), () => "");
    if (has.trim() === text.trim()) return f.path;
  }
  return null;
}

const kindNames = { docx: "Word (DOCX)", pdf: "PDF", pptx: "PowerPoint (PPTX)" };

interface DownloadProps { text: string; title: string; thread: string; paper: { current: HTMLDivElement | null }; sources: Map<string, Source>; cited: string[]; open: () => void }

/** Ways to take the report along, made from what the page has. */
function Download({ text, title, thread, paper, sources, cited, open }: DownloadProps): JSX.Element {
  const [shown, setShown] = useState(false);
  const [file, setFile] = useState<string | null>(null); // what the server makes other files of
  const made = offers("/threads/{thread_id}/artifacts/{path}", "as");
  useEffect(() => {
    let live = true;
    setFile(null);
    if (shown && made) void fileOf(thread, text).then((f) => { if (live) setFile(f); }, () => {});
    return () => { live = false; };
  }, [shown, made, thread, text]);
  const menu = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!shown) return;
    const away = (e: Event) => { if (!menu.current?.contains(e.target as Node)) setShown(false); };
    addEventListener("pointerdown", away);
    return () => removeEventListener("pointerdown", away);
  }, [shown]);
  const name = fileName(plain(title), "report");
  const kinds: [string, () => void][] = [
    ["Markdown", () => saveText(text, name + ".md", "text/markdown")],
    ["HTML", () => { open(); requestAnimationFrame(() => requestAnimationFrame(() => { if (paper.current) saveText(exported(paper.current, plain(title), cited.map((ref) => sources.get(ref)!)), name + ".html", "text/html"); })); }],
    ...(file === null ? [] : (["docx", "pdf", "pptx"] as const).map((as): [string, () => void] => [kindNames[as], () => void download(`${addressOf(thread, file)}?as=${as}`, `${name}.${as}`).catch(() => {})])),
  ];
  return (
    <div class="menu-place" ref={menu} onKeyDown={(e) => { if (e.key === "Escape" && shown) { e.stopPropagation(); setShown(false); } }}>
      <button type="button" class="button small" aria-haspopup="menu" aria-expanded={shown} onClick={() => setShown(!shown)}><Icon name="download" size={14} />{t("download")}<Icon name="chevronDown" size={14} /></button>
      {shown && <div class="menu" role="menu">{kinds.map(([kind, save]) => <button key={kind} type="button" role="menuitem" onClick={() => { setShown(false); save(); }}>{kind}</button>)}</div>}
    </div>
  );
}
