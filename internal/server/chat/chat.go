// Package chat serves the API of DeerFlow 1: research as a conversation.
//
// # Laws
//
//   - A run goes on when the connection ends. POST with Last-Event-ID, and GET with a thread, follow it again.
//   - All who follow a run get the same frames, with the same ids.
//   - An answer counts for the question that is open when it comes, and once: a second one is refused with 409.
//   - What a request cannot have is refused before anything is stored.
package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/feed"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/server/stream"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/chat"
)

// Store is what the routes read.
type Store interface {
	Run(ctx context.Context, who run.Identity, id string) (run.Run, error)
	ThreadRuns(ctx context.Context, who run.Identity, thread string, status run.Status, limit, offset int) ([]run.Run, error)
}

// Engine executes runs.
type Engine interface {
	Prepare(ctx context.Context, who run.Identity, o run.Order) (*run.Draft, error)
	Asked(ctx context.Context, who run.Identity, thread string) ([]graph.Interrupt, error)
}

// Options are what the routes need; all of it is required.
type Options struct {
	Store  Store
	Engine Engine
	// Graphs lists the names of the graphs that there are.
	Graphs func() []string
	Feeds  *feed.Feeds
	Terms  *stream.Terms
}

// Service serves the conversation.
type Service struct{ opt Options }

// New makes the service.
func New(opt Options) *Service { return &Service{opt} }

const (
	dialect = "chat"
	path    = "/api/chat/stream"

	threadHeader = "X-Thread-Id"
	runHeader    = "X-Run-Id"
)

// Mount adds its routes.
func (s *Service) Mount(t *edge.Routes) {
	t.Section("chat", "DeerFlow 1's API: research as a conversation")
	t.Handle("POST "+path, s.post, edge.Doc{
		Summary: "Say something, or answer what was asked, and follow what comes of it; with the header Last-Event-ID follow again", Body: request{}, Stream: true,
		Fails: []int{403, 404, 409, 410},
	})
	t.Handle("GET "+path, s.get, edge.Doc{
		Summary: "Follow the newest run of a thread, from its beginning or after a frame",
		Query:   jsonvalue.Object{{"thread_id", ""}, {"after", edge.Text("go on after the frame with this id, which is that of another run too")}},
		Stream:  true, Fails: []int{404, 410},
	})
}

func (s *Service) post(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	rn, last, err := s.accept(w, r, who)
	if err != nil {
		return err
	}
	return s.follow(w, r, rn, last)
}

// accept starts a run as the body says, or finds the one to follow. It is not part of post, or what it handles would lie on the
// stack for as long as the stream lasts.
//
//go:noinline
func (s *Service) accept(w http.ResponseWriter, r *http.Request, who run.Identity) (place, string, error) {
	var q request
	if err := edge.Decode(w, r, &q); err != nil {
		return place{}, "", err
	}
	thread, err := q.thread()
	if err != nil {
		return place{}, "", err
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		at, err := s.resumed(r.Context(), who, "Last-Event-ID", last, thread)
		return at, last, err
	}
	if err := q.validate(); err != nil {
		return place{}, "", err
	}
	rn, err := s.start(r.Context(), who, thread, &q)
	return place{rn.ID, rn.Thread}, "", err
}

func (s *Service) get(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	at, last, err := s.find(r, who)
	if err != nil {
		return err
	}
	return s.follow(w, r, at, last)
}

// find finds the run that a GET follows.
//
//go:noinline
func (s *Service) find(r *http.Request, who run.Identity) (place, string, error) {
	thread, err := edge.ParseThread("thread_id", r.URL.Query().Get("thread_id"))
	if err != nil {
		return place{}, "", err
	}
	for field, last := range map[string]string{"Last-Event-ID": r.Header.Get("Last-Event-ID"), "after": r.URL.Query().Get("after")} {
		if last != "" && (field == "Last-Event-ID" || r.Header.Get("Last-Event-ID") == "") { // the header is newer
			at, err := s.resumed(r.Context(), who, field, last, thread)
			return at, last, err
		}
	}
	runs, err := s.opt.Store.ThreadRuns(r.Context(), who, thread, "", 1, 0)
	switch {
	case errors.Is(err, run.ErrNotFound), err == nil && len(runs) == 0:
		return place{}, "", edge.RefuseField(http.StatusNotFound, "thread_id", fmt.Sprintf("thread_id: there is no run on a thread %q", thread))
	case err != nil:
		return place{}, "", err
	}
	return place{runs[0].ID, thread}, "", nil
}

// place is a run that is followed.
type place struct{ run, thread string }

// resumed finds the run of a frame.
func (s *Service) resumed(ctx context.Context, who run.Identity, field, last, thread string) (place, error) {
	id, number, _ := strings.Cut(last, ":")
	if _, err := strconv.ParseUint(number, 10, 64); err != nil {
		return place{}, run.Invalidf(field, "must be the id of a frame, as in run:7, not %q", edge.Clip(last))
	}
	if _, err := edge.ParseID(field, id); err != nil {
		return place{}, run.Invalidf(field, "must be the id of a frame, as in run:7, not %q", edge.Clip(last))
	}
	rn, err := s.opt.Store.Run(ctx, who, id)
	if errors.Is(err, run.ErrNotFound) || err == nil && thread != "" && rn.Thread != thread {
		return place{}, edge.RefuseField(http.StatusNotFound, field, field+": there is no such run on this thread")
	}
	return place{rn.ID, rn.Thread}, err
}

