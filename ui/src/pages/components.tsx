// All components in all their states, on made-up data. People look at it, and so do the tests.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import type { Item, TaskObject } from "../../tasks";
import { Icon, Spinner, type IconName } from "../icons";
import { Ask, Answered } from "../parts/asks";
import { Button, CopyButton, IconButton } from "../parts/buttons";
import { Composer } from "../parts/composer";
import { Sign } from "../parts/connection";
import { ThreadRow } from "../parts/rail";
import { SettingsBody } from "../parts/settings";
import { Chip, Drawer } from "../parts/sources";
import { Output } from "../parts/work";
import { sourcesOf } from "../store/output";
import type { Thread } from "../store/threads";
import { Turn } from "../store/turn";
import { Markdown } from "../markdown/markdown";
import { OfflineNote } from "./first";
import { Queued } from "./thread";
import { Attachments } from "../parts/files";
import { PlanList } from "../parts/plan";
import { sampleFinds, sampleDiagram, sampleMarkdown, samplePlan, sampleTask, sampleTools, sampleWork } from "./samples";

function sampleTurn(object: TaskObject, question: string | null = "A question"): Turn {
  const turn = new Turn("sample", question, Date.now() - 240_000);
  turn.id = "sample";
  turn.state.value = "known";
  turn.object.value = object;
  return turn;
}

const turn = sampleTurn(sampleTask);
const queued = sampleTurn(sampleTask, "And what do the WebSocket close codes say in each case?");
const at = signal(1);
const threads: Thread[] = [
  { id: "s1", title: "Clean up gauge exports", named: true, status: "interrupted", updated: Date.now() - 7_200_000, asks: "Delete 61 files?", pinned: false },
  { id: "s2", title: "Streams after a crash", named: false, status: "busy", updated: Date.now(), asks: null, pinned: false },
  { id: "s3", title: "长江与莱茵河货运量对比", named: false, status: "idle", updated: Date.now() - 3_600_000, asks: null, pinned: false },
  { id: "s4", title: "Why deltas of the Po are sinking, and what is done about it", named: false, status: "error", updated: Date.now() - 9_000_000, asks: null, pinned: false },
];

