package ui_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/docs"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/model/registry"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/search"
)

// performOffline serves what somebody finds who has just installed it: the offline model, our own documents, research and teams.
func performOffline(dir, addr string) error {
	ctx := context.Background()
	models, err := registry.New(registry.Options{Getenv: func(string) string { return "" }})
	if err != nil {
		return err
	}
	var index *search.Index
	ready := make(chan struct{})
	tools := []tool.Tool{search.ToolOf(func(ctx context.Context) (*search.Index, error) {
		select {
		case <-ready:
			return index, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})}
	research, err := tributary.Research(tributary.ResearchOptions{Models: models, Tools: tools})
	if err != nil {
		return err
	}
	rt, err := tributary.Open(ctx, tributary.Options{
		Dir: dir, Models: models, Tools: tools, Team: true, Files: true, Graphs: map[string]tributary.Builder{tributary.ResearchGraph: research, tributary.ResearchAlias: research},
	})
	if err != nil {
		return err
	}
	if index, err = search.Open(ctx, search.Options{Path: filepath.Join(dir, "search.db"), Sources: []search.Source{{Label: "tributary", FS: docs.FS}}}); err != nil {
		return err
	}
	close(ready)
	srv, err := httpapi.New(rt, httpapi.Options{Page: page(), Model: "offline", Models: []httpapi.Model{{Name: "offline", Provider: "offline", Default: true, Usable: true}}, Documents: func(ctx context.Context, query string, limit int) (httpapi.Found, error) {
		var out httpapi.Found
		passages, err := index.Search(ctx, query, limit)
		for _, f := range passages {
			out.Passages = append(out.Passages, httpapi.Passage{Title: f.Title, Trail: f.Trail, Path: f.Path, Anchor: f.Anchor, Position: f.Position(), Snippet: f.Snippet("«", "»"), Text: f.Text})
		}
		return out, err
	}})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	return http.Serve(l, srv)
}
