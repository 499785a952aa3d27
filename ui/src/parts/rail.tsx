// The list of threads: those that wait for a person first, then by day. Search looks at titles and questions.
import { computed, effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Icon, Spinner } from "../icons";
import { t, when } from "../i18n";
import { railFolded } from "../prefs";
import { address, go, route } from "../route";
import { failures, hits, leaving, loaded, pin, remove, rename, searchTexts, seen, threads, undoRemoval, type Hit, type Thread } from "../store/threads";
import { IconButton } from "./buttons";
import { openPalette } from "./palette";
import { offers } from "../store/routes";
import { openSettings } from "./settings";

const query = signal("");
/** The pages of the library; of those that not every server has, which it has is asked when somebody looks. */
export function shelves(): ("documents" | "agents" | "models" | "tools" | "skills" | "memory" | "usage")[] {
  return ["documents", "agents", "models", ...(offers("/tools") ? ["tools" as const] : []), ...(offers("/skills") ? ["skills" as const] : []), ...(offers("/memory") ? ["memory" as const] : []), "usage"];
}
const library = signal(false);
effect(() => { if (["documents", "agents", "models", "tools", "skills", "memory", "usage"].includes(route.value.name)) library.value = true; });
const renaming = signal<string | null>(null);

export function Rail(): JSX.Element {
  const folded = railFolded.value === "yes";
  return (
    <nav class={"rail" + (folded ? " folded" : "")} aria-label={t("threads")}>
      <header class="bar">
        <a class="brand" href="#/" aria-label="tributary"><span class="logo"><Icon name="logo" size={20} /></span><span class="brand-name">tributary</span></a>
        <IconButton icon="panel" label={folded ? t("openRail") : t("foldRail")} class="fold" onClick={() => { railFolded.value = folded ? "no" : "yes"; }} />
      </header>
      <a class="list-row rail-link" href="#/" title={t("newQuestion")}><Icon name="plus" /><span class="grow">{t("newQuestion")}</span><kbd>Ctrl Shift O</kbd></a>
      <button type="button" class="list-row rail-link" title={t("commands")} onClick={openPalette}><Icon name="menu" /><span class="grow">{t("commands")}</span><kbd>Ctrl K</kbd></button>
      <div class="rail-body">
        <input type="search" class="field rail-search" value={query.value} placeholder={t("searchThreads")} aria-label={t("searchThreads")} onInput={(e) => { query.value = e.currentTarget.value; searchTexts(query.value); }} />
        <Groups />
      </div>
      {leaving.value && <div class="undo" role="status"><span class="grow">{t("removed", leaving.value.title.slice(0, 40) || t("untitled"))}</span><button type="button" class="link" onClick={undoRemoval}>{t("undo")}</button></div>}
      <footer>
        <details class="rail-places" open={library.value} onToggle={(e) => { library.value = e.currentTarget.open; }}>
          <summary class="list-row rail-link" title={t("library")}><Icon name="book" /><span class="grow">{t("library")}</span></summary>
          {library.value && shelves().map((name) => <a key={name} class={"list-row rail-link" + (route.value.name === name ? " selected" : "")} aria-current={route.value.name === name ? "page" : undefined} href={address({ name })}>{t(name)}</a>)}
        </details>
        <button type="button" class="list-row rail-link" title={t("settings")} onClick={openSettings}><Icon name="gear" /><span class="grow">{t("settings")}</span></button></footer>
    </nav>
  );
}

/** The threads under their headings. */
export function grouped(list: readonly Thread[], now = Date.now()): { name: string; list: Thread[] }[] {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const groups = [
    { name: t("waitingForYou"), list: list.filter((x) => x.asks !== null) },
    { name: t("pinned"), list: list.filter((x) => x.asks === null && x.pinned) },
    { name: t("today"), list: list.filter((x) => x.asks === null && !x.pinned && x.updated >= midnight) },
    { name: t("yesterday"), list: list.filter((x) => x.asks === null && !x.pinned && x.updated < midnight && x.updated >= midnight - 86_400_000) },
    { name: t("earlier"), list: list.filter((x) => x.asks === null && !x.pinned && x.updated < midnight - 86_400_000) },
  ];
  return groups.filter((g) => g.list.length > 0);
}

/** The list as it stood when a name began to be changed: a field that is moved loses the focus, and what was typed in it. */
const listed = (() => {
  let still: Thread[] | null = null;
  return computed(() => {
    if (renaming.value === null) { still = null; return threads.value; }
    return (still ??= threads.peek());
  });
})();

