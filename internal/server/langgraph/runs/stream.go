package runs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/feed"
	"github.com/tributary-ai/tributary/internal/server/stream"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/langgraph"
)

func (s *Service) createStream(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	rn, words, err := s.accept(w, r, who, true)
	if err != nil {
		return err
	}
	locate(w, rn)
	p, err := s.projection(rn, words.StreamMode)
	if err != nil {
		return err
	}
	how, err := s.follow(w, r, p, feed.Start{})
	if how == stream.ReaderLeft && words.OnDisconnect == "cancel" {
		s.abandon(r, who, rn.ID)
	}
	return err
}

// follow writes what a reader sees of a run from some place on.
func (s *Service) follow(w http.ResponseWriter, r *http.Request, p projection, from feed.Start) (stream.Ending, error) {
	rd := s.opt.Feeds.Reader(p.key, p.project, from)
	defer rd.Close()
	return s.opt.Terms.Follow(w, r, rd)
}

// abandon stops a run whose creator wanted it to stop with its connection.
func (s *Service) abandon(r *http.Request, who run.Identity, id string) {
	// The connection is gone, and with it the request's context; the cancel must still arrive.
	if _, err := s.opt.Engine.Cancel(context.WithoutCancel(r.Context()), who, id, run.StopRun); err != nil {
		s.opt.Terms.Log.Error("cancel a run whose creator left", "run", id, "err", err)
	}
}

// projection is what a reader sees of a run in this dialect.
type projection struct {
	key     feed.Key
	project func() wire.Projector
}

// projection makes the view of a run in some modes; those that it was created with, if none are named.
func (s *Service) projection(rn run.Run, modes []string) (projection, error) {
	words := wordsOf(rn)
	created, err := langgraph.ParseModes(words.StreamMode)
	if err != nil {
		return projection{}, fmt.Errorf("run %s: %w", rn.ID, err)
	}
	shown := created
	if len(modes) > 0 {
		if shown, err = langgraph.ParseModes(modes); err != nil {
			return projection{}, run.Invalidf("stream_mode", "%s", strings.TrimPrefix(err.Error(), "stream_mode "))
		}
	}
	opt := langgraph.Options{Modes: shown, Subgraphs: words.StreamSubgraphs, Ordinal: s.opt.Ordinal}
	if opt.Ordinal {
		// Such numbers count the frames of the modes that the run was created with.
		opt.Modes = created
	}
	return projection{
		key: feed.Key{Run: rn.ID, Dialect: fmt.Sprintf("langgraph %d %d %t", opt.Modes, shown, opt.Subgraphs)},
		project: func() wire.Projector {
			opt := opt
			opt.States = s.opt.States.Of(rn)
			p := langgraph.New(opt)
			if opt.Modes == shown {
				return p
			}
			return &filtered{p, shown}
		},
	}, nil
}

// filtered leaves the frames of other modes out.
type filtered struct {
	of    wire.Projector
	modes langgraph.Modes
}

func (f *filtered) Project(dst []wire.Frame, env *event.Envelope) ([]wire.Frame, error) {
	had := len(dst)
	dst, err := f.of.Project(dst, env)
	kept := dst[:had]
	for _, fr := range dst[had:] {
		if f.modes.Shows(fr.Name) {
			kept = append(kept, fr)
		}
	}
	return kept, err
}

func (s *Service) joinStream(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	cancel, err := edge.QueryBool(r, "cancel_on_disconnect")
	if err != nil {
		return err
	}
	rn, err := s.run(r, who)
	if err != nil {
		return err
	}
	var modes []string
	for _, m := range r.URL.Query()["stream_mode"] {
		modes = append(modes, strings.Split(m, ",")...)
	}
	p, err := s.projection(rn, modes)
	if err != nil {
		return err
	}
	from, err := s.cursor(r, rn)
	if err != nil {
		return err
	}
	locate(w, rn)
	how, err := s.follow(w, r, p, from)
	if how == stream.ReaderLeft && cancel {
		s.abandon(r, who, rn.ID)
	}
	return err
}

// cursor reads where a join begins. Without a Last-Event-ID it shows what comes from now on, unless the run was created
// without a reader: then nobody has seen its beginning, and whoever created it wants that.
func (s *Service) cursor(r *http.Request, rn run.Run) (feed.Start, error) {
	last := r.Header.Get("Last-Event-ID")
	switch last {
	case "":
		return feed.Start{Now: wordsOf(rn).Streamed}, nil
	case "-1":
		return feed.Start{}, nil
	}
	if s.opt.Ordinal {
		n, err := strconv.ParseUint(last, 10, 63)
		if err != nil {
			return feed.Start{}, run.Invalidf("Last-Event-ID", "is not the id of an event of this stream")
		}
		return feed.Start{After: func(id string) bool {
			m, err := strconv.ParseUint(id, 10, 63)
			return err == nil && m > n
		}}, nil
	}
	epoch, seq, place, err := langgraph.ParseCursor(last)
	if err != nil {
		return feed.Start{}, run.Invalidf("Last-Event-ID", "is not the id of an event of this stream")
	}
	if err := s.holds(r.Context(), rn.ID, journal.Position{Epoch: epoch, Seq: seq}); err != nil {
		return feed.Start{}, err
	}
	return feed.Start{After: func(id string) bool {
		_, q, p, err := langgraph.ParseCursor(id)
		return err == nil && (q > seq || q == seq && p > place)
	}}, nil
}

// holds makes sure that a position is one of the run's journal, and not of events that were lost with the power.
func (s *Service) holds(ctx context.Context, id string, at journal.Position) error {
	c := s.opt.Journal.Cursor(id, at)
	defer c.Close()
	_, _, err := c.Poll(ctx)
	if errors.Is(err, journal.ErrLost) {
		// Not 410: clients would try that again and again.
		return edge.RefuseField(http.StatusConflict, "Last-Event-ID", "Last-Event-ID: the server no longer has this position; read the thread's state and join with -1")
	}
	return nil
}
