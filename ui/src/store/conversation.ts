// One thread as it is shown: its turns in a tree, of which one path is looked at, and what people can do with it. Laws:
//
//   - A question is asked once. If nobody knows whether it arrived, the server's list of runs is asked before it is sent again.
//   - What is shown of a task is the fold of its frames (ui/tasks.ts) and nothing else.
import { computed, signal } from "@preact/signals";
import type { TaskObject } from "../../tasks";
import { get, newID, post, Refusal, send } from "../wire/api";
import { follow } from "../wire/follow";
import { choiceOf, configurable } from "./choices";
import { look, upload, type Attached } from "./files";
import { refresh } from "./threads";
import { Turn, type Run } from "./turn";

const pageOfRuns = 100;
const between = 30; // milliseconds

export class Conversation {
  readonly turns = signal<Turn[]>([]); // in the order of time
  readonly phase = signal<"loading" | "ready" | "missing">("loading");
  /** The turn whose ancestors are shown; the newest where it is null. */
  readonly tip = signal<string | null>(null);
  /** How many turns of the path are shown, from its end. */
  readonly window = signal(20);
  /** Counts what was learned of turns that were there already: their ids, and what they come after. */
  private learned = signal(0);
  private complete = false; // all runs are known
  private life = new AbortController();
  private following: Turn | null = null;
  private dirty = new Set<Turn>();
  private frame = 0;
  private drawn = 0;
  private fetching = new Set<Turn>();

  constructor(readonly thread: string, readonly fresh = false) {
    if (fresh) { this.phase.value = "ready"; this.complete = true; }
  }

  readonly path = computed<Turn[]>(() => {
    const turns = this.turns.value;
    const tip = turns.find((t) => t.key === this.tip.value) ?? turns[turns.length - 1];
    const out: Turn[] = [];
    for (let t: Turn | undefined = tip; t; t = this.before(t)) out.push(t);
    return out.reverse();
  });

  readonly shown = computed<Turn[]>(() => this.path.value.slice(-this.window.value));
  readonly hasEarlier = computed(() => this.path.value.length > this.window.value || (!this.complete && this.turns.value.length > 0));
  readonly working = computed(() => this.path.value.find((t) => t.state.value !== "unsent" && !t.ended.value) ?? null);

  /** Which turn each comes after, worked out once for a list of turns: a thread may have thousands. */
  private order = computed(() => {
    void this.learned.value;
    const turns = this.turns.value;
    const byID = new Map(turns.filter((x) => x.id !== "").map((x) => [x.id, x]));
    return new Map(turns.map((x, i): [Turn, Turn | undefined] => [x, x.after === undefined ? turns[i - 1] : byID.get(x.after)]));
  });

  private before(t: Turn): Turn | undefined { return this.order.value.get(t); }

  /** The versions of a turn: those that come after the same one, itself among them. */
  versions(t: Turn): Turn[] {
    const parent = this.before(t);
    return this.turns.value.filter((x) => this.before(x) === parent && (x.question === null) === (t.question === null));
  }

  /** Shows another version, with what was asked last below it. */
  choose(version: Turn): void {
    let tip = version;
    for (;;) {
      const next = this.turns.value.filter((x) => x !== tip && this.before(x) === tip).at(-1);
      if (!next) break;
      tip = next;
    }
    this.tip.value = tip === this.turns.value.at(-1) ? null : tip.key;
    this.pump();
  }

  open(): void { if (!this.fresh) void this.sync(); }
  close(): void { this.life.abort(); cancelAnimationFrame(this.frame); }

  /** Asks the server which runs there are; those that it has and we do not were asked elsewhere. */
  async sync(older = false): Promise<void> {
    const known = this.turns.value.filter((t) => t.state.value === "known").length;
    const had = new Set(this.turns.value.map((t) => t.id));
    let runs: Run[];
    try {
      runs = await get<Run[]>(`/threads/${this.thread}/runs?limit=${pageOfRuns}&offset=${older ? known : 0}`);
    } catch (err) {
      if (err instanceof Refusal && err.status === 404 && !this.turns.value.some((t) => t.state.value !== "known")) this.phase.value = "missing";
      else if (err instanceof Refusal && err.status !== 0 && this.phase.value === "loading") this.phase.value = "missing";
      return;
    }
    if (this.life.signal.aborted) return;
    if (runs.length < pageOfRuns) this.complete = true;
    const turns = [...this.turns.value];
    for (const run of runs.toReversed()) {
      const key = run.metadata["page_key"];
      const turn = turns.find((t) => t.id === run.run_id) ?? turns.find((t) => t.id === "" && t.key === key);
      if (turn) { const was = turn.id + turn.after; turn.learn(run); if (turn.id + turn.after !== was) this.learned.value++; }
      else turns.push(Turn.of(run));
    }
    if (!older) { // what was rolled back is gone; of what was asked meanwhile this list may not know
      const oldest = Math.min(...runs.map((r) => Date.parse(r.created_at)));
      const there = new Set(runs.map((r) => r.run_id));
      for (let i = turns.length - 1; i >= 0; i--) {
        const t = turns[i]!;
        if (t.id !== "" && had.has(t.id) && !there.has(t.id) && t.created >= oldest) turns.splice(i, 1);
      }
    }
    turns.sort((a, b) => a.created - b.created || (a.id < b.id ? -1 : 1));
    this.set(turns);
    this.phase.value = "ready";
    this.pump();
  }

