package lead

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
)

// Background is where work goes on that outlives the run which began it. When a piece of work has ended, the thread is given a run
// that tells its agent, once.
type Background interface {
	// Start begins a piece of work, once for each id of a thread, and says where it goes on.
	Start(ctx context.Context, w Work) (thread string, err error)
	// Look says how a piece of work stands.
	Look(ctx context.Context, owner, thread string, t BackgroundTask) (BackgroundTask, error)
	// Cancel has one stop, if it has not ended.
	Cancel(ctx context.Context, owner, thread string, t BackgroundTask) error
}

// Work is a piece of work for a sub-agent.
type Work struct {
	ID          string // of the call that began it
	Owner       string
	Thread      string // whose agent began it
	Run         string // in which it did
	Agent       string
	Description string
	Prompt      string
	Timeout     time.Duration
}

// BackgroundTask is a piece of work as the thread knows it.
type BackgroundTask struct {
	ID          string `json:"task_id"` // of the call that began it
	Agent       string `json:"subagent_type"`
	Description string `json:"description,omitempty"`
	// Status is "running", or that of the run in which it was done.
	Status event.Status `json:"status"`
	// Thread is where the work is done: its journal can be followed like any other.
	Thread string `json:"thread_id,omitempty"`
	Result string `json:"result,omitempty"`
}

// Working is the status of a background task that has not ended.
const Working event.Status = "running"

// Ended reports that the work has ended, however it did.
func (t BackgroundTask) Ended() bool { return t.Status != Working }

// The tools for background tasks, and the key of the setting that makes a run one.
const (
	ListBackgroundTool   = "list_background_tasks"
	CancelBackgroundTool = "cancel_background_task"
	SubagentKey          = "subagent_type"
)

// mostBackground is how many of a thread are remembered.
const mostBackground = 50

// mergeBackground keeps the latest by id. Work that has ended does not begin again, and the oldest go first.
func mergeBackground(old, update []BackgroundTask) []BackgroundTask {
	sum := slices.Clone(old)
	for _, t := range update {
		t.Result = clip(t.Result, resultRunes)
		i := slices.IndexFunc(sum, func(o BackgroundTask) bool { return o.ID == t.ID })
		switch {
		case i < 0:
			sum = append(sum, t)
		case !sum[i].Ended() || t.Ended():
			sum[i] = t
		}
	}
	return sum[max(0, len(sum)-mostBackground):]
}

// begin has a sub-agent work in the background. After a crash it is asked again, under the same id.
func (a *assembly) begin(team *agent.Team) func(context.Context, *graph.Scope, agent.Delegation, string) (string, []graph.Write, error) {
	if a.parts.Background == nil {
		return nil
	}
	most := a.out.Limits.Concurrent
	return func(ctx context.Context, s *graph.Scope, d agent.Delegation, prompt string) (string, []graph.Write, error) {
		busy := 0
		for _, t := range BackgroundTasks.Get(s.Base()) {
			if !t.Ended() && t.ID != d.ID {
				busy++
			}
		}
		if busy >= most {
			return "", nil, fmt.Errorf("%d background tasks are at work, which is the limit; wait until one has ended, or cancel one with %s", busy, CancelBackgroundTool)
		}
		c := s.Config()
		w := Work{ID: d.ID, Owner: c.Owner, Thread: c.Thread, Run: c.Run, Agent: d.Agent, Description: d.Title, Prompt: prompt}
		for _, m := range team.Members {
			if m.Name == d.Agent {
				w.Timeout = m.Timeout
			}
		}
		thread, err := a.parts.Background.Start(ctx, w)
		if err != nil {
			return "", nil, err
		}
		t := BackgroundTask{ID: d.ID, Agent: d.Agent, Description: d.Title, Status: Working, Thread: thread}
		return fmt.Sprintf("Background task %s has begun. You will be told when it has ended; do not wait for it. End your answer if there is nothing else to do.", d.ID),
			[]graph.Write{BackgroundTasks.Set([]BackgroundTask{t})}, nil
	}
}

// background offers the tools with which the model looks after its background tasks.
func background(a *assembly) (agent.Middleware, string) {
	switch {
	case !on(a.settings.Subagents):
		return agent.Middleware{}, "subagent_enabled is not set"
	case a.parts.Background == nil:
		return agent.Middleware{}, "nothing can go on outside of runs here"
	}
	tools := []tool.Tool{backgroundTool{listSpec}, backgroundTool{cancelSpec}}
	for _, t := range tools {
		a.offer(t.Spec())
	}
	bg := a.parts.Background
	return agent.Middleware{
		Name: "background", Fields: []graph.AnyField{BackgroundTasks},
		Tools: func(context.Context, *graph.Scope) ([]tool.Tool, error) { return tools, nil },
		Tool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
				switch c.Call.Name {
				case ListBackgroundTool:
					return listBackground(ctx, bg, c)
				case CancelBackgroundTool:
					return cancelBackground(ctx, bg, c)
				}
				return next(ctx, c)
			}
		},
	}, ""
}

