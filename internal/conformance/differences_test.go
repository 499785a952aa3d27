package main

import "regexp"

// difference is something that we do otherwise than LangGraph's JS server, on purpose.
type difference struct {
	name    string
	pattern *regexp.Regexp // of "scenario/step: what differs"
	reason  string
	race    bool // whether it shows is a matter of time
}

func differs(name, pattern, reason string) difference {
	return difference{name: name, pattern: regexp.MustCompile(pattern), reason: reason}
}

// mayDiffer is differs for what shows only sometimes.
func mayDiffer(name, pattern, reason string) difference {
	d := differs(name, pattern, reason)
	d.race = true
	return d
}

// stays is the reason for what a cut answer leaves.
const stays = "documented: what a person saw is in the thread"

// differences are looked through in order; docs/wire/langgraph.md tells the ones that a client can notice.
var differences = []difference{
	differs("thread members", `: (\[\])?\.(interrupts|state_updated_at|error): added$`, "documented members of a thread that the JS server leaves out"),
	differs("thread values while it waits", `0[45]-thread(-later|-while-busy)?: \.values: added$`, "the JS server forgets the values of a thread whose run was cancelled"),
	differs("empty state", `(state-of-empty-thread|06-state): \.metadata: added$`, "always there, so that clients need not look"),
	differs("thread config", `\.config\.configurable: missing$`, "an empty object that nobody reads"),
	differs("LangSmith metadata", `\.(versions|ls_integration|langgraph_version|langgraph_plan|langgraph_host|langgraph_api_url): missing$`, "tells of a platform that we are not"),
	differs("metadata of checkpoints", `metadata\.(run_attempt|created_by|checkpoint_ns|checkpoint_map|checkpoint_id|tags|assistant_id|run_id|thread_id|graph_id): (missing|added)$`,
		"the same facts in the same places everywhere: what the run was given, whose it is, where it stands"),
	differs("chunks in finished messages", `(tool_call_chunks|input_token_details|output_token_details): missing$`, "left over from how LangChain puts a message together"),
	differs("results as they are stored", `result\.messages\[\]\.(response_metadata|additional_kwargs|id|metadata): (added|missing)$`, "a message has one form, also in what a task returned"),
	differs("tool message", `messages(/complete)?\[\]\.(metadata: missing|id: recorded "run-|name|tags|artifact)`, "a tool's message has an id of ours"),
	differs("ids of calls", `additional_kwargs\.tributary_calls: added$`, "the item of the call, for clients that read our own wire"),
	differs("ids of tool messages", `\.id: recorded ".*", got result_call_`, "derived from the call"),
	differs("arguments that are not complete", `messages/partial\[\]\.tool_calls\[\]\.args`, "half of an object is not shown as one"),
	differs("fork in metadata", `^branching/.*event messages\[\]\.checkpoint_id: missing$`, "where a run began is in its request"),
	differs("sentences", `event error\.(message|error): recorded`, "our own words for our own errors"),
	differs("values of wait beside questions", `^wait/06-wait-interrupt: \.messages: added$`, "documented: Python's clients read the values of a run that asks"),
	differs("protocol 2 tree", `^v2-chat/05-get-tree: \.result\.tree\.children: missing$`, "a tree of graphs; a node that calls a model is none"),
	differs("names of threads", `^(threads-crud/0[58]-.*-bad-id|error-requests/08-bad-thread-id): status`, "a thread's id need not be a UUID"),
	differs("a thread with a name", `^threads-crud/14-search-status-select: \[\]\.thread_id`, "the one that the JS server refused to make"),
	differs("errors of wait", `__error__\.message: recorded`, "documented: not JSON in JSON"),
	differs("order of items", `^store/06-search: `, "newest first"),
	differs("recursion limit in configs", `recursion_limit: missing$`, "told only where it was given"),
	differs("multitask default", `multitask_strategy: recorded "reject", got enqueue$`, "documented: enqueue"),
	differs("multitask default, in effect", `^multitask-default/`, "documented: the second run waits for the first"),
	differs("rollback", `^(cancel|multitask)-rollback`, "documented: a run that is rolled back is removed with all it has done; the JS server keeps it, with an error"),
	differs("order of runs", `^(multitask-.*/0[45]-runs-(during|after)|interrupt-resume/10-runs): `, "newest first, as every list is"),
	differs("cancel without waiting", `03-cancel: status: recorded 204, got 202$`, "documented: wait=0 returns at once"),
	differs("cancel again", `08-cancel-again: status: recorded 204, got 202$`, "wait=0 does not say that it has waited"),
	differs("cancelled thread waits", `05-thread(-later)?: \.(status: recorded "idle", got interrupted|interrupts\.id)`, "documented: nodes are due, so the thread can go on"),
	differs("validation", `status: recorded 400, got 422$`, "documented: 422"),
	differs("unknown graph", `^assistants/12-create-unknown-graph: status`, "an assistant without a graph could never run"),
	differs("other graphs", `^assistants/(01|02|03|04|05)-.*: `, "the list has the graphs of the second set too, and an order that is always the same"),
	differs("drawing", `^assistants/(18|19|20|21)-.*: `, "a node's class is no part of ours"),
	differs("schemas", `^assistants/2[245]-.*: `, "written from Go types, not from TypeScript's"),
	differs("schemas of slow", `^assistants/23-.*: `, "written from Go types, not from TypeScript's"),
	differs("missing run", `^background-run/1[12]-join.*: status: recorded 200, got 404$`, "documented: 404"),
	mayDiffer("pending for a moment", `^background-run/03-get-early: \.status`, "it runs already"),
	differs("bodies of wait are JSON", `header content-type: recorded text/plain, got application/json$`, "they are"),
	differs("crons", `^crons/`, "the JS server has none"),
	differs("routes that it lacks", `^(meta|cancel-other|threads-crud|thread-state|thread-stream)/.*: status: recorded 404, got (20[04]|426|422)$`, "documented; absent from the JS server"),
	differs("unknown thread", `^error-requests/03-unknown-thread: status`, "documented: 404"),
	differs("what others left", `^(error-requests/09|threads-crud/14).*: (: recorded|header x-pagination-total)`, "the recorder's server was used before"),
	mayDiffer("pages", `header x-pagination-total: `, "counts all that match, not the offset too"),
	differs("methods", `^meta/03-cors-preflight: `, "QUERY is no method of this API"),
	differs("info", `^meta/01-info: `, "tells about ourselves"),
	differs("cumulative interrupts", `^interrupt-(parallel|debug)/.*: events: `, "all open questions in one frame at the end of the run; older clients keep only the last frame"),
	differs("answered questions are closed", `^interrupt-parallel/.*: \.(tasks\[\]\.(interrupts|result)|interrupts)`, "a task that was answered no longer asks"),
	differs("names of messages", `^stream-subgraph-on/.*: events: `, "documented: the namespace of the graph, without the node"),
	differs("every reader gets everything", `^not-resumable/`, "the JS server deals the events of a run out among its readers"),
	differs("joins filter", `^resumable/10-.*: events: `, "documented: stream_mode filters"),
	differs("bad position", `^resumable/11-.*: status`, "a mistake of the client's is told"),
	differs("tool output is told as it comes", `^stream-tools/03-tools-mode: `, "on_tool_event, which the JS tool has no use for"),
	differs("calls in chunks", `event messages\[\]\.(invalid_tool_calls|tool_calls|tags|tool_call_chunks)`, "clients compute them from the pieces"),
	differs("runnables", `^stream-(chat|custom)-events/`, "mode events tells of our own runnables: graph, nodes, models, tools"),
	differs("where a subgraph runs", `event debug\.payload\.(parent_)?config\.metadata\.langgraph_(node|path|step|triggers|checkpoint_ns): missing$`, "told by the event's name and by the task above"),
	differs("result before its time", `^stream-subgraph-on/03-debug: event debug\.payload\.tasks\[\]\.result: missing$`, "the JS server shows a checkpoint's tasks as they are when it gets around to telling; ours as they were"),
	// An answer that was cut off is in the state, marked incomplete, in a checkpoint of its own (ADR 11).
	differs("a failed answer ends", `^error-mid-stream/02-stream: events: recorded  metadata×1 values×1 updates×1 messages×5 error×1, got  metadata×1 values×1 updates×1 messages×6 updates×1 values×1 error×1$`, stays),
	differs("a failed answer ends, without a thread", `^stateless/09-stream-error: events: recorded  metadata×1 values×1 messages×5 error×1, got  metadata×1 values×1 messages×6 values×1 error×1$`, stays),
	differs("a failed answer ends, in mode debug", `^error-mid-stream/07-debug: events: recorded  metadata×1 debug×7 error×1, got  metadata×1 debug×8 error×1$`, stays),
	differs("a failed answer ends, in protocol 2", `^v2-failing/01-events: events: recorded  lifecycle×1 checkpoints×1 values×1 tasks×1 updates×1 tasks×2 messages×7 tasks×1 lifecycle×1, got  lifecycle×1 checkpoints×1 values×1 tasks×1 updates×1 tasks×2 messages×9$`, stays),
	differs("a failed answer is in the state", `^error-mid-stream/(04-thread: \.values\.messages: recorded 1 elements, got 2|05-state: (\.values\.messages: recorded 1 elements, got 2|\.metadata\.step: recorded 1, got 2|\.metadata\.source: recorded "loop", got update)|06-history: : recorded 3 elements, got 4)$`, stays),
	// What follows shows only where the run had said something before it was stopped, which is a matter of time.
	mayDiffer("a stopped answer ends", `^cancel-interrupt-wait[01]/02-stream: events: recorded  metadata×1 values×1 updates×1 messages×4, got  metadata×1 values×1 updates×1 messages×\d+ updates×1 values×1$`, stays),
	mayDiffer("an interrupted answer ends", `^multitask-interrupt/02-first-run: events: recorded  metadata×1 values×1 messages×5, got  metadata×1 values×1 messages×\d+ values×1$`, stays),
	mayDiffer("a stopped answer is in the state", `^(cancel-interrupt-wait[01]/06-state|on-disconnect-cancel/06-state-later): (\.values\.messages: recorded 1 elements, got 2|\.metadata\.step: recorded 1, got 2|\.metadata\.source: recorded "loop", got update)$`, stays),
	mayDiffer("a stopped answer is in the history", `^cancel-interrupt-wait[01]/07-history: : recorded 3 elements, got 4$`, stays),
	mayDiffer("the next run sees the stopped answer", `^(cancel-interrupt-wait[01]/09-next-run-on-thread|multitask-interrupt/03-second-run): event values\.messages: recorded (2 elements, got 3|3 elements, got 4)$`, stays),
	mayDiffer("the next run is shown the stopped answer", `^multitask-interrupt/03-second-run: event messages\[\]\.(usage_metadata\.(input_tokens: recorded 14, got 21|total_tokens: recorded 19, got 26)|langgraph_step: recorded 5, got 6)$`, stays),
	mayDiffer("the thread has both answers", `^multitask-interrupt/(06-thread-after: \.values\.messages: recorded 3 elements, got 4|07-state-after: (\.values\.messages: recorded 3 elements, got 4|\.metadata\.step: recorded 6, got 7))$`, stays),
	differs("missing checkpoint", `^thread-state/15-.*: status`, "a mistake of the client's is told"),
	differs("node that is not there", `^thread-state/18-.*: status: recorded 500, got 422$`, "a mistake of the client's is told"),
	differs("before as a config", `^thread-state/10-.*: status`, "documented"),
	differs("copy of nothing", `^thread-state/26-.*: status: recorded 409, got 404$`, "documented"),
	differs("copies know their thread", `^thread-state/23-copy: `, "a copy's metadata is the original's"),
	differs("seeded input counts", `^threads-crud/16-.*: \.values`, "the JS server loses the input of the first superstep"),
	differs("protocol 2 counts on demand", `applied_through_seq`, "counts the runs that have ended; clients only remember it"),
	differs("protocol 2 ids of model calls", `event messages\.params\.data\.run_id: recorded`, "a model call has no id besides its message's"),
	differs("protocol 2 messages in state", `^v2-.*: (event tasks\.params\.data\.(result|input)|\.result\.values)\.messages\[\]\.`, "a message has one form in the state, whichever protocol made it"),
	differs("protocol 2 tool output", `^v2-tools/01-events: events: .*tools×3`, "what a tool shows while it runs"),
	differs("protocol 2 refusals", `^v2-chat/06-unknown-command: \.meta: missing$`, "a refusal has changed nothing that could be counted"),
	differs("protocol 2 names messages", `^v2-.*: event messages\.params\.(node|data\.(id|metadata)): added$`,
		"Python's clients tell messages apart by the id, JavaScript's by the node; the namespace is their graph's"),
	differs("protocol 2 questions", `^v2-approval/01-events: event input\.requested\.params\.data\.value: added$`, "Python's clients read the value, JavaScript's the payload"),
	differs("protocol 2 respond", `^v2-approval/04-respond: \.result\.run_id: added$`, "the run that goes on"),
}

// deliberate returns the reason of a difference, or nothing if it has none.
func deliberate(d string, used map[string]bool) string {
	for _, known := range differences {
		if known.pattern.MatchString(d) {
			used[known.name] = true
			return known.reason
		}
	}
	return ""
}
