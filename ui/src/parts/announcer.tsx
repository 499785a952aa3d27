// What screen readers are told. The stream itself is no live region, which would flood them: one polite status says that an
// answer is written, then a sentence or two at most every five seconds, then that it is complete. Laws:
//
//   - What is said is a beginning of the answer, in its order: nothing is repeated, and nothing left out before it.
//   - No announcement is longer than `most`. Who listens more slowly than the text is written is told when it is complete, and
//     reads the rest where it stands. So an announcement costs the same however long the answer is.
import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { t } from "../i18n";
import { announce } from "../prefs";
import type { Conversation } from "../store/conversation";
import { answerIn, citedIn } from "../store/output";
import { sentences } from "../store/speech";
import type { Turn } from "../store/turn";

const polite = signal("");
const assertive = signal("");
const every = 5000;
const most = 240; // letters, some fifteen seconds of speech

export function Announcer(): JSX.Element {
  return <><div class="sr" role="status" aria-live="polite">{polite.value}</div><div class="sr" role="alert">{assertive.value}</div></>;
}

export function useAnnouncements(conversation: Conversation | null): void {
  useEffect(() => {
    if (!conversation) return;
    let turn: Turn | null = null;
    let told = 0; // letters of the answer that were said
    const next = (ended: boolean) => {
      if (!turn || announce.peek() !== "text") return "";
      const { said, upTo } = sentences(answerIn(turn.object.peek()), told, most, ended);
      told = upTo;
      return said;
    };
    const timer = setInterval(() => { const said = next(false); if (said !== "") polite.value = said; }, every);
    const stop = effect(() => {
      const working = conversation.working.value;
      if (announce.value === "off" || working === turn) return;
      if (working) { turn = working; told = 0; polite.value = t("answering"); return; }
      const o = turn?.object.peek() ?? null;
      const rest = next(true);
      turn = null;
      if (o?.status === "input_required") assertive.value = t("questionWaits");
      else if (o) {
        const n = citedIn(o).size;
        polite.value = (rest === "" ? "" : rest + " ") + (n > 0 ? t("completeSources", n) : t("complete"));
      }
    });
    return () => { clearInterval(timer); stop(); };
  }, [conversation]);
}
