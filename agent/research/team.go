package research

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool/files"
)

// order is what a step's node is sent.
type order struct {
	Step string `json:"step"`
}

// assign hands out the steps whose turn it is.
func (w *work) assign(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	res := results.Get(s)
	if why := w.spent(s); why != "" {
		return w.leaveOut(ctx, s, why)
	}
	var cmd graph.Command
	for _, step := range plan.Get(s).Steps {
		if _, over := res[step.ID]; over || len(cmd.Goto) == w.settings(s).Parallel {
			continue
		}
		waits := slices.ContainsFunc(step.DependsOn, func(id string) bool { _, over := res[id]; return !over })
		if !waits {
			cmd = cmd.Send(step.Type.node(), order{step.ID})
		}
	}
	if len(cmd.Goto) == 0 {
		return graph.Goto(NodePlanner), nil
	}
	return cmd, nil
}

// step does one step of the plan, as a child task.
func (w *work) step(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	o, err := graph.InputAs[order](s)
	if err != nil {
		return graph.Command{}, err
	}
	base := s.Base()
	p := plan.Get(base)
	i := slices.IndexFunc(p.Steps, func(st Step) bool { return st.ID == o.Step })
	if i < 0 {
		return graph.Command{}, fmt.Errorf("step %q is not in the plan", o.Step)
	}
	step := p.Steps[i]
	remembered.Get(s)
	board := boards.Get(s)
	if err := board.begin(ctx, s, base, p, step.ID); err != nil {
		return graph.Command{}, err
	}
	child, err := w.role(base, s.Node())
	if err != nil {
		return graph.Command{}, err
	}
	task := "step-" + step.ID
	limited, cancel := w.limited(ctx, base)
	defer cancel()
	done, err := w.run(ctx, limited, s, child, graph.Child{
		Task: task, Agent: s.Node(), Title: step.Title, Uncalled: true,
		Input: []graph.Write{messages.Add(item.UserText("in_"+task, w.task(base, p, step)))}, OmitValues: true,
	})
	var res Result
	var found map[int]Source
	failure := (*stepError)(nil)
	switch {
	case errors.As(err, &failure):
		res.Error = failure.Error()
	case err != nil:
		return graph.Command{}, err
	default:
		res, found = resultOf(done.messages, step.ID)
		res.Files = done.files
	}
	if err := board.end(ctx, s, base, p, step.ID, res); err != nil {
		return graph.Command{}, err
	}
	writes := []graph.Write{results.Set(map[string]Result{step.ID: res})}
	if len(res.Files) > 0 {
		writes = append(writes, artifacts.Add(res.Files...))
	}
	if fresh := w.fresh(base, found); len(fresh) > 0 { // an empty map would clear the field
		writes = append(writes, sources.Set(fresh))
	}
	return graph.Update(writes...), nil
}

// fresh are the sources that the state does not have yet: what was read first keeps when it was read.
func (w *work) fresh(base *graph.Scope, found map[int]Source) map[string]Source {
	fresh := keyed(found)
	for n := range sources.Get(base) {
		delete(fresh, n)
	}
	return fresh
}

// mostUncited bounds what is kept of a step that cites nothing.
const mostUncited = 12

// resultOf is what a step says, with the passages that it cites. One that says nothing is done all the same: it
// would say nothing again.
func resultOf(msgs []item.Message, step string) (Result, map[int]Source) {
	if len(msgs) == 0 || msgs[len(msgs)-1].Role != item.Assistant || strings.TrimSpace(msgs[len(msgs)-1].Text()) == "" {
		return Result{Error: "the step ended without a result", Tokens: tokensOf(msgs)}, nil
	}
	answer := msgs[len(msgs)-1]
	read := sourcesOf(msgs, step, time.Now())
	res := Result{Text: strings.TrimSpace(answer.Text()), Tokens: tokensOf(msgs)}
	for _, b := range answer.Content {
		for _, note := range b.Annotations {
			if note.Type == item.ReferenceToBlock && !slices.Contains(res.Sources, note.Ref) {
				res.Sources = append(res.Sources, note.Ref)
			}
		}
	}
	keep := slices.Clone(res.Sources)
	if len(keep) == 0 {
		keep = slices.Sorted(maps.Keys(read))
		keep = keep[:min(len(keep), mostUncited)]
	}
	found := map[int]Source{}
	for _, n := range keep {
		if src, ok := read[n]; ok { // it may cite what an earlier step read
			found[n] = src
		}
	}
	return res, found
}

