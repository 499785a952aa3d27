// What a question is answered with: assistant, model, whether it thinks. Chosen per question, and remembered per thread.
import { computed, signal } from "@preact/signals";
import { keep } from "../prefs";
import { get, post } from "../wire/api";

export interface Model { name: string; provider: string; model: string; thinking: boolean; vision: boolean; default: boolean; usable: boolean }
export interface Assistant { id: string; name: string }

/** plan: the agent writes down what it is going to do, and keeps the list. subs: it may delegate. agent: one that somebody made. */
export interface Choice { assistant: string; model: string; thinking: boolean; plan: boolean; subs: boolean; agent: string }

export const models = signal<Model[]>([]);
export const assistants = signal<Assistant[]>([]);
export const usable = computed(() => models.value.filter((m) => m.usable));
const planners = signal<ReadonlySet<string>>(new Set());
const kept = signal<Record<string, Choice>>({});
const none: Choice = { assistant: "", model: "", thinking: true, plan: false, subs: false, agent: "" };

/** Asks the server what there is to choose from. One that has no list of models offers no choice of them. */
export async function learnChoices(): Promise<void> {
  const [list, found] = await Promise.all([
    get<{ models: Model[] }>("/models").then((m) => m.models, () => []),
    post<{ assistant_id: string; graph_id: string; name: string; metadata: Record<string, unknown> }[]>("/assistants/search", { limit: 100 }).catch(() => []),
  ]);
  models.value = list;
  const known = found.map((a) => (a.metadata["created_by"] === "system" ? { id: a.graph_id, name: a.graph_id } : { id: a.assistant_id, name: a.name }));
  const assistantIDs = known.map((a) => a.id);
  const doubles: Record<string, string> = { lead_agent: "agent", deep_research: "research" }; // other names of the same
  assistants.value = known.filter((a) => !assistantIDs.includes(doubles[a.id] ?? ""))
    .sort((a, b) => Number(b.id === "agent") - Number(a.id === "agent"));
  // An assistant that can plan has a place for its list.
  const can = await Promise.all(found.slice(0, 20).map((a, i) => get<{ state_schema?: { properties?: Record<string, unknown> } }>(`/assistants/${a.assistant_id}/schemas`)
    .then((s) => ("todos" in (s.state_schema?.properties ?? {}) ? [assistantIDs[i]!] : []), () => [])));
  planners.value = new Set(can.flat());
}

/** The choice of a thread, or of the new question; what was chosen last where nothing was. */
export function choiceOf(thread: string): Choice {
  return kept.value[thread] ?? read("choice." + thread) ?? read("choice.new") ?? none;
}

function read(key: string): Choice | null {
  try {
    const v = JSON.parse(keep.get(key) ?? "null") as Partial<Choice> | null;
    return v && { assistant: String(v.assistant ?? ""), model: String(v.model ?? ""), thinking: v.thinking !== false, plan: v.plan === true, subs: v.subs === true, agent: String(v.agent ?? "") };
  } catch { return null; }
}

export function keepChoice(thread: string, choice: Choice): void {
  kept.value = { ...kept.value, [thread]: choice };
  keep.set("choice." + thread, JSON.stringify(choice));
}

/** The model that a choice means, as far as it is known. */
export function modelOf(choice: Choice): Model | undefined {
  return usable.value.find((m) => m.name === choice.model) ?? usable.value.find((m) => m.default);
}

/** Whether an assistant can be told to plan. */
export function plans(choice: Choice): boolean { return planners.value.has(choice.assistant || "agent"); }

/** The settings of a run. A model that is gone is not asked for. */
export function configurable(choice: Choice): { configurable?: Record<string, unknown> } {
  const out: Record<string, unknown> = {};
  if (usable.value.some((m) => m.name === choice.model)) out["model_name"] = choice.model;
  if (modelOf(choice)?.thinking) out["thinking_enabled"] = choice.thinking;
  if (choice.plan && plans(choice)) out["is_plan_mode"] = true;
  if (choice.subs && plans(choice)) out["subagent_enabled"] = true;
  if (choice.agent !== "" && choice.assistant === "") out["agent_name"] = choice.agent;
  return Object.keys(out).length === 0 ? {} : { configurable: out };
}
