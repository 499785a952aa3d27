package tributary

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
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/background"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/memory"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/offline"
	"github.com/tributary-ai/tributary/tool"
)

// Memory is how the built-in agent remembers people: see package memory. The zero value remembers what they outright ask for.
type Memory struct {
	// Model chooses who finds out, after a run, what is worth remembering; its answer costs tokens, which no run counts. Nil, or
	// where it chooses the offline model: rules do, see memory.Rules.
	Model func(ctx context.Context, owner string) (model.Choice, error)
	// Wait is how long a thread must be quiet before a model is asked; 0 means 30 s, below 0 not at all. A thread that is never quiet waits
	// ten times as long.
	Wait time.Duration
	// MaxFacts, Budget, Corrections and Threshold are those of memory.Options.
	MaxFacts    int
	Budget      int
	Corrections int
	Threshold   float64
	// NoTools leaves out the tools with which agents look into their memory and change it.
	NoTools bool
}

// Memory returns the book of what is remembered, with which people read, change and delete it; nil where nothing is.
func (r *Runtime) Memory() *memory.Book { return r.book }

func (m *Memory) open(items run.Items) *memory.Book {
	if m == nil {
		return nil
	}
	return memory.New(memory.Options{
		Store: func(owner string) memory.Store { return ownItems{items, identity(owner)} },
		Local: DefaultOwner, MaxFacts: m.MaxFacts, Budget: m.Budget, Corrections: m.Corrections, Threshold: m.Threshold,
	})
}

func (m *Memory) wait() time.Duration {
	if m.Model == nil {
		return 0 // rules cost nothing
	}
	return max(0, cmp.Or(m.Wait, 30*time.Second))
}

// memoryTools are the built-in agent's tools for its memory, if it has them.
func (r *Runtime) memoryTools() []tool.Tool {
	if r.opt.Memory == nil || r.opt.Memory.NoTools {
		return nil
	}
	return memory.Tools(r.Memory)
}

// agentNamed is the custom agent that a run names; empty for none.
func agentNamed(configurable, context json.RawMessage) string {
	s, err := lead.ReadSettings(lead.Run{Configurable: configurable, Context: context})
	if err != nil {
		return "" // the request is refused elsewhere
	}
	return strings.ToLower(s.Agent)
}

// rememberAs has the tools of a custom agent look into its own memory.
func (r *Runtime) rememberAs(name string) []agent.Middleware {
	if r.book == nil || name == "" {
		return nil
	}
	return []agent.Middleware{{Name: "memory", Tool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
			return next(memory.WithAgent(ctx, name), c)
		}
	}}}
}

// reminder is what agents remember of an owner.
func (r *Runtime) reminder(owner string) func(context.Context, string) (middleware.Remembered, error) {
	if r.book == nil {
		return nil
	}
	return func(ctx context.Context, agent string) (middleware.Remembered, error) {
		m, err := r.book.Reminder(ctx, memory.Whose{Owner: owner, Agent: strings.ToLower(agent)})
		return middleware.Remembered(m), err
	}
}

// remindPlain has an agent that is a model and tools in a loop remember, too.
func (r *Runtime) remindPlain(owner string, o agent.Options) agent.Options {
	if r.book == nil {
		return o
	}
	o.System = strings.TrimSpace(o.System + "\n\n" + middleware.ReminderRule)
	o.Middleware = append(o.Middleware, middleware.Remind(middleware.ReminderOptions{
		Memory: func(ctx context.Context, _ *agent.Step) (middleware.Remembered, error) {
			return r.reminder(owner)(ctx, "")
		},
	}))
	return o
}

// memoryKind is the kind of follow-up that learns from a run.
const memoryKind = "memory"

type remembering struct {
	Agent string `json:"agent,omitempty"`
}

// followUps are what is to be done after a run.
func (r *Runtime) followUps(rn run.Run) []run.FollowUp {
	all := append(run.Webhook(rn), background.FollowUps(rn)...)
	if r.book == nil || !r.learnsFrom(rn) {
		return all
	}
	configurable, values, err := rn.Request.Settings()
	if err != nil {
		return all
	}
	s, err := lead.ReadSettings(lead.Run{Configurable: configurable, Context: values})
	if err != nil || s.NonInteractive != nil && *s.NonInteractive { // nobody is there
		return all
	}
	payload, err := json.Marshal(remembering{strings.ToLower(s.Agent)})
	if err != nil {
		return all
	}
	// One lane for each owner: their documents are changed one after the other.
	return append(all, run.FollowUp{Kind: memoryKind, Lane: rn.Owner, Payload: payload, NextAt: rn.EndedAt.Add(r.opt.Memory.wait())})
}

