package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/docs"
	"github.com/tributary-ai/tributary/model/registry"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/files"
	"github.com/tributary-ai/tributary/tool/search"
)

// runtime is the library with what the commands add to it: models from the configuration, tools, and search in documents.
type runtime struct {
	*tributary.Runtime
	models *registry.Registry
	index  *search.Index
	watch  func() // ends watching the documents
	hands  hands
}

// open starts a runtime as the configuration wants it. The folder's index of documents is touched only when the folder is
// ours: it may be another's who serves from it, with other documents.
func (e *env) open(config Config, log *slog.Logger) (*runtime, error) {
	models, err := config.models()
	if err != nil {
		return nil, err
	}
	hands, err := e.hands(config, log)
	if err != nil {
		return nil, err
	}
	agents, err := config.factory(hands, log)
	if err != nil {
		return nil, errors.Join(err, hands.Close())
	}
	d := &documents{ready: make(chan struct{})}
	opt := config.options()
	opt.Agent = agents.Graph
	if opt.Memory, err = config.memory(models); err != nil {
		return nil, errors.Join(err, hands.Close())
	}
	opt.Log, opt.Models, opt.Tools = log, models, append([]tool.Tool{search.ToolOf(d.wait, search.Area{Folder: files.Uploads, Label: path.Join(files.Top, files.Uploads)})}, hands.tools()...)
	opt.Middleware = hands.middleware
	opt.Expert = ownExperts(config, opt.Tools, log)
	if opt.Graphs, err = researchGraphs(config, models, hands, opt.Tools, log); err != nil {
		return nil, errors.Join(err, hands.Close())
	}
	rt, err := tributary.Open(e.ctx, opt)
	if err != nil {
		return nil, errors.Join(err, hands.Close())
	}
	index, err := e.openIndex(config, log)
	if err != nil {
		// Runs that went on already are handed over; those that wait for documents find them at the next start.
		now, cancel := context.WithCancel(context.WithoutCancel(e.ctx))
		cancel()
		return nil, errors.Join(err, rt.Close(now), hands.Close())
	}
	d.set(index)
	watching, stop := context.WithCancel(context.WithoutCancel(e.ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		index.Watch(watching, watchEvery)
	}()
	return &runtime{rt, models, index, func() { stop(); <-done }, hands}, nil
}

// watchEvery is how often the documents are looked at for changes.
const watchEvery = 3 * time.Second

// documents are those that the search tool looks into, once they are indexed. Runs that an earlier process left behind may
// ask for them before that.
type documents struct {
	ready chan struct{} // closed when index is there
	index *search.Index
}

func (d *documents) set(index *search.Index) {
	d.index = index
	close(d.ready)
}

func (d *documents) wait(ctx context.Context) (*search.Index, error) {
	select {
	case <-d.ready:
		return d.index, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close closes the runtime, then what its tools use.
func (r *runtime) Close(ctx context.Context) error {
	r.watch()
	return errors.Join(r.Runtime.Close(ctx), r.hands.Close(), r.index.Close())
}

// openIndex indexes the documents, with a progress line for people who wait. Those of the configuration have a file of
// their own: a chat without them must not cost the next server the work of indexing them again.
func (e *env) openIndex(config Config, log *slog.Logger) (*search.Index, error) {
	folders, err := config.folders()
	if err != nil {
		return nil, err
	}
	opt, err := documentSources(folders)
	if err != nil {
		return nil, err
	}
	if opt.Path = filepath.Join(config.Data, "search.db"); len(folders) > 0 {
		opt.Path = filepath.Join(config.Data, "documents.db")
	}
	bar := &progress{out: e.stderr, live: isTerminal(e.stderr)}
	opt.Progress, opt.Log = bar.show, log
	if err := config.embeddings(&opt, e.stderr); err != nil {
		return nil, err
	}
	index, err := search.Open(e.ctx, opt)
	bar.done()
	if err != nil {
		return nil, remedied{fmt.Errorf("index documents: %w", err), "if " + opt.Path + " is in the way, move it: it is built from the documents"}
	}
	if len(folders) > 0 {
		for _, line := range leftOut(index.LeftOut()) {
			fmt.Fprintln(e.stderr, line)
		}
	}
	return index, nil
}

// documentSources are the folders to search; without any, tributary's own documentation.
func documentSources(folders []string) (search.Options, error) {
	var opt search.Options
	for _, dir := range folders {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return opt, remedied{fmt.Errorf("documents: %w", err), "give folders that are there and that you may read with --docs, docs in the configuration, or tributary docs add"}
		}
		opt.Sources = append(opt.Sources, search.Source{Label: filepath.Base(dir), FS: root.FS()})
	}
	if len(folders) == 0 {
		opt.Sources = []search.Source{{Label: "tributary", FS: docs.FS}}
	}
	return opt, nil
}

// progress draws a line that is drawn over; for a few files it draws nothing.
type progress struct {
	out  interface{ Write([]byte) (int, error) }
	live bool // it is a terminal; elsewhere nothing can be drawn over
	any  bool
}

func (p *progress) show(s search.Progress) {
	if s.Total < 50 || !p.live {
		return
	}
	p.any = true
	const width = 30
	n := width * s.Done / s.Total
	fmt.Fprintf(p.out, "\rindexing documents [%s%s] %d/%d", strings.Repeat("#", n), strings.Repeat(".", width-n), s.Done, s.Total)
}

// done takes the line away: what follows is what the person asked for.
func (p *progress) done() {
	if p.any {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
