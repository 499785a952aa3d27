// The list of threads. It is asked for in a light form every few seconds; what costs reading a thread's state, its first question
// and what it asks, is fetched for those threads alone that have changed.
import { computed, signal } from "@preact/signals";
import { get, post, send, Refusal } from "../wire/api";
import { down, up } from "../wire/follow";
import { textOf } from "./turn";

export interface Thread {
  id: string;
  title: string;
  named: boolean;
  status: string;
  updated: number;
  /** What it asks a person, if it does. */
  asks: string | null;
  pinned: boolean;
}

interface Light { thread_id: string; metadata: Record<string, unknown>; status: string; updated_at: string }
interface Deep { thread_id: string; interrupts: Record<string, { value?: unknown }[]>; extracted: { first: unknown } }

const all = signal<Thread[]>([]);
export const loaded = signal(false);
/** Deleted here and not yet there: there is time to undo. */
export const leaving = signal<Thread | null>(null);
/** Deleted: a list that was asked for before may still have them. */
const gone = new Set<string>();
const seenFailures = signal<ReadonlySet<string>>(new Set());

export const threads = computed(() => all.value.filter((t) => t.id !== leaving.value?.id));
export const waiting = computed(() => threads.value.filter((t) => t.asks !== null));
export const failures = computed(() => new Set(threads.value.filter((t) => t.status === "error" && !seenFailures.value.has(t.id + t.updated)).map((t) => t.id)));

export function find(id: string): Thread | undefined { return all.value.find((t) => t.id === id); }

export function seen(id: string): void {
  const t = find(id);
  if (t?.status === "error") seenFailures.value = new Set([...seenFailures.value, t.id + t.updated]);
}

let lost = false;
let asking: Promise<void> | null = null;
let again = false;

/** Asks for the list. An answer that is on its way may be older than what the caller knows of: it is asked for once more then. */
export function refresh(): Promise<void> {
  again = asking !== null;
  asking ??= askAll().finally(() => { asking = null; });
  return asking;
}

async function askAll(): Promise<void> {
  do { again = false; await ask(); } while (again);
}

async function ask(): Promise<void> {
  let list: Light[];
  try {
    list = await post<Light[]>("/threads/search", { limit: 500, sort_by: "updated_at", sort_order: "desc", select: ["thread_id", "metadata", "status", "updated_at"] });
  } catch (err) {
    if (err instanceof Refusal && err.status === 0 && !lost) { lost = true; down(0); }
    return;
  }
  if (lost) { lost = false; up(); }
  const known = new Map(all.value.map((t) => [t.id, t]));
  const changed = list.filter((l) => known.get(l.thread_id)?.updated !== Date.parse(l.updated_at) || (known.get(l.thread_id)?.title ?? "") === "");
  const deep = new Map<string, Deep>(), missed = new Set<string>();
  for (let i = 0; i < changed.length && i < 300; i += 50) {
    const ids = changed.slice(i, i + 50).map((l) => l.thread_id);
    const some = await post<Deep[]>("/threads/search", { ids, limit: 50, select: ["thread_id", "interrupts"], extract: { first: "values.messages[0].content" } }).catch(() => { for (const id of ids) missed.add(id); return []; });
    for (const d of some) deep.set(d.thread_id, d);
  }
  const next = list.filter((l) => !gone.has(l.thread_id)).map((l): Thread => {
    const was = known.get(l.thread_id), d = deep.get(l.thread_id);
    const named = l.metadata["title"];
    const isNamed = typeof named === "string" && named !== "";
    const first = d ? textOf(d.extracted.first) : "";
    return {
      id: l.thread_id, named: isNamed, status: l.status, updated: missed.has(l.thread_id) ? was?.updated ?? 0 : Date.parse(l.updated_at), // what was not read is asked for again
      title: isNamed ? named : first !== "" ? first : (was?.title ?? ""),
      asks: l.status !== "interrupted" ? null : d ? questionIn(d) : (was?.asks ?? null), pinned: l.metadata["pinned"] === true,
    };
  });
  for (const t of all.value) { // asked a moment ago, and not on the server's list yet
    if (t.status === "new" && !next.some((n) => n.id === t.id)) next.unshift(t);
  }
  if (JSON.stringify(next) !== JSON.stringify(all.value)) all.value = next;
  loaded.value = true;
}

function questionIn(d: Deep): string | null {
  const first = Object.values(d.interrupts).flat()[0];
  if (first === undefined) return null;
  const tool = typeof first.value === "object" && first.value !== null ? (first.value as Record<string, unknown>)["tool"] : undefined;
  return words(first.value) || (typeof tool === "string" ? tool + "?" : "");
}

/** What a question of any form says, in one line. */
export function words(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return String(value ?? "");
  for (const key of ["question", "message", "title", "ask", "prompt", "text"]) {
    const v = (value as Record<string, unknown>)[key];
    if (typeof v === "string" && v !== "") return v;
  }
  return "";
}

/** Lists a thread at once, before the server does. */
export function announceNew(id: string, title: string): void {
  if (!find(id)) all.value = [{ id, title, named: false, status: "new", updated: Date.now(), asks: null, pinned: false }, ...all.value];
}

export async function rename(id: string, title: string): Promise<void> {
  all.value = all.value.map((t) => (t.id === id ? { ...t, title: title || t.title, named: title !== "" } : t));
  await send("PATCH", "/threads/" + id, { metadata: { title } });
  await refresh();
}

export async function pin(id: string, pinned: boolean): Promise<void> {
  all.value = all.value.map((t) => (t.id === id ? { ...t, pinned } : t));
  await send("PATCH", "/threads/" + id, { metadata: { pinned } });
  await refresh();
}

/** A thread in whose texts something was found, with the words around it. */
export interface Hit { thread: string; before: string; match: string; after: string }
export const hits = signal<{ q: string; list: Hit[] } | null>(null);
let looking = 0, lookedFor = "";

/** Looks through the texts of all threads, when typing has paused. */
export function searchTexts(q: string): void {
  clearTimeout(looking);
  lookedFor = q;
  if (q.trim().length < 2) { hits.value = null; return; }
  looking = window.setTimeout(() => {
    const show = (list: Hit[]) => { if (lookedFor === q) hits.value = { q, list }; }; // an answer may come after that to a later question
    void get<{ matches: { thread_id: string; before: string; match: string; after: string }[] }>("/threads/search-text?q=" + encodeURIComponent(q.trim()))
      .then((found) => show(found.matches.map((m) => ({ thread: m.thread_id, before: m.before, match: m.match, after: m.after }))), () => show([]));
  }, 250);
}

export const undoTime = 10_000;
let timer = 0;

/** Deletes after a while in which it can be undone. */
export function remove(t: Thread): void {
  flushRemoval();
  leaving.value = t;
  timer = window.setTimeout(flushRemoval, undoTime);
}

export function undoRemoval(): void {
  clearTimeout(timer);
  leaving.value = null;
}

function flushRemoval(): void {
  const t = leaving.value;
  clearTimeout(timer);
  if (!t) return;
  gone.add(t.id);
  all.value = all.value.filter((x) => x.id !== t.id);
  leaving.value = null;
  void send("DELETE", "/threads/" + t.id, undefined, { keepalive: true }).catch(() => { gone.delete(t.id); return refresh(); });
}
addEventListener("pagehide", flushRemoval);

const every = 4000;
export function watch(): void {
  const tick = () => { if (!document.hidden) void refresh(); };
  tick();
  setInterval(tick, every);
  document.addEventListener("visibilitychange", tick);
}
