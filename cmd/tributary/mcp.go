package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/agent/toolsearch"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/internal/door"
	"github.com/tributary-ai/tributary/internal/outbound"
	"github.com/tributary-ai/tributary/internal/run"
	mcpserver "github.com/tributary-ai/tributary/internal/server/mcp"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/mcp"
)

// MCPConfig is the part of the file about MCP servers.
type MCPConfig struct {
	// Servers are those whose tools agents have, by name.
	Servers map[string]MCPServer `yaml:"servers"`
	// Allow are the ranges, addresses and hosts that servers may be at, beside public addresses.
	Allow []string `yaml:"allow"`
	// Requests says that a request may bring servers of its own, with mcp_settings. They have an address, never a command.
	Requests bool `yaml:"requests"`
	// Shown is how many tools a model is shown at once; those beyond are found with tool_search. 0 for the default.
	Shown int `yaml:"shown"`
}

// MCPServer is a server in the configuration. In a value of env, headers and oauth, and in the url, $NAME stands for a
// variable of the environment.
type MCPServer struct {
	Type    string            `yaml:"type"`
	Command string            `yaml:"command"`
	Args    []string          `yaml:"args"`
	Env     map[string]string `yaml:"env"`
	Dir     string            `yaml:"dir"`
	URL     string            `yaml:"url"`
	Headers map[string]string `yaml:"headers"`
	OAuth   struct {
		ClientID     string `yaml:"client_id"`
		ClientSecret string `yaml:"client_secret"`
	} `yaml:"oauth"`
	EnabledTools []string      `yaml:"enabled_tools"`
	AddToAgents  []string      `yaml:"add_to_agents"`
	Risk         []string      `yaml:"risk"`
	Session      string        `yaml:"session"`
	Timeout      time.Duration `yaml:"timeout"`
	StartTimeout time.Duration `yaml:"start_timeout"`
}

// server is the setting in the words of package mcp.
func (s MCPServer) server(name string) (mcp.Server, error) {
	var missing []string
	from := func(text string) string {
		return os.Expand(text, func(variable string) string {
			if variable == "$" {
				return "$"
			}
			value, ok := os.LookupEnv(variable)
			if !ok {
				missing = append(missing, variable)
			}
			return value
		})
	}
	out := mcp.Server{
		Name: name, Type: mcp.Transport(s.Type), Command: s.Command, Args: s.Args, Dir: s.Dir, URL: from(s.URL),
		Tools: s.EnabledTools, Agents: s.AddToAgents, Share: mcp.Share(s.Session), Timeout: s.Timeout, Start: s.StartTimeout,
	}
	if out.Type == "streamable_http" {
		out.Type = mcp.HTTP
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		out.Env = append(out.Env, name+"="+from(s.Env[name]))
	}
	for name, value := range s.Headers {
		if out.Headers == nil {
			out.Headers = map[string]string{}
		}
		out.Headers[name] = from(value)
	}
	if s.OAuth.ClientID != "" || s.OAuth.ClientSecret != "" {
		out.OAuth = &mcp.OAuth{ClientID: from(s.OAuth.ClientID), ClientSecret: from(s.OAuth.ClientSecret)}
	}
	for _, class := range s.Risk {
		risk, ok := tool.RiskOf(class)
		if !ok {
			return out, fmt.Errorf("configuration: mcp.servers.%s.risk: there is no class %q; there are reads, writes, executes, spends and leaves", name, class)
		}
		out.Risk |= risk
	}
	if len(missing) > 0 {
		return out, fmt.Errorf("configuration: mcp.servers.%s: the environment has no %s", name, strings.Join(missing, ", "))
	}
	return out, nil
}

