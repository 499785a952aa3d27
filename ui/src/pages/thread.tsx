// A conversation.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Icon } from "../icons";
import { number, t } from "../i18n";
import { go } from "../route";
import type { Conversation } from "../store/conversation";
import { find, seen } from "../store/threads";
import { useAnnouncements } from "../parts/announcer";
import { IconButton } from "../parts/buttons";
import { closeSource } from "../parts/sources";
import { closeFile, limits, look, openFile, shelf, shown as filesOpen } from "../store/files";
import { Composer } from "../parts/composer";
import { Connection } from "../parts/connection";
import { Follower } from "../parts/scroll";
import { TurnView } from "../parts/turn";
import type { Turn } from "../store/turn";

export function ThreadPage({ conversation }: { conversation: Conversation }): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const follower = useMemo(() => new Follower(), [conversation]);
  useAnnouncements(conversation);
  const phase = conversation.phase.value;
  const shown = conversation.shown.value;
  const working = conversation.working.value;
  // What waits behind the one that works is shown at the composer.
  const queued = shown.filter((x) => x !== working && x.id !== "" && !x.ended.value);
  const turns = shown.filter((x) => !queued.includes(x));
  const last = turns.at(-1);
  useEffect(() => { follower.attach(scroller.current); return () => follower.attach(null); }, [follower, phase]);
  useLayoutEffect(() => { follower.toEnd(); }, [last?.key]);
  useEffect(() => { seen(conversation.thread); }, [working]);
  // Of a turn that works nothing is read here: the page around it is not drawn again for each word.
  const asks = last?.ended.value === true && last.object.value?.status === "input_required";
  const thread = find(conversation.thread);
  useEffect(() => { void look(conversation.thread); }, [conversation, limits.value]);
  const count = shelf.value.outputs.length;
  const title = thread?.title || turns.find((x) => x.question !== null)?.question || "";
  const used = conversation.path.value.reduce((n, x) => n + (x.ended.value ? tokensOf(x) : 0), 0);
  return (
    <main class="conversation" aria-label={t("conversation")}>
      <header class="bar">
        <a class="icon-button only-phone" href="#/threads" aria-label={t("threads")}><Icon name="menu" /></a>
        <h1 class="bar-title" title={title}>{title}</h1>
        {asks && <span class="pill wait"><span class="dot" aria-hidden="true" />{t("waitingForYou")}</span>}
        <span class="grow" />
        {used > 0 && <span class="meta not-phone">{t("tokens", number(used))}</span>}
        {limits.value && <button type="button" class="icon-button files-button" aria-label={count > 0 ? `${t("files")}, ${count}` : t("files")} title={t("files")} aria-expanded={filesOpen.value !== null} onClick={(e) => { if (filesOpen.value) closeFile(); else { closeSource(); openFile(null, e.currentTarget as HTMLElement); } }}>
          <Icon name="folder" />{count > 0 && <span class="badge">{count}</span>}</button>}
        {last && last.id !== "" && <IconButton icon="inspect" label={t("inspect")} keys="i" onClick={() => go({ name: "run", id: last.id, seq: null })} />}
      </header>
      <Connection />
      {phase === "missing" ? <p class="empty">{t("missingThread")}</p> : (
        <div class="scroller" ref={scroller} tabIndex={-1}>
          <div class="column">
            {conversation.hasEarlier.value && phase === "ready" && <button type="button" class="link earlier" onClick={() => conversation.earlier()}>{t("showEarlier")}</button>}
            {phase === "loading" && <p class="meta empty">{t("loading")}</p>}
            {phase === "ready" && turns.length === 0 && <p class="empty">{t("emptyThread")}</p>}
            {turns.map((x) => <TurnView key={x.key} turn={x} conversation={conversation} last={x === last} />)}
          </div>
        </div>
      )}
      {phase !== "missing" && (
        <div class="dock"><div class="column">
          {!follower.following.value && <button type="button" class="new-text" aria-label={t("toEnd")} onClick={() => { getSelection()?.removeAllRanges(); follower.toEnd(); }}><Icon name="down" size={14} />{working && t("newText")}</button>}
          {queued.map((x) => <Queued key={x.key} turn={x} conversation={conversation} />)}
          <Composer draft={conversation.thread} focus placeholder={asks ? t("answerFirst") : working ? t("askNext") : t("ask")}
            send={(text, files) => void conversation.ask(text, files)} stop={working ? () => void conversation.stop(working).catch(() => {}) : null} />
        </div></div>
      )}
    </main>
  );
}

function tokensOf(turn: Turn): number {
  const usage = turn.object.value?.usage;
  return usage ? usage.input_tokens + usage.output_tokens : 0;
}

export function Queued({ turn, conversation }: { turn: Turn; conversation: Conversation | null }): JSX.Element {
  return (
    <div class="queued"><span class="meta">{t("queued")}</span><span class="grow">{turn.question}</span>
      <IconButton icon="close" label={t("takeBack")} onClick={() => void conversation?.takeBack(turn).catch(() => {})} /></div>
  );
}
