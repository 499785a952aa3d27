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
import { sampleMarkdown, sampleTask, sampleWork } from "./samples";

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
  { id: "s1", title: "Clean up gauge exports", named: true, status: "interrupted", updated: Date.now() - 7_200_000, asks: "Delete 61 files?" },
  { id: "s2", title: "Streams after a crash", named: false, status: "busy", updated: Date.now(), asks: null },
  { id: "s3", title: "长江与莱茵河货运量对比", named: false, status: "idle", updated: Date.now() - 3_600_000, asks: null },
  { id: "s4", title: "Why deltas of the Po are sinking, and what is done about it", named: false, status: "error", updated: Date.now() - 9_000_000, asks: null },
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
      <Section name="Icons"><div class="flow">{(["logo", "plus", "search", "panel", "menu", "up", "down", "stop", "copy", "check", "again", "pencil", "close", "thought", "tool", "agent", "warn", "info", "trash", "away", "inspect", "gear", "offline", "play", "pause", "count", "book", "key", "quote"] as IconName[]).map((n) => <Icon key={n} name={n} size={18} />)}</div></Section>
      <Section name="Connection, under the bar; nothing is shown while all is well"><div class="stack">
        <Sign line={{ state: "down", since: Date.now(), next: Date.now() + 4000 }} /><Sign line={{ state: "back", since: 0, next: 0 }} /></div></Section>
      <Section name="Work: arguments arriving, running, done, failed, incomplete, sub-agents"><div class="stack">
        <Output items={sampleWork as Item[]} place={{ turn: null, live: true, depth: 0 }} />
        <Output items={sampleTask.output} place={{ turn, live: false, depth: 0 }} /></div></Section>
      <Section name="Text, while it is written"><Markdown text={"The second half of **this sentence is still bei"} live /></Section>
      <Section name="Text"><Markdown text={sampleMarkdown} live={false} /></Section>
      <Section name="Citations: known, open, not resolved yet"><p class="md">Known <Chip turn={turn} mark="1" source={sources[0]} settled quote="" /> open <span class="chip open still">2</span> not resolved yet <Chip turn={null} mark="3" source={sources[0]} settled={false} quote="" /></p></Section>
      <Section name="Questions to a person"><div class="stack">
        <Ask ask={{ id: "a1", ask: "tool_approval", value: { question: "Run this command?", folder: "exports/2019" }, options: ["Allow once", "Refuse"] }} call={{ type: "tool_call", id: "c", name: "bash", arguments: '{"command":"rm -r exports/2019 exports/2020"}' }} since={Date.now() - 240_000} answer={async () => {}} />
        <Ask ask={{ id: "a2", ask: "clarification", value: "Which freight do you mean?", options: ["Germany, all cargo", "The whole Rhine, containers only"] }} call={null} since={Date.now() - 90_000_000} answer={async () => {}} />
        <Answered resume={{ a: "Germany, all cargo" }} /></div></Section>
      <Section name="How an answer ends"><div class="stack">
        <p class="note"><Icon name="stop" /><span class="grow">You stopped this answer. What was written is kept.</span><button type="button" class="link">Try again</button></p>
        <p class="note fail"><Icon name="warn" /><span class="grow">The answer failed: quota used up until 14:00.</span><button type="button" class="link">Try again</button></p>
        <p class="note"><Icon name="again" /><span class="grow">The server stopped in the middle; this part was written again.</span></p></div></Section>
      <Section name="Threads"><ul class="rail-sample">{threads.map((x, i) => <ThreadRow key={x.id} thread={x} selected={i === 1} />)}</ul></Section>
      <Section name="Source"><Drawer turn={null} sources={sources} at={at.value} quote="everything after number 5" cited={new Map([["1", 1], ["2", 2]])} show={(s) => { at.value = sources.indexOf(s); }} /></Section>
      <Section name="Composer, with a question that waits"><div><Queued turn={queued} conversation={null} /><Composer draft="components" placeholder="Ask next; it is sent when this answer is done" send={nothing} stop={nothing} focus={false} /></div></Section>
      <Section name="Settings"><SettingsBody /></Section>
      <Section name="Without a key"><OfflineNote /></Section>
    </div></div></main>
  );
}

function Section({ name, children }: { name: string; children: JSX.Element }): JSX.Element {
  return <section><h2>{name}</h2>{children}</section>;
}