export function ComponentsPage(): JSX.Element {
  const sources = [...sourcesOf(sampleTask).values()];
  const nothing = () => {};
  return (
    <main class="conversation"><div class="gallery" tabIndex={0} role="region" aria-label="components"><div class="column">
      <h1 class="md-h1">Components</h1>
      <Section name="Colours"><div class="swatches">{["bg", "bg-rail", "bg-card", "bg-sunken", "bg-hover", "bg-selected", "line", "line-strong", "line-control", "text", "text-2", "text-3", "accent", "accent-soft", "wait", "wait-soft", "ok", "ok-soft", "fail", "fail-soft", "retry", "retry-soft", "mark"].map((n) => (
        <span class="swatch" key={n}><i style={{ background: `var(--${n})` }} />{n}</span>))}</div></Section>
      <Section name="Type"><div class="type-scale">{["26", "20", "17", "15", "13", "12", "11"].map((n) => <span key={n} style={{ fontSize: `var(--t-${n})` }}>{n} · The river knows the way 江河知道路</span>)}</div></Section>
      <Section name="Buttons"><div class="flow">
        <Button primary>Primary</Button><Button>Usual</Button><Button plain>Plain</Button><Button small>Small</Button><Button disabled>Disabled</Button><Button primary disabled>Disabled</Button>
        <CopyButton text={() => "copied"} label="Copy" /><IconButton icon="pencil" label="Edit" onClick={nothing} /><IconButton icon="left" label="Disabled" disabled onClick={nothing} /><Spinner />
        <span class="pill wait"><span class="dot" aria-hidden="true" />Waiting for you</span><kbd>Ctrl K</kbd>
      </div></Section>
      <Section name="Icons"><div class="flow">{(["logo", "plus", "search", "panel", "menu", "up", "down", "stop", "copy", "check", "again", "pencil", "close", "thought", "tool", "agent", "warn", "info", "trash", "away", "inspect", "gear", "offline", "play", "pause", "count", "book", "key", "quote", "file", "folder", "clip", "terminal", "download", "ring", "skip"] as IconName[]).map((n) => <Icon key={n} name={n} size={18} />)}</div></Section>
      <Section name="Connection, under the bar; nothing is shown while all is well"><div class="stack">
        <Sign line={{ state: "down", since: Date.now(), next: Date.now() + 4000 }} /><Sign line={{ state: "back", since: 0, next: 0 }} /></div></Section>
      <Section name="Work: arguments arriving, running, done, failed, incomplete, sub-agents"><div class="stack">
        <Output items={sampleWork as Item[]} place={{ turn: null, live: true, depth: 0 }} />
        <Output items={sampleTask.output} place={{ turn, live: false, depth: 0 }} /></div></Section>
      <Section name="Tools: a terminal with progress, an edit that arrives, files, finds"><div class="stack">
        <Output items={sampleTools as Item[]} place={{ turn: null, live: true, depth: 0 }} /><Output items={sampleFinds as Item[]} place={{ turn, live: true, depth: 0 }} /></div></Section>
      <Section name="Plan"><PlanList plan={samplePlan} live /></Section>
      <Section name="Text, while it is written"><Markdown text={"The second half of **this sentence is still bei"} live /></Section>
      <Section name="Text"><Markdown text={sampleMarkdown} live={false} /></Section>
      <Section name="Diagram"><Markdown text={sampleDiagram} live={false} /></Section>
      <Section name="Citations: known, open, not resolved yet"><p class="md">Known <Chip turn={turn} mark="1" source={sources[0]} settled quote="" /> open <span class="chip open still">2</span> not resolved yet <Chip turn={null} mark="3" source={sources[0]} settled={false} quote="" /></p></Section>
      <Section name="Questions to a person"><div class="stack">
        <Ask ask={{ id: "a1", ask: "tool_approval", value: { question: "Run this command?", folder: "exports/2019" }, options: ["Allow once", "Refuse"] }} call={{ type: "tool_call", id: "c", name: "bash", arguments: '{"command":"rm -r exports/2019 exports/2020"}' }} since={Date.now() - 240_000} answer={async () => {}} />
        <Ask ask={{ id: "a2", ask: "clarification", value: "Which freight do you mean?", options: ["Germany, all cargo", "The whole Rhine, containers only"] }} call={null} since={Date.now() - 90_000_000} answer={async () => {}} />
        <Ask ask={{ id: "a3", ask: "tool_approval", value: { kind: "tool_approval", tool: "bash", arguments: { command: "rm -r exports/2019 exports/2020" }, can: "reads, writes, executes" }, options: ["approve", "approve_for_thread", "edit", "reject"] }} call={null} since={Date.now() - 240_000} answer={async () => {}} />
        <Ask ask={{ id: "a4", ask: "clarification", value: { kind: "human_input_request", question: "For which boats?", context: "Prices differ by river and cargo.", fields: [{ name: "river", label: "River", type: "select", required: true, options: ["Rhine", "Danube"] }, { name: "boats", label: "How many", type: "number", required: true }, { name: "cargo", label: "Cargo", type: "multi_select", options: ["ore", "grain"] }, { name: "night", label: "Also at night", type: "checkbox" }] } }} call={null} since={Date.now()} answer={async () => {}} />
        <Ask ask={{ id: "sample-plan", ask: "plan_review", value: { message: "Please review the plan.", problem: "the plan has 9 steps, and 8 are allowed (max_step_num)", plan: { title: "Low water on the Rhine", thought: "The levels are known; what they cost is not.", steps: [{ id: "1", title: "Levels at Kaub since 2018", description: "Daily means, with their source" }, { id: "2", title: "What it cost", description: "Freight rates, production that stood still" }, { id: "3", title: "Outlook", description: "" }] } }, options: ["accepted", "edit_plan"] }} call={null} since={Date.now()} answer={async () => {}} />
        <Answered resume={{ a: { decision: "reject", reason: "Not on a Friday" } }} />
        <Answered resume={{ a: "Germany, all cargo" }} /></div></Section>
      <Section name="How an answer ends"><div class="stack">
        <p class="note"><Icon name="stop" /><span class="grow">You stopped this answer. What was written is kept.</span><button type="button" class="link">Try again</button></p>
        <p class="note fail"><Icon name="warn" /><span class="grow">The answer failed: quota used up until 14:00.</span><button type="button" class="link">Try again</button></p>
        <p class="note"><Icon name="again" /><span class="grow">The server stopped in the middle; this part was written again.</span></p></div></Section>
      <Section name="Threads"><ul class="rail-sample">{threads.map((x, i) => <ThreadRow key={x.id} thread={x} selected={i === 1} />)}</ul></Section>
      <Section name="Source"><Drawer turn={null} sources={sources} at={at.value} quote="everything after number 5" cited={new Map([["1", 1], ["2", 2]])} show={(s) => { at.value = sources.indexOf(s); }} /></Section>
      <Section name="Composer, with files and a question that waits"><div><div class="composer"><Attachments list={[{ key: 1, file: new File(["x".repeat(2300)], "levels.csv"), problem: "", name: null }, { key: 2, file: new File([""], "recording-of-the-whole-meeting.wav"), problem: "tooLarge", name: null }]} remove={nothing} /></div><Queued turn={queued} conversation={null} /><Composer draft="components" placeholder="Ask next; it is sent when this answer is done" send={nothing} stop={nothing} focus={false} /></div></Section>
      <Section name="Settings"><SettingsBody /></Section>
      <Section name="Without a key"><OfflineNote /></Section>
    </div></div></main>
  );
}

function Section({ name, children }: { name: string; children: JSX.Element }): JSX.Element {
  return <section><h2>{name}</h2>{children}</section>;
}
