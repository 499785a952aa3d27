package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tributary-ai/tributary/tool"
)

// Group is the group of all tools of MCP servers.
const Group = "mcp"

// Options are a hub's settings.
type Options struct {
	// Servers are those of the operator, the only ones that may be started.
	Servers []Server
	// HTTP makes all requests. It is required for servers with a URL, and must bound where they may go: see internal/outbound.
	HTTP *http.Client
	// Idle is how long a session is kept that nobody uses. Default 5 min.
	Idle time.Duration
	// Sessions is how many there may be at once. Default 64.
	Sessions int
	// Version is what servers are told of us.
	Version string
	Log     *slog.Logger
}

// Hub has servers and their sessions. It is safe for concurrent use.
type Hub struct {
	opt   Options
	ctx   context.Context // ends with the hub
	end   context.CancelFunc
	order []*server // those of the configuration
	work  sync.WaitGroup

	mu     sync.Mutex // guards what follows, and the servers' and sessions' own state
	guests map[string]*server
	count  int // of sessions
	closed bool
}

// Open checks the settings. Nothing is started before somebody wants the tools of a server.
func Open(opt Options) (*Hub, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	opt.Idle, opt.Sessions = cmp.Or(opt.Idle, 5*time.Minute), cmp.Or(opt.Sessions, 64)
	h := &Hub{opt: opt, guests: map[string]*server{}}
	names := map[string]bool{}
	for _, s := range opt.Servers {
		if err := h.check(&s); err != nil {
			return nil, err
		}
		if names[s.Name] {
			return nil, fmt.Errorf("MCP server %s: there are two of this name; rename one", s.Name)
		}
		names[s.Name] = true
		h.order = append(h.order, &server{Server: s, hub: h, sessions: map[string]*session{}})
	}
	h.ctx, h.end = context.WithCancel(context.Background())
	return h, nil
}

func (h *Hub) check(s *Server) error {
	if err := s.check(); err != nil {
		return err
	}
	if s.URL != "" && h.opt.HTTP == nil {
		return fmt.Errorf("MCP server %s: there is no HTTP client to reach it with", s.Name)
	}
	return nil
}

// Who says for whom tools are wanted.
type Who struct {
	Agent, Owner, Thread string
	// Named says that the agent has the tools of those servers only that name it.
	Named bool
}

// Problem is a server whose tools are not there.
type Problem struct {
	Server string
	Err    error
}

// Tools are what the servers offer to an agent, and the servers that could not be asked. Guests are servers that came with
// the request; see [Hub.Guests]. All servers are asked at once, and what they answered is remembered for a while.
func (h *Hub) Tools(ctx context.Context, who Who, guests ...Server) ([]tool.Tool, []Problem) {
	var asked []*server
	for _, s := range h.order {
		if s.offers(who) {
			asked = append(asked, s)
		}
	}
	var problems []Problem
	for _, g := range guests {
		s, err := h.guest(who.Owner, g)
		switch {
		case err != nil:
			problems = append(problems, Problem{g.Name, err})
		case s.offers(who):
			asked = append(asked, s)
		}
	}
	type answer struct {
		tools []*remote
		err   error
	}
	answers := make([]answer, len(asked))
	var wait sync.WaitGroup
	for i, s := range asked {
		wait.Go(func() { answers[i].tools, answers[i].err = s.list(ctx, who) })
	}
	wait.Wait()
	var tools []tool.Tool
	for i, a := range answers {
		if a.err != nil {
			problems = append(problems, Problem{asked[i].Name, a.err})
		}
		for _, t := range a.tools {
			tools = append(tools, t)
		}
	}
	return tools, problems
}

// Offers reports whether there is a server whose tools an agent has. Nobody is asked.
func (h *Hub) Offers(who Who, guests ...Server) bool {
	for _, s := range h.order {
		if s.offers(who) {
			return true
		}
	}
	return slices.ContainsFunc(guests, func(s Server) bool { return s.offers(who) })
}

