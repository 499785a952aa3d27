// Assembles the objects of tasks from the frames of tributary's native wire (task.*).
//
//   const tasks = new Tasks();
//   source.onmessage = (m) => { tasks.apply(JSON.parse(m.data)); show(tasks.task(tasks.root())); };
//
// It is the fold of Go's internal/wire/task, tested on the same golden files and on the same random runs. It needs
// no library, no browser and no Node. The rules, in short: what is added is an empty shell; a delta is joined to
// it; done is the whole value once more and is never joined; fields that done leaves out stay; what is reset is gone;
// a sub-agent's output is the block_list of the tool_result with its id as call_id.

export type Status =
  | "created" | "queued" | "working" | "paused"
  | "input_required" | "completed" | "canceled" | "expired" | "failed";

/** A task as it stands. Fields that the stream has not told are absent. */
export interface TaskObject {
  task_id: string;
  parent_task_id?: string;
  status?: Status;
  agent?: string;
  title?: string;
  attempt?: number;
  output: Item[];
  /** Children that no tool_result contains, as the experts of a team. */
  tasks?: TaskObject[];
  interrupts?: Interrupt[];
  plans?: Plan[];
  teams?: Team[];
  warnings?: { code: string; message: string }[];
  /** What people said to its agents while they worked. */
  spoken?: { id: string; to?: string; text: string }[];
  usage?: Usage;
  error?: { code: string; message: string };
  [more: string]: unknown;
}

export interface Item {
  type: "reasoning" | "tool_call" | "tool_result" | "message" | (string & {});
  id: string;
  status?: "in_progress" | "completed" | "incomplete";
  attempt?: number;
  /** Inside a container: the sub-agent whose item it is. */
  task_id?: string;
  summary?: Block[];
  call_id?: string;
  name?: string;
  arguments?: string;
  is_error?: boolean;
  /** How a tool call is coming on, until it has ended. */
  progress?: { message?: string; done?: number; total?: number; data?: unknown };
  role?: string;
  /** Blocks, or the items of the sub-agent that a tool_result contains. */
  block_list?: (Block | Item)[];
  tasks?: TaskObject[];
  /** Who that sub-agent is and why it ended, where it failed or was stopped. */
  task?: Omit<TaskObject, "output">;
  [more: string]: unknown;
}

export interface Block {
  type: "text" | "image" | "file" | "foreign" | (string & {});
  text?: string;
  image_url?: { url: string };
  url?: string;
  mime_type?: string;
  name?: string;
  /** Number in the run's pool of references. */
  id?: number;
  annotations?: Annotation[];
  [more: string]: unknown;
}

/** Indices are half-open and count code points, not the UTF-16 units of JavaScript; see segments. */
export interface Annotation {
  type: "reference_to_block" | "url_citation" | (string & {});
  reference_id?: number;
  start_index: number;
  end_index: number;
  url?: string;
  title?: string;
  quote?: string;
}

export interface Interrupt { id: string; ask?: string; value: unknown; options?: string[] }
export interface Plan { id: string; team_id?: string; title?: string; steps: PlanStep[] }
export interface PlanStep { id: string; title: string; status: string; [more: string]: unknown }
export interface Team { id: string; title?: string; lead?: string; members: { id: string; name: string; role?: string }[]; outcome?: Status; reason?: string }
export interface Usage { input_tokens: number; output_tokens: number; [more: string]: number }

type Fields = Record<string, unknown>;

interface TaskState { parent: string; object: Fields; items: Map<number, ItemState> }
interface ItemState { fields: Fields; list: "summary" | "block_list"; blocks: Map<number, Fields> }

const lifeCycle = new Set(["created", "queued", "working", "input_required", "paused", "completed", "canceled", "expired", "failed"]);

// What a life-cycle frame cannot set: it speaks of the frame, or is put together from other frames.
const assembled = new Set(["type", "sequence_number", "output", "tasks", "interrupts", "plans", "teams", "warnings", "spoken"]);

const lists: Record<string, readonly [field: string, list: string]> = {
  "interrupt": ["interrupt", "interrupts"],
  "plan.updated": ["plan", "plans"],
  "team.formed": ["team", "teams"],
};

export class Tasks {
  // Maps keep the order of insertion: tasks stand as they appeared.
  private tasks = new Map<string, TaskState>();

