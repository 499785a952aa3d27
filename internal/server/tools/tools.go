// Package tools tells which tools agents have, and from which MCP servers they get more.
//
// # Laws
//
//   - It says what a tool is for and what a call can do, and never how it is reached: no address, no command and no key is part of it.
//   - Listing asks nobody and starts nothing. A server is connected to when its own tools are asked for, and only one that an
//     operator has configured.
package tools

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/tool"
)

// Box is what there is to tell.
type Box struct {
	// Tools are those that agents have, in the order in which they are listed.
	Tools []tool.Tool
	// Off are groups of tools that agents do not have, or not whole, each with the reason.
	Off map[string]string
	// Servers are the MCP servers of the configuration.
	Servers []Server
	// Ask connects to one of them and lists its tools; its error is shown to who asks. Nil where there are no servers.
	Ask func(ctx context.Context, server string) ([]tool.Tool, error)
}

// Server is an MCP server whose tools agents have.
type Server struct {
	Name string `json:"name"`
	Type string `json:"type" doc:"how it is spoken to: stdio, http or sse"`
	// Agents is never nil in an answer.
	Agents []string `json:"agents" doc:"who has its tools; empty: all"`
	Only   []string `json:"only" doc:"the tools that are taken, as the server calls them; empty: all"`
}

type shown struct {
	Name        string          `json:"name"`
	Group       string          `json:"group" doc:"tools of a group are switched on and off together"`
	Description string          `json:"description" doc:"what models are told of it"`
	Can         []string        `json:"can" doc:"what a call can do: reads, writes, executes, spends, leaves"`
	Schema      json.RawMessage `json:"schema,omitempty" doc:"the JSON schema of its arguments"`
}

type found struct {
	Tools   []shown `json:"tools"`
	Problem string  `json:"problem,omitempty" doc:"why the server cannot be used; it has no tools then"`
}

// Mount adds the routes.
func Mount(t *edge.Routes, box Box) {
	if box.Off == nil {
		box.Off = map[string]string{}
	}
	servers := slices.Clone(box.Servers)
	for i := range servers {
		servers[i].Agents, servers[i].Only = orEmpty(servers[i].Agents), orEmpty(servers[i].Only)
	}
	t.Section("tools", "Which tools agents have")
	t.Handle("GET /tools", func(w http.ResponseWriter, _ *http.Request, _ run.Identity) error {
		return edge.Answer(w, http.StatusOK, jsonvalue.Object{{"tools", show(box.Tools)}, {"off", box.Off}})
	}, edge.Doc{Summary: "List the tools that agents have, and why groups of them are off", Answer: jsonvalue.Object{{"tools", []shown{}}, {"off", map[string]string{}}}})
	t.Handle("GET /mcp/servers", func(w http.ResponseWriter, _ *http.Request, _ run.Identity) error {
		return edge.Answer(w, http.StatusOK, jsonvalue.Object{{"servers", orEmpty(servers)}})
	}, edge.Doc{Summary: "List the MCP servers whose tools agents have", Answer: jsonvalue.Object{{"servers", []Server{}}}})
	t.Handle("GET /mcp/servers/{server_name}/tools", func(w http.ResponseWriter, r *http.Request, _ run.Identity) error {
		name := r.PathValue("server_name")
		if box.Ask == nil || !slices.ContainsFunc(servers, func(s Server) bool { return s.Name == name }) {
			return edge.Refuse(http.StatusNotFound, "there is no such MCP server in the configuration")
		}
		list, err := box.Ask(r.Context(), name)
		out := found{Tools: show(list)}
		if err != nil {
			out = found{Tools: []shown{}, Problem: err.Error()}
		}
		return edge.Answer(w, http.StatusOK, out)
	}, edge.Doc{Summary: "Connect to an MCP server and list its tools, or say why it cannot be used", Answer: found{}, Fails: []int{404}})
}

func show(list []tool.Tool) []shown {
	out := []shown{}
	for _, t := range list {
		s := t.Spec()
		can := []string{}
		if s.Risk != 0 {
			can = strings.Split(s.Risk.String(), ", ")
		}
		out = append(out, shown{s.Name, s.Group, s.Description, can, s.Schema})
	}
	return out
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
