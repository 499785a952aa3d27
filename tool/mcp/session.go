package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// server is a server with its sessions. What is not a setting is guarded by the hub's lock.
type server struct {
	Server
	hub   *Hub
	guest string // its key among the guests; empty for one of the configuration

	sessions map[string]*session // by scope
	catalog
}

// session is a connection to a server, for those who share it.
type session struct {
	server *server
	scope  string
	end    context.CancelFunc // of the attempt to connect, and of what the transport does by itself
	ready  chan struct{}      // closed when what follows is set
	client *mcp.ClientSession
	proc   *process // what was started for it; nil for none
	err    error    // why there is no client

	// Guarded by the hub's lock.
	uses    int
	since   time.Time // when it was last used
	idle    *time.Timer
	gone    bool // nobody else gets it
	closing bool
	flights map[string]*flight // calls under way, by the token of their progress
	alone   chan struct{}      // where calls wait for each other; nil while they need not
}

var errBusy = errors.New("too many sessions of MCP servers are in use; try again in a moment")

// acquire returns the session of a scope, which is made if there is none. It must be released.
func (s *server) acquire(ctx context.Context, scope string) (*session, error) {
	h := s.hub
	h.mu.Lock()
	ss := s.sessions[scope]
	if ss == nil {
		if err := h.admit(); err != nil {
			h.mu.Unlock()
			return nil, err
		}
		ss = &session{server: s, scope: scope, ready: make(chan struct{}), flights: map[string]*flight{}}
		s.sessions[scope] = ss
		h.count++
		var work context.Context
		work, ss.end = context.WithCancel(h.ctx)
		h.work.Go(func() { ss.connect(work) })
	}
	ss.uses++
	if ss.idle != nil {
		ss.idle.Stop()
	}
	h.mu.Unlock()
	select {
	case <-ss.ready:
	case <-ctx.Done():
		ss.release()
		return nil, context.Cause(ctx)
	}
	if ss.err != nil {
		ss.release()
		return nil, ss.err
	}
	return ss, nil
}

// admit makes room for a session. The caller holds the lock.
func (h *Hub) admit() error {
	if h.closed {
		return errClosed
	}
	if h.count < h.opt.Sessions {
		return nil
	}
	var oldest *session
	for s := range h.all() {
		for _, ss := range s.sessions {
			if ss.uses == 0 && (oldest == nil || ss.since.Before(oldest.since)) {
				oldest = ss
			}
		}
	}
	if oldest == nil {
		return errBusy
	}
	oldest.retire()
	return nil
}

// release says that a caller needs the session no more.
func (ss *session) release() {
	h := ss.server.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	ss.uses--
	if ss.uses > 0 {
		return
	}
	if ss.gone {
		ss.close()
		return
	}
	ss.since = time.Now()
	ss.idle = time.AfterFunc(h.opt.Idle, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if ss.uses == 0 {
			ss.retire()
		}
	})
}

// retire takes the session out of the pool: calls under way may end, the next one gets another. The caller holds the lock.
func (ss *session) retire() {
	if ss.gone {
		return
	}
	ss.gone = true
	s := ss.server
	delete(s.sessions, ss.scope)
	s.hub.count--
	s.hub.forget(s)
	if ss.idle != nil {
		ss.idle.Stop()
	}
	if ss.uses == 0 {
		ss.close()
	}
}

// drop is retire for a session that is of no use any more: calls under way fail. The caller holds the lock.
func (ss *session) drop() {
	ss.retire()
	ss.end()
	for _, f := range ss.flights {
		f.cancel(errDied)
	}
}

// close ends the connection, and the process, after everybody has left. The caller holds the lock.
func (ss *session) close() {
	if ss.closing {
		return
	}
	ss.closing = true
	ss.server.hub.work.Go(func() {
		defer ss.end()
		select {
		case <-ss.ready:
		default:
			ss.end()
			<-ss.ready
		}
		if ss.client == nil {
			return
		}
		left := make(chan struct{})
		go func() { // ends with the connection, which the process takes with it
			defer close(left)
			_ = ss.client.Close() // it may have ended by itself
		}()
		timer := time.NewTimer(farewell)
		defer timer.Stop()
		select {
		case <-left:
		case <-timer.C:
		}
		ss.end()
		if ss.proc != nil {
			ss.proc.stop()
		}
		<-left
	})
}