// role makes the agent that does a kind of step.
func (w *work) role(s *graph.Scope, name string) (*graph.Graph, error) {
	c, lang := w.settings(s), w.language(s)
	tools, err := toolsOf(w.Tools, name, on(c.WebSearch))
	if err != nil {
		return nil, err
	}
	middleware := []agent.Middleware{{Name: files.Group, Fields: []graph.AnyField{artifacts}}, searchLimit(c.MaxSearchResults)}
	has := tools.Len() > 0
	if w.Middleware != nil {
		more := w.Middleware(name)
		has = has || slices.ContainsFunc(more, func(m agent.Middleware) bool { return m.Tools != nil })
		middleware = append(middleware, more...)
	}
	return agent.New(agent.Options{
		Name: name, Model: w.Model, Fallbacks: w.Fallbacks, Policy: w.Policy, Breakers: w.Breakers, Thinking: w.Thinking, Extra: w.Extra, Log: w.Log,
		Tools: tools, System: prompt(name, lang, promptData{Locale: lang, Tools: has}), MaxSteps: w.StepLimit,
		Middleware: middleware,
	})
}

// searchLimit holds searches to the number of results that the run allows.
func searchLimit(most int) agent.Middleware {
	return agent.Middleware{Name: "search_limit", Tool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
			if s := arguments(c.Spec); s.query != "" && s.limit != "" {
				var args map[string]any
				if json.Unmarshal([]byte(c.Call.Arguments), &args) == nil && args != nil {
					if n, ok := args[s.limit].(float64); !ok || n < 1 || n > float64(most) {
						args[s.limit] = most
						if raw, err := json.Marshal(args); err == nil {
							c.Call.Arguments = string(raw)
						}
					}
				}
			}
			return next(ctx, c)
		}
	}}
}

// task is what the agent of a step is told: the whole subject, what it builds on, and what to find out.
func (w *work) task(s *graph.Scope, p Plan, step Step) string {
	var b strings.Builder
	tag(&b, "topic", "", topic.Get(s))
	before := results.Get(s)
	if len(step.DependsOn) > 0 {
		before = map[string]Result{}
		for _, id := range step.DependsOn {
			if res, ok := results.Get(s)[id]; ok {
				before[id] = res
			}
		}
	}
	findings(&b, p, before)
	var cited []int
	for _, st := range p.Steps {
		cited = append(cited, before[st.ID].Sources...)
	}
	if len(cited) > 0 && step.Type != Research {
		tag(&b, "passages", "", passages(sources.Get(s), cited, w.room()/2))
	}
	question := step.Title
	if step.Description != "" && step.Description != step.Title {
		question += "\n" + step.Description
	}
	tag(&b, "question", "", question)
	return b.String()
}

// stepError says why a child task came to nothing. It is no failure of the run.
type stepError struct{ reason string }

func (e *stepError) Error() string { return e.reason }

// outcome is what a child task leaves.
type outcome struct {
	messages []item.Message
	files    []string
}

// run runs a child task, within limited, which ends with ctx. One that had failed before a crash does not begin once more: its
// readers were told of its end.
func (w *work) run(ctx, limited context.Context, s *graph.Scope, g *graph.Graph, c graph.Child) (outcome, error) {
	if end, ok := s.Recall().EndedTask(c.Task); ok && end.Status != event.Success && end.Status != event.Interrupted {
		if end.Error == nil {
			return outcome{}, &stepError{"it was stopped"}
		}
		return outcome{}, &stepError{end.Error.Message}
	}
	res, err := s.Run(limited, g, c)
	asks := (*graph.Interruption)(nil)
	switch {
	case err == nil:
		var done outcome
		if done.messages, err = graph.Decode(res, messages.Field); err == nil {
			done.files, err = graph.Decode(res, artifacts.Field)
		}
		return done, err
	case ctx.Err() != nil:
		return outcome{}, context.Cause(ctx)
	case errors.As(err, &asks):
		return outcome{}, err
	}
	return outcome{}, &stepError{graph.ErrorOf(err).Message}
}

// boards know which steps are worked on, for those who watch the plan. After a crash they are made anew from the state.
var boards = graph.NewLocal(func(*graph.Scope) *board {
	return &board{working: map[string]bool{}, over: map[string]Result{}, brief: map[string]Result{}}
})

type board struct {
	mu      sync.Mutex // held while the plan is told, so that the last that is told is how it is
	working map[string]bool
	over    map[string]Result // ended in this step of the graph, and not yet in the state
	brief   map[string]Result // what is told of those that ended: a plan is told whole, again and again
}

func (b *board) begin(ctx context.Context, s, base *graph.Scope, p Plan, step string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.working[step] = true
	return b.tell(ctx, s, base, p)
}

func (b *board) end(ctx context.Context, s, base *graph.Scope, p Plan, step string, res Result) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.working, step)
	b.over[step] = res
	return b.tell(ctx, s, base, p)
}

func (b *board) tell(ctx context.Context, s, base *graph.Scope, p Plan) error {
	all := make(map[string]Result, len(p.Steps))
	for _, ended := range []map[string]Result{results.Get(base), b.over} {
		for id, res := range ended {
			if known, ok := b.brief[id]; !ok || (known.Error == "") != (res.Error == "") {
				b.brief[id] = Result{Text: firstWords(res.Text, toldOfResult), Error: res.Error}
			}
			all[id] = b.brief[id]
		}
	}
	return s.Emit(ctx, p.told(planID.Get(base), all, b.working))
}
