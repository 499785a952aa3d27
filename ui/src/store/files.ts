// A thread's files: what a person adds to a question, and what agents leave. The server has the last word on limits; those that
// it tells are also checked before anything is sent.
import { signal } from "@preact/signals";
import { get, headers, refusal, Refusal, send } from "../wire/api";

export interface ThreadFile { filename: string; size: number; path: string; artifact_url: string; modified: string }
interface Limits { max_files: number; max_file_size: number; max_total_size: number }

/** A file that goes with a question. */
export interface Attached { key: number; file: File; problem: string; name: string | null }

let next = 1;
/** What one upload may hold; null where the server has no files, undefined until it has said so. */
export const limits = signal<Limits | null | undefined>(undefined);

/** Asks whether threads have files here. */
export async function learnFiles(): Promise<void> {
  limits.value = await get<Limits>("/threads/new/uploads/limits").catch(() => null);
}

/** Files as they are attached; one that the server would not take says why. */
export function attach(files: File[], already: Attached[]): Attached[] {
  const most = limits.value;
  let count = already.length, total = already.reduce((n, a) => n + a.file.size, 0);
  return files.map((file) => {
    count++;
    total += file.size;
    const problem = !most ? "" : file.size > most.max_file_size ? "tooLarge" : count > most.max_files ? "tooMany" : total > most.max_total_size ? "tooMuch" : "";
    return { key: next++, file, problem, name: null };
  });
}

/** Uploads what is not there yet. Each file then has the name that it has on the server. */
export async function upload(thread: string, list: Attached[]): Promise<void> {
  const open = list.filter((a) => a.name === null);
  if (open.length === 0) return;
  const form = new FormData();
  for (const a of open) form.append("files", a.file, a.file.name || "pasted.png");
  let answer: Response;
  try {
    answer = await fetch(`/threads/${thread}/uploads`, { method: "POST", headers: headers({ Accept: "application/json" }), body: form });
  } catch {
    throw new Refusal(0, "no connection");
  }
  if (!answer.ok) throw await refusal(answer);
  const said = await answer.json() as { files: (ThreadFile & { original_filename?: string })[]; skipped_files: string[] };
  for (const f of said.files) {
    const as = f.original_filename ?? f.filename;
    const of = open.find((a) => a.name === null && a.file.name === as) ?? open.find((a) => a.name === null);
    if (of) of.name = f.filename;
  }
  if (said.skipped_files.length > 0) throw new Refusal(422, said.skipped_files.join("; "));
}

/** The list of a thread's files, outputs before uploads. */
export interface Shelf { outputs: ThreadFile[]; uploads: ThreadFile[] }
export const shelf = signal<Shelf>({ outputs: [], uploads: [] });
/** What is open beside the conversation: the list, or a file of it by its path. */
export const shown = signal<{ path: string | null; from: HTMLElement | null } | null>(null);
let of = "";

export async function look(thread: string): Promise<void> {
  if (!limits.value) return;
  if (thread !== of) { of = thread; shelf.value = { outputs: [], uploads: [] }; }
  const list = (path: string) => get<{ files: ThreadFile[] }>(`/threads/${thread}/${path}`).then((l) => l.files, () => null);
  const [outputs, uploads] = await Promise.all([list("artifacts"), list("uploads/list")]);
  if (thread !== of || outputs === null || uploads === null) return;
  const now = { outputs, uploads };
  if (JSON.stringify(now) !== JSON.stringify(shelf.value)) shelf.value = now;
}

export function openFile(path: string | null, from: HTMLElement | null): void { shown.value = { path, from }; }

export function closeFile(): void {
  shown.value?.from?.focus();
  shown.value = null;
}

/** Where a file of a thread is read, by the name that agents know it by. */
export function addressOf(thread: string, path: string): string {
  return `/threads/${thread}/artifacts/${path.replace(/^\//, "").split("/").map(encodeURIComponent).join("/")}`;
}

export function uploadPath(name: string): string { return "/mnt/user-data/uploads/" + name; }

/** Saves under a name. An address is enough for a browser unless the server wants a key, which a link cannot show. */
export async function download(address: string, name: string): Promise<void> {
  const link = document.createElement("a");
  link.download = name;
  if (!("X-Api-Key" in headers())) { link.href = address; link.click(); return; }
  const url = URL.createObjectURL(await (await send("GET", address)).blob());
  link.href = url;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Saves a text that the page has. */
export function saveText(text: string, name: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: type + ";charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** What a file with a title may be called. */
export function fileName(title: string, otherwise: string): string {
  return (title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 60) || otherwise).toLowerCase();
}

export const needsKey = (): boolean => "X-Api-Key" in headers();

export function size(n: number): string {
  if (n < 1024) return `${n} B`;
  for (const [unit, by] of [["kB", 1024], ["MB", 1024 ** 2], ["GB", 1024 ** 3]] as const) {
    if (n < by * 1024) return (n / by < 10 ? (n / by).toFixed(1) : Math.round(n / by)) + " " + unit;
  }
  return n + " B";
}
