// One question with its answer: a run of the thread, or one that is about to be.
import { signal } from "@preact/signals";
import { Tasks, type Item, type TaskObject } from "../../tasks";
import type { Frame } from "../wire/follow";
import type { Attached } from "./files";

/** What GET /threads/{id}/runs tells of a run. */
export interface Run {
  run_id: string;
  status: string;
  created_at: string;
  metadata: Record<string, unknown>;
  kwargs: { input?: unknown; command?: { resume?: unknown } | null };
}

/** When an item was begun and ended, and when the next one of its task was begun; the server's times, so they are the same whoever asks. */
interface Time { from: number; to?: number; next?: number }

/** What a task's object has beside what is folded, when it is asked for. */
interface Timed { times?: { item_id: string; task_id: string; began_at: string; ended_at?: string }[] }

export type State = "sending" | "unsent" | "known";

export class Turn {
  /** The task's id; empty until the server has given it. */
  id = "";
  created: number;
  /** The text that was asked, or null where the run answers a question of the one before. */
  question: string | null;
  /** What was answered to a question, if it was. */
  resume: unknown;
  /** The turn before it where that is not the one before it in time: "" for none, undefined where nothing is said. */
  after: string | undefined;
  readonly state = signal<State>("sending");
  readonly problem = signal("");
  readonly object = signal<TaskObject | null>(null);
  readonly ended = signal(false);
  /** The names of the files that went with the question, and those that are still to be uploaded. */
  readonly files = signal<string[]>([]);
  attached: Attached[] = [];
  private times = new Map<string, Time>(); // by item
  private newest = new Map<string, Time>(); // by task
  own = false;
  /** What was answered before it, for citations that go back there. */
  earlier: () => TaskObject[] = () => [];
  private tasks = new Tasks();

  constructor(readonly key: string, question: string | null, created: number) {
    this.question = question;
    this.created = created;
  }

  static of(run: Run): Turn {
    const key = run.metadata["page_key"];
    const turn = new Turn(typeof key === "string" ? key : run.run_id, null, Date.parse(run.created_at));
    turn.learn(run);
    return turn;
  }

  learn(run: Run): void {
    this.id = run.run_id;
    this.created = Date.parse(run.created_at);
    this.state.value = "known";
    const resume = run.kwargs.command?.resume;
    if (resume !== undefined) { this.resume = resume; this.question = null; }
    else this.question = questionOf(run.kwargs.input) ?? (typeof run.metadata["page_question"] === "string" ? run.metadata["page_question"] : null);
    const after = run.metadata["page_after"];
    if (typeof after === "string") this.after = after;
    const files = run.metadata["page_files"];
    if (Array.isArray(files)) this.files.value = files.filter((f): f is string => typeof f === "string");
    if (run.status !== "pending" && run.status !== "running") this.ended.value = true;
  }

  /** Takes in frames. The object is shown when `publish` is called, once for as many frames as came. */
  apply(frames: Frame[]): void {
    for (const f of frames) {
      this.tasks.apply(f);
      const { id } = (f["item"] ?? {}) as { id?: string };
      if (typeof id !== "string" || typeof f["at"] !== "string") continue;
      if (f.type === "task.output_item.added") this.began(f.task_id, id, f["at"]);
      if (f.type === "task.output_item.done") this.done(id, f["at"]);
    }
  }

  /** Takes in the object of a task that has ended. */
  show({ times = [], ...object }: TaskObject & Timed): void {
    for (const x of times) this.began(x.task_id, x.item_id, x.began_at);
    for (const x of times) if (x.ended_at) this.done(x.item_id, x.ended_at);
    this.object.value = object;
  }

  private began(task: string, id: string, at: string): void {
    const time: Time = { from: Date.parse(at) };
    const before = this.newest.get(task);
    if (before) before.next = time.from;
    this.times.set(id, time);
    this.newest.set(task, time);
  }

  private done(id: string, at: string): void {
    const time = this.times.get(id);
    if (time) time.to = Date.parse(at);
  }

  /**
   * How long an item took, in milliseconds; null where that is not known, or where it was cut off. A thought is over when something
   * follows it, though a server may say so only at the end of the whole turn.
   */
  took(item: Item): number | null {
    const time = this.times.get(item.id);
    if (!time || item.status === "incomplete") return null;
    const to = item.type === "reasoning" ? Math.min(time.to ?? Infinity, time.next ?? Infinity) : time.to;
    return to === undefined || to === Infinity ? null : to - time.from;
  }

  again(): void {
    this.tasks = new Tasks();
    this.times.clear();
    this.newest.clear();
  }

  publish(): void {
    this.object.value = this.tasks.task(this.id) ?? null;
  }
}

/** The last text that a person said in an input of any form. */
export function questionOf(input: unknown): string | null {
  if (typeof input === "string") return input;
  const messages = Array.isArray(input) ? input : (input as { messages?: unknown } | null | undefined)?.messages;
  if (!Array.isArray(messages)) return null;
  for (const m of messages.toReversed() as Record<string, unknown>[]) {
    if (m["type"] === "human" || m["role"] === "user" || m["role"] === "human") return textOf(m["content"]);
  }
  return null;
}

export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((b: unknown) => (typeof b === "string" ? b : ((b as { text?: unknown }).text ?? ""))).join("");
}
