package run

import (
	"encoding/json"
	"iter"
	"slices"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/item"
)

// recollection is what the journal knows of the attempts before this one, for nodes that must not do again what
// was done. It does not change once the attempt has begun, so that any number of nodes may ask it.
type recollection struct {
	results map[string]toolOutcome // by call id
	order   []item.ToolResult      // as they were recorded
	turns   map[string]recalledTurn
	tasks   map[string]event.TaskEnded
	usage   map[string]item.Usage
	spoken  []event.Spoken
}

type toolOutcome struct {
	result item.ToolResult
	update json.RawMessage
	ended  bool
}

// recalledTurn is what became of the turns of one node execution.
type recalledTurn struct {
	message item.Message
	ended   bool
	voided  string // the last one that was voided or cut off, if none ended
}

var (
	_ graph.Recall       = (*recollection)(nil)
	_ graph.RecallSpoken = (*recollection)(nil)
)

// recollect folds a journal.
func recollect(journal []event.Envelope) *recollection {
	r := &recollection{
		results: map[string]toolOutcome{}, turns: map[string]recalledTurn{}, tasks: map[string]event.TaskEnded{}, usage: map[string]item.Usage{},
	}
	var fold transcript.Fold
	executions := map[string]string{} // by turn
	var ended []string
	for i := range journal {
		env := &journal[i]
		// A broken law is told by whoever checks for it; what can be made sense of is recalled.
		_ = fold.Apply(env)
		switch e := env.Event.(type) { // what nodes may ask again about: tools, turns and sub-agents
		case event.ItemStarted:
			if _, known := r.results[e.CallID]; e.Type == item.TypeToolResult && !known {
				r.results[e.CallID] = toolOutcome{}
			}
		case event.ItemEnded:
			if res, ok := e.Item.(item.ToolResult); ok {
				r.results[res.CallID] = toolOutcome{result: res, update: e.Update, ended: true}
				r.order = append(r.order, res)
			}
		case event.TurnStarted:
			executions[e.Turn] = e.Execution
		case event.TurnEnded:
			if e.Finish == item.FinishIncomplete { // it is made again
				r.turns[executions[e.Turn]] = recalledTurn{voided: e.Turn}
				continue
			}
			ended = append(ended, e.Turn)
		case event.TurnVoided:
			r.turns[executions[e.Turn]] = recalledTurn{voided: e.Turn}
		case event.TaskEnded:
			r.tasks[env.Task] = e
		}
	}
	for _, open := range fold.OpenTurns() { // they are voided when this attempt makes them anew
		r.turns[open.Execution] = recalledTurn{voided: open.Turn}
	}
	for _, open := range fold.OpenCalls() {
		r.results[open.CallID] = toolOutcome{result: item.ToolResult{Blocks: open.Shown}}
	}
	for _, task := range append([]string{""}, fold.TaskIDs()...) {
		if t, ok := fold.Task(task); ok {
			r.usage[task] = t.Usage
		}
		for _, m := range fold.Messages(task) {
			if execution, ok := executions[m.ID]; ok && slices.Contains(ended, m.ID) {
				r.turns[execution] = recalledTurn{message: m, ended: true}
			}
		}
	}
	r.spoken = fold.Spoken()
	return r
}

// Spoken is what people have said to the run.
func (r *recollection) Spoken() []event.Spoken { return slices.Clone(r.spoken) }

// ToolResult returns the recorded outcome of a call.
func (r *recollection) ToolResult(callID string) (res item.ToolResult, started, ended bool) {
	o, ok := r.results[callID]
	return o.result, ok, o.ended
}

// ToolUpdate returns what a call wrote into the state.
func (r *recollection) ToolUpdate(callID string) json.RawMessage { return r.results[callID].update }

// ToolResults yields all recorded results in the order of the journal.
func (r *recollection) ToolResults() iter.Seq[item.ToolResult] { return slices.Values(r.order) }

// Turn returns the message of the turn that an execution had ended, or else its last voided turn.
func (r *recollection) Turn(execution string) (msg item.Message, ended bool, voided string) {
	t := r.turns[execution]
	return t.message, t.ended, t.voided
}

// EndedTask returns how a sub-agent ended.
func (r *recollection) EndedTask(task string) (event.TaskEnded, bool) {
	e, ok := r.tasks[task]
	return e, ok
}

// TaskUsage is what a sub-agent had spent.
func (r *recollection) TaskUsage(task string) item.Usage { return r.usage[task] }