// openHub opens the servers of the configuration. Nothing is started yet.
func openHub(config Config, log *slog.Logger) (*mcp.Hub, func() error, error) {
	allow, err := outbound.ParseAllow(config.MCP.Allow)
	if err != nil {
		return nil, nil, fmt.Errorf("configuration: mcp.allow: %w", err)
	}
	opt := mcp.Options{Version: versionText(), Log: log}
	longest := time.Minute
	for _, name := range slices.Sorted(maps.Keys(config.MCP.Servers)) {
		s, err := config.MCP.Servers[name].server(name)
		if err != nil {
			return nil, nil, err
		}
		longest = max(longest, s.Timeout)
		opt.Servers = append(opt.Servers, s)
	}
	// A server may answer a call when it is done, without a stream; each call has a limit of its own.
	client := outbound.New(outbound.Options{Allow: allow, Setting: "mcp.allow", Timeout: -1, Begin: longest + time.Second, MaxBody: -1})
	opt.HTTP = client.HTTP()
	hub, err := mcp.Open(opt)
	if err != nil {
		return nil, nil, fmt.Errorf("configuration: %w", err)
	}
	return hub, func() error {
		defer client.Close()
		return hub.Close()
	}, nil
}

// mcpKit has the tools of MCP servers, which are asked for them when a run needs them.
func mcpKit(_ *env, config Config, log *slog.Logger) (kit, error) {
	hub, end, err := openHub(config, log)
	if err != nil {
		return kit{}, err
	}
	k := kit{group: mcp.Group, close: end, off: "there are no servers in the configuration (mcp.servers)"}
	k.ask = func(ctx context.Context, owner string, s httpapi.MCPServer) ([]httpapi.MCPTool, error) {
		return askServer(ctx, hub, config.MCP, owner, s)
	}
	if n := len(config.MCP.Servers); n > 0 {
		for _, s := range hub.Servers() {
			k.servers = append(k.servers, httpapi.ToolServer{Name: s.Name, Type: string(s.Type), Agents: s.Agents, Only: s.Tools})
		}
		k.askNow = hub.Check
		k.off = fmt.Sprintf("%d servers are asked when a run needs them; tributary mcp list asks them now", n)
	}
	if len(config.MCP.Servers) == 0 && !config.MCP.Requests {
		// Also then a request that brings servers is refused, and not answered as if it had brought none.
		k.middleware = func(_ context.Context, c tributary.Config) ([]agent.Middleware, error) {
			_, err := guests(hub, config.MCP, c)
			return nil, err
		}
		k.role = func(_ context.Context, c tributary.Config, _ string) ([]agent.Middleware, error) {
			_, err := guests(hub, config.MCP, c)
			return nil, err
		}
		return k, nil
	}
	k.middleware = func(_ context.Context, c tributary.Config) ([]agent.Middleware, error) {
		brought, err := guests(hub, config.MCP, c)
		if err != nil {
			return nil, err
		}
		return offered(hub, config.MCP, mcp.Who{Agent: tributary.DefaultGraph, Owner: c.Owner, Thread: c.Thread}, brought), nil
	}
	k.role = func(_ context.Context, c tributary.Config, role string) ([]agent.Middleware, error) {
		brought, err := guests(hub, config.MCP, c)
		if err != nil {
			return nil, err
		}
		for _, s := range brought {
			if !slices.ContainsFunc(s.Agents, func(a string) bool { return slices.Contains(research.Roles, a) }) {
				return nil, &tributary.InvalidError{Field: "config.configurable." + settingsField,
					Reason: fmt.Sprintf("server %q: add_to_agents must name who has its tools: %s", s.Name, strings.Join(research.Roles, ", "))}
			}
		}
		who := mcp.Who{Agent: role, Owner: c.Owner, Thread: c.Thread, Named: true}
		if !hub.Offers(who, brought...) {
			return nil, nil
		}
		return offered(hub, config.MCP, who, brought), nil
	}
	return k, nil
}

// offered are the tools that servers have for somebody, who is asked for when a run needs them.
func offered(hub *mcp.Hub, config MCPConfig, who mcp.Who, brought []mcp.Server) []agent.Middleware {
	return []agent.Middleware{toolsearch.Middleware(mcp.Group, config.Shown, func(ctx context.Context, s *graph.Scope) ([]tool.Tool, error) {
		tools, problems := hub.Tools(ctx, who, brought...)
		for _, p := range problems {
			if err := s.Emit(ctx, event.Warned{Code: "mcp_server", Message: p.Err.Error()}); err != nil {
				return nil, err
			}
		}
		return tools, nil
	})}
}