  /**
   * Takes in one frame. False means that nothing changed: the frame is of a kind that is not folded (task.custom, or
   * one of a later version), or speaks of something that was never added.
   */
  apply(frame: unknown): boolean {
    if (!isObject(frame)) return false;
    const { type, task_id: id } = frame;
    if (typeof type !== "string" || !type.startsWith("task.") || typeof id !== "string" || id === "") return false;
    const name = type.slice("task.".length);
    if (lifeCycle.has(name)) {
      this.live(name, id, frame);
      return true;
    }
    const named = Object.hasOwn(lists, name) ? lists[name] : undefined;
    if (named) {
      const thing = frame[named[0]];
      if (!isObject(thing)) return false;
      const object = this.state(id).object;
      object[named[1]] = replaceById(array(object[named[1]]), thing);
      return true;
    }
    if (name === "team.dissolved") {
      const object = this.state(id).object;
      const team = array(object["teams"]).find((t) => isObject(t) && t["id"] === frame["team_id"]);
      if (!isObject(team)) return false;
      const dissolved = { ...team };
      merge(dissolved, frame, "outcome", "reason");
      object["teams"] = replaceById(array(object["teams"]), dissolved);
      return true;
    }
    if (name === "warning") {
      const object = this.state(id).object;
      const warning: Fields = {};
      merge(warning, frame, "code", "message");
      object["warnings"] = [...array(object["warnings"]), warning];
      return true;
    }
    if (name === "spoken") {
      const object = this.state(id).object;
      const words: Fields = {};
      merge(words, frame, "id", "to", "text");
      object["spoken"] = [...array(object["spoken"]), words];
      return true;
    }
    const at = frame["output_index"];
    return isIndex(at) && this.inItem(name, id, at, frame);
  }

  private inItem(name: string, id: string, at: number, frame: Fields): boolean {
    const items = this.state(id).items;
    const value = isObject(frame["item"]) ? frame["item"] : undefined;
    const delta = typeof frame["delta"] === "string" ? frame["delta"] : "";
    const item = items.get(at);
    switch (name) {
      case "output_item.added":
        if (value) items.set(at, newItem(value));
        return value !== undefined;
      case "output_item.done":
        if (!value) return false;
        if (item) {
          mergeItem(item, value);
          delete item.fields["progress"]; // it has ended
        } else items.set(at, newItem(value));
        return true;
      case "output_item.reset":
        return items.delete(at);
    }
    if (!item) return false;
    switch (name) {
      case "tool_progress":
        merge(item.fields, frame, "progress");
        return true;
      case "tool_call_arguments.delta":
        grow(item.fields, "arguments", delta);
        return true;
      case "tool_call_arguments.done":
        merge(item.fields, frame, "arguments");
        growing.delete(item.fields);
        return true;
    }
    const place = isIndex(frame["block_index"]) ? frame["block_index"] : frame["summary_index"];
    if (!isIndex(place)) return false;
    if (value) { // added, done, or a coarse picture: each replaces what was there
      item.blocks.set(place, newBlock(value));
      return true;
    }
    const block = item.blocks.get(place);
    if (!name.endsWith(".delta") || !block) return false;
    grow(block, "text", delta);
    return true;
  }

  private live(name: string, id: string, frame: Fields): void {
    const task = this.state(id);
    if (name === "created" && task.object["status"] !== undefined) { // its work is tried again
      this.forgetBelow(id);
      task.parent = "";
      task.object = { task_id: id };
      task.items.clear();
    }
    for (const key of ["error", "reason", "usage", "ended_at"]) delete task.object[key]; // how it ended before, if it did
    for (const [key, value] of Object.entries(frame)) {
      if (!assembled.has(key)) task.object[key] = value;
    }
    task.object["status"] = name;
    if (typeof frame["parent_task_id"] === "string") task.parent = frame["parent_task_id"];
    if (name === "completed" || name === "canceled" || name === "expired" || name === "failed") {
      delete task.object["interrupts"];
    }
  }

  private state(id: string): TaskState {
    let task = this.tasks.get(id);
    if (!task) {
      task = { parent: "", object: { task_id: id }, items: new Map() };
      this.tasks.set(id, task);
    }
    return task;
  }

