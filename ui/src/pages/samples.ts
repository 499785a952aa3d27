// Made-up tasks for the page of components.
import type { TaskObject } from "../../tasks";

export const sampleMarkdown = `## What a reader does

Three things, and the browser already does the first two.[^9]

1. **Keep the last number.** Every event carries an \`id\`, which the browser stores.
2. **Ask for what follows it.** See [the wire](https://example.org/wire).
   - a nested point
   - another one
3. *Trust only what is durable.*

| Gap | Storage | Barges |
|:--|--:|--:|
| 20 days | € 2.1 M | € 3.4 M |
| 40 days | € 4.6 M | € 3.9 M |

> A reader is a position in the log.

- [x] read the page
- [ ] try it

\`\`\`go
// Follow reads a run from a position.
func Follow(ctx context.Context, after int) error {
	for env := range journal.Follow(ctx, "run", after) {
		fmt.Println(env.Seq, "events", 42)
	}
	return nil
}
\`\`\`

![a picture from elsewhere](https://example.org/river.png) and <b>markup that stays text</b>, and $E = mc^2$.
`;

const passages = [
  { type: "text", id: 1, name: "Server-sent events — html/sse.md#last-event-id", url: "html/sse.md#last-event-id", text: "The last event ID buffer is set to the value of the field." },
  { type: "text", id: 2, name: "The task wire — wire/task.md#the-stream", url: "wire/task.md#the-stream", text: "One JSON object per event, with type, task_id and sequence_number: 0, 1, 2 … without holes, one counter for the whole tree of sub-agents.\n\n“Last-Event-ID: 5” and “?after=5” mean the same: everything after number 5. “-1”, or neither, is everything." },
  { type: "text", id: 3, name: "One log, many readers — architecture.md", url: "architecture.md", text: "An event is visible to a reader only after it is durable." },
];

export const sampleTask: TaskObject = {
  task_id: "sample", status: "completed", usage: { input_tokens: 7200, output_tokens: 706 },
  output: [
    { type: "reasoning", id: "r1", status: "completed", summary: [{ type: "text", text: "Who keeps the position, the client or the server? I look it up." }] },
    { type: "tool_call", id: "c1", call_id: "k1", name: "search", status: "completed", arguments: '{"query":"Last-Event-ID after a restart"}' },
    { type: "tool_result", id: "o1", call_id: "k1", name: "search", status: "completed", block_list: passages },
    { type: "tool_call", id: "c2", call_id: "k2", name: "helper", status: "completed", arguments: '{"title":"Check reconnection in three browsers","prompt":"…"}' },
    { type: "tool_result", id: "o2", call_id: "k2", name: "helper", status: "completed", block_list: [
      { type: "tool_call", id: "c3", call_id: "k3", task_id: "k2", name: "search", status: "completed", arguments: '{"query":"EventSource reconnect"}' },
      { type: "tool_result", id: "o3", call_id: "k3", task_id: "k2", name: "search", status: "completed", block_list: [passages[0]!] },
      { type: "message", id: "m3", task_id: "k2", role: "assistant", status: "completed", block_list: [{ type: "text", text: "All three **reconnect** by themselves." }] },
    ] },
    { type: "message", id: "m1", role: "assistant", status: "completed", block_list: [{ type: "text", text: "On reconnection the browser repeats that number, and the server sends “everything after number 5”[^2]. Readers may come late.[^1]", annotations: [
      { type: "reference_to_block", reference_id: 2, start_index: 99, end_index: 103 }, { type: "reference_to_block", reference_id: 1, start_index: 127, end_index: 131 },
    ] }] },
  ],
};