// farewell is how long a server may take to say goodbye.
const farewell = 2 * time.Second

// connect makes the connection, and then waits for its end.
func (ss *session) connect(ctx context.Context) {
	s := ss.server
	late := fmt.Errorf("it was not ready within %v", s.Start)
	trying, stop := context.WithCancelCause(ctx)
	timer := time.AfterFunc(s.Start, func() { stop(late) })
	transport, err := ss.transport()
	var client *mcp.ClientSession
	if err == nil {
		client, err = ss.newClient().Connect(trying, transport, nil)
	}
	inTime := timer.Stop()
	if err == nil && !inTime {
		_ = client.Close() // what matters is that it came too late
		client, err = nil, late
	}
	if err != nil && errors.Is(context.Cause(trying), late) {
		err = late
	}
	if err != nil {
		stop(err)
		if ss.proc != nil {
			ss.proc.stop()
			if said := ss.proc.said(); said != "" {
				err = fmt.Errorf("%w; it said: %s", err, said)
			}
		}
		ss.err = fmt.Errorf("the MCP server %s cannot be used: %w", s.Name, s.plainError(err))
		s.hub.opt.Log.Warn("an MCP server cannot be used", "server", s.Name, "err", s.plainError(err))
	}
	ss.client = client
	close(ss.ready)
	if err == nil {
		_ = client.Wait() // whatever ended it, it has ended
		stop(errDied)
	}
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	ss.drop()
}

// newClient makes the client of a session, so that what the server says by itself is known to be about it.
func (ss *session) newClient() *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "tributary", Version: cmp.Or(ss.server.hub.opt.Version, "dev")}, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}, // questions are asked in order, see flight.rounds
		ElicitationHandler: func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return ss.elicited(ctx, req.Params)
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { ss.server.changed() },
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			ss.progressed(req.Params)
		},
	})
}

// transport says how the server is spoken to; for one with a command it starts the process.
func (ss *session) transport() (mcp.Transport, error) {
	s := ss.server
	if s.Type == Stdio {
		var err error
		ss.proc, err = start(&s.Server)
		if err != nil {
			return nil, err
		}
		return &mcp.IOTransport{Reader: ss.proc.out, Writer: ss.proc.in, MaxLineLength: maxMessage}, nil
	}
	client := *s.hub.opt.HTTP
	client.Timeout = 0 // an answer is a stream; each call has its own time
	client.Transport = headers{base: client.Transport, set: s.Headers, url: s.URL}
	if s.Type == SSE {
		return &mcp.SSEClientTransport{Endpoint: s.URL, HTTPClient: &client, MaxEventSize: maxMessage}, nil
	}
	t := &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: &client, MaxEventSize: maxMessage, MaxRetries: 2}
	if s.OAuth != nil {
		h, err := newOAuth(s.OAuth, s.hub.opt.HTTP)
		if err != nil {
			return nil, err
		}
		t.OAuthHandler = h
	}
	return t, nil
}

// maxMessage bounds what a server may say at once, so that it cannot fill the memory.
const maxMessage = 16 << 20

// headers adds those of the settings to requests to the server itself; wherever else it leads us, they stay at home. It notes of a
// call whether the server knows its session.
type headers struct {
	base http.RoundTripper
	set  map[string]string
	url  string
}

func (h headers) RoundTrip(req *http.Request) (*http.Response, error) {
	if origin := req.URL.Scheme + "://" + req.URL.Host; len(h.set) > 0 && (h.url == origin || strings.HasPrefix(h.url, origin+"/") || strings.HasPrefix(h.url, origin+"?")) {
		req = req.Clone(req.Context())
		for name, value := range h.set {
			req.Header.Set(name, value)
		}
	}
	res, err := h.base.RoundTrip(req)
	if f, ok := req.Context().Value(flightKey{}).(*flight); ok && !f.sent.Swap(true) && err == nil && res.StatusCode == http.StatusNotFound {
		f.unknown.Store(true)
	}
	return res, err
}
