package team

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
)

// told is what the readers of this attempt of the run know of the team.
type told struct {
	mu   sync.Mutex
	team string
}

var tellings = graph.NewLocal(func(*graph.Scope) *told { return &told{} })

// announce tells of the team, and of its plan if there is one, unless this attempt of the run has done so. A run that goes on with
// an answer has readers of its own, who were told nothing yet.
func (t *team) announce(ctx context.Context, s *graph.Scope, st *State) error {
	told := tellings.Get(s)
	told.mu.Lock()
	known := told.team == st.ID
	told.team = st.ID
	told.mu.Unlock()
	if known {
		return nil
	}
	agent.Remember(s, remembered(st.Findings))
	t.listen(s, st)
	events := []event.Event{t.formed(st)}
	if len(st.Phases) > 0 {
		events = append(events, t.planned(st))
	}
	return s.Emit(context.WithoutCancel(ctx), events...)
}

// remembered are findings as messages, for the numbers of what they cite.
func remembered(findings []Finding) (msgs []item.Message) {
	for _, f := range findings {
		msgs = append(msgs, item.Message{Role: item.Tool, Content: f.Content, Blocks: f.Blocks})
	}
	return msgs
}

// guarded dissolves the team when a node fails for whatever reason. A question, and a run that is handed over, end nothing.
func (t *team) guarded(node graph.NodeFunc) graph.NodeFunc {
	return func(ctx context.Context, s *graph.Scope) (cmd graph.Command, err error) {
		broke := true // until node has returned: otherwise it panicked
		defer func() {
			var asks *graph.Interruption
			if !broke && (err == nil || errors.As(err, &asks)) || ctx.Err() != nil && errors.Is(context.Cause(ctx), graph.ErrHandOver) {
				return
			}
			if broke {
				err = &event.Error{Code: graph.CodePanic, Message: "a part of the team's program broke"}
			}
			outcome := statusOf(ctx, err)
			_ = t.dissolve(ctx, s, outcome, graph.ErrorOf(err).Message) // a run that cannot be written is over anyway
		}()
		cmd, err = node(ctx, s)
		broke = false
		return cmd, err
	}
}

// dissolve lets the team go, if there is one.
func (t *team) dissolve(ctx context.Context, s *graph.Scope, outcome event.Status, reason string) error {
	told := tellings.Get(s)
	told.mu.Lock()
	id := told.team
	told.mu.Unlock()
	if id == "" {
		return nil
	}
	return s.Emit(context.WithoutCancel(ctx), event.TeamDissolved{Team: id, Outcome: outcome, Reason: reason})
}

// statusOf says how something ended that returned an error. To be cancelled is no failure.
func statusOf(ctx context.Context, err error) event.Status {
	code := graph.ErrorOf(err).Code
	switch {
	case errors.Is(err, context.DeadlineExceeded), code == graph.CodeTimeout, errors.Is(ctx.Err(), context.DeadlineExceeded):
		return event.TimedOut
	case ctx.Err() != nil, errors.Is(err, graph.ErrTaskCancelled), code == graph.CodeCancelled:
		return event.Cancelled
	}
	return event.Failed
}

// form chooses the experts and the plan.
func (t *team) form(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	question := t.question(s)
	if question == "" {
		return graph.Command{}, &event.Error{Code: graph.CodeInvalidInput, Name: "InvalidInputError", Message: "there is no question for the team; say something as the user"}
	}
	st := State{ID: s.Execution(), Title: clip(question, 80), Formed: time.Now().UTC(), Mode: t.Mode, Experts: t.Experts}
	if len(st.Experts) == 0 {
		var err error
		if st.Experts, err = t.invent(ctx, s, &st, question); err != nil {
			return graph.Command{}, err
		}
	}
	if err := t.announce(ctx, s, &st); err != nil {
		return graph.Command{}, err
	}
	for _, w := range t.warnings {
		if err := s.Emit(ctx, w); err != nil {
			return graph.Command{}, err
		}
	}
	if err := t.plan(ctx, s, &st, question); err != nil {
		return graph.Command{}, err
	}
	next := NodeWork
	if t.Review {
		next = NodeReview
		st.Spoken = inboxes.Get(s).close("the plan waits for a person; say it with the answer") // the run that goes on has another journal
	}
	return graph.Update(t.state.Set(st)).Go(next), s.Emit(ctx, t.planned(&st))
}

type roster struct {
	Experts []Expert `json:"experts" jsonschema:"the members of the team"`
}

// invent has the lead make up the experts.
func (t *team) invent(ctx context.Context, s *graph.Scope, st *State, question string) ([]Expert, error) {
	var tools []string
	if t.Agent.Tools != nil {
		for _, spec := range t.Agent.Tools.Specs() {
			tools = append(tools, spec.Name)
		}
	}
	prompt := fmt.Sprintf("Put a team of two to five experts together for the question below. Each must see something that the others do not.\n"+
		"There are these tools: %s. Name tools only for an expert who must not have all of them.\n\nQuestion: %s", cmp.Or(strings.Join(tools, ", "), "none"), question)
	made, err := draft(ctx, s, t, st, "experts", prompt, func(r roster) error { return t.checkExperts(r.Experts) })
	if err != nil || len(made.Experts) == 0 {
		return Standing(), t.without(ctx, s, "the lead could not choose experts, so that the usual ones answer", err)
	}
	for i := range made.Experts {
		made.Experts[i].Model = "" // a model does not choose what others cost
	}
	return made.Experts, nil
}

