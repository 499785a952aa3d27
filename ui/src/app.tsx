// The frame of the page: which page is shown, the conversation that is open, and the keys that work everywhere.
import { Icon } from "./icons";
import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { t } from "./i18n";
import { go, route } from "./route";
import { Announcer } from "./parts/announcer";
import { Connection } from "./parts/connection";
import { openPalette, Palette } from "./parts/palette";
import { Rail } from "./parts/rail";
import { openKeys, Settings } from "./parts/settings";
import { closeSource, opened, SourceDrawer, stepSource } from "./parts/sources";
import { Components, Inspector, Report, Shelf } from "./pages/lazy";
import { InThread } from "./markdown/inline";
import { First } from "./pages/first";
import { ThreadPage } from "./pages/thread";
import { choiceOf, keepChoice, type Choice } from "./store/choices";
import { Conversation } from "./store/conversation";
import { closeFile, shown, type Attached } from "./store/files";
import { FilesDrawer } from "./parts/files";
import { announceNew, find, refresh, waiting } from "./store/threads";
import { newID } from "./wire/api";

const current = signal<Conversation | null>(null);

effect(() => {
  const r = route.value;
  const was = current.peek();
  if (r.name !== "thread") {
    opened.value = null;
    shown.value = null;
    if (r.name !== "run") { was?.close(); current.value = null; }
    return;
  }
  if (was?.thread === r.id) return;
  was?.close();
  opened.value = null;
  shown.value = null;
  const c = new Conversation(r.id);
  current.value = c;
  c.open();
});

// Other tabs may ask in the same thread; the list of threads tells when something changed.
effect(() => {
  const c = current.value;
  if (c && find(c.thread)) void c.sync();
});

effect(() => {
  const n = waiting.value.length;
  const r = route.value;
  const title = r.name === "thread" ? find(r.id)?.title : "";
  document.title = (n > 0 ? `(${n}) ` : "") + (title ? title.slice(0, 80) + " · tributary" : "tributary");
});

/** Asks in a new thread, whose address is there at once. */
function askNew(text: string, files: Attached[] = [], choice: Partial<Choice> = {}): void {
  const c = new Conversation(newID(), true);
  keepChoice(c.thread, { ...choiceOf("new"), ...choice });
  announceNew(c.thread, text);
  current.value = c;
  go({ name: "thread", id: c.thread });
  void c.ask(text, files).then(() => refresh());
}

export function App(): JSX.Element {
  useEffect(() => {
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const r = route.value;
  const c = current.value;
  const report = r.name === "thread" && r.report !== undefined && c?.thread === r.id ? r.report : null;
  return (
    <InThread.Provider value={r.name === "thread" ? r.id : ""}>
      <a class="skip" href="#composer" onClick={(e) => { e.preventDefault(); focusComposer(); }}>{t("composer")}</a>
      <div class={"frame page-" + r.name + (report !== null ? " with-report" : opened.value || shown.value ? " with-drawer" : "")}>
        <Rail />
        {r.name === "new" && <main class="conversation"><Phonebar /><Connection /><First ask={askNew} /></main>}
        {r.name === "threads" && <main class="conversation phone-list"><Connection /></main>}
        {r.name === "thread" && c && <ThreadPage conversation={c} key={c.thread} />}
        {r.name === "run" && <Inspector key={r.id} id={r.id} seq={r.seq} />}
        {r.name === "components" && <Components />}
        {(r.name === "agents" || r.name === "skills" || r.name === "memory" || r.name === "models" || r.name === "tools" || r.name === "documents" || r.name === "usage") && <Shelf place={r.name} />}
        {report !== null && c ? <Report conversation={c} task={report} key={report} /> : opened.value ? <SourceDrawer /> : r.name === "thread" && c && <FilesDrawer conversation={c} />}
      </div>
      <Palette />
      <Settings />
      <Announcer />
    </InThread.Provider>
  );
}

function Phonebar(): JSX.Element {
  return <header class="bar only-phone"><a class="icon-button" href="#/threads" aria-label={t("threads")}><Icon name="menu" /></a><a class="brand" href="#/" aria-label="tributary"><span class="logo"><Icon name="logo" size={20} /></span><span class="brand-name">tributary</span></a></header>;
}

function focusComposer(): void { document.getElementById("composer")?.focus(); }

let escaped = 0;

function onKey(e: KeyboardEvent): void {
  if (e.isComposing || e.defaultPrevented) return;
  const inInput = e.target instanceof HTMLElement && e.target.closest("input, textarea, select, [contenteditable]") !== null;
  const ctrl = e.ctrlKey || e.metaKey;
  if (ctrl && !e.shiftKey && e.key.toLowerCase() === "k") { e.preventDefault(); openPalette(); return; }
  if (ctrl && e.shiftKey && e.key.toLowerCase() === "o") { e.preventDefault(); go({ name: "new" }); return; }
  if (document.querySelector("dialog[open]")) return;
  if (e.key === "Escape") {
    if (opened.value) { closeSource(); return; }
    if (shown.value) { closeFile(); return; }
    const r = route.value;
    if (r.name === "thread" && r.report !== undefined) { go({ name: "thread", id: r.id }); return; }
    const working = current.value?.working.value;
    if (working && Date.now() - escaped < 800) void current.value?.stop(working).catch(() => {});
    escaped = Date.now();
    return;
  }
  if (e.altKey && (e.key === "ArrowUp" || e.key === "ArrowDown")) { e.preventDefault(); stepTurn(e.key === "ArrowUp" ? -1 : 1); return; }
  if (inInput || ctrl || e.altKey) return;
  switch (e.key) {
    case "/": e.preventDefault(); focusComposer(); break;
    case "?": openKeys(); break;
    case "[": stepSource(-1); break;
    case "]": stepSource(1); break;
    case "i": {
      const last = current.value?.path.value.at(-1);
      if (last && last.id !== "") go({ name: "run", id: last.id, seq: null });
    }
  }
}

function stepTurn(by: number): void {
  const turns = [...document.querySelectorAll<HTMLElement>(".turn")];
  const at = turns.findIndex((el) => el.getBoundingClientRect().bottom > 120);
  turns[Math.max(0, Math.min(turns.length - 1, at + by))]?.scrollIntoView({ block: "start" });
}