  private set(turns: Turn[]): void {
    const was = this.turns.value;
    if (turns.length !== was.length || turns.some((t, i) => t !== was[i])) this.turns.value = turns;
  }

  earlier(): void {
    this.window.value += 20;
    if (this.path.value.length < this.window.value && !this.complete) void this.sync(true);
    this.pump();
  }

  private objectsBefore(t: Turn): TaskObject[] {
    const path = this.path.peek();
    return path.slice(0, Math.max(0, path.indexOf(t))).flatMap((x) => x.object.peek() ?? []);
  }

  /** Sees to it that what is shown is read: one stream for the oldest that works, objects for those that have ended. */
  pump(): void {
    for (const t of this.turns.value) t.earlier = () => this.objectsBefore(t);
    for (const t of this.shown.value.toReversed()) {
      if (t.id === "" || t.object.value || this.fetching.has(t) || !t.ended.value || this.fetching.size >= 4) continue;
      this.fetching.add(t);
      void get<TaskObject>(`/tasks/${t.id}?include=times`).then((o) => t.show(o), () => {}).finally(() => { this.fetching.delete(t); this.pump(); });
    }
    const next = this.path.value.find((t) => t.id !== "" && !t.ended.value);
    if (!next || this.following === next || this.following) return;
    this.following = next;
    void follow(next.id, {
      frames: (list) => { next.apply(list); this.schedule(next); },
      again: () => next.again(),
    }, this.life.signal).catch((err: unknown) => {
      if (err instanceof Refusal && err.status === 404) this.set(this.turns.value.filter((t) => t !== next)); // rolled back
    }).finally(() => {
      this.flush();
      next.ended.value = true;
      this.following = null;
      if (this.life.signal.aborted) return;
      void this.sync();
      void refresh();
      void look(this.thread);
    });
  }

  private schedule(t: Turn): void {
    this.dirty.add(t);
    if (this.frame !== 0) return;
    // A page that nobody sees is given no frames; its text must go on all the same.
    if (document.hidden) this.frame = window.setTimeout(() => this.flush(), 250);
    else this.frame = requestAnimationFrame(this.draw);
  }

  /** Draws at most every other frame: text that grows thirty times a second is read as well, and costs half. */
  private draw = (now: number) => {
    if (now - this.drawn < between) { this.frame = requestAnimationFrame(this.draw); return; }
    this.drawn = now;
    this.flush();
  };

  private flush(): void {
    this.frame = 0;
    for (const t of this.dirty) t.publish();
    this.dirty.clear();
  }

  /** Asks, with files if there are some. While a task works the question waits for its end. */
  async ask(text: string, files: Attached[] = []): Promise<void> {
    const last = this.path.value.at(-1);
    const newest = this.turns.value.at(-1);
    const turn = this.begin(text, last && last !== newest && last.id !== "" ? last.id : undefined); // on a branch that is not the latest
    turn.attached = files;
    turn.files.value = files.map((f) => f.name ?? f.file.name);
    await this.deliver(turn);
  }

  private begin(question: string | null, after?: string): Turn {
    const turn = new Turn(newID(), question, Date.now());
    turn.own = true;
    turn.after = after;
    this.turns.value = [...this.turns.value, turn];
    this.tip.value = turn.key;
    return turn;
  }

  /** Sends a turn's question, once, and after those that were asked before it: two on their way at once could arrive the other way round. */
  deliver(turn: Turn): Promise<void> {
    turn.state.value = "sending";
    turn.problem.value = "";
    this.sending = this.sending.then(() => this.deliverNow(turn));
    return this.sending;
  }