var (
	listSpec = tool.Spec{
		Name: ListBackgroundTool, Group: "subagents", Repeatable: true, Schema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		Description: "Lists the background tasks of this conversation, and how each of them stands.",
	}
	cancelSpec = tool.Spec{
		Name: CancelBackgroundTool, Group: "subagents", Repeatable: true,
		Schema:      json.RawMessage(`{"type":"object","properties":{"task_id":{"type":"string","minLength":1,"description":"as list_background_tasks tells it"}},"required":["task_id"],"additionalProperties":false}`),
		Description: "Stops a background task that is not needed any more. What it has done so far is not told.",
	}
)

// backgroundTool is known to the model; its calls are carried out by the middleware, which sees the state.
type backgroundTool struct{ spec tool.Spec }

func (t backgroundTool) Spec() tool.Spec { return t.spec }

func (t backgroundTool) Call(context.Context, tool.Call) (item.ToolResult, error) {
	return item.ToolResult{}, errors.New("this agent has no background tasks")
}

func listBackground(ctx context.Context, bg Background, c *agent.ToolCall) (agent.Outcome, error) {
	conf := c.Step.Config()
	var b strings.Builder
	for _, t := range BackgroundTasks.Get(c.Step.Scope) {
		if !t.Ended() {
			now, err := bg.Look(ctx, conf.Owner, conf.Thread, t)
			if err != nil {
				return c.Refuse("How the background tasks stand cannot be told now: " + err.Error()), nil
			}
			t = now
		}
		fmt.Fprintf(&b, "- %s: %s, %s", t.ID, t.Agent, t.Status)
		if t.Description != "" {
			b.WriteString(": " + t.Description)
		}
		b.WriteByte('\n')
	}
	text := b.String()
	if text == "" {
		text = "There are no background tasks."
	}
	return agent.Outcome{Result: tool.Text(text)}, nil
}

func cancelBackground(ctx context.Context, bg Background, c *agent.ToolCall) (agent.Outcome, error) {
	var in struct {
		ID string `json:"task_id"`
	}
	if err := json.Unmarshal([]byte(c.Call.Arguments), &in); err != nil || in.ID == "" {
		return c.Refuse("Give the task_id of a background task."), nil
	}
	conf := c.Step.Config()
	tasks := BackgroundTasks.Get(c.Step.Scope)
	i := slices.IndexFunc(tasks, func(t BackgroundTask) bool { return t.ID == in.ID })
	switch {
	case i < 0:
		return c.Refuse(fmt.Sprintf("There is no background task %q; %s tells which there are.", in.ID, ListBackgroundTool)), nil
	case tasks[i].Ended():
		return agent.Outcome{Result: tool.Text(fmt.Sprintf("Background task %s has ended already: %s.", in.ID, tasks[i].Status))}, nil
	}
	t := tasks[i]
	if err := bg.Cancel(ctx, conf.Owner, conf.Thread, t); err != nil {
		return c.Refuse("It cannot be cancelled now: " + err.Error()), nil
	}
	t.Status = event.Cancelled
	return agent.Outcome{Result: tool.Text("Background task " + in.ID + " was cancelled."), Writes: []graph.Write{BackgroundTasks.Set([]BackgroundTask{t})}}, nil
}

// asSubagent turns the assembly into that of a run that is a piece of work for a sub-agent. Nobody is there to be asked, and it
// delegates nothing.
func (a *assembly) asSubagent() (Assembled, error) {
	name := a.settings.As
	yes := true
	a.settings.Subagents = &yes
	team, off, err := a.delegation()
	if err != nil {
		return Assembled{}, err
	}
	if off != "" {
		return Assembled{}, &model.WishError{Setting: SubagentKey, Reason: off}
	}
	i := slices.IndexFunc(team.Members, func(s agent.Sub) bool { return s.Name == name })
	if i < 0 {
		return Assembled{}, &model.WishError{Setting: SubagentKey, Reason: fmt.Sprintf("there is no sub-agent %q", name)}
	}
	m, p := team.Members[i].Options, a.parts
	m.Policy, m.Breakers, m.Log, m.Limits = p.Policy, p.Breakers, p.Log, a.out.Limits
	if m.Model == nil {
		m.Model, m.Fallbacks, m.Warnings = a.choice.Model, a.choice.Fallbacks, a.warnings()
	}
	a.out.Name, a.out.MaxSteps, a.out.Subagents = name, cmp.Or(m.MaxSteps, a.out.MaxSteps), nil
	a.out.Tools = slices.DeleteFunc(a.out.Tools, func(t Tool) bool {
		_, has := m.Tools.Lookup(t.Name)
		return !has
	})
	a.out.Prompt = []Section{{"sub-agent", m.System, p.tokens(m.System)}}
	for _, w := range slices.Concat(m.Middleware, agent.Builtin(m)) {
		a.out.Middleware = append(a.out.Middleware, Ware{Name: w.Name})
	}
	a.out.options = m
	return a.out, nil
}