  private forgetBelow(id: string): void {
    for (const [child, task] of [...this.tasks]) {
      if (task.parent === id && child !== id && this.tasks.delete(child)) this.forgetBelow(child);
    }
  }

  /** The object of a task, fresh: later frames do not change it. */
  task(id: string): TaskObject | undefined {
    if (!this.tasks.has(id)) return undefined;
    return new Objects(this.tasks).task(id);
  }

  /** The first task that no other holds, or the empty string. */
  root(): string {
    const { container } = new Objects(this.tasks);
    for (const [id, task] of this.tasks) {
      if (task.parent === "" && !container.has(id)) return id;
    }
    return "";
  }
}

class Objects {
  readonly container = new Map<string, ItemState>(); // by child
  private child = new Map<ItemState, string>();
  private listed = new Map<string, string[]>(); // children without a container, by parent
  private path = new Set<string>(); // tasks being written: a stream may claim that a task holds itself

  constructor(private tasks: Map<string, TaskState>) {
    for (const [id, { parent }] of tasks) {
      let found: ItemState | undefined;
      if (parent !== "") {
        found = resultOf(tasks.get(parent), id);
      } else { // told nothing of its parent, we look for who made the call; its own results do not count
        for (const [other, task] of tasks) {
          if (other !== id) found ??= resultOf(task, id);
        }
      }
      if (found) {
        this.container.set(id, found);
        this.child.set(found, id);
      } else if (parent !== "") {
        this.listed.set(parent, [...(this.listed.get(parent) ?? []), id]);
      }
    }
  }

  task(id: string): TaskObject {
    this.path.add(id);
    const object: Fields = { ...copy(this.tasks.get(id)!.object), output: this.output(id, false) };
    this.list(object, id);
    this.path.delete(id);
    return object as unknown as TaskObject;
  }

  private list(object: Fields, id: string): void {
    const children = (this.listed.get(id) ?? []).filter((child) => !this.path.has(child));
    if (children.length > 0) object["tasks"] = children.map((child) => this.task(child));
  }

  private output(id: string, nested: boolean): Fields[] {
    return inOrder(this.tasks.get(id)!.items).map((item) => {
      const object = snapshot(item.fields);
      if (object["type"] !== "tool_call" || item.blocks.size > 0) {
        object[item.list] = inOrder(item.blocks).map(snapshot);
      }
      const child = this.child.get(item);
      if (child !== undefined && !this.path.has(child)) {
        this.path.add(child);
        object[item.list] = this.output(child, true);
        this.list(object, child);
        this.path.delete(child);
        const from = this.tasks.get(child)!.object;
        if (from["status"] === "failed" || from["status"] === "canceled" || from["status"] === "expired") { // of whom, and why
          const head: Fields = {};
          merge(head, from, "task_id", "status", "agent", "title", "attempt", "created_at", "reason", "error", "usage", "ended_at");
          object["task"] = copy(head);
        }
      }
      if (nested) object["task_id"] = id;
      return object;
    });
  }
}

/** The last tool_result of a task for a call. */
function resultOf(task: TaskState | undefined, call: string): ItemState | undefined {
  let found: ItemState | undefined;
  let last = -1;
  for (const [at, item] of task?.items ?? []) {
    if (at > last && item.fields["type"] === "tool_result" && item.fields["call_id"] === call) {
      found = item;
      last = at;
    }
  }
  return found;
}

function newItem(value: Fields): ItemState {
  const item: ItemState = { fields: {}, list: "block_list", blocks: new Map() };
  mergeItem(item, value);
  return item;
}

function mergeItem(item: ItemState, value: Fields): void {
  if (value["type"] === "reasoning") item.list = "summary";
  for (const [key, v] of Object.entries(value)) {
    if (key === "arguments") growing.delete(item.fields);
    if (key === item.list && Array.isArray(v)) {
      item.blocks.clear();
      v.forEach((block, i) => {
        if (isObject(block)) item.blocks.set(i, newBlock(block));
      });
    } else {
      item.fields[key] = v;
    }
  }
}

function newBlock(value: Fields): Fields {
  return { ...value, ...(value["type"] === "image_url" ? { type: "image" } : {}) };
}

