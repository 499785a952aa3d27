// A report in the conversation: what it is about, and the way to it.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Item } from "../../tasks";
import { Icon, Spinner } from "../icons";
import { number, t } from "../i18n";
import { go, route } from "../route";
import type { Conversation } from "../store/conversation";
import { plain, Reading } from "../markdown/reading";
import { textOf } from "../store/report";
import type { Turn } from "../store/turn";

const beside = "(min-width: 1200px)";
const opened = new Set<string>(); // reports that were opened by themselves; nobody is shown one twice

export function ReportCard({ item, turn, conversation, live }: { item: Item; turn: Turn; conversation: Conversation; live: boolean }): JSX.Element {
  const text = textOf(item);
  const writing = live && item.status === "in_progress";
  const open = () => go({ name: "thread", id: conversation.thread, report: turn.id });
  // The one who waited for it has it opened, where there is room; nobody who only looks in.
  useEffect(() => {
    const r = route.peek();
    if (opened.has(item.id)) return;
    opened.add(item.id);
    if (turn.own && matchMedia(beside).matches && r.name === "thread" && r.report === undefined) go({ ...r, report: turn.id }, true);
  }, [item.id]);
  const r = route.value;
  const here = r.name === "thread" && r.report === turn.id;
  // Of a report that is being written no more is read than its beginning.
  const { body, headings, spots } = new Reading().of(writing ? text.slice(0, 2000) : text, writing);
  const first = writing ? "" : body.slice(0, 8000).split(/\n\s*\n/).map((p) => p.trim()).find((p) => p !== "" && !/^[#>|`*+-]/.test(p)) ?? "";
  const title = headings[0]?.title ?? t("report");
  const cites = writing ? 0 : new Set(spots.map((s) => s.ref)).size;
  const words = text.length;
  return (
    <section class={"report-card" + (here ? " here" : "")} aria-label={t("report")}>
      <button type="button" class="report-open" aria-expanded={here} onClick={here ? () => go({ name: "thread", id: conversation.thread }) : open}>
        {writing ? <Spinner /> : <Icon name="file" />}
        <span class="grow"><strong>{title}</strong>
          <span class="meta">{writing ? t("writingReport", number(words)) : [t("report"), cites === 1 ? t("oneSource") : cites > 1 ? t("nSources", cites) : ""].filter(Boolean).join(" · ")}</span></span>
        <span class="button small">{here ? t("closeReport") : t("openReport")}</span>
      </button>
      {first !== "" && <p class="report-first">{plain(first).slice(0, 420)}</p>}
    </section>
  );
}