func (s *Service) follow(w http.ResponseWriter, r *http.Request, at place, last string) error {
	w.Header().Set(threadHeader, at.thread)
	w.Header().Set(runHeader, at.run)
	rd := s.opt.Feeds.Reader(feed.Key{Run: at.run, Dialect: dialect}, func() wire.Projector { return chat.New() }, feed.Start{Last: last})
	err := s.opt.Terms.Follow(w, r, rd)
	if errors.Is(err, journal.ErrLost) {
		return edge.RefuseField(http.StatusGone, "Last-Event-ID", "Last-Event-ID: the run has no such frame; follow it from its beginning with GET "+path+"?thread_id="+at.thread)
	}
	return err
}

// start starts the run that a request wants: one that answers, or a new one.
func (s *Service) start(ctx context.Context, who run.Identity, thread string, q *request) (run.Run, error) {
	answers, err := s.answers(ctx, who, thread, q)
	if err != nil {
		return run.Run{}, err
	}
	if answers != nil {
		return s.resume(ctx, who, thread, answers)
	}
	o := run.Order{Thread: thread, Request: run.Request{CreateThread: true}}
	if o.Assistant, err = s.graph(); err != nil {
		return run.Run{}, err
	}
	if o.Input, err = q.input(); err != nil {
		return run.Run{}, err
	}
	if o.Config, err = q.config(); err != nil {
		return run.Run{}, err
	}
	d, err := s.opt.Engine.Prepare(ctx, who, o)
	if err != nil {
		return run.Run{}, inOurWords(err)
	}
	return d.Start(ctx)
}

// resume starts a run that answers questions.
func (s *Service) resume(ctx context.Context, who run.Identity, thread string, answers map[string]json.RawMessage) (run.Run, error) {
	asking, err := s.opt.Store.ThreadRuns(ctx, who, thread, run.Interrupted, 1, 0)
	if err != nil {
		return run.Run{}, err
	}
	o := run.Order{Thread: thread, Answers: answers}
	if len(asking) > 0 {
		o.From = &asking[0]
	} else if o.Assistant, err = s.graph(); err != nil {
		return run.Run{}, err
	}
	d, err := s.opt.Engine.Prepare(ctx, who, o)
	if err != nil {
		return run.Run{}, inOurWords(err)
	}
	rn, err := d.Start(ctx)
	if unasked := (*run.NotAskedError)(nil); errors.As(err, &unasked) || errors.Is(err, run.ErrBusy) {
		err = edge.RefuseField(http.StatusConflict, "interrupt_feedback", "interrupt_feedback: the question was answered already, or the thread is busy")
	}
	return rn, err
}

// answers are what the request answers, by the ids of the questions; nil if it is no answer.
func (s *Service) answers(ctx context.Context, who run.Identity, thread string, q *request) (map[string]json.RawMessage, error) {
	feedback := q.Feedback != nil && *q.Feedback != "" && !or(q.AutoAccept, false)
	var asked []graph.Interrupt
	var err error
	if thread != "" {
		if asked, err = s.opt.Engine.Asked(ctx, who, thread); err != nil && !errors.Is(err, run.ErrNotFound) {
			return nil, err
		}
	}
	text, kind := q.last(), event.AskClarification
	if feedback {
		text, kind = q.answer(), ""
	}
	asked = slices.DeleteFunc(asked, func(i graph.Interrupt) bool {
		return kind != "" && i.Ask != kind || q.Interrupt != nil && *q.Interrupt != i.ID
	})
	switch {
	case feedback && len(asked) == 0:
		return nil, edge.RefuseField(http.StatusConflict, "interrupt_feedback", "interrupt_feedback: nothing is asked on this thread, or not any more; leave it out to ask something new")
	case feedback && len(asked) > 1:
		return nil, edge.RefuseField(http.StatusConflict, "interrupt_id", fmt.Sprintf("interrupt_id: is required: %d questions are open", len(asked)))
	case len(asked) == 0:
		return nil, nil
	}
	if i := asked[0]; feedback && slices.Contains(i.Options, *q.Feedback) && i.Ask != event.AskPlanReview {
		text = *q.Feedback // it is the answer itself
	}
	value, err := json.Marshal(text)
	return map[string]json.RawMessage{asked[0].ID: value}, err
}

// The graphs that are taken, in this order.
var graphs = []string{"research", "deep_research", "agent"}

func (s *Service) graph() (string, error) {
	names := s.opt.Graphs()
	for _, name := range graphs {
		if slices.Contains(names, name) {
			return name, nil
		}
	}
	return "", edge.Refuse(http.StatusNotFound, "there is no graph of the name research here; put one into Options.Graphs (see tributary.Research)")
}

// inOurWords gives what is refused the name that it has in this API.
func inOurWords(err error) error {
	var invalid *run.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	return &run.InvalidError{Field: strings.TrimPrefix(strings.TrimPrefix(invalid.Field, "config."), "configurable."), Reason: invalid.Reason}
}