function replaceById(things: unknown[], thing: Fields): unknown[] {
  const at = things.findIndex((old) => isObject(old) && old["id"] === thing["id"]);
  return at < 0 ? [...things, thing] : things.map((old, i) => (i === at ? thing : old));
}

function merge(into: Fields, from: Fields, ...keys: string[]): void {
  for (const key of keys) {
    if (Object.hasOwn(from, key)) into[key] = from[key];
  }
}

function inOrder<T>(places: Map<number, T>): T[] {
  return [...places].sort(([a], [b]) => a - b).map(([, value]) => value);
}

function copy<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copy) as T;
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, v]) => [key, copy(v)])) as T;
}

function isObject(v: unknown): v is Fields {
  return typeof v === "object" && v !== null && !Array.isArray(v);
}

function isIndex(v: unknown): v is number {
  return typeof v === "number" && Number.isSafeInteger(v) && v >= 0;
}

function array(v: unknown): unknown[] {
  return Array.isArray(v) ? v : [];
}

function text(v: unknown): string {
  return typeof v === "string" ? v : "";
}

const sizeOfPart = 1024;

/**
 * A text that grows by its end. A piece costs the same however long the text is: `text` is one sum of what is there, which the
 * engine joins when it is read, and `slice` reads only the parts that it asks for.
 */
class Growing {
  private parts: string[] = []; // full ones, which never change
  private starts: number[] = []; // where each begins
  private head = "";
  private tail = "";

  push(piece: string): void {
    this.tail += piece;
    if (this.tail.length < sizeOfPart) return;
    this.parts.push(this.tail);
    this.starts.push(this.head.length);
    this.head += this.tail;
    this.tail = "";
  }

  text(): string { return this.head + this.tail; }

  slice(from: number, to: number): string {
    let at = 0;
    for (let end = this.starts.length - 1; at < end;) { // the last part that begins at `from` or before it
      const middle = (at + end + 1) >> 1;
      if (this.starts[middle]! <= from) at = middle; else end = middle - 1;
    }
    let out = "";
    for (; at < this.parts.length && this.starts[at]! < to; at++) out += this.parts[at]!.slice(Math.max(0, from - this.starts[at]!), to - this.starts[at]!);
    const left = this.head.length;
    return to > left ? out + this.tail.slice(Math.max(0, from - left), to - left) : out;
  }
}

// By what holds it: the state of a block or of a call, and each object that was made of it while it grew.
const growing = new WeakMap<object, Growing>();

function grow(fields: Fields, key: string, piece: string): void {
  let g = growing.get(fields);
  if (!g) {
    growing.set(fields, g = new Growing());
    g.push(text(fields[key]));
  }
  g.push(piece);
  fields[key] = g.text();
}

function snapshot(fields: Fields): Fields {
  const object = copy(fields);
  const g = growing.get(fields);
  if (g) growing.set(object, g);
  return object;
}

/** Something to read a text from: a string, or one that grows, which is best not read as a whole each time that it has grown. */
export interface Text { readonly length: number; slice(from: number, to?: number): string }

/** The text of a block, or the arguments of a call: while they grow, what is read of them costs what is read. */
export function textIn(of: Block | Item): Text {
  const whole = text(of["arguments"] ?? of["text"]);
  const g = growing.get(of);
  return g ? { length: whole.length, slice: (from, to = whole.length) => g.slice(from, Math.min(to, whole.length)) } : whole;
}

/**
 * A text block cut where its annotations begin and end, so that each marker can be shown as a link. Joined, the
 * texts are the block's. An annotation that overlaps one before it, or lies outside of the text, is left out.
 */
export function segments(block: Block): { text: string; annotation?: Annotation }[] {
  const points = [...(block.text ?? "")];
  const out: { text: string; annotation?: Annotation }[] = [];
  let at = 0;
  const sorted = [...(block.annotations ?? [])].sort((a, b) => a.start_index - b.start_index);
  for (const annotation of sorted) {
    const { start_index: start, end_index: end } = annotation;
    if (start < at || end <= start || end > points.length) continue;
    if (start > at) out.push({ text: points.slice(at, start).join("") });
    out.push({ text: points.slice(start, end).join(""), annotation });
    at = end;
  }
  if (at < points.length) out.push({ text: points.slice(at).join("") });
  return out;
}
