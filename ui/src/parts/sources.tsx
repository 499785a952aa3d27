// Citations: the chip in the text, and the drawer with the passage that it cites.
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../icons";
import { answerIn, citedIn, label, type Source, sourcesOf } from "../store/output";
import { Reading } from "../markdown/reading";
import { t } from "../i18n";
import { Away, safe } from "../markdown/inline";
import { CopyButton, IconButton } from "./buttons";
import type { Turn } from "../store/turn";

interface Opened { turn: Turn; ref: string; quote: string; from: HTMLElement | null }
export const opened = signal<Opened | null>(null);

export function closeSource(): void {
  opened.value?.from?.focus();
  opened.value = null;
}

interface ChipProps { turn: Turn | null; mark: string; source: Source | undefined; settled: boolean; quote: string }

/** A citation's number. Outlined until it is known what it cites. */
export function Chip({ turn, mark, source, settled, quote }: ChipProps): JSX.Element {
  const open = turn !== null && opened.value?.turn === turn && opened.value.ref === mark;
  const name = `${t("source")} ${label(mark)}${source ? ", " + source.title : ""}`;
  return (
    <button type="button" class={"chip" + (settled ? "" : " unsettled") + (open ? " open" : "")} data-ref={mark} aria-label={name} title={source?.title ?? ""} aria-expanded={open}
      disabled={!source} onClick={(e) => {
        if (!turn) return;
        if (open) closeSource();
        else opened.value = { turn, ref: mark, quote, from: e.currentTarget as HTMLElement };
      }}>
      {label(mark)}
    </button>
  );
}

/** The passage with the words that are quoted from it marked. */
export function marked(text: string, quote: string): ComponentChildren {
  const at = quote === "" ? -1 : text.indexOf(quote);
  if (at < 0) return text;
  return <>{text.slice(0, at)}<mark>{quote}</mark>{text.slice(at + quote.length)}</>;
}

export function SourceDrawer(): JSX.Element | null {
  const o = opened.value;
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => {
    body.current?.querySelector("mark")?.scrollIntoView({ block: "center" });
  }, [o]);
  if (!o) return null;
  const sources = [...sourcesOf(o.turn.object.value, o.turn.earlier()).values()];
  const at = sources.findIndex((s) => s.ref === o.ref);
  return <Drawer turn={o.turn} sources={sources} at={at} quote={o.quote} cited={citedIn(o.turn.object.value)} body={body}
    show={(s) => { opened.value = { ...o, ref: s.ref, quote: s.quote }; }} />;
}

interface DrawerProps {
  turn: Turn | null; sources: Source[]; at: number; quote: string; cited: Map<string, number>;
  show: (s: Source) => void; body?: { current: HTMLDivElement | null };
}

/** Where a source is from, what it says, with the quoted words marked, and what can be done with it. */
export function Passage({ source: s, quote }: { source: Source; quote: string }): JSX.Element {
  const to = safe(s.url);
  return (
    <>
      {s.place !== s.title && <p class="meta place">{s.place}</p>}
      {s.text !== "" && <blockquote class="passage">{marked(s.text, quote || s.quote)}</blockquote>}
      <p class="row-actions">
        {to && <span class="button"><Away to={to}>{t("openAway")}</Away></span>}
        {s.text !== "" && <span class="with-label"><CopyButton text={() => quote || s.text} label={t("copyQuote")} /><span aria-hidden="true">{t("copyQuote")}</span></span>}
      </p>
    </>
  );
}

/** Where the answer cites a source: each place in its words, which leads there. */
function Places({ turn, of }: { turn: Turn; of: string }): JSX.Element | null {
  const reading = useRef(new Reading());
  const list = reading.current.of(answerIn(turn.object.value), !turn.ended.value).spots.filter((p) => p.ref === of).slice(0, 12);
  if (list.length === 0) return null;
  const jump = (n: number) => {
    const chip = document.querySelectorAll<HTMLElement>(`.turn[data-task="${CSS.escape(turn.id)}"] .message .chip[data-ref="${CSS.escape(of)}"]`)[n];
    chip?.scrollIntoView({ block: "center" });
    chip?.classList.add("flash");
    setTimeout(() => chip?.classList.remove("flash"), 1600);
  };
  return (
    <>
      <h4>{t("citedHere")}</h4>
      <ul class="places">{list.map((p, n) => <li key={n}><button type="button" onClick={() => jump(n)}><Icon name="quote" size={14} /><span>{p.words}</span></button></li>)}</ul>
    </>
  );
}

export function Drawer({ turn, sources, at, quote, cited, show, body }: DrawerProps): JSX.Element {
  const s = sources[at];
  return (
    <aside class="drawer" aria-label={t("sources")}>
      <header class="bar">
        {s && <span class="chip open still" aria-hidden="true">{label(s.ref)}</span>}
        <h2>{s ? t("sourceOf", at + 1, sources.length) : t("sources")}</h2>
        <IconButton icon="chevronUp" label={t("previous")} keys="[" disabled={at <= 0} onClick={() => show(sources[at - 1]!)} />
        <IconButton icon="chevronDown" label={t("next")} keys="]" disabled={at < 0 || at >= sources.length - 1} onClick={() => show(sources[at + 1]!)} />
        <IconButton icon="close" label={t("close")} keys="Esc" onClick={closeSource} />
      </header>
      <div class="drawer-body" ref={body ?? null} tabIndex={0} role="region" aria-label={t("passageOf")}>
        {!s && <p class="meta">{t("gone")}</p>}
        {s && <>
          <h3>{s.title}</h3>
          <Passage source={s} quote={quote} />
        </>}
        {s && turn && <Places turn={turn} of={s.ref} />}
        <h4>{t("allSources")}</h4>
        <ul class="source-list">
          {sources.map((x, i) => (
            <li key={x.ref}><button type="button" class={"list-row" + (i === at ? " selected" : "")} aria-current={i === at} onClick={() => show(x)}>
              <span class="num">{label(x.ref)}</span><span class="grow">{x.title}</span>
              <span class="meta">{x.ref.startsWith("u") ? "" : cited.has(x.ref) ? t("cited", cited.get(x.ref)!) : t("notCited")}</span>
            </button></li>
          ))}
        </ul>
      </div>
    </aside>
  );
}

/** [ and ] go through the sources of the open drawer. */
export function stepSource(by: number): void {
  const o = opened.value;
  if (!o) return;
  const list = [...sourcesOf(o.turn.object.value, o.turn.earlier()).values()];
  const s = list[list.findIndex((x) => x.ref === o.ref) + by];
  if (s) opened.value = { ...o, ref: s.ref, quote: s.quote };
}

