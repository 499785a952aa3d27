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
	p, err := s.begin(w, r, who)
	if err != nil {
		return err
	}
	return s.follow(w, r, who, p)
}

// begin creates the run of a stream. It is not part of its caller, or the request and the run that it handles would lie on
// the caller's stack, twice the size, for as long as it streams.
//
//go:noinline
func (s *Service) begin(w http.ResponseWriter, r *http.Request, who run.Identity) (*projection, error) {
	rn, words, err := s.accept(w, r, who, true)
	if err != nil {
		return nil, err
	}
	locate(w, rn)
	p, err := s.projection(rn, words.StreamMode)
	if err != nil {
		return nil, err
	}
	p.cancels = words.OnDisconnect == "cancel"
	return p, nil
}

// follow writes what a reader sees of a run from some place on.
func (s *Service) follow(w http.ResponseWriter, r *http.Request, who run.Identity, p *projection) error {
	rd := s.opt.Feeds.Reader(p.key, p.project, p.from)
	if !p.cancels {
		return s.opt.Terms.Follow(w, r, rd)
	}
	how, err := s.opt.Terms.Attend(w, r, rd)
	if how == stream.ReaderLeft {
		s.abandon(r, who, p.key.Run)
	}
	return err
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
	from    feed.Start
	cancels bool // the run ends with its reader
}

// projection makes the view of a run in some modes; those that it was created with, if none are named.
func (s *Service) projection(rn run.Run, modes []string) (*projection, error) {
	words := wordsOf(rn)
	created, err := langgraph.ParseModes(words.StreamMode)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", rn.ID, err)
	}
	shown := created
	if len(modes) > 0 {
		if shown, err = langgraph.ParseModes(modes); err != nil {
			return nil, run.Invalidf("stream_mode", "%s", strings.TrimPrefix(err.Error(), "stream_mode "))
		}
	}
	opt := langgraph.Options{Modes: shown, Subgraphs: words.StreamSubgraphs, Ordinal: s.opt.Ordinal}
	if opt.Ordinal {
		// Such numbers count the frames of the modes that the run was created with.
		opt.Modes = created
	}
	return &projection{
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
	p, err := s.join(w, r, who)
	if err != nil {
		return err
	}
	return s.follow(w, r, who, p)
}

// join reads which stream is joined, and where. As for its frame, see begin.
//
//go:noinline
func (s *Service) join(w http.ResponseWriter, r *http.Request, who run.Identity) (*projection, error) {
	cancel, err := edge.QueryBool(r, "cancel_on_disconnect")
	if err != nil {
		return nil, err
	}
	rn, err := s.run(r, who)
	if err != nil {
		return nil, err
	}
	p, err := s.projection(rn, edge.QueryWords(r, "stream_mode"))
	if err != nil {
		return nil, err
	}
	if p.from, err = s.cursor(r, rn); err != nil {
		return nil, err
	}
	p.cancels = cancel
	locate(w, rn)
	return p, nil
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
