package chat

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

// Ask asks an MCP server for its tools, on behalf of an owner. An error that is run.ErrForbidden says that requests may not bring
// servers, and a [*run.InvalidError] what is wrong with this one; any other, in words for people, why it has not answered.
type Ask func(ctx context.Context, owner string, s Server) ([]ServerTool, error)

// Server is an MCP server as a request describes it. It has an address, never a command.
type Server struct {
	Transport string // streamable_http, http or sse; empty for the first
	URL       string
	Headers   map[string]string
	Timeout   time.Duration // of each thing that it is asked; 0 for the usual
}

// ServerTool is a tool of such a server, as the server calls it.
type ServerTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"inputSchema" type:"object"`
}

const (
	noServers = "MCP servers of requests are not asked here; allow them with mcp.requests in the configuration, or name servers under mcp.servers"
	noCommand = "a request may not start a process here; servers that are started belong into the configuration, under mcp.servers"
)

type serverRequest struct {
	Transport   string            `json:"transport" doc:"sse or streamable_http"`
	URL         string            `json:"url" required:"true"`
	Headers     map[string]string `json:"headers"`
	Seconds     *int              `json:"timeout_seconds" doc:"1 to 3600"`
	ReadSeconds *int              `json:"sse_read_timeout" doc:"not used: a server that says nothing is given up after timeout_seconds"`
	Command     json.RawMessage   `json:"command" doc:"never allowed, as are args and env"`
	Args        json.RawMessage   `json:"args"`
	Env         json.RawMessage   `json:"env"`
}

// serverAnswer is the request, which DeerFlow's page keeps as its setting, with the tools.
type serverAnswer struct {
	Transport   string            `json:"transport"`
	Command     *string           `json:"command"`
	Args        []string          `json:"args"`
	URL         string            `json:"url"`
	Env         map[string]string `json:"env"`
	Headers     map[string]string `json:"headers"`
	Seconds     *int              `json:"timeout_seconds"`
	ReadSeconds *int              `json:"sse_read_timeout"`
	Tools       []ServerTool      `json:"tools"`
}

// wantsProcess reports a request for a server that would have to be started.
func (q *serverRequest) wantsProcess() bool {
	if strings.EqualFold(strings.TrimSpace(q.Transport), "stdio") {
		return true
	}
	for _, raw := range []json.RawMessage{q.Command, q.Args, q.Env} {
		switch s := strings.Join(strings.Fields(string(raw)), ""); {
		case jsonvalue.IsNull(raw), s == `""`, s == "[]", s == "{}": // as clients write that there is none
		default:
			return true
		}
	}
	return false
}

// server lists the tools of an MCP server.
func (d Desk) server(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var q serverRequest
	if err := edge.Decode(w, r, &q); err != nil {
		return err
	}
	if q.wantsProcess() {
		return edge.RefuseField(http.StatusForbidden, "command", "command: "+noCommand)
	}
	s := Server{Transport: q.Transport, URL: q.URL, Headers: q.Headers}
	if q.Seconds != nil {
		if *q.Seconds < 1 || *q.Seconds > 3600 {
			return run.Invalidf("timeout_seconds", "must be between 1 and 3600")
		}
		s.Timeout = time.Duration(*q.Seconds) * time.Second
	}
	if strings.TrimSpace(q.URL) == "" {
		return run.Invalidf("url", "is required")
	}
	if d.Ask == nil {
		return explain(w, http.StatusNotImplemented, noServers)
	}
	tools, err := d.Ask(r.Context(), who.Owner, s)
	var invalid *run.InvalidError
	switch {
	case errors.Is(err, run.ErrForbidden), errors.As(err, &invalid):
		return err
	case err != nil && r.Context().Err() != nil:
		return err
	case err != nil:
		return explain(w, http.StatusBadGateway, err.Error())
	}
	if tools == nil {
		tools = []ServerTool{}
	}
	if q.Headers == nil {
		q.Headers = map[string]string{}
	}
	w.Header().Set("Cache-Control", "no-store") // it has what the request had, which may be confidential
	return edge.Answer(w, http.StatusOK, serverAnswer{Transport: q.Transport, Args: []string{}, URL: q.URL, Env: map[string]string{}, Headers: q.Headers, Seconds: q.Seconds, ReadSeconds: q.ReadSeconds, Tools: tools})
}
