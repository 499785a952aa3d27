package research

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/prose"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
)

// Options describe a research graph. Only Model is needed; without tools that search, nothing can be found.
type Options struct {
	Name string // of the graph; "research" if empty

	Model     model.Model
	Fallbacks []model.Model
	Policy    agent.Policy
	Breakers  *agent.Breakers
	Thinking  model.Thinking
	Extra     map[string]json.RawMessage

	// Checker, where set, is asked about citations that a comparison of words can neither confirm nor doubt. It adds a section to
	// the report.
	Checker model.Model

	// Tools are those of all roles. The coder gets the groups "code", "sandbox" and "files", the researcher all others that
	// neither write nor execute, the analyst none.
	Tools *tool.Set
	// Settings are those of the run; see [ReadSettings]. A run that answers a question goes on with the settings of the
	// run that asked.
	Settings Settings
	// StepLimit is how often a step may call its model; zero means 12.
	StepLimit int

	// Middleware is what more the agent of a role has, such as tools that are not known before a run; nil: nothing. The roles
	// are [Roles].
	Middleware func(role string) []agent.Middleware

	// Warnings are told when a run begins.
	Warnings []event.Warned
	Log      *slog.Logger
}

// The nodes of the graph.
const (
	NodeCoordinator = "coordinator"
	NodeClarify     = "clarify"
	NodeBackground  = "background_investigator"
	NodePlanner     = "planner"
	NodeReview      = "human_feedback"
	NodeTeam        = "research_team"
	NodeResearcher  = "researcher"
	NodeAnalyst     = "analyst"
	NodeCoder       = "coder"
	NodeReporter    = "reporter"
	NodeChecker     = "checker" // where [Options].Checker is set
)

// Roles are those who do the steps of a plan.
var Roles = []string{NodeResearcher, NodeAnalyst, NodeCoder}

// mostVisits is more than the largest settings can lead to. A run may go on with the settings of an earlier one, so
// those that the graph was made with do not bound it.
const mostVisits = 2500

// work is the research behind a graph.
type work struct{ Options }

// New makes the graph.
func New(o Options) (*graph.Graph, error) {
	if o.Name == "" {
		o.Name = "research"
	}
	if o.Model == nil {
		return nil, errors.New("research: it needs a model")
	}
	if o.Tools == nil {
		o.Tools = &tool.Set{}
	}
	if o.StepLimit <= 0 {
		o.StepLimit = 12
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := o.Settings.validate(); err != nil {
		return nil, err
	}
	w := &work{o}
	g := graph.New(o.Name, fields...).
		Node(NodeCoordinator, w.coordinate).
		Node(NodeClarify, w.clarify).
		Node(NodeBackground, w.investigate).
		Node(NodePlanner, w.plan).
		Node(NodeReview, w.review).
		Node(NodeTeam, w.assign).
		Node(NodeResearcher, w.step).
		Node(NodeAnalyst, w.step).
		Node(NodeCoder, w.step).
		Node(NodeReporter, w.report).
		Edge(graph.Start, NodeCoordinator).
		Edge(NodeClarify, NodeCoordinator).
		Edge(NodeBackground, NodePlanner).
		Edge(NodeResearcher, NodeTeam).
		Edge(NodeAnalyst, NodeTeam).
		Edge(NodeCoder, NodeTeam).
		Ends(NodeCoordinator, NodeClarify, NodeBackground, NodePlanner, graph.End).
		Ends(NodePlanner, NodeReview, NodeReporter).
		Ends(NodeReview, NodeTeam, NodePlanner, NodeReporter).
		Ends(NodeTeam, NodeResearcher, NodeAnalyst, NodeCoder, NodePlanner).
		Limit(mostVisits)
	if o.Checker == nil {
		g.Edge(NodeReporter, graph.End)
	} else {
		g.Node(NodeChecker, w.verify).Edge(NodeReporter, NodeChecker).Edge(NodeChecker, graph.End)
	}
	return g, g.Compile()
}

// settings are those with which the work was begun.
func (w *work) settings(s *graph.Scope) Settings {
	if begun, ok := settings.Lookup(s); ok {
		return begun
	}
	return w.Settings
}

// language is that of the run: what was asked for, or the question's.
func (w *work) language(s *graph.Scope) string {
	if l := locale.Get(s); l != "" {
		return l
	}
	return localeOf(w.settings(s), topic.Get(s))
}

func localeOf(c Settings, question string) string {
	switch {
	case c.Locale != "":
		return c.Locale
	case prose.Chinese(question):
		return "zh-CN"
	}
	return "en-US"
}

// ask calls the model for one of the roles. What it said before a crash it need not say again.
func (w *work) ask(ctx context.Context, s *graph.Scope, req model.Request, opts agent.CallOptions) (item.Message, error) {
	return w.askThrough(ctx, s, func(m model.Model) model.Model { return m }, req, opts)
}

// askThrough is ask with something around every model that may be asked.
func (w *work) askThrough(ctx context.Context, s *graph.Scope, around func(model.Model) model.Model, req model.Request, opts agent.CallOptions) (item.Message, error) {
	msg, ended, voided := s.Recall().Turn(s.Execution())
	if ended {
		return msg, nil
	}
	req.Extra = w.Extra
	opts.Agent, opts.Policy, opts.Breakers, opts.Log, opts.Replaces = s.Node(), w.Policy, w.Breakers, w.Log, voided
	for _, m := range w.Fallbacks {
		opts.Fallbacks = append(opts.Fallbacks, around(m))
	}
	return agent.Call(ctx, s, around(w.Model), req, opts)
}
