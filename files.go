package tributary

import (
	"context"
	"errors"
	"os"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/background"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/workspace"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/files"
)

// fileTools are the built-in agent's tools for files, if it has them.
func (r *Runtime) fileTools() []tool.Tool {
	if !r.opt.Files {
		return nil
	}
	return files.Tools(files.Options{Room: r.quota().Room, Keep: r.quota().Keep})
}

// quota is how full the folder of a thread may be.
func (r *Runtime) quota() workspace.Quota {
	return workspace.Quota{Bytes: r.opt.ThreadBytes, Files: r.opt.ThreadFiles}
}

// fileState is what the built-in agent's state has for files: those that were presented.
func (r *Runtime) fileState() []agent.Middleware {
	if !r.opt.Files {
		return nil
	}
	return []agent.Middleware{{Name: files.Group, Fields: []graph.AnyField{graph.Union[string](files.Artifacts)}}}
}

// folder opens the folder of a thread; work in the background is done in that of the thread which wants it.
func (r *Runtime) folder(who run.Identity, id string) (*os.Root, error) {
	id, _ = background.Parent(id)
	th, err := r.db.Thread(r.over, who, id)
	if err != nil {
		return nil, err
	}
	return r.folders.Open(placeOf(th))
}

func placeOf(th run.Thread) workspace.Thread {
	return workspace.Thread{Owner: th.Owner, ID: th.ID, Born: th.CreatedAt}
}

// removeFolders takes away the folders of threads that are gone. What fails is tried again when the runtime is next opened.
func (r *Runtime) removeFolders(gone []run.Thread) {
	for _, th := range gone {
		if err := r.folders.Remove(placeOf(th)); err != nil {
			r.log.Warn("files of a deleted thread are left until the next start", "thread", th.ID, "err", err)
		}
	}
}

// sweepFolders takes away what a crash, or an error, left behind.
func (r *Runtime) sweepFolders(ctx context.Context) {
	err := r.folders.Sweep(ctx, func(ctx context.Context, t workspace.Thread) (bool, error) {
		th, err := r.db.Thread(ctx, run.Identity{Owner: t.Owner}, t.ID)
		if errors.Is(err, run.ErrNotFound) {
			return false, nil
		}
		return err == nil && th.CreatedAt.UnixMicro() == t.Born.UnixMicro(), err
	})
	if err != nil && ctx.Err() == nil {
		r.log.Warn("files of deleted threads are left until the next start", "err", err)
	}
}
