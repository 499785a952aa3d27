// Package protocol2 serves the thread-centric protocol of LangGraph's newer clients: commands to a thread, and channels of
// its events, over server-sent events or one WebSocket.
//
// # Laws
//
//   - The events of a thread are numbered from run to run without end. Clients drop events whose numbers they have seen, so
//     no number is given twice, also where runs are removed (see [Numbers]).
//   - A stream stays open from run to run, and may be opened before its thread exists.
//   - On a socket every event is told once and in order, however many subscriptions want it; a new subscription is first
//     told what it missed.
package protocol2

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/feed"
	"github.com/tributary-ai/tributary/internal/server/langgraph/runs"
	"github.com/tributary-ai/tributary/internal/server/langgraph/state"
	"github.com/tributary-ai/tributary/internal/server/stream"
	"github.com/tributary-ai/tributary/internal/wire/protocol2"
	"github.com/tributary-ai/tributary/internal/wire/sse"
)

// Store is what the routes read.
type Store interface {
	state.Store
	feed.Runs
	Gapped
	Thread(ctx context.Context, who run.Identity, id string) (run.Thread, error)
}

// Runs starts runs.
type Runs interface {
	// StartAll creates a run on a thread, of which readers will see all that there is.
	StartAll(r *http.Request, who run.Identity, b *runs.Body, thread string) (run.Run, error)
}

// Options are what the routes need; all of it is required.
type Options struct {
	Store   Store
	Runs    Runs
	Journal *journal.Journal
	States  *state.Reader
	Threads *feed.Threads
	Numbers *Numbers
	Terms   *stream.Terms
}

// Service serves the protocol.
type Service struct{ opt Options }

// New makes the service.
func New(opt Options) *Service { return &Service{opt} }

// Mount adds its routes.
func (s *Service) Mount(t *edge.Routes) {
	t.Section("protocol 2", "Commands to a thread, and channels of its events from run to run")
	t.Handle("POST /threads/{thread_id}/commands", s.postCommand, edge.Doc{
		Summary: "Start a run, answer a question, read the state", Body: command{}, Answer: answer{},
	})
	t.Handle("POST /threads/{thread_id}/stream/events", s.streamEvents, edge.Doc{
		Summary: "Follow channels of a thread", Body: filterBody{}, Stream: true,
	})
	t.Handle("GET /threads/{thread_id}/stream/events", s.socketEvents, edge.Doc{
		Summary: "Commands and channels over a WebSocket", Status: []int{101}, Fails: []int{426},
	})
}

// replayRuns is how many of a thread's runs are told again to a reader that does not say what it has. Older ones are in
// the thread's state.
const replayRuns = 20

type filterBody struct {
	Channels   []string   `json:"channels" required:"true" doc:"values, updates, messages, tools, lifecycle, input, checkpoints, tasks, custom, or custom: and a name"`
	Namespaces [][]string `json:"namespaces" doc:"those to follow, with what is below"`
	Depth      *int       `json:"depth" doc:"how far below"`
	Since      uint64     `json:"since" doc:"go on after the event with this number"`
}

func (b *filterBody) filter() (protocol2.Filter, error) {
	f := protocol2.Filter{Channels: b.Channels, Namespaces: b.Namespaces, Depth: b.Depth, Since: b.Since}
	switch {
	case len(b.Channels) > 64:
		return f, run.Invalidf("channels", "are more than 64")
	case len(b.Namespaces) > 256:
		return f, run.Invalidf("namespaces", "are more than 256")
	case b.Depth != nil && *b.Depth < 0:
		return f, run.Invalidf("depth", "must not be negative")
	}
	if err := f.Validate(); err != nil {
		return f, run.Invalidf("channels", "%v", err)
	}
	return f, nil
}

// streamEvents is a stream of a thread's events, which stays open from run to run. The thread need not exist yet: clients
// that make its id themselves open the stream before they start the first run.
func (s *Service) streamEvents(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	thread, err := edge.PathThread(r)
	if err != nil {
		return err
	}
	var body filterBody
	if err := edge.Decode(w, r, &body); err != nil {
		return err
	}
	f, err := body.filter()
	if err != nil {
		return err
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" && last != "-1" {
		n, err := strconv.ParseUint(last, 10, 63)
		if err != nil {
			return run.Invalidf("Last-Event-ID", "must be a number")
		}
		f.Since = max(f.Since, n)
	}
	return s.opt.Terms.Play(w, r, s.channelReader(who, thread, f, false))
}