  private sending: Promise<void> = Promise.resolve();

  private async deliverNow(turn: Turn): Promise<void> {
    try {
      await upload(this.thread, turn.attached);
      if (turn.attached.length > 0) turn.files.value = turn.attached.map((f) => f.name ?? f.file.name);
      turn.id = turn.after === undefined ? await this.start(turn) : await this.fork(turn);
      this.learned.value++;
      turn.state.value = "known";
    } catch (err) {
      if (err instanceof Refusal && (err.status === 0 || err.status >= 500)) await this.sync(); // it may have arrived
      if (turn.id === "") {
        turn.problem.value = err instanceof Error ? err.message : String(err);
        turn.state.value = "unsent";
      }
    }
    if (this.tip.value === turn.key && this.turns.value.at(-1) === turn) this.tip.value = null;
    this.pump();
  }

  private async start(turn: Turn): Promise<string> {
    const choice = choiceOf(this.thread);
    return created(await send("POST", "/tasks", {
      thread_id: this.thread, input: turn.question, stream: true, metadata: this.notes(turn),
      ...(choice.assistant === "" ? {} : { assistant: choice.assistant }), ...configurable(choice),
    }));
  }

  /** What the page wants to find again in a run. */
  private notes(turn: Turn): Record<string, unknown> {
    return { page_key: turn.key, ...(turn.after === undefined ? {} : { page_after: turn.after }), ...(turn.files.value.length > 0 ? { page_files: turn.files.value } : {}) };
  }

  /** Starts a run from an older checkpoint: that before the question which it replaces, or that at the end of the turn it follows. */
  private async fork(turn: Turn): Promise<string> {
    const replaced = this.turns.value.find((t) => t !== turn && t.id !== "" && (this.before(t)?.id ?? "") === turn.after && t.question !== null);
    let checkpoint: string | undefined;
    if (replaced) {
      const list = await post<{ checkpoint: { checkpoint_id: string } }[]>(`/threads/${this.thread}/history`, { limit: 1, metadata: { run_id: replaced.id, source: "input" } });
      checkpoint = list[0]?.checkpoint.checkpoint_id;
    } else if (turn.after !== "") {
      checkpoint = (await get<{ checkpoint_id: string }>(`/tasks/${turn.after}/model-view`)).checkpoint_id;
    }
    const choice = choiceOf(this.thread);
    const run = await post<Run>(`/threads/${this.thread}/runs`, {
      assistant_id: choice.assistant || "agent", config: configurable(choice), input: { messages: [{ type: "human", content: turn.question }] }, ...(checkpoint ? { checkpoint_id: checkpoint } : {}),
      metadata: this.notes(turn),
    });
    return run.run_id;
  }

  /** Asks something in place of a turn's question; the old one stays, as another version. */
  async replace(old: Turn, text: string): Promise<void> {
    const turn = this.begin(text, this.before(old)?.id ?? "");
    turn.files.value = old.files.value;
    await this.deliver(turn);
  }

  async answer(asked: Turn, answers: Record<string, unknown>): Promise<void> {
    const turn = this.begin(null);
    turn.resume = answers;
    try {
      turn.id = created(await send("POST", `/tasks/${asked.id}/input`, { answers, stream: true, metadata: { page_key: turn.key } }));
      this.learned.value++;
      turn.state.value = "known";
      this.tip.value = null;
      void refresh(); // the list does not mark it any more
    } catch (err) {
      this.turns.value = this.turns.value.filter((t) => t !== turn);
      this.tip.value = null;
      await this.sync();
      throw err;
    }
    this.pump();
  }

  async stop(turn: Turn): Promise<void> {
    if (turn.id !== "") await send("POST", `/tasks/${turn.id}/cancel`, { action: "interrupt" });
  }

  /** Takes back a question that waits, or one that was never sent. */
  async takeBack(turn: Turn): Promise<void> {
    if (turn.id !== "") await send("POST", `/tasks/${turn.id}/cancel`, { action: "rollback" });
    this.turns.value = this.turns.value.filter((t) => t !== turn);
    if (this.tip.value === turn.key) this.tip.value = null;
  }
}

/** The id of the task that an answer to POST announces. Its stream is read by `follow`, which survives the connection. */
function created(answer: Response): string {
  const id = /\/tasks\/([^/]+)\/events/.exec(answer.headers.get("Location") ?? "")?.[1];
  void answer.body?.cancel().catch(() => {});
  if (!id) throw new Refusal(answer.status, "the server did not say which task it made");
  return id;
}