// learnsFrom says whether a person may have said something in a run. It looks at nothing large: a run does not end before it is known.
func (r *Runtime) learnsFrom(rn run.Run) bool {
	q := rn.Request
	if _, own := r.opt.Graphs[q.Graph]; own || q.Graph != DefaultGraph && q.Graph != LeadGraph {
		return false
	}
	if q.Temporary || rn.Cancel == run.RollbackRun || len(q.Input) == 0 {
		return false
	}
	return r.opt.Memory.Model != nil || memory.MayTell(q.Input)
}

// followers carry out follow-ups.
func (r *Runtime) followers() map[string]run.Handler {
	if r.book == nil {
		return nil
	}
	return map[string]run.Handler{memoryKind: {Do: r.remember, Early: true, Timeout: 2 * time.Minute, Tries: 8, Wait: 30 * time.Second, AtOnce: 8, PerLane: 1}}
}

// mostRuns is how many runs are learned from at once.
const mostRuns = 32

// remember learns from a run, and from the other runs of its thread that wait for the same: they are asked about once, when the
// thread is quiet. Those of the owner's other threads that are due are learned from with it, so that somebody whose runs end
// faster than a model can be asked does not leave a queue that only grows. Each of them then finds that it was learned from.
func (r *Runtime) remember(ctx context.Context, f run.FollowUp) error {
	var p remembering
	if err := json.Unmarshal(f.Payload, &p); err != nil {
		return fmt.Errorf("what to remember is not known: %w", err)
	}
	who, now := run.Identity{Owner: f.Owner}, time.Now()
	waiting, err := r.db.FollowUps(ctx, who, run.FollowUpQuery{Kind: memoryKind, Thread: f.Thread, Limit: mostRuns})
	if err != nil {
		return err
	}
	waiting = slices.DeleteFunc(waiting, func(o run.FollowUp) bool { return string(o.Payload) != string(f.Payload) })
	if wait := r.opt.Memory.wait(); len(waiting) > 0 && !r.ending.Load() {
		quiet := waiting[len(waiting)-1].CreatedAt.Add(wait)
		if now.Before(quiet) && now.Sub(f.CreatedAt) < 10*wait && len(waiting) < mostRuns {
			return run.NotYet{Until: quiet}
		}
	}
	whose, inputs := memory.Whose{Owner: f.Owner, Agent: p.Agent}, map[string]json.RawMessage{}
	due, doc, err := r.due(ctx, whose, append(waiting, f), inputs) // it may not be among the first of them
	if err != nil || len(due) == 0 {
		return err
	}
	if room := mostRuns - len(due); room > 0 {
		others, err := r.db.FollowUps(ctx, who, run.FollowUpQuery{Kind: memoryKind, Limit: mostRuns})
		if err != nil {
			return err
		}
		others = slices.DeleteFunc(others, func(o run.FollowUp) bool {
			return o.Thread == f.Thread || string(o.Payload) != string(f.Payload) || o.NextAt.After(now)
		})
		more, _, err := r.due(ctx, whose, others[:min(len(others), room)], inputs)
		if err != nil {
			return err
		}
		due = append(due, more...)
	}
	said, err := r.said(ctx, due, inputs)
	if err != nil || len(said) == 0 {
		return err
	}
	lesson, err := r.lesson(ctx, f.Owner, doc, said)
	if err != nil {
		return err
	}
	_, err = r.book.Learn(ctx, whose, due, lesson)
	return err
}

// due are the runs of follow-ups that were not learned from yet, each once, and what is remembered now. It notes their inputs.
func (r *Runtime) due(ctx context.Context, whose memory.Whose, all []run.FollowUp, inputs map[string]json.RawMessage) ([]memory.Run, memory.Document, error) {
	var runs []memory.Run
	for _, f := range all {
		if inputs[f.Run] != nil {
			continue
		}
		rn, err := r.db.Run(ctx, run.Identity{Owner: whose.Owner}, f.Run)
		if errors.Is(err, run.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, memory.Document{}, err
		}
		runs = append(runs, memory.Run{ID: rn.ID, Thread: rn.Thread, At: rn.CreatedAt})
		inputs[rn.ID] = rn.Request.Input
	}
	return r.book.Due(ctx, whose, runs)
}

