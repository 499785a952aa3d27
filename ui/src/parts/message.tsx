// A message of the answer: its Markdown, with citations as chips.
import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { textIn, type Item, type TaskObject } from "../../tasks";
import { Icon, Spinner } from "../icons";
import { t } from "../i18n";
import { Cite } from "../markdown/inline";
import { Markdown } from "../markdown/markdown";
import { blocksOf, isPlan, quoteBefore, sourcesOf, withMarkers, type Source } from "../store/output";
import { fieldsOf } from "../store/calls";
import { One } from "./blocks";
import { planIn } from "./plan";
import { Chip } from "./sources";
import type { Place } from "./work";

export function Message({ item, place }: { item: Item; place: Place }): JSX.Element {
  const live = place.live && item.status === "in_progress";
  const blocks = blocksOf(item);
  if (isPlan(item) && !live && shownElsewhere(place)) return <></>;
  if (isPlan(item)) return <p class="planned">{live ? <Spinner /> : <Icon name="thought" />}<span>{live ? t("planning") : t("planned", planIn(fieldsOf(blocks[0]!.text ?? ""))?.steps.length ?? 0)}</span></p>;
  return <Words item={item} place={place} live={live} />;
}

function Words({ item, place, live }: { item: Item; place: Place; live: boolean }): JSX.Element {
  const blocks = blocksOf(item);
  const known = useRef<{ of: TaskObject | null; sources: Map<string, Source> } | null>(null);
  // Only what is cited in the part that is drawn now needs them: most frames of a stream do not.
  const sources = () => {
    const of = place.turn?.object.peek() ?? null;
    if (known.current?.of !== of) known.current = { of, sources: sourcesOf(of, place.turn?.earlier() ?? []) };
    return known.current!.sources;
  };
  // While the text grows this stays the same function: with another one each chip of the text would be drawn again.
  const cite = useMemo(() => {
    const named = new Set(blocks.flatMap((b) => b.annotations ?? []).map((a) => String(a.reference_id ?? "")));
    return (mark: string, before: string) => {
      const source = sources().get(mark);
      if (live) return /^\d+$/.test(mark) ? <Chip turn={place.turn} mark={mark} source={source} settled={false} quote={quoteBefore(before)} /> : null;
      // What nothing stands behind stays text.
      if (!source || !(named.has(mark) || mark.startsWith("u"))) return null;
      return <Chip turn={place.turn} mark={mark} source={source} settled quote={source.quote || quoteBefore(before)} />;
    };
  }, [place.turn, live ? null : item]);
  return (
    <Cite.Provider value={cite}>
      <div class="message">
        {blocks.map((b, i) => (b.type === "text"
          ? <Markdown key={i} text={(b.annotations?.length ? withMarkers(b, sources()) : textIn(b))} live={live && i === blocks.length - 1} />
          : <One key={i} block={b} />))}
        {live && blocks.length === 0 && <div class="md live"><div class="md-page"><p /></div></div>}
        {item.status === "incomplete" && <p class="meta">{t("incomplete")}</p>}
      </div>
    </Cite.Provider>
  );
}

/** Whether the plan that a message writes for programs stands beside it as a list, or as a question about it. */
function shownElsewhere(place: Place): boolean {
  const o = place.turn?.object.peek();
  return (o?.plans?.length ?? 0) > 0 || (o?.interrupts ?? []).some((ask) => planIn(ask.value) !== null);
}
