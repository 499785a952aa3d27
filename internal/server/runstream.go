package server

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
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/langgraph"
)

func (s *Server) createStream(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var body runBody
	if err := decode(w, r, &body); err != nil {
		return err
	}
	rn, words, err := s.create(r, who, &body, true)
	if err != nil {
		return err
	}
	locate(w, rn)
	p, err := s.projection(rn, words.StreamMode)
	if err != nil {
		return err
	}
	how, err := s.follow(w, r, p.key, p.project, start{})
	if how == readerLeft && words.OnDisconnect == "cancel" {
		s.abandon(r, who, rn.ID)
	}
	return err
}

// abandon stops a run whose creator wanted it to stop with its connection.
func (s *Server) abandon(r *http.Request, who run.Identity, id string) {
	// The connection is gone, and with it the request's context; the cancel must still arrive.
	if _, err := s.opt.Engine.Cancel(context.WithoutCancel(r.Context()), who, id, run.StopRun); err != nil {
		s.log.Error("cancel a run whose creator left", "run", id, "err", err)
	}
}

// projection is what a reader sees of a run in this dialect.
type projection struct {
	key     feedKey
	project func() wire.Projector
}

// projection makes the view of a run in some modes; those that it was created with, if none are named.
func (s *Server) projection(rn run.Run, modes []string) (projection, error) {
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
	opt := langgraph.Options{Modes: shown, Subgraphs: words.StreamSubgraphs, Ordinal: s.opt.LikeJS}
	if opt.Ordinal {
		// Such numbers count the frames of the modes that the run was created with.
		opt.Modes = created
	}
	return projection{
		key: feedKey{run: rn.ID, dialect: fmt.Sprintf("langgraph %d %d %t", opt.Modes, shown, opt.Subgraphs)},
		project: func() wire.Projector {
			opt := opt
			opt.States = s.states(rn)
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

func (s *Server) joinStream(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	cancel, err := queryBool(r, "cancel_on_disconnect")
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
	how, err := s.follow(w, r, p.key, p.project, from)
	if how == readerLeft && cancel {
		s.abandon(r, who, rn.ID)
	}
	return err
}

// cursor reads where a join begins. Without a Last-Event-ID it shows what comes from now on, unless the run was created
// without a reader: then nobody has seen its beginning, and whoever created it wants that.
func (s *Server) cursor(r *http.Request, rn run.Run) (start, error) {
	last := r.Header.Get("Last-Event-ID")
	switch last {
	case "":
		return start{now: wordsOf(rn).Streamed}, nil
	case "-1":
		return start{}, nil
	}
	if s.opt.LikeJS {
		n, err := strconv.ParseUint(last, 10, 63)
		if err != nil {
			return start{}, run.Invalidf("Last-Event-ID", "is not the id of an event of this stream")
		}
		return start{after: func(id string) bool {
			m, err := strconv.ParseUint(id, 10, 63)
			return err == nil && m > n
		}}, nil
	}
	epoch, seq, place, err := langgraph.ParseCursor(last)
	if err != nil {
		return start{}, run.Invalidf("Last-Event-ID", "is not the id of an event of this stream")
	}
	if err := s.holds(r.Context(), rn.ID, journal.Position{Epoch: epoch, Seq: seq}); err != nil {
		return start{}, err
	}
	return start{after: func(id string) bool {
		_, q, p, err := langgraph.ParseCursor(id)
		return err == nil && (q > seq || q == seq && p > place)
	}}, nil
}

// holds makes sure that a position is one of the run's journal, and not of events that were lost with the power.
func (s *Server) holds(ctx context.Context, id string, at journal.Position) error {
	c := s.opt.Journal.Cursor(id, at)
	defer c.Close()
	_, _, err := c.Poll(ctx)
	if errors.Is(err, journal.ErrLost) {
		// Not 410: clients would try that again and again.
		return &statusError{http.StatusConflict, "Last-Event-ID", "Last-Event-ID: the server no longer has this position; read the thread's state and join with -1"}
	}
	return nil
}
