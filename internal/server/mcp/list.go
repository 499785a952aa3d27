package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tributary-ai/tributary/internal/run"
)

const (
	maxAssistants = 200
	maxName       = 64
	maxAbout      = 2000
)

// listing keeps a server's tools and resources as the store has them at the moment when somebody asks.
type listing struct {
	*Service
	caller
	server *sdk.Server

	mu        sync.Mutex
	tools     map[string]run.Assistant // what is on the server, by name
	resources map[string]bool          // by URI
}

// current looks into the store before lists are read and tools are called.
func (l *listing) current(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		var err error
		switch method {
		case "tools/list", "tools/call":
			err = l.refreshTools(ctx)
		case "resources/list":
			err = l.refreshResources(ctx)
		}
		if err != nil {
			l.opt.Log.ErrorContext(ctx, "an MCP request failed", "method", method, "err", err)
			return nil, errInternal
		}
		return next(ctx, method, req)
	}
}

// refreshTools makes a tool of each assistant.
func (l *listing) refreshTools(ctx context.Context) error {
	list, _, err := l.opt.Store.SearchAssistants(ctx, l.who, run.AssistantQuery{SortBy: "created_at", Asc: true, Limit: maxAssistants})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	tools := map[string]run.Assistant{}
	for _, a := range list {
		name := nameOf(a)
		if _, taken := tools[name]; taken {
			name = name[:min(len(name), maxName-9)] + "-" + a.ID[:min(len(a.ID), 8)]
		}
		tools[name] = a
		if was, ok := l.tools[name]; !ok || was.ID != a.ID || was.Version != a.Version || !was.UpdatedAt.Equal(a.UpdatedAt) {
			l.server.AddTool(&sdk.Tool{Name: name, Title: a.Name, Description: aboutOf(a), InputSchema: inputSchema, OutputSchema: outputSchema}, l.call(a))
		}
	}
	for name := range l.tools {
		if _, ok := tools[name]; !ok {
			l.server.RemoveTools(name)
		}
	}
	l.tools = tools
	return nil
}

// nameOf is an assistant's name as a tool's.
func nameOf(a run.Assistant) string {
	name := a.Name
	if name == "" {
		name = a.Graph
	}
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), maxName)]
}

func aboutOf(a run.Assistant) string {
	about := fmt.Sprintf("Asks the assistant %q, which works with the graph %q.", a.Name, a.Graph)
	if a.Name == "" {
		about = fmt.Sprintf("Asks the assistant %q.", a.Graph)
	}
	if a.Description != nil && *a.Description != "" {
		about = *a.Description
	}
	if r := []rune(about); len(r) > maxAbout {
		about = string(r[:maxAbout-1]) + "…"
	}
	return about
}

// input is what a tool is given.
type input struct {
	Message string          `json:"message"`
	Thread  string          `json:"thread_id"`
	Answer  json.RawMessage `json:"answer"`
	Input   json.RawMessage `json:"input"`
}

var inputSchema = json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{` +
	`"message":{"type":"string","description":"what to say to the assistant"},` +
	`"thread_id":{"type":"string","description":"the conversation to go on with, from an earlier result; leave it out to begin a new one"},` +
	`"answer":{"description":"the answer to what the conversation asks, instead of a message: a text, or what the question wants"},` +
	`"input":{"type":"object","description":"for an assistant that keeps no messages, instead of a message: the fields of its graph"}}}`)

// output is what a tool says beside its text.
type output struct {
	Thread   string     `json:"thread_id"`
	Run      string     `json:"run_id"`
	Status   string     `json:"status"`
	Text     string     `json:"text"`
	Question []question `json:"questions,omitempty"`
}

type question struct {
	ID      string          `json:"id"`
	Value   json.RawMessage `json:"value"`
	Options []string        `json:"options,omitempty"`
}

var outputSchema = json.RawMessage(`{"type":"object","required":["thread_id","run_id","status","text"],"properties":{` +
	`"thread_id":{"type":"string"},"run_id":{"type":"string"},"status":{"type":"string","enum":["success","interrupted","error","timeout","cancelled"]},` +
	`"text":{"type":"string"},"questions":{"type":"array","items":{"type":"object"}}}}`)