// channelReader is one reader's way through a thread.
type channelReader struct {
	*feed.Sequence
	opt    *Options
	who    run.Identity
	thread string
	filter protocol2.Filter
	wants  func(*protocol2.Event) bool // the filter's Match, unless somebody else decides
	lines  bool                        // one line of JSON for each event, for WebSockets

	proj   *protocol2.Projector // nil until the first poll
	first  uint64               // number before the current run's
	ran    time.Time            // when the run started whose numbers were counted last
	undone bool                 // the current run was rolled back
	events []protocol2.Event
	buf    []byte
}

func (s *Service) channelReader(who run.Identity, thread string, f protocol2.Filter, lines bool) *channelReader {
	c := &channelReader{Sequence: s.opt.Threads.Follow(who, thread), opt: &s.opt, who: who, thread: thread, filter: f, lines: lines}
	c.wants = c.filter.Match
	return c
}

func (c *channelReader) Look(time.Time) bool {
	c.Sequence.Look()
	return true
}

// Poll returns the events that match, or a bell. There is no end.
func (c *channelReader) Poll(ctx context.Context) ([]byte, <-chan struct{}, error) {
	if c.proj == nil {
		if err := c.open(ctx); err != nil {
			return nil, nil, err
		}
	}
	for {
		events, ended, bell, err := c.Sequence.Poll(ctx)
		if err != nil || bell != nil {
			return nil, bell, err
		}
		if ended {
			if err := c.end(ctx); err != nil {
				return nil, nil, err
			}
			continue
		}
		c.buf = c.buf[:0]
		for i := range events {
			err := c.take(ctx, &events[i])
			if feed.Gone(err) { // rolled back while it was read
				c.Abandon()
				if err = c.end(ctx); err == nil {
					break
				}
			}
			if err != nil {
				return nil, nil, err
			}
		}
		if len(c.buf) > 0 {
			return c.buf, nil, nil
		}
	}
}

// open counts the numbers of the runs that the reader does not want to see again.
func (c *channelReader) open(ctx context.Context) error {
	runs, err := c.Ahead(ctx)
	if err != nil {
		return err
	}
	gaps, err := c.opt.Store.Gaps(ctx, c.who, c.thread)
	if err != nil {
		return err
	}
	var base uint64
	for i, r := range runs {
		if !r.Status.Ended() || c.filter.Since == 0 && i >= len(runs)-replayRuns {
			break
		}
		n, err := c.opt.Numbers.of(ctx, c.who, r)
		if err != nil {
			return err
		}
		n += between(gaps, c.ran, r.StartedAt)
		if c.filter.Since > 0 && base+n > c.filter.Since {
			break
		}
		base += n
		c.ran = r.StartedAt
		c.Skip(r)
	}
	c.proj = c.projector(base)
	return nil
}

func (c *channelReader) projector(base uint64) *protocol2.Projector {
	return protocol2.New(protocol2.Options{States: newThreadStates(c.opt.States, c.opt.Store, c.who, c.thread), Base: base, Only: &c.filter})
}

// take projects an event.
func (c *channelReader) take(ctx context.Context, env *event.Envelope) (err error) {
	if env.Seq == 1 {
		gaps, err := c.opt.Store.Gaps(ctx, c.who, c.thread)
		if err != nil {
			return err
		}
		if skipped := between(gaps, c.ran, c.Began()); skipped > 0 {
			c.proj = c.projector(c.proj.Seq() + skipped)
		}
		c.first, c.ran, c.undone = c.proj.Seq(), c.Began(), false
	}
	if e, ok := env.Event.(event.RunEnded); ok {
		c.undone = e.Reason == string(run.RollbackRun)
	}
	c.events, err = c.proj.Events(c.events[:0], env)
	for i := range c.events {
		e := &c.events[i]
		switch {
		case !c.wants(e):
		case c.lines:
			c.buf = append(append(c.buf, e.Data...), '\n')
		default:
			c.buf = sse.Append(c.buf, e.Name, e.Data, e.ID)
		}
	}
	return err
}

// end remembers the numbers of a run that no longer exists.
func (c *channelReader) end(ctx context.Context) error {
	n := c.proj.Seq() - c.first
	if !c.undone && !c.Removed() || n == 0 {
		return nil
	}
	err := c.opt.Store.NoteGap(ctx, c.who, c.thread, run.Gap{At: c.ran, Count: n})
	if err != nil && !errors.Is(err, run.ErrNotFound) { // of a thread that is gone nothing is sent any more
		return err
	}
	c.first = c.proj.Seq()
	return nil
}
