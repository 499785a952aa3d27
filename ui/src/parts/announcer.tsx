// What screen readers are told. The stream itself is no live region, which would flood them: one polite status says that an
// answer is written, then whole sentences at most every five seconds, then that it is complete.
import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { t } from "../i18n";
import { announce } from "../prefs";
import type { Conversation } from "../store/conversation";
import { answerText, citedIn } from "../store/output";
import type { Turn } from "../store/turn";

const polite = signal("");
const assertive = signal("");
const every = 5000;

export function Announcer(): JSX.Element {
  return <><div class="sr" role="status" aria-live="polite">{polite.value}</div><div class="sr" role="alert">{assertive.value}</div></>;
}

export function useAnnouncements(conversation: Conversation | null): void {
  useEffect(() => {
    if (!conversation) return;
    let turn: Turn | null = null;
    let told = 0;
    const say = () => {
      if (!turn || announce.peek() !== "text") return;
      const text = answerText(turn.object.peek());
      const end = Math.max(text.lastIndexOf(". "), text.lastIndexOf("\n"), text.lastIndexOf("。"));
      if (end > told) { polite.value = text.slice(told, end + 1).trim(); told = end + 1; }
    };
    const timer = setInterval(say, every);
    const stop = effect(() => {
      const working = conversation.working.value;
      if (announce.value === "off" || working === turn) return;
      if (working) { turn = working; told = 0; polite.value = t("answering"); return; }
      const o = turn?.object.peek() ?? null;
      turn = null;
      if (o?.status === "input_required") assertive.value = t("questionWaits");
      else if (o) { const n = citedIn(o).size; polite.value = n > 0 ? t("completeSources", n) : t("complete"); }
    });
    return () => { clearInterval(timer); stop(); };
  }, [conversation]);
}
