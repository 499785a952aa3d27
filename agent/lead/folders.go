package lead

import (
	"context"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/graph"
)

// The folders of a thread, as package tool/files names them for models.
var threadFolders = Folders{
	Workspace: "/mnt/user-data/workspace", Uploads: "/mnt/user-data/uploads", Outputs: "/mnt/user-data/outputs",
}

// filesGroup is the group of the tools that reach them.
const filesGroup = "files"

// folders tells clients where the files of the thread are, once: after the first answer, since a hook before it would be visited
// after every tool call.
func folders(a *assembly) (agent.Middleware, string) {
	if !a.hasGroup(filesGroup) {
		return agent.Middleware{}, "the agent has no tools for files"
	}
	return agent.Middleware{
		Name: "thread_data", Fields: []graph.AnyField{ThreadData},
		After: agent.Hook{
			Due: func(s *agent.Step) bool { return ThreadData.Get(s.Scope) == nil },
			Do: func(context.Context, *agent.Step) (graph.Command, error) {
				where := threadFolders
				return graph.Update(ThreadData.Set(&where)), nil
			},
		},
	}, ""
}
