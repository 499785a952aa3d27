// Package mcp serves assistants to MCP clients: every assistant is a tool, threads and what was left in their outputs are
// resources. It is spoken at /mcp over streamable HTTP, and over the input and output of a process ([Service.Talk]).
//
// # Laws
//
//   - Every request has an owner. What belongs to another owner is neither listed nor found.
//   - A request stands alone: nothing is kept between two of them, so it does not matter which process answers the next.
//   - A call is a run like any other, in a thread that other dialects see too. Its text is told as progress while it
//     comes, to a client that wants progress.
//   - A client that cancels a call stops its run. A connection that breaks stops nothing, but with clients of the version
//     2026-07-28 and later, for which that is how to cancel.
//   - A run that stops to ask is no failure: the result says what is asked, and how to answer it.
package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
)

// Store is what is read.
type Store interface {
	run.Assistants
	graph.Checkpointer
	Thread(ctx context.Context, who run.Identity, id string) (run.Thread, error)
	SearchThreads(ctx context.Context, who run.Identity, q run.ThreadQuery) ([]run.Thread, int, error)
	ThreadRuns(ctx context.Context, who run.Identity, thread string, status run.Status, limit, offset int) ([]run.Run, error)
}

// Engine executes runs.
type Engine interface {
	Prepare(ctx context.Context, who run.Identity, o run.Order) (*run.Draft, error)
	Cancel(ctx context.Context, who run.Identity, id string, action run.Action) (run.Run, error)
	Asked(ctx context.Context, who run.Identity, thread string) ([]graph.Interrupt, error)
}

// Options are what the service needs. Folder may be nil: then there are no files. The rest is required.
type Options struct {
	Store   Store
	Engine  Engine
	Journal *journal.Journal
	// Folder opens the folder of a thread; who asked for it closes it.
	Folder func(who run.Identity, thread string) (*os.Root, error)
	// Closing ends what clients wait for; nil for never.
	Closing <-chan struct{}
	Version string
	Log     *slog.Logger
}

// Service serves assistants.
type Service struct {
	opt  Options
	http *sdk.StreamableHTTPHandler
}

// New makes the service.
func New(opt Options) *Service {
	s := &Service{opt: opt}
	s.http = sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		c := r.Context().Value(callerKey{}).(caller)
		return s.server(c)
	}, &sdk.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: edge.MaxBody,
		DisableLocalhostProtection: true, // the server looks at hosts and origins itself, and knows which it has
	})
	return s
}

// caller is who asks, and by what.
type caller struct {
	who  run.Identity
	left <-chan struct{} // closed when the connection has gone; nil where that ends the call anyway
}

type callerKey struct{}

// modern is the version of the protocol from which on a connection that is closed cancels its request.
const modern = "2026-07-28"

const versionHeader = "Mcp-Protocol-Version"

// Mount adds the routes.
func (s *Service) Mount(t *edge.Routes) {
	t.Section("mcp", "Assistants as tools, threads and their files as resources, for MCP clients")
	t.Handle("POST /mcp", s.serve, edge.Doc{Summary: "Speak the Model Context Protocol", Body: request{}, Status: []int{200, 202}, Stream: true, Fails: []int{406}})
	t.Handle("GET /mcp", s.refuse, edge.Doc{Summary: "There is no stream beside the requests", Status: []int{}, Fails: []int{405}})
	t.Handle("DELETE /mcp", s.refuse, edge.Doc{Summary: "There is no session to end", Status: []int{}, Fails: []int{405}})
}

// request is what is sent: a message of JSON-RPC.
type request struct {
	Version string          `json:"jsonrpc" required:"true" enum:"2.0"`
	ID      json.RawMessage `json:"id" doc:"of a request; a notice has none"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params" type:"object"`
}

// serve looks at a message before the SDK does, so that what is wrong with it is told as on every other route.
func (s *Service) serve(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req request
	raw, err := edge.DecodeRaw(w, r, &req)
	if err != nil {
		return err
	}
	if req.Version == "" {
		return run.Invalidf("jsonrpc", "is required")
	}
	if req.Version != "2.0" {
		return run.Invalidf("jsonrpc", "must be 2.0")
	}
	if err := edge.WantObject("params", req.Params); err != nil {
		return err
	}
	version := r.Header.Get(versionHeader)
	if known := sdk.SupportedProtocolVersions(); version != "" && version < modern && !slices.Contains(known, version) {
		return edge.RefuseField(http.StatusBadRequest, versionHeader, versionHeader+": there is no version "+strconv.Quote(version)+"; there are "+strings.Join(known, ", "))
	}
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if !strings.Contains(accept, "*/*") && (!strings.Contains(accept, "application/json") || !strings.Contains(accept, "text/event-stream")) {
		return edge.RefuseField(http.StatusNotAcceptable, "Accept", "Accept: must have application/json and text/event-stream")
	}
	c := caller{who: who}
	if version < modern {
		c.left = r.Context().Done()
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	r.Header.Set("Content-Type", "application/json")
	s.http.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, c)))
	return nil
}

func (s *Service) refuse(w http.ResponseWriter, r *http.Request, _ run.Identity) error {
	w.Header().Set("Allow", http.MethodPost)
	return edge.Refuse(http.StatusMethodNotAllowed, "MCP is spoken here with POST; there are no sessions")
}

// Talk speaks for an owner with one client, in lines of JSON, until the client ends what we read or ctx ends.
func (s *Service) Talk(ctx context.Context, who run.Identity, in io.Reader, out io.Writer) error {
	return s.server(caller{who: who}).Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(in), Writer: open{out}})
}

// open is a writer that somebody else closes.
type open struct{ io.Writer }

func (open) Close() error { return nil }

func (s *Service) server(c caller) *sdk.Server {
	srv := sdk.NewServer(&sdk.Implementation{Name: "tributary", Version: s.opt.Version}, &sdk.ServerOptions{
		Instructions: "Each tool is an assistant: give it a message, and the thread_id of an earlier result to go on with that conversation.",
		// What is listed and read belongs to one owner, and may be another in a moment.
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { *c = sdk.Cacheable{CacheScope: "private"} },
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}},
	})
	l := &listing{Service: s, caller: c, server: srv}
	srv.AddReceivingMiddleware(l.current)
	srv.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "thread", URITemplate: threadURI + "{thread_id}", MIMEType: "application/json", Description: "A conversation: its status, its messages, and what it asks.",
	}, l.readThread)
	srv.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "file", URITemplate: threadURI + "{thread_id}/outputs/{+path}", Description: "A file that an assistant made.",
	}, l.readFile)
	return srv
}