// said are the messages of people in runs, with their ids in their threads.
func (r *Runtime) said(ctx context.Context, runs []memory.Run, inputs map[string]json.RawMessage) (all []memory.Said, err error) {
	byThread := map[string][]memory.Run{}
	var threads []string
	for _, rn := range runs {
		if byThread[rn.Thread] == nil {
			threads = append(threads, rn.Thread)
		}
		byThread[rn.Thread] = append(byThread[rn.Thread], rn)
	}
	for _, thread := range threads {
		said, err := r.saidIn(ctx, thread, byThread[thread], inputs)
		if err != nil {
			return nil, err
		}
		all = append(all, said...)
	}
	return all, nil
}

func (r *Runtime) saidIn(ctx context.Context, thread string, runs []memory.Run, inputs map[string]json.RawMessage) ([]memory.Said, error) {
	var all []item.Message
	snap, err := r.db.Load(ctx, thread, "", "")
	if err == nil {
		err = json.Unmarshal(snap.Values[graph.FieldMessages], &all)
	}
	if err != nil && !errors.Is(err, graph.ErrNoCheckpoint) {
		return nil, fmt.Errorf("messages of the thread: %w", err)
	}
	var out []memory.Said
	for _, rn := range runs {
		var in struct {
			Messages []item.Message `json:"messages"`
		}
		if json.Unmarshal(inputs[rn.ID], &in) != nil {
			continue // no conversation
		}
		for _, m := range in.Messages {
			if m.Role == item.User && strings.TrimSpace(m.Text()) != "" {
				out = append(out, memory.Said{Run: rn, Message: m.ID, Text: m.Text()})
			}
		}
	}
	// A message that came without an id got one in the thread. It is looked for from the end: what was said twice is two messages.
	to := len(all)
	for o := range slices.Backward(out) {
		s := &out[o]
		for i := to - 1; i >= 0; i-- {
			if all[i].Role == item.User && (all[i].ID == s.Message || s.Message == "" && all[i].Text() == s.Text) {
				s.Message, s.Before, to = all[i].ID, before(all[:i]), i
				break
			}
		}
	}
	return out, nil
}

// before is what the agent said last.
func before(msgs []item.Message) string {
	for _, m := range slices.Backward(msgs) {
		if m.Role == item.Assistant && m.Text() != "" {
			return m.Text()
		}
	}
	return ""
}

// lesson finds out what messages tell.
func (r *Runtime) lesson(ctx context.Context, owner string, doc memory.Document, said []memory.Said) (memory.Lesson, error) {
	var choice model.Choice
	if choose := r.opt.Memory.Model; choose != nil {
		var err error
		if choice, err = choose(ctx, owner); err != nil {
			return memory.Lesson{}, fmt.Errorf("choose a model for what is remembered: %w", err)
		}
	}
	if _, none := choice.Model.(*offline.Model); none || choice.Model == nil {
		return memory.Rules(doc, said), nil
	}
	var found memory.Extraction
	g := graph.New("memory", graph.LastValue[bool]("done"))
	g.Node("extract", func(ctx context.Context, s *graph.Scope) (_ graph.Command, err error) {
		found, _, err = agent.Structured[memory.Extraction](ctx, s, choice.Model, model.Request{
			System: memory.Prompt, Messages: []item.Message{item.UserText("material", memory.Material(doc, said))}, Extra: choice.Extra,
		}, agent.CallOptions{Fallbacks: choice.Fallbacks, Policy: r.opt.Retry.policy(r.opt.Answers)})
		return graph.Command{}, err
	})
	g.Chain(graph.Start, "extract", graph.End)
	if _, err := g.Run(ctx, graph.Execution{Input: json.RawMessage(`{"done":false}`)}); err != nil {
		return memory.Lesson{}, fmt.Errorf("ask a model what to remember: %w", err)
	}
	return found.Lesson(doc, said), nil
}
