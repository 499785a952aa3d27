package protocol2

import (
	"context"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/server/langgraph/threads"
)

// branch is a namespace of a run with what became of it.
type branch struct {
	namespace []string
	status    string
	name      string
	task      bool // a sub-agent, which says itself how it ended
	children  []*branch
}

func (b *branch) json() jsonvalue.Object {
	ns := jsonvalue.List{}
	for _, part := range b.namespace {
		ns = append(ns, part)
	}
	o := jsonvalue.Object{{"namespace", ns}, {"status", b.status}, {"graph_name", b.name}}
	if len(b.children) > 0 {
		children := jsonvalue.List{}
		for _, c := range b.children {
			children = append(children, c.json())
		}
		o = append(o, jsonvalue.Member{"children", children})
	}
	return o
}

// treeCommand tells which graphs the thread's latest run consists of: its own, subgraphs and sub-agents. Nodes that are no
// graphs are not among them.
func (s *Service) treeCommand(ctx context.Context, who run.Identity, thread string) (jsonvalue.Object, error) {
	runs, err := s.opt.Store.ThreadRuns(ctx, who, thread, "", 1, 0)
	if err != nil {
		return nil, threads.NotFound(err, thread)
	}
	if len(runs) == 0 {
		return nil, &commandError{"no_such_run", "No run is bound to this thread."}
	}
	root := &branch{name: runs[0].Request.Graph, status: "running"}
	known := map[string]*branch{"": root}
	var find func(ns string) *branch
	find = func(ns string) *branch {
		if b := known[ns]; b != nil {
			return b
		}
		parts := strings.Split(ns, "|")
		above := find(strings.Join(parts[:len(parts)-1], "|"))
		name, _, _ := strings.Cut(parts[len(parts)-1], ":")
		b := &branch{namespace: parts, name: name, status: "running"}
		above.children = append(above.children, b)
		known[ns] = b
		return b
	}
	for env, err := range s.opt.Journal.Read(ctx, runs[0].ID, 0) {
		if err != nil {
			return nil, err
		}
		// Of all kinds those matter that tell where there is a graph, and what became of it.
		switch e := env.Event.(type) {
		case event.CheckpointSaved:
			find(env.NS)
		case event.NodeStarted:
			find(env.NS)
			if b := known[below(env.NS, env.Node, e.Execution)]; b != nil && !b.task {
				b.status = "running" // again
			}
		case event.NodeEnded:
			b := known[below(env.NS, env.Node, e.Execution)]
			switch {
			case b == nil || b.task: // a node that is no graph
			case e.Error != nil:
				b.status = "failed"
			case len(e.Interrupts) > 0:
				b.status = "interrupted"
			default:
				b.status = "completed"
			}
		case event.TaskStarted:
			b := find(env.NS)
			b.status, b.task = "running", true
			if e.Agent != "" {
				b.name = e.Agent
			}
		case event.TaskEnded:
			find(env.NS).status = treeStatus(e.Status)
		case event.RunEnded:
			root.status = treeStatus(e.Status)
		}
	}
	return jsonvalue.Object{{"tree", root.json()}}, nil
}

func below(ns, node, execution string) string {
	part := node + ":" + execution
	if ns == "" {
		return part
	}
	return ns + "|" + part
}

func treeStatus(s event.Status) string {
	switch s {
	case event.Success:
		return "completed"
	case event.Interrupted, event.Cancelled:
		return "interrupted"
	case event.Failed, event.TimedOut:
	}
	return "failed"
}
