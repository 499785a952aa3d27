package lead

import (
	"slices"

	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
)

// The fields of a thread's state beside its messages and those of package middleware. Those that tools of other packages write are known to them by name
// (see tool.Scope.Update).
var (
	// Title is what the thread is called.
	Title = last[string]("title")
	// Artifacts are the files that were presented, each once, in their order.
	Artifacts = graph.Union[string]("artifacts")
	// Todos are the plan of a run in plan mode.
	Todos = graph.Reduced("todos", func(old, update []Todo) []Todo {
		if update == nil {
			return old
		}
		return update
	})
	// Delegations are the ledger of what sub-agents were asked to do, and what came of it.
	Delegations = graph.Reduced("delegations", mergeDelegations)
	// Goal is what the thread works towards.
	Goal = middleware.GoalField
	// BackgroundTasks is what goes on outside of the thread's runs: the latest of each.
	BackgroundTasks = graph.Reduced("background_tasks", mergeBackground)
	// Sandbox is where code is run; the first that a thread was given stays.
	Sandbox = graph.Reduced("sandbox", func(old, update *SandboxState) *SandboxState {
		if old != nil && old.ID != "" {
			return old
		}
		return update
	})
	// ThreadData are the folders of the thread, under the names that models know.
	ThreadData = last[*Folders]("thread_data")
	// Approved are the tools that a person approved for this thread.
	Approved = graph.Union[string]("approved_tools")
)

// Todo is a line of a plan.
type Todo struct {
	Content string `json:"content"`
	Status  string `json:"status"` // pending, in_progress, completed
}

// SandboxState names a sandbox.
type SandboxState struct {
	ID string `json:"sandbox_id"`
}

// Folders are those of a thread.
type Folders struct {
	Workspace string `json:"workspace_path"`
	Uploads   string `json:"uploads_path"`
	Outputs   string `json:"outputs_path"`
}

// Delegation is a line of the ledger.
type Delegation struct {
	ID          string       `json:"id"` // of the call and the task
	Agent       string       `json:"subagent_type"`
	Description string       `json:"description,omitempty"`
	Status      event.Status `json:"status"`
	Result      string       `json:"result,omitempty"`
}

// Fields are all of them, in the order in which clients see them.
func Fields() []graph.AnyField {
	return []graph.AnyField{
		Sandbox, ThreadData, Title, Artifacts, Todos, Goal, middleware.UploadedFilesField, middleware.ViewedImagesField, middleware.PromotedField,
		Delegations, middleware.SkillContextField, middleware.SummaryField, BackgroundTasks, Approved,
	}
}

// last is a field whose last write counts, also of several in one step.
func last[T any](name string) graph.Field[T] {
	return graph.Reduced(name, func(_, update T) T { return update })
}

// The bounds of what is kept of a thread.
const (
	mostDelegations = 50
	resultRunes     = 2000
)

// mergeDelegations keeps the latest by id. Work that has ended does not begin again, and the oldest go first.
func mergeDelegations(old, update []Delegation) []Delegation {
	sum := slices.Clone(old)
	for _, d := range update {
		d.Result = clip(d.Result, resultRunes)
		i := slices.IndexFunc(sum, func(o Delegation) bool { return o.ID == d.ID })
		switch {
		case i < 0:
			sum = append(sum, d)
		case !terminal(sum[i].Status) || terminal(d.Status):
			sum[i] = d
		}
	}
	return sum[max(0, len(sum)-mostDelegations):]
}

func terminal(s event.Status) bool {
	return slices.Contains([]event.Status{event.Success, event.Failed, event.Cancelled, event.TimedOut}, s)
}

// clip is the beginning of a text.
func clip(text string, runes int) string {
	n := 0
	for i := range text {
		if n == runes {
			return text[:i] + "…"
		}
		n++
	}
	return text
}
