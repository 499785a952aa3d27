package ui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/docs"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/model/registry"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/files"
	"github.com/tributary-ai/tributary/tool/mcp"
	"github.com/tributary-ai/tributary/tool/search"
)

// furnish adds what fills the other pages of the library: memory, skills, and tools, among them those of MCP servers, of which one is not there.
func furnish(opt *tributary.Options) (*httpapi.Toolbox, error) {
	agents := tributary.AgentsIn(opt.Dir, nil)
	leading, err := lead.New(lead.Options{Agents: agents, Keeper: agents, Skills: tributary.SkillsIn(opt.Dir).Options(true, nil)})
	if err != nil {
		return nil, err
	}
	opt.Agent, opt.Memory = leading.Graph, &tributary.Memory{}
	boats := sdk.NewServer(&sdk.Implementation{Name: "boats", Version: "1"}, nil)
	boats.AddTool(&sdk.Tool{Name: "count", Description: "Counts boats.", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{}, nil
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() { // ends with the process
		_ = http.Serve(l, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return boats }, nil))
	}()
	hub, err := mcp.Open(mcp.Options{HTTP: &http.Client{Transport: http.DefaultTransport}, Servers: []mcp.Server{
		{Name: "boats", URL: "http://" + l.Addr().String(), Headers: map[string]string{"Authorization": "s3cret"}},
		{Name: "locks", Command: filepath.Join(opt.Dir, "no-such-program")},
	}})
	if err != nil {
		return nil, err
	}
	box := &httpapi.Toolbox{Tools: append(files.Tools(files.Options{}), opt.Tools...), Off: map[string]string{"web": "there is no key for a search engine"}, Ask: hub.Check}
	for _, s := range hub.Servers() {
		box.Servers = append(box.Servers, httpapi.ToolServer{Name: s.Name, Type: string(s.Type), Agents: s.Agents, Only: s.Tools})
	}
	return box, nil
}

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
	opt := tributary.Options{
		Dir: dir, Models: models, Tools: tools, Team: true, Files: true, Graphs: map[string]tributary.Builder{tributary.ResearchGraph: research, tributary.ResearchAlias: research},
	}
	var box *httpapi.Toolbox
	if os.Getenv("PAGE_CAST") == "whole" {
		if box, err = furnish(&opt); err != nil {
			return err
		}
	}
	rt, err := tributary.Open(ctx, opt)
	if err != nil {
		return err
	}
	if index, err = search.Open(ctx, search.Options{Path: filepath.Join(dir, "search.db"), Sources: []search.Source{{Label: "tributary", FS: docs.FS}}}); err != nil {
		return err
	}
	close(ready)
	srv, err := httpapi.New(rt, httpapi.Options{Page: page(), Tools: box, Model: "offline", Models: []httpapi.Model{{Name: "offline", Provider: "offline", Default: true, Usable: true}}, Documents: func(ctx context.Context, query string, limit int) (httpapi.Found, error) {
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
