// What a research leaves: its report, and what was found for each of its steps. Pure functions of the object; markdown/reading.ts reads the text.
import { textIn, type Item, type TaskObject, type Text } from "../../tasks";
import { blocksOf, isPlan, joined, sourcesOf } from "./output";

/** The report of a research: the last message of a task that works by a plan of its own with steps of a kind. */
export function reportOf(o: TaskObject | null): Item | null {
  if (!o?.plans?.some((p) => p.team_id === undefined && p.steps.some((s) => typeof s["kind"] === "string" && s["kind"] !== ""))) return null;
  const last = o.output.findLast((i) => i.type === "message");
  return last && !isPlan(last) && blocksOf(last).some((b) => textIn(b).length > 0) ? last : null;
}

/** Its words, of which what is read costs what is read. */
export function textOf(item: Item): Text { return joined(blocksOf(item).map(textIn)); }

/** How many sources the sub-agents of a step found. */
export function foundBy(child: TaskObject | undefined): number {
  return child ? [...sourcesOf(child).keys()].filter((k) => !k.startsWith("u")).length : 0;
}

/** The child that works on a step: by its id, or else by its title. */
export function workerOf(o: TaskObject, step: { id: string; title: string }): TaskObject | undefined {
  return o.tasks?.find((c) => c.task_id === "step-" + step.id) ?? o.tasks?.find((c) => c.title !== undefined && c.title === step.title);
}
