package runs

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/feed"
	"github.com/tributary-ai/tributary/internal/server/langgraph/state"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/sse"
)

// streamThread follows all runs of a thread as their own streams would show them, one after the other, for ever. An
// event's id is its run's and its own, so that a reader can come back to either.
func (s *Service) streamThread(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	for _, mode := range append(edge.QueryWords(r, "stream_modes"), edge.QueryWords(r, "stream_mode")...) {
		if _, err := edge.OneOf("stream_modes", mode, "run_modes", "lifecycle", "state_update"); err != nil {
			return err
		}
	}
	th, err := s.opt.Find(r, who)
	if err != nil {
		return err
	}
	src := &threadReader{Sequence: s.opt.Threads.Follow(who, th.ID), s: s, who: who}
	if err := src.begin(r); err != nil {
		src.Close()
		return err
	}
	return s.opt.Terms.Play(w, r, src)
}

// threadReader shows the runs of a thread.
type threadReader struct {
	*feed.Sequence
	s      *Service
	who    run.Identity
	proj   wire.Projector
	of     string // the run that proj is of
	skipTo string // an id; everything up to it was seen
	frames []wire.Frame
	buf    []byte
}

// begin reads where to go on: after an event, or with what comes from now on.
func (t *threadReader) begin(r *http.Request) error {
	last := r.Header.Get("Last-Event-ID")
	if last == "-1" {
		return nil
	}
	runs, err := t.Ahead(r.Context())
	if err != nil {
		return err
	}
	id, _, ok := strings.Cut(last, "/")
	if last != "" && !ok {
		return run.Invalidf("Last-Event-ID", "is not the id of an event of this stream")
	}
	for i, rn := range runs {
		switch {
		case last != "" && rn.ID == id:
			t.skipTo = last
			if i > 0 {
				t.Skip(runs[i-1])
			}
			return nil
		case last == "" && rn.Status.Ended():
			t.Skip(rn)
		}
	}
	if last != "" {
		return edge.RefuseField(http.StatusConflict, "Last-Event-ID", "Last-Event-ID: the run of this event no longer exists; begin with -1")
	}
	return nil
}

func (t *threadReader) Look(time.Time) bool {
	t.Sequence.Look()
	return true
}

func (t *threadReader) Poll(ctx context.Context) ([]byte, <-chan struct{}, error) {
	for {
		events, ended, bell, err := t.Sequence.Poll(ctx)
		if err != nil || bell != nil {
			return nil, bell, err
		}
		if ended {
			t.skipTo = "" // it was in that run
			continue
		}
		t.buf = t.buf[:0]
		for i := range events {
			err := t.take(ctx, &events[i])
			if feed.Gone(err) {
				t.Abandon()
				break
			}
			if err != nil {
				return nil, nil, err
			}
		}
		if len(t.buf) > 0 {
			return t.buf, nil, nil
		}
	}
}

func (t *threadReader) take(ctx context.Context, env *event.Envelope) (err error) {
	if t.of != env.Run {
		rn, err := t.s.opt.Store.Run(ctx, t.who, env.Run)
		if err != nil {
			return state.GoneIfMissing(err)
		}
		p, err := t.s.projection(rn, nil)
		if err != nil {
			return err
		}
		t.of, t.proj = env.Run, p.project()
	}
	t.frames, err = t.proj.Project(t.frames[:0], env)
	for _, f := range t.frames {
		id := env.Run + "/" + f.ID
		if t.skipTo != "" {
			if id == t.skipTo {
				t.skipTo = ""
			}
			continue
		}
		t.buf = sse.Append(t.buf, f.Name, f.Data, id)
	}
	return err
}
