package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/internal/workspace"
	"github.com/tributary-ai/tributary/memory"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/files"
	"github.com/tributary-ai/tributary/tool/search"
)

// kit is a group of tools that the commands give to agents. What it needs is opened once, and closed with the runtime.
type kit struct {
	group string
	tools []tool.Tool
	// off says why the kit has no tools, or not all, and what to do about it; empty if nothing is missing.
	off string
	// middleware offers tools that are not known before a run; nil for none.
	middleware func(context.Context, tributary.Config) ([]agent.Middleware, error)
	// role offers such tools to a role of the research; nil for none.
	role func(ctx context.Context, c tributary.Config, role string) ([]agent.Middleware, error)
	// ask asks an MCP server that a request names for its tools; nil for none.
	ask func(ctx context.Context, owner string, s httpapi.MCPServer) ([]httpapi.MCPTool, error)
	// servers are where more tools come from, and askNow asks one of them now; nil for none.
	servers []httpapi.ToolServer
	askNow  func(ctx context.Context, server string) ([]tool.Tool, error)
	// close ends what the kit started; nil: nothing.
	close func() error
}

// kits are all groups of tools, in the order in which they are listed. A kit that cannot work is off and says why; an error
// is a mistake in the configuration.
var kits = []func(*env, Config, *slog.Logger) (kit, error){
	fileKit,
	mcpKit,
	webKit,
	sandboxKit,
	memoryKit,
	skillKit,
}

// hands are the kits of a process.
type hands []kit

func (e *env) hands(config Config, log *slog.Logger) (hands, error) {
	var all hands
	for _, open := range kits {
		k, err := open(e, config, log)
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all = append(all, k)
	}
	return all, nil
}

// tools are those of all kits but the ones that the runtime brings itself.
func (h hands) tools() []tool.Tool {
	var all []tool.Tool
	for _, k := range h {
		if k.group != files.Group && k.group != memory.Group {
			all = append(all, k.tools...)
		}
	}
	return all
}

// files are the tools that the runtime brings for its own agent, for graphs that it does not know.
func (h hands) files() []tool.Tool {
	for _, k := range h {
		if k.group == files.Group {
			return k.tools
		}
	}
	return nil
}

// box is what people can be told of the tools, with the search that every agent has.
func (h hands) box() *httpapi.Toolbox {
	box := &httpapi.Toolbox{Tools: []tool.Tool{search.ToolOf(nil)}, Off: h.off()}
	for _, k := range h {
		box.Tools = append(box.Tools, k.tools...)
		if k.askNow != nil {
			box.Servers, box.Ask = k.servers, k.askNow
			delete(box.Off, k.group) // its servers say more than that they are asked later
		}
	}
	return box
}

// off says of each group that is off, or not whole, why.
func (h hands) off() map[string]string {
	why := map[string]string{}
	for _, k := range h {
		if k.off != "" {
			why[k.group] = k.off
		}
	}
	return why
}

// middleware is that of all kits.
func (h hands) middleware(ctx context.Context, c tributary.Config) ([]agent.Middleware, error) {
	var all []agent.Middleware
	for _, k := range h {
		if k.middleware == nil {
			continue
		}
		more, err := k.middleware(ctx, c)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// role is what all kits offer to a role of the research.
func (h hands) role(ctx context.Context, c tributary.Config, role string) ([]agent.Middleware, error) {
	var all []agent.Middleware
	for _, k := range h {
		if k.role == nil {
			continue
		}
		more, err := k.role(ctx, c, role)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// ask is how MCP servers of requests are asked; nil if they are not.
func (h hands) ask() func(context.Context, string, httpapi.MCPServer) ([]httpapi.MCPTool, error) {
	for _, k := range h {
		if k.ask != nil {
			return k.ask
		}
	}
	return nil
}

// Close ends what the kits started, the last first.
func (h hands) Close() error {
	var errs []error
	for _, k := range slices.Backward(h) {
		if k.close != nil {
			errs = append(errs, k.close())
		}
	}
	return errors.Join(errs...)
}

// fileKit lists the tools for files; the runtime makes its own from the same settings.
func fileKit(_ *env, config Config, _ *slog.Logger) (kit, error) {
	if !config.Files {
		return kit{group: files.Group, off: "files is false in the configuration"}, nil
	}
	quota := workspace.Quota{Bytes: config.ThreadBytes, Files: config.ThreadFiles}
	return kit{group: files.Group, tools: files.Tools(files.Options{Room: quota.Room})}, nil
}

type toolsCmd struct{}

// Run lists the tools that agents can be given: what a call can do, and why one is missing.
func (toolsCmd) Run(e *env) error {
	all, err := e.hands(e.config, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	all = append(hands{{group: search.Group, tools: []tool.Tool{search.ToolOf(nil)}}}, all...)
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tGROUP\tCAN\tDOES")
	for _, k := range all {
		for _, t := range k.tools {
			spec := t.Spec()
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", spec.Name, k.group, spec.Risk, firstSentence(spec.Description))
		}
		if k.off != "" {
			fmt.Fprintf(w, "-\t%s\t-\toff: %s\n", k.group, k.off)
		}
	}
	return errors.Join(w.Flush(), all.Close())
}

// firstSentence is as much of a description as a table has room for.
func firstSentence(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if i := strings.Index(text, ". "); i >= 0 {
		text = text[:i+1]
	}
	if r := []rune(text); len(r) > 90 {
		text = string(r[:89]) + "…"
	}
	return text
}