function Groups(): JSX.Element {
  const q = query.value.trim().toLowerCase();
  const list = listed.value.filter((x) => q === "" || x.title.toLowerCase().includes(q) || (x.asks ?? "").toLowerCase().includes(q));
  const r = route.value;
  // What was found in the texts, and not by the title alone.
  const inside = q === "" || hits.value === null ? [] : hits.value.list.filter((h) => !list.some((x) => x.id === h.thread) && threads.value.some((x) => x.id === h.thread));
  if (list.length === 0 && inside.length > 0) return <Inside list={inside} />;
  if (q !== "" && list.length === 0 && hits.value?.q !== query.value && q.length > 1) return <p class="meta rail-empty">{t("searchingTexts")}</p>;
  if (list.length === 0) return <p class="meta rail-empty">{q !== "" ? t("nothingFound") : loaded.value ? t("noThreads") : t("loading")}</p>;
  return (
    <>
      {grouped(list).map((g) => (
        <section key={g.name}>
          <h2>{g.name}{g.name === t("waitingForYou") && <span class="count">{g.list.length}</span>}</h2>
          <ul>{g.list.map((x) => <ThreadRow key={x.id} thread={x} selected={r.name === "thread" && r.id === x.id} />)}</ul>
        </section>
      ))}
      {inside.length > 0 && <Inside list={inside} />}
    </>
  );
}

/** Threads that have the words in their texts, each with the line that does. */
function Inside({ list }: { list: Hit[] }): JSX.Element {
  return (
    <section><h2>{t("inTexts")}</h2><ul>{list.map((h) => (
      <li key={h.thread} class="thread"><a class="list-row" href={address({ name: "thread", id: h.thread })}>
        <span class="grow"><span class="thread-title">{threads.value.find((x) => x.id === h.thread)?.title || t("untitled")}</span><span class="thread-line">{h.before.slice(-24)}<mark>{h.match}</mark>{h.after}</span></span>
      </a></li>
    ))}</ul></section>
  );
}

export function ThreadRow({ thread, selected }: { thread: Thread; selected: boolean }): JSX.Element {
  const title = thread.title || t("untitled");
  if (renaming.value === thread.id) return <li><Rename thread={thread} /></li>;
  const failed = failures.value.has(thread.id);
  return (
    <li class={"thread" + (selected ? " selected" : "")}>
      <a class="list-row" href={address({ name: "thread", id: thread.id })} aria-current={selected ? "page" : undefined} title={title} onClick={() => seen(thread.id)}>
        <span class="grow">
          <span class="thread-title">{title}</span>
          {thread.asks !== null && <span class="thread-asks">{thread.asks || t("questionWaits")}</span>}
        </span>
        {thread.asks !== null ? <span class="dot wait-dot" role="img" aria-label={t("waitingForYou")} />
          : thread.status === "busy" || thread.status === "new" ? <span role="img" aria-label={t("working")}><Spinner /></span>
            : failed ? <span class="fail-text meta">{t("failed")}</span>
              : <time class="meta">{when(thread.updated)}</time>}
      </a>
      <span class="thread-tools">
        <IconButton icon="pin" pressed={thread.pinned} label={`${thread.pinned ? t("unpin") : t("pin")}: ${title.slice(0, 60)}`} onClick={() => void pin(thread.id, !thread.pinned).catch(() => {})} />
        <IconButton icon="pencil" label={`${t("rename")}: ${title.slice(0, 60)}`} onClick={() => { renaming.value = thread.id; }} />
        <IconButton icon="trash" label={`${t("remove")}: ${title.slice(0, 60)}`} onClick={() => { remove(thread); if (selected) go({ name: "new" }); }} />
      </span>
    </li>
  );
}

function Rename({ thread }: { thread: Thread }): JSX.Element {
  const [text, setText] = useState(thread.title);
  const done = (save: boolean) => {
    if (renaming.value !== thread.id) return;
    renaming.value = null;
    if (save && text.trim() !== thread.title) void rename(thread.id, text.trim()).catch(() => {});
  };
  return <input class="field rename" value={text} aria-label={t("rename")} maxLength={200} ref={(el) => { if (el && document.activeElement !== el) { el.focus(); el.select(); } }}
    onInput={(e) => setText(e.currentTarget.value)} onBlur={() => done(true)}
    onKeyDown={(e) => { if (e.key === "Enter" && !e.isComposing) done(true); if (e.key === "Escape") { e.stopPropagation(); done(false); } }} />;
}

export function startRename(id: string): void { renaming.value = id; }