// askServer asks a server that a request names for its tools, where requests may bring servers.
func askServer(ctx context.Context, hub *mcp.Hub, config MCPConfig, owner string, s httpapi.MCPServer) ([]httpapi.MCPTool, error) {
	if !config.Requests {
		return nil, fmt.Errorf("%w: requests may not bring MCP servers here (mcp.requests in the configuration)", tributary.ErrForbidden)
	}
	g := guest{Transport: s.Transport, URL: s.URL, Headers: s.Headers}.server("")
	g.Timeout, g.Start = s.Timeout, s.Timeout
	specs, err := hub.Ask(ctx, owner, g)
	var refused *mcp.AskError
	switch {
	case errors.Is(err, mcp.ErrCommand):
		return nil, fmt.Errorf("%w: %w", tributary.ErrForbidden, err)
	case errors.As(err, &refused):
		return nil, &tributary.InvalidError{Field: "url", Reason: err.Error()}
	case err != nil:
		return nil, err
	}
	tools := make([]httpapi.MCPTool, len(specs))
	for i, spec := range specs {
		tools[i] = httpapi.MCPTool{Name: spec.Name, Description: spec.Description, Schema: spec.Schema}
	}
	return tools, nil
}

// settingsField is where a request names servers, in its configurable values or its context.
const settingsField = "mcp_settings"

// guests are the servers that a request brings.
func guests(hub *mcp.Hub, config MCPConfig, c tributary.Config) ([]mcp.Server, error) {
	var said struct {
		Settings *struct {
			Servers map[string]guest `json:"servers"`
		} `json:"mcp_settings"`
	}
	for _, raw := range []json.RawMessage{c.Secrets.Fill(c.Context), c.Secrets.Fill(c.Configurable)} {
		var any map[string]json.RawMessage
		if json.Unmarshal(raw, &any) != nil || len(any[settingsField]) == 0 {
			continue // a context may be anything
		}
		if err := json.Unmarshal(raw, &said); err != nil {
			return nil, &tributary.InvalidError{Field: "config.configurable." + settingsField, Reason: `must be as in {"servers":{"name":{"url":"https://…"}}}`}
		}
		break // what one of them says is in both
	}
	if said.Settings == nil || len(said.Settings.Servers) == 0 {
		return nil, nil
	}
	var list []mcp.Server
	for _, name := range slices.Sorted(maps.Keys(said.Settings.Servers)) {
		list = append(list, said.Settings.Servers[name].server(name))
	}
	err := hub.Guests(list)
	switch {
	case errors.Is(err, mcp.ErrCommand):
		return nil, fmt.Errorf("%s: %w: %w", settingsField, tributary.ErrForbidden, err)
	case !config.Requests:
		return nil, fmt.Errorf("%s: %w: requests may not bring MCP servers here (mcp.requests in the configuration)", settingsField, tributary.ErrForbidden)
	case err != nil:
		return nil, &tributary.InvalidError{Field: "config.configurable." + settingsField, Reason: err.Error()}
	}
	return list, nil
}

// guest is a server as a request describes it. That it may not have a command is decided later, by all of its members.
type guest struct {
	Transport    string            `json:"transport"`
	Type         string            `json:"type"`
	Command      json.RawMessage   `json:"command"`
	Args         json.RawMessage   `json:"args"`
	Env          json.RawMessage   `json:"env"`
	URL          string            `json:"url"`
	Headers      map[string]string `json:"headers"`
	EnabledTools []string          `json:"enabled_tools"`
	AddToAgents  []string          `json:"add_to_agents"`
}