// Guests checks servers that come with a request. They have an address, and no name of the operator's.
func (h *Hub) Guests(list []Server) error {
	names := map[string]bool{}
	for _, s := range h.order {
		names[s.Name] = true
	}
	for _, s := range list {
		if s.Command != "" || s.Type == Stdio || len(s.Args)+len(s.Env) > 0 || s.Dir != "" {
			return fmt.Errorf("MCP server %.40q: %w", s.Name, ErrCommand)
		}
		if names[s.Name] {
			return fmt.Errorf("MCP server %.40q: there is one of this name already; choose another", s.Name)
		}
		names[s.Name] = true
		if err := h.check(&s); err != nil {
			return err
		}
	}
	return nil
}

var errClosed = errors.New("tributary is shutting down")

// guest finds the server of an owner's request, so that the requests of a conversation share its sessions. It is forgotten
// with its last session.
func (h *Hub) guest(owner string, s Server) (*server, error) {
	if err := h.Guests([]Server{s}); err != nil {
		return nil, err
	}
	if s.Share == ByAll {
		s.Share = ByOwner
	}
	if err := h.check(&s); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	key := owner + "\x00" + hex.EncodeToString(sum[:])
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errClosed
	}
	if g := h.guests[key]; g != nil {
		return g, nil
	}
	if len(h.guests) >= 4*h.opt.Sessions {
		return nil, errors.New("too many servers came with requests; try again in a few minutes")
	}
	g := &server{Server: s, hub: h, guest: key, sessions: map[string]*session{}}
	h.guests[key] = g
	return g, nil
}

// forget lets a guest go that nobody uses. The caller holds the lock.
func (h *Hub) forget(s *server) {
	if s.guest != "" && len(s.sessions) == 0 && s.fetching == nil {
		delete(h.guests, s.guest)
	}
}

// Ask connects to a server that came with a request and returns its tools under the names that it gives them itself. It needs no
// name, and what it may be is bounded as by [Hub.Guests].
func (h *Hub) Ask(ctx context.Context, owner string, s Server) ([]tool.Spec, error) {
	s.Name = "asked"
	for slices.ContainsFunc(h.order, func(known *server) bool { return known.Name == s.Name }) {
		s.Name += "x"
	}
	g, err := h.guest(owner, s)
	if err != nil {
		return nil, &AskError{strings.TrimPrefix(err.Error(), "MCP server "+s.Name+": "), err}
	}
	found, err := g.list(ctx, Who{Owner: owner})
	if err != nil {
		return nil, err
	}
	specs := make([]tool.Spec, len(found))
	for i, r := range found {
		specs[i] = r.spec
		specs[i].Name = short(visible(r.name), maxMention)
	}
	return specs, nil
}

// AskError says why a server that came with a request is not asked at all.
type AskError struct {
	Says string
	Err  error
}

func (e *AskError) Error() string { return e.Says }
func (e *AskError) Unwrap() error { return e.Err }

// Check connects to a server of the configuration and returns its tools, or says why it cannot be used.
func (h *Hub) Check(ctx context.Context, name string) ([]tool.Tool, error) {
	for _, s := range h.order {
		if s.Name != name {
			continue
		}
		found, err := s.list(ctx, Who{})
		var tools []tool.Tool
		for _, t := range found {
			tools = append(tools, t)
		}
		return tools, err
	}
	return nil, fmt.Errorf("there is no MCP server %q in the configuration", name)
}

// Servers are those of the configuration, complete.
func (h *Hub) Servers() []Server {
	var list []Server
	for _, s := range h.order {
		list = append(list, s.Server)
	}
	return list
}

// Close ends all sessions and what was started for them, and waits until that is done. Calls under way fail.
func (h *Hub) Close() error {
	h.mu.Lock()
	h.closed = true
	var open []*session
	for s := range h.all() {
		for _, ss := range s.sessions {
			open = append(open, ss)
		}
	}
	for _, ss := range open {
		ss.drop()
	}
	h.mu.Unlock()
	h.end()
	h.work.Wait()
	return nil
}

// all are the servers of the configuration and the guests. The caller holds the lock.
func (h *Hub) all() func(yield func(*server) bool) {
	return func(yield func(*server) bool) {
		for _, s := range h.order {
			if !yield(s) {
				return
			}
		}
		for _, s := range h.guests {
			if !yield(s) {
				return
			}
		}
	}
}