// plan makes the plan.
func (t *team) plan(ctx context.Context, s *graph.Scope, st *State, question string) error {
	switch {
	case len(t.Plan) > 0 && t.checkPlan(st.Experts, t.Plan) == nil:
		st.Phases = slices.Clone(t.Plan)
		return nil
	case t.LeadPlans:
		made, err := t.draftPlan(ctx, s, st, "plan", "Plan how the team answers the question below. Have few phases: one is often enough. "+
			"Later phases read what those that they depend on found. You put the answer together yourself when all are done, so plan no phase for that.\n\nQuestion: "+question+"\n\n"+describe(st.Experts))
		if err == nil {
			st.Phases = made
			return nil
		}
		if err := t.without(ctx, s, "the lead could not make a plan, so that the usual one is followed", err); err != nil {
			return err
		}
	}
	st.Phases = t.usual(st.Experts)
	return nil
}

type phases struct {
	Phases []Phase `json:"phases"`
}

// draftPlan asks the lead for phases.
func (t *team) draftPlan(ctx context.Context, s *graph.Scope, st *State, what, prompt string) ([]Phase, error) {
	kept := slices.DeleteFunc(slices.Clone(st.Phases), func(p Phase) bool { return !p.settled() })
	made, err := draft(ctx, s, t, st, what, prompt, func(d phases) error {
		return t.checkPlan(st.Experts, append(slices.Clip(kept), tidy(d.Phases)...))
	})
	if err != nil {
		return nil, err
	}
	return append(kept, tidy(made.Phases)...), nil
}

// tidy spells ids as ids are spelled, and drops what is not the lead's to say.
func tidy(list []Phase) []Phase {
	list = slices.Clone(list)
	for i := range list {
		p := &list[i]
		p.ID, p.Status = slug(cmp.Or(p.ID, p.Title)), ""
		p.Experts, p.DependsOn = slugs(p.Experts), slugs(p.DependsOn)
	}
	return list
}

func slugs(names []string) (ids []string) {
	for _, n := range names {
		ids = append(ids, slug(n))
	}
	return ids
}

// replan lets the lead change what has not begun.
func (t *team) replan(ctx context.Context, s *graph.Scope, st *State, question string) error {
	if !t.Replan || !slices.ContainsFunc(st.Phases, func(p Phase) bool { return !p.settled() }) {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(st.Phases), Phase.settled)
	now, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	made, err := t.draftPlan(ctx, s, st, "plan", fmt.Sprintf("Some phases of the plan are done; these have not begun: %s\n\nGive the phases that are still to come: the same, or others if what was found calls for it. "+
		"They may depend on phases that are done.\n\nQuestion: %s\n\n%s\n\n%s", now, question, describe(st.Experts), t.quoted(st, st.Findings)))
	if err != nil {
		return t.without(ctx, s, "the lead could not look at the plan again, so that it stays as it is", err)
	}
	st.Phases = made
	return nil
}

// without warns of what the lead did not do. What stops the run is returned.
func (t *team) without(ctx context.Context, s *graph.Scope, what string, err error) error {
	var asks *graph.Interruption
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.As(err, &asks) {
		return err
	}
	if err != nil {
		what += ": " + graph.ErrorOf(err).Message
	}
	return s.Emit(ctx, event.Warned{Code: "team_lead", Message: what})
}

func describe(experts []Expert) string {
	var b strings.Builder
	b.WriteString("The experts:")
	for _, e := range experts {
		fmt.Fprintf(&b, "\n- %s: %s", e.ID(), e.Role)
	}
	return b.String()
}

// draft asks the lead for a value, as a child task of its own: what is drafted is nothing that the team says.
func draft[T any](ctx context.Context, s *graph.Scope, t *team, st *State, what, prompt string, check func(T) error) (T, error) {
	var none T
	st.Drafts++
	task := fmt.Sprintf("%s.%s-%d", slug(t.Agent.Name), what, st.Drafts)
	if end, ok := s.Recall().EndedTask(task); ok && end.Status != event.Success && end.Status != event.Interrupted {
		return none, cmp.Or[error](asError(end.Error), errors.New("it was stopped"))
	}
	field := graph.LastValue[T]("draft")
	shape, err := tool.ShapeOf[T]()
	if err != nil {
		return none, err
	}
	read := func(m item.Message) (T, error) {
		v, err := shape.Read(m.Text())
		if err == nil {
			err = check(v)
		}
		return v, err
	}
	g := graph.New("draft", field).Edge(graph.Start, "lead").Edge("lead", graph.End).
		Node("lead", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
			msg, ended, voided := s.Recall().Turn(s.Execution())
			if ended {
				v, err := read(msg)
				return graph.Update(field.Set(v)), err
			}
			opts := t.callOptions(s)
			opts.Replaces = voided
			opts.Accept = func(m item.Message) error { _, err := read(m); return err }
			v, _, err := agent.Structured[T](ctx, s, t.Agent.Model, model.Request{
				System: t.system("You lead a team of experts."), Messages: []item.Message{item.UserText("draft", prompt)}, Extra: t.Agent.Extra,
			}, opts)
			return graph.Update(field.Set(v)), err
		})
	res, err := s.Run(ctx, g, graph.Child{Task: task, Agent: t.Agent.Name, Title: what, Uncalled: true, Input: map[string]any{}})
	if err != nil {
		return none, err
	}
	return graph.Decode(res, field)
}

func asError(e *event.Error) error {
	if e == nil {
		return nil
	}
	return e
}

func (t *team) callOptions(s *graph.Scope) agent.CallOptions {
	a := t.Agent
	return agent.CallOptions{Agent: a.Name, Fallbacks: a.Fallbacks, Policy: a.Policy, Breakers: a.Breakers, Log: a.Log, Citable: agent.Citable(s)}
}

// system is a system prompt with what all members are told.
func (t *team) system(own string) string {
	if t.Agent.System == "" {
		return own
	}
	return t.Agent.System + "\n\n" + own
}

func clip(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}