func (g guest) server(name string) mcp.Server {
	s := mcp.Server{Name: name, Type: mcp.Transport(firstOf(g.Type, g.Transport)), URL: g.URL, Headers: g.Headers, Tools: g.EnabledTools, Agents: g.AddToAgents}
	if s.Type == "streamable_http" {
		s.Type = mcp.HTTP
	}
	for _, raw := range []json.RawMessage{g.Command, g.Args, g.Env} {
		switch strings.TrimSpace(string(raw)) {
		case "", "null", `""`, "[]", "{}": // as clients write that there is none
		default:
			s.Command = "a command"
		}
	}
	return s
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

type mcpCmd struct {
	List  mcpListCmd  `cmd:"" help:"List the servers of the configuration, and their tools."`
	Check mcpCheckCmd `cmd:"" help:"Connect to the servers, and say what is wrong."`
	Serve mcpServeCmd `cmd:"" help:"Be an MCP server over standard input and output: every assistant is a tool."`
}

type mcpListCmd struct{}

// Run lists the tools of all servers.
func (mcpListCmd) Run(e *env) error {
	return e.eachServer("", func(w io.Writer, s mcp.Server, tools []tool.Tool, err error, _ time.Duration) {
		if err != nil {
			fmt.Fprintf(w, "-\t%s\t-\toff: %v\n", s.Name, err)
		}
		for _, t := range tools {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.Spec().Name, s.Name, t.Spec().Risk, firstSentence(t.Spec().Description))
		}
	}, "NAME\tSERVER\tCAN\tDOES")
}

type mcpCheckCmd struct {
	Name string `arg:"" optional:"" help:"The server to look at; all, if left out."`
}

// Run looks at servers, and fails if one of them cannot be used.
func (c mcpCheckCmd) Run(e *env) error {
	bad := 0
	err := e.eachServer(c.Name, func(w io.Writer, s mcp.Server, tools []tool.Tool, err error, took time.Duration) {
		where := firstOf(s.URL, strings.Join(append([]string{s.Command}, s.Args...), " "))
		if err != nil {
			bad++
			fmt.Fprintf(w, "%s\t%s\t%s\t%v\n", s.Name, s.Type, where, err)
			return
		}
		fmt.Fprintf(w, "%s\t%s\t%s\tok: %d tools in %v\n", s.Name, s.Type, where, len(tools), took.Round(time.Millisecond))
	}, "SERVER\tTYPE\tWHERE\tSTATE")
	if err == nil && bad > 0 {
		err = fmt.Errorf("%d of the MCP servers cannot be used", bad)
	}
	return err
}

// eachServer asks the servers of the configuration for their tools, one after the other.
func (e *env) eachServer(only string, show func(io.Writer, mcp.Server, []tool.Tool, error, time.Duration), head string) error {
	hub, end, err := openHub(e.config, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	servers := hub.Servers()
	if only != "" {
		servers = slices.DeleteFunc(servers, func(s mcp.Server) bool { return s.Name != only })
	}
	if len(servers) == 0 {
		return errors.Join(errors.New("there is no such MCP server in the configuration; name them under mcp.servers"), end())
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, head)
	for _, s := range servers {
		began := time.Now()
		tools, err := hub.Check(e.ctx, s.Name)
		show(w, s, tools, err, time.Since(began))
	}
	return errors.Join(w.Flush(), end())
}

type mcpServeCmd struct{}

// Run serves one client until it closes our input, or the process is told to stop.
func (mcpServeCmd) Run(e *env) error {
	log := slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	rt, err := e.open(e.config, log)
	if err != nil {
		return err
	}
	parts := door.Open(rt.Runtime)
	service := mcpserver.New(mcpserver.Options{
		Store: parts.Store, Engine: parts.Engine, Journal: parts.Journal, Folder: parts.Folder, Version: versionText(), Log: log,
	})
	err = service.Talk(e.ctx, run.Identity{Owner: tributary.DefaultOwner}, e.stdin, e.stdout)
	if e.ctx.Err() != nil {
		err = nil // it was told to stop
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), e.config.Drain)
	defer cancel()
	return errors.Join(err, rt.Close(ctx))
}
