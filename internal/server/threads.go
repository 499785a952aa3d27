package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

var threadMembers = []string{"thread_id", "created_at", "updated_at", "state_updated_at", "metadata", "status", "config", "values", "interrupts", "error", "expires_at"}

// threadJSON shows a thread. Its values and interrupts are read from its state, unless nobody wants them.
func (s *Server) threadJSON(ctx context.Context, th run.Thread, names []string) (object, error) {
	o := object{
		{"thread_id", th.ID}, {"created_at", stamp(th.CreatedAt)}, {"updated_at", stamp(th.UpdatedAt)},
		{"state_updated_at", stamp(th.StateAt)}, {"metadata", orEmpty(th.Metadata)}, {"status", th.Status}, {"config", orEmpty(th.Config)},
	}
	wanted := func(name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	interrupts := object{}
	if !th.StateAt.IsZero() && (wanted("values") || wanted("interrupts")) {
		v := s.view(ctx, th)
		snap, err := s.opt.Store.Load(ctx, th.ID, "", "")
		switch {
		case isGone(err): // removed in between
		case err != nil:
			return nil, err
		default:
			values, _, err := v.values(snap)
			if err != nil {
				return nil, err
			}
			o = append(o, member{"values", values})
			interrupts = pendingInterrupts(snap)
		}
	}
	o = append(o, member{"interrupts", interrupts})
	if th.Error != nil {
		o = append(o, member{"error", errorText(th.Error)})
	}
	if !th.ExpiresAt.IsZero() {
		o = append(o, member{"expires_at", stamp(th.ExpiresAt)})
	}
	return o.pick(names), nil
}

// timeToLive reads {"ttl": minutes, "strategy": "delete"}, or just the minutes.
type timeToLive struct {
	minutes float64
	given   bool
}

func (t *timeToLive) UnmarshalJSON(data []byte) error {
	if isNull(data) {
		return nil
	}
	var w struct {
		TTL      *float64 `json:"ttl"`
		Strategy string   `json:"strategy"`
	}
	if err := json.Unmarshal(data, &t.minutes); err != nil {
		if json.Unmarshal(data, &w) != nil || w.TTL == nil {
			return run.Invalidf("ttl", `must be a number of minutes, or {"ttl": minutes, "strategy": "delete"}`)
		}
		t.minutes = *w.TTL
	}
	if _, err := oneOf("ttl.strategy", w.Strategy, "delete"); err != nil {
		return err
	}
	if t.minutes < 0 || t.minutes > 100*365*24*60 {
		return run.Invalidf("ttl", "must be between 0 and a hundred years of minutes")
	}
	t.given = true
	return nil
}

// expiry is when it is over; nil where nothing was said, and the zero time, never, where it is 0.
func (t timeToLive) expiry() *time.Time {
	if !t.given {
		return nil
	}
	var at time.Time
	if t.minutes > 0 {
		at = time.Now().Add(time.Duration(t.minutes * float64(time.Minute)))
	}
	return &at
}

func (s *Server) createThread(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req struct {
		ThreadID   string          `json:"thread_id"`
		Metadata   json.RawMessage `json:"metadata"`
		IfExists   string          `json:"if_exists"`
		Supersteps []superstep     `json:"supersteps"`
		TTL        timeToLive      `json:"ttl"`
	}
	if err := decode(w, r, &req); err != nil {
		return err
	}
	policy, err := oneOf("if_exists", req.IfExists, "raise", "do_nothing")
	if err == nil {
		err = wantMetadata("metadata", req.Metadata)
	}
	if err != nil {
		return err
	}
	if req.ThreadID == "" {
		req.ThreadID = newID()
	} else if req.ThreadID, err = parseID("thread_id", req.ThreadID); err != nil {
		return err
	}
	th := run.Thread{ID: req.ThreadID, Metadata: req.Metadata, CreatedAt: time.Now().UTC()}
	if at := req.TTL.expiry(); at != nil {
		th.ExpiresAt = *at
	}
	// What the steps do is worked out before anything is stored, so that a bad one leaves no thread behind.
	edit, err := s.planSupersteps(r.Context(), th, req.Supersteps)
	if err != nil {
		return err
	}
	ctx := r.Context()
	created, err := s.opt.Store.CreateThread(ctx, who, th)
	switch {
	case errors.Is(err, run.ErrExists):
		if created, err = s.opt.Store.Thread(ctx, who, th.ID); err != nil || policy == "raise" {
			// Also where it is somebody else's: that an id is taken is all that is told.
			return failure(http.StatusConflict, "Thread already exists")
		}
	case err != nil:
		return err
	case len(edit.saves) > 0:
		if err := s.opt.Store.SaveState(ctx, who, th.ID, edit.status(), edit.saves); err != nil {
			return err
		}
		if created, err = s.opt.Store.Thread(ctx, who, th.ID); err != nil {
			return err
		}
	}
	return s.answerThread(w, ctx, created)
}

func (s *Server) answerThread(w http.ResponseWriter, ctx context.Context, th run.Thread) error {
	o, err := s.threadJSON(ctx, th, nil)
	if err != nil {
		return err
	}
	s.answer(w, http.StatusOK, o)
	return nil
}

// thread finds the thread that the path names, if it is the caller's.
func (s *Server) thread(r *http.Request, who run.Identity) (run.Thread, error) {
	id, err := pathID(r, "thread_id")
	if err != nil {
		return run.Thread{}, err
	}
	th, err := s.opt.Store.Thread(r.Context(), who, id)
	return th, noThread(err, id)
}

func (s *Server) getThread(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	th, err := s.thread(r, who)
	if err != nil {
		return err
	}
	return s.answerThread(w, r.Context(), th)
}

func (s *Server) patchThread(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	id, err := pathID(r, "thread_id")
	if err != nil {
		return err
	}
	var req struct {
		Metadata json.RawMessage `json:"metadata"`
		TTL      timeToLive      `json:"ttl"`
	}
	if err := decode(w, r, &req); err != nil {
		return err
	}
	if err := wantMetadata("metadata", req.Metadata); err != nil {
		return err
	}
	th, err := s.opt.Store.PatchThread(r.Context(), who, id, req.Metadata, req.TTL.expiry())
	if err != nil {
		return noThread(err, id)
	}
	if strings.Contains(r.Header.Get("Prefer"), "return=minimal") {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return s.answerThread(w, r.Context(), th)
}

func (s *Server) deleteThread(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	id, err := pathID(r, "thread_id")
	if err != nil {
		return err
	}
	if err := s.removeThread(r.Context(), who, id); err != nil {
		return noThread(err, id)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// removeThread deletes a thread. What runs on it is stopped first: whoever deletes a conversation does not want
// its answer any more.
func (s *Server) removeThread(ctx context.Context, who run.Identity, id string) error {
	for range 3 { // a run may be created in between
		runs, err := s.opt.Store.DeleteThread(ctx, who, id)
		if err == nil {
			for _, r := range runs {
				s.opt.Journal.Drop(r)
			}
		}
		if !errors.Is(err, run.ErrBusy) {
			return err
		}
		if err := s.stopAll(ctx, who, id); err != nil {
			return err
		}
	}
	return run.ErrBusy
}

// stopAll cancels what is in flight on a thread and waits until it has ended.
func (s *Server) stopAll(ctx context.Context, who run.Identity, thread string) error {
	for _, status := range []run.Status{run.Pending, run.Running} {
		runs, err := s.opt.Store.ThreadRuns(ctx, who, thread, status, maxLimit, 0)
		if err != nil {
			return err
		}
		for _, rn := range runs {
			if _, err := s.opt.Engine.Cancel(ctx, who, rn.ID, run.StopRun); err != nil && !errors.Is(err, run.ErrNotFound) {
				return err
			}
			if _, err := s.opt.Engine.Wait(ctx, who, rn.ID); err != nil && !errors.Is(err, run.ErrNotFound) {
				return err
			}
		}
	}
	return nil
}

func (s *Server) copyThread(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	id, err := pathID(r, "thread_id")
	if err != nil {
		return err
	}
	th, err := s.opt.Store.CopyThread(r.Context(), who, id, newID())
	if err != nil {
		return noThread(err, id)
	}
	return s.answerThread(w, r.Context(), th)
}

func (s *Server) pruneThreads(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req struct {
		ThreadIDs []string `json:"thread_ids"`
		Strategy  string   `json:"strategy"`
	}
	if err := decode(w, r, &req); err != nil {
		return err
	}
	strategy, err := oneOf("strategy", req.Strategy, "delete", "keep_latest")
	if err != nil {
		return err
	}
	if len(req.ThreadIDs) > maxLimit {
		return run.Invalidf("thread_ids", "are more than %d", maxLimit)
	}
	for i, id := range req.ThreadIDs {
		if req.ThreadIDs[i], err = parseID("thread_ids."+strconv.Itoa(i), id); err != nil {
			return err
		}
	}
	pruned := 0
	for _, id := range req.ThreadIDs {
		if strategy == "delete" {
			err = s.removeThread(r.Context(), who, id)
		} else {
			err = s.opt.Store.PruneThread(r.Context(), who, id)
		}
		switch {
		case errors.Is(err, run.ErrNotFound): // nothing to prune
		case err != nil:
			return err
		default:
			pruned++
		}
	}
	s.answer(w, http.StatusOK, object{{"pruned_count", pruned}})
	return nil
}
