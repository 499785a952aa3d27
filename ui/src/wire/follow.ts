// Reads the stream of a task to its end, through lost connections and restarts of the server. Laws:
//
//   - Each frame is handed over once, in order: after a loss it asks for what follows the last one it has.
//   - A stream ends with the root task's terminal frame, or with a refusal that asking again cannot mend.
//   - A line that is silent for longer than three heartbeats is taken as lost.
import { signal } from "@preact/signals";
import { headers, refusal, Refusal } from "./api";

export interface Frame { type: string; task_id: string; sequence_number: number; [more: string]: unknown }

/** The line to the server, for the sign that shows it. Nothing is shown while it is up. */
export interface Line { state: "up" | "down" | "back"; since: number; next: number; restarted?: boolean }
export const line = signal<Line>({ state: "up", since: 0, next: 0 });

const wakes = new Set<() => void>();
/** Try now instead of at the end of the wait. */
export function tryNow(): void { for (const wake of [...wakes]) wake(); }
addEventListener("online", tryNow);
document.addEventListener("visibilitychange", () => { if (!document.hidden) tryNow(); });

let lost = 0; // readers that wait
let green = 0;

export function down(next: number): void {
  lost++;
  clearTimeout(green);
  const since = line.value.state === "down" ? line.value.since : Date.now();
  line.value = { state: "down", since, next };
}

export function up(): void {
  if (lost > 0) lost--;
  if (lost > 0 || line.value.state !== "down") return;
  // A blink that nobody was told of needs no all-clear.
  if (Date.now() - line.value.since < shownAfter) { line.value = { state: "up", since: 0, next: 0 }; return; }
  line.value = { state: "back", since: Date.now(), next: 0 };
  green = window.setTimeout(() => { line.value = { state: "up", since: 0, next: 0 }; }, 3000);
}

/** How long a loss lasts before people are told. */
export const shownAfter = 1500;
const silence = 16_000;

const terminal = new Set(["task.completed", "task.failed", "task.canceled", "task.expired", "task.input_required"]);

export interface Reader {
  frames(list: Frame[]): void;
  /** What was handed over so far is not what the server has: forget it, all frames come again. */
  again(): void;
}

export async function follow(task: string, to: Reader, stop: AbortSignal): Promise<void> {
  let last = -1;
  let failures = 0;
  while (!stop.aborted) {
    let told = false;
    try {
      const ended = await once(task, last, to, stop, (n) => {
        last = n;
        if (failures > 0 && !told) { told = true; up(); }
        failures = 0;
      });
      if (ended || stop.aborted) return;
    } catch (err) {
      if (stop.aborted) break;
      if (err instanceof Refusal && err.status === 410) { // another server, or an older backup of it
        last = -1;
        to.again();
        continue;
      }
      if (err instanceof Refusal && err.status >= 400 && err.status < 500 && err.status !== 429) {
        if (failures > 0) up();
        throw err;
      }
    }
    const wait = Math.min(8000, 250 * 2 ** failures);
    if (failures > 0) up(); // counted again below
    failures++;
    down(Date.now() + wait);
    await rest(wait, stop);
  }
  if (failures > 0) up();
}

function rest(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const wake = () => { clearTimeout(timer); wakes.delete(wake); stop.removeEventListener("abort", wake); done(); };
    const timer = setTimeout(wake, ms);
    wakes.add(wake);
    stop.addEventListener("abort", wake);
  });
}

/** One connection. True when the task has ended. */
async function once(task: string, after: number, to: Reader, stop: AbortSignal, have: (seq: number) => void): Promise<boolean> {
  const quiet = new AbortController();
  const cancel = () => quiet.abort();
  stop.addEventListener("abort", cancel);
  let timer = setTimeout(cancel, silence);
  try {
    const answer = await fetch(`/tasks/${task}/events?include=times&after=${after}`, { headers: headers({ Accept: "text/event-stream" }), signal: quiet.signal });
    if (!answer.ok || !answer.body) throw await refusal(answer);
    have(after);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return false;
      clearTimeout(timer);
      timer = setTimeout(cancel, silence);
      rest += value;
      const cut = rest.lastIndexOf("\n\n");
      if (cut < 0) continue;
      const frames = events(rest.slice(0, cut));
      rest = rest.slice(cut + 2);
      let ended = false;
      const fresh = frames.filter((f) => f.sequence_number > after);
      for (const f of fresh) {
        after = f.sequence_number;
        ended ||= f.task_id === task && terminal.has(f.type);
      }
      if (fresh.length > 0) { to.frames(fresh); have(after); }
      if (ended) { void reader.cancel().catch(() => {}); return true; }
    }
  } finally {
    clearTimeout(timer);
    stop.removeEventListener("abort", cancel);
  }
}

/** The frames in whole SSE events. Our server writes one data line an event; comments keep the line alive. */
export function events(text: string): Frame[] {
  const out: Frame[] = [];
  for (const event of text.split("\n\n")) {
    const data = event.split("\n").filter((l) => l.startsWith("data:")).map((l) => l.slice(5).trimStart()).join("\n");
    if (data !== "") out.push(JSON.parse(data) as Frame);
  }
  return out;
}
