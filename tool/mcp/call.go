package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// remote is a tool of a server.
type remote struct {
	server *server
	name   string // as the server calls it
	spec   tool.Spec
}

var _ tool.Tool = (*remote)(nil)

func (r *remote) Spec() tool.Spec { return r.spec }

var (
	errDied = errors.New("the server ended, or its connection broke")
	errLate = errors.New("the server did not answer in time")
)

// Call makes the call in the session of the thread. A server that has forgotten the session did nothing, and is asked again.
func (r *remote) Call(ctx context.Context, call tool.Call) (item.ToolResult, error) {
	for again := true; ; again = false {
		res, err := r.once(ctx, call)
		if again && errors.Is(err, mcp.ErrSessionMissing) {
			continue
		}
		return res, err
	}
}

func (r *remote) once(ctx context.Context, call tool.Call) (item.ToolResult, error) {
	s := r.server
	ss, err := s.acquire(ctx, s.scope(call.Owner, call.Thread))
	if err != nil {
		return item.ToolResult{}, err
	}
	defer ss.release()
	limited, stop := context.WithTimeoutCause(ctx, s.Timeout, errLate)
	defer stop()
	f := &flight{session: ss, scope: call.Scope}
	var calling context.Context
	calling, f.cancel = context.WithCancelCause(context.WithValue(limited, flightKey{}, f))
	defer f.cancel(nil)
	if err := ss.begin(calling, f); err != nil {
		return item.ToolResult{}, err
	}
	defer ss.over(f)

	type outcome struct {
		res *mcp.CallToolResult
		err error
	}
	done := make(chan outcome, 1)
	go func() { // ends with the call, or with the session: a server that does not read can hold it up no longer
		res, err := f.rounds(calling, r.name, call.Arguments)
		done <- outcome{res, err}
	}()
	var o outcome
	select {
	case o = <-done:
	case <-calling.Done():
		o.err = context.Cause(calling)
	}
	if asked := f.finish(); asked != nil {
		return item.ToolResult{}, asked
	}
	if o.err != nil && f.unknown.Load() {
		o.err = mcp.ErrSessionMissing
	}
	if o.err != nil {
		return item.ToolResult{}, r.failure(ss, calling, o.err)
	}
	return resultOf(o.res, s.mask), nil
}

// failure says what went wrong with a call, and takes a session out of use that cannot be trusted any more.
func (r *remote) failure(ss *session, ctx context.Context, err error) error {
	var refused *jsonrpc.Error
	if errors.As(err, &refused) && context.Cause(ctx) == nil {
		return fmt.Errorf("the MCP server %s refused the call: %w", r.server.Name, r.server.plainError(err))
	}
	cause := context.Cause(ctx)
	if cause != nil && !errors.Is(cause, errLate) && !errors.Is(cause, errDied) {
		return cause // it was stopped; the server is told, and stays
	}
	r.server.hub.mu.Lock()
	ss.retire()
	r.server.hub.mu.Unlock()
	switch {
	case errors.Is(cause, errLate):
		return fmt.Errorf("the MCP server %s did not answer within %v, and nobody knows what it has done", r.server.Name, r.server.Timeout)
	case errors.Is(err, mcp.ErrSessionMissing):
		return fmt.Errorf("the MCP server %s has lost the session: %w", r.server.Name, mcp.ErrSessionMissing)
	case errors.Is(cause, errDied), errors.Is(err, mcp.ErrConnectionClosed), errors.Is(err, io.EOF): // which of them is seen first is a matter of luck
		text := fmt.Sprintf("the MCP server %s ended during the call, and nobody knows what it has done; the next call starts it again", r.server.Name)
		if ss.proc != nil {
			if said := ss.proc.said(); said != "" {
				text += ". It said: " + said
			}
		}
		return errors.New(text)
	}
	return fmt.Errorf("the call of the MCP server %s failed: %w", r.server.Name, r.server.plainError(err))
}

// flightKey is where the context of a call has its flight, for those who see its requests.
type flightKey struct{}

// flight is a call under way.
type flight struct {
	session *session
	// sent says that a request was made for the call, and unknown that the first was answered with 404: the server does not know the
	// session, and has done nothing. That ends the session too, and which of the two the SDK tells the call is a matter of luck.
	sent, unknown atomic.Bool
	token         string
	alone         bool // no other call of the session is under way
	cancel        context.CancelCauseFunc

	mu    sync.Mutex
	scope tool.Scope // nil once the call has returned
	told  time.Time  // when progress was last told
	asked error      // what the tool must return, since a person is asked
}

// finish ends what the server can still say about the call.
func (f *flight) finish() (asked error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scope = nil
	return f.asked
}

var tokens atomic.Uint64

// begin notes that a call is under way. Once a server has asked a question that could not be told whose it is, calls of
// the session wait for each other.
func (ss *session) begin(ctx context.Context, f *flight) error {
	h := ss.server.hub
	h.mu.Lock()
	turn := ss.alone
	h.mu.Unlock()
	if turn != nil {
		select {
		case turn <- struct{}{}:
			f.alone = true
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	f.token = "call-" + strconv.FormatUint(tokens.Add(1), 10)
	h.mu.Lock()
	defer h.mu.Unlock()
	ss.flights[f.token] = f
	return nil
}

func (ss *session) over(f *flight) {
	h := ss.server.hub
	h.mu.Lock()
	delete(ss.flights, f.token)
	turn := ss.alone
	h.mu.Unlock()
	if f.alone {
		<-turn
	}
}

// maxRounds is how often a server may ask for more within one call.
const maxRounds = 10

// rounds makes a call; what newer servers want to know on the way is asked in the order of its names, so that a call
// that is made again asks in the same order.
func (f *flight) rounds(ctx context.Context, name string, args json.RawMessage) (*mcp.CallToolResult, error) {
	params := &mcp.CallToolParams{Name: name, Arguments: args}
	for range maxRounds {
		params.SetProgressToken(f.token)
		res, err := f.session.client.CallTool(ctx, params)
		if err != nil || !res.NeedsInput() {
			return res, err
		}
		params = &mcp.CallToolParams{Name: name, Arguments: args, RequestState: res.RequestState}
		if params.InputResponses, err = f.inputs(res.InputRequests); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the server asked for more than %d times", maxRounds)
}

// progressed passes on how a call is coming on, a few times a second.
func (ss *session) progressed(p *mcp.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	h := ss.server.hub
	h.mu.Lock()
	f := ss.flights[token]
	h.mu.Unlock()
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); f.scope != nil && (f.told.IsZero() || now.Sub(f.told) >= progressPause) {
		f.told = now
		f.scope.Progress(tool.Progress{Message: short(visible(ss.server.mask(p.Message)), maxMention), Done: finite(p.Progress), Total: finite(p.Total)})
	}
}

// progressPause lies between two tellings of progress. What comes sooner is passed over: the next says more.
const progressPause = 100 * time.Millisecond
