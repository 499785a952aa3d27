package server

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/wire/protocol2"
	"github.com/tributary-ai/tributary/internal/wire/sse"
)

// protocol2Routes are the thread-centric protocol of LangGraph's newer clients.
func (s *Server) protocol2Routes() {
	s.handle("POST /threads/{thread_id}/commands", s.postCommand)
	s.handle("POST /threads/{thread_id}/stream/events", s.streamEvents)
	s.handle("GET /threads/{thread_id}/stream/events", s.socketEvents)
}

// replayRuns is how many of a thread's runs are told again to a reader that does not say what it has. Older ones are in
// the thread's state.
const replayRuns = 20

type filterBody struct {
	Channels   []string   `json:"channels"`
	Namespaces [][]string `json:"namespaces"`
	Depth      *int       `json:"depth"`
	Since      uint64     `json:"since"`
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
func (s *Server) streamEvents(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	thread, err := pathID(r, "thread_id")
	if err != nil {
		return err
	}
	var body filterBody
	if err := decode(w, r, &body); err != nil {
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
	src := s.channelReader(who, thread, f, false)
	defer src.close()
	_, err = s.play(w, r, src)
	return err
}

// channelReader is one reader's way through a thread.
type channelReader struct {
	*sequence
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

func (s *Server) channelReader(who run.Identity, thread string, f protocol2.Filter, lines bool) *channelReader {
	c := &channelReader{sequence: s.sequence(who, thread), filter: f, lines: lines}
	c.wants = c.filter.Match
	return c
}

func (c *channelReader) look(time.Time) bool {
	c.sequence.look()
	return true
}

// poll returns the events that match, or a bell. There is no end.
func (c *channelReader) poll(ctx context.Context) ([]byte, <-chan struct{}, error) {
	if c.proj == nil {
		if err := c.open(ctx); err != nil {
			return nil, nil, err
		}
	}
	for {
		events, ended, bell, err := c.sequence.poll(ctx)
		if err != nil || bell != nil {
			return nil, bell, err
		}
		if ended {
			c.end()
			continue
		}
		c.buf = c.buf[:0]
		for i := range events {
			err := c.take(&events[i])
			if isGone(err) { // rolled back while it was read
				c.removed = true
				c.leave()
				c.end()
				break
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
	runs, err := c.started(ctx)
	if err != nil {
		return err
	}
	var base uint64
	for i, r := range runs {
		if !r.Status.Ended() || c.filter.Since == 0 && i >= len(runs)-replayRuns {
			break
		}
		n, err := c.s.counts.of(ctx, c.s, c.who, r)
		if err != nil {
			return err
		}
		n += c.s.gaps.between(c.thread, c.ran, r.StartedAt)
		if c.filter.Since > 0 && base+n > c.filter.Since {
			break
		}
		base += n
		c.ran, c.after, c.current = r.StartedAt, r.StartedAt, r.ID
	}
	c.proj = c.projector(base)
	return nil
}

func (c *channelReader) projector(base uint64) *protocol2.Projector {
	return protocol2.New(protocol2.Options{States: &threadStates{s: c.s, who: c.who, thread: c.thread}, Base: base, Only: &c.filter})
}

// take projects an event.
func (c *channelReader) take(env *event.Envelope) (err error) {
	if env.Seq == 1 {
		if skipped := c.s.gaps.between(c.thread, c.ran, c.after); skipped > 0 {
			c.proj = c.projector(c.proj.Seq() + skipped)
		}
		c.first, c.ran, c.undone = c.proj.Seq(), c.after, false
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
func (c *channelReader) end() {
	if n := c.proj.Seq() - c.first; (c.undone || c.removed) && n > 0 {
		c.s.gaps.add(c.thread, c.ran, n)
		c.first = c.proj.Seq()
	}
}

// gaps are the numbers that runs had which were removed since. Clients drop events whose numbers they have seen, so no
// other run may get them. They are remembered as long as the process lives, which is as long as the connections
// through which somebody may have seen them.
type gaps struct {
	mu sync.Mutex
	of map[string][]gap // by thread
}

type gap struct {
	at time.Time
	n  uint64
}

const maxGaps = 100_000

func (g *gaps) add(thread string, at time.Time, n uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of == nil || len(g.of) > maxGaps {
		g.of = map[string][]gap{}
	}
	for i := range g.of[thread] {
		if known := &g.of[thread][i]; known.at.Equal(at) {
			known.n = max(known.n, n)
			return
		}
	}
	g.of[thread] = append(g.of[thread], gap{at, n})
}

// between sums the numbers of removed runs that started after one time and before another.
func (g *gaps) between(thread string, after, before time.Time) (n uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, gap := range g.of[thread] {
		if gap.at.After(after) && gap.at.Before(before) {
			n += gap.n
		}
	}
	return n
}

// counts remembers how many frames ended runs gave, which never changes.
type counts struct {
	mu sync.Mutex
	by map[string]uint64
}

func (k *counts) of(ctx context.Context, s *Server, who run.Identity, r run.Run) (uint64, error) {
	k.mu.Lock()
	n, ok := k.by[r.ID]
	k.mu.Unlock()
	if ok {
		return n, nil
	}
	p := protocol2.New(protocol2.Options{States: &threadStates{s: s, who: who, thread: r.Thread}, Only: &protocol2.Filter{}})
	for env, err := range s.opt.Journal.Read(ctx, r.ID, 0) {
		if err != nil {
			return 0, err
		}
		if _, err := p.Events(nil, &env); err != nil {
			return 0, err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.by == nil || len(k.by) > maxGaps {
		k.by = map[string]uint64{}
	}
	k.by[r.ID] = p.Seq()
	return p.Seq(), nil
}

// through is the number of the thread's last event.
func (s *Server) through(ctx context.Context, who run.Identity, thread string) (uint64, error) {
	q := &sequence{s: s, who: who, thread: thread}
	runs, err := q.started(ctx)
	if err != nil {
		return 0, err
	}
	var sum uint64
	var ran time.Time
	for _, r := range runs {
		if !r.Status.Ended() {
			break
		}
		n, err := s.counts.of(ctx, s, who, r)
		if err != nil {
			return 0, err
		}
		sum += n + s.gaps.between(thread, ran, r.StartedAt)
		ran = r.StartedAt
	}
	return sum, nil
}

// threadStates looks up checkpoints for all runs of a thread.
type threadStates struct {
	s      *Server
	who    run.Identity
	thread string
	of     *states // of the run that was asked for last
}

var _ protocol2.States = (*threadStates)(nil)

func (t *threadStates) State(ns, checkpoint string) (protocol2.State, error) {
	if t.of == nil {
		t.of = t.s.states(run.Run{Thread: t.thread, Owner: t.who.Owner})
	}
	st, err := t.of.State(ns, checkpoint)
	return protocol2.State{ID: st.ID, Parent: st.Parent, Step: st.Step, Source: st.Source, Values: st.Values}, err
}

func (t *threadStates) Base(id, ns string) (string, error) {
	rn, err := t.s.opt.Store.Run(context.Background(), t.who, id)
	if err != nil {
		return "", goneIfMissing(err)
	}
	t.of = t.s.states(rn)
	return t.of.Base(ns)
}