/** Work that is under way, in each state that a row can have. */
export const sampleTools = [
  { type: "tool_call", id: "t1", call_id: "t1", name: "bash", status: "completed", arguments: '{"command":"go test ./wire/...\\ngo vet ./..."}' },
  { type: "tool_result", id: "t1r", call_id: "t1", name: "bash", status: "in_progress", progress: { message: "testing wire/task", done: 3, total: 11 }, block_list: [{ type: "text", text: "\u001b[32mok\u001b[0m  \twire\t0.8s\nok  \twire/sse\t1.2s\n--- FAIL: TestResume (0.02s)\n    resume_test.go:41: got 5 events, want 6\n" }] },
  { type: "tool_call", id: "t2", call_id: "t2", name: "str_replace", status: "in_progress", arguments: '{"path":"/mnt/user-data/outputs/resume.go","old_str":"func after(n int) int {\\n\\treturn n\\n}","new_str":"func after(n int) int {\\n\\treturn n + 1 // what follows n' },
  { type: "tool_call", id: "t4", call_id: "t4", name: "present_files", status: "completed", arguments: '{"filepaths":["/mnt/user-data/outputs/report.md","/mnt/user-data/outputs/levels.csv"]}' },
  { type: "tool_result", id: "t4r", call_id: "t4", name: "present_files", status: "completed", block_list: [{ type: "text", text: "shown" }] },
];

/** Finds, with and without a number to cite them by. */
export const sampleFinds = [
  { type: "tool_call", id: "t3", call_id: "t3", name: "web_search", status: "completed", arguments: '{"query":"Kaub gauge 2018"}' },
  { type: "tool_result", id: "t3r", call_id: "t3", name: "web_search", status: "in_progress", block_list: [
    { type: "text", id: 4, name: "Low water on the Rhine in 2018 — example.org", url: "https://example.org/low-water", text: "At Kaub the gauge fell to 25 cm on 22 October 2018, the lowest level since records began. Barges carried less than a third of their usual cargo for months." },
    { type: "text", id: 5, name: "Market observation 2018 — example.com", url: "https://example.com/market", text: "Freight rates rose to four times their usual level." },
  ] },
];

export const samplePlan = { id: "todos", title: "Low water on the Rhine", steps: [
  { id: "1", title: "Levels at Kaub since 2018", status: "done", detail: "Daily means, with their source" },
  { id: "2", title: "What it cost", status: "running", detail: "Freight rates, production that stood still" },
  { id: "3", title: "Ask the harbour office", status: "failed" }, { id: "4", title: "Outlook to 2050", status: "pending" }, { id: "5", title: "Write the report", status: "skipped" },
] };

export const sampleWork = [
  { type: "reasoning", id: "wr", status: "in_progress", summary: [{ type: "text", text: "The header wins where both are given." }] },
  { type: "tool_call", id: "w1", call_id: "w1", name: "search", status: "in_progress", arguments: '{"query":"low water Kaub 20' },
  { type: "tool_call", id: "w2", call_id: "w2", name: "read_page", status: "completed", arguments: '{"url":"https://example.org/market-observation-2023"}' },
  { type: "tool_call", id: "w3", call_id: "w3", name: "fetch", status: "completed", arguments: '{"url":"https://example.org/slow"}' },
  { type: "tool_result", id: "w3r", call_id: "w3", name: "fetch", status: "completed", is_error: true, block_list: [{ type: "text", text: "did not answer within 20 s" }] },
  { type: "tool_call", id: "w4", call_id: "w4", name: "helper", status: "completed", arguments: '{"title":"Trial runs of a low-water vessel"}' },
  { type: "tool_result", id: "w4r", call_id: "w4", name: "helper", status: "in_progress", block_list: [
    { type: "tool_call", id: "w5", call_id: "w5", task_id: "w4", name: "search", status: "completed", arguments: '{"query":"draught 2018"}' },
    { type: "tool_result", id: "w5r", call_id: "w5", task_id: "w4", name: "search", status: "completed", block_list: [passages[0]] },
    { type: "message", id: "w6", task_id: "w4", role: "assistant", status: "in_progress", block_list: [{ type: "text", text: "An ordinary barge carries about 30 % of its" }] },
  ] },
];

export const sampleDiagram = "```mermaid\nflowchart LR\n  A[Gauge] -->|low| B{Load half?}\n  B -->|yes| C[Sail]\n  B -->|no| D[Wait]\n```\n\nOne that cannot be drawn is its text:\n\n```mermaid\nflowchart LR\n  A[never closed\n```";
