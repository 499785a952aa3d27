// Package threads serves LangGraph's threads: conversations with their state and its history.
//
// # Laws
//
//   - A request is checked whole before anything is stored: a bad one leaves nothing behind.
//   - That an id is taken is all that is told of a thread of somebody else's.
//   - Deleting a thread stops what runs on it.
package threads

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/server/langgraph/state"
)

// Store keeps threads and their checkpoints.
type Store interface {
	run.Threads
	graph.Checkpointer
}

// Engine deletes threads, and stops what runs on them.
type Engine interface {
	DeleteThread(ctx context.Context, who run.Identity, id string) error
}

// Options are what the routes need; all of it is required.
type Options struct {
	Store  Store
	Engine Engine
	States *state.Reader
}

// Service serves threads.
type Service struct{ opt Options }

// New makes the service.
func New(opt Options) *Service { return &Service{opt} }

// Mount adds its routes.
func (s *Service) Mount(t *edge.Routes) {
	t.Section("threads", "Conversations, with their state and its history")
	t.Handle("POST /threads", s.create, edge.Doc{Summary: "Create a thread", Body: creation{}, Answer: Thread{}, Fails: []int{409}})
	t.Handle("POST /threads/search", s.search, edge.Doc{Summary: "Search threads", Body: criteria{}, Answer: []Thread{}})
	t.Handle("POST /threads/count", edge.Count(s.counted), edge.Doc{Summary: "Count threads", Body: criteria{}, Answer: 0})
	t.Handle("GET /threads/search-text", s.searchText, edge.Doc{
		Summary: "Find words in the messages of threads: the newest place of each, the newest threads first. complete: every thread was looked at",
		Query:   jsonvalue.Object{{"q", edge.Text("words, in their order; case does not matter")}, {"limit", defaultMatches}},
		Answer:  jsonvalue.Object{{"matches", []Match{}}, {"complete", false}},
		Fails:   []int{422},
	})
	t.Handle("POST /threads/prune", s.prune, edge.Doc{
		Summary: "Delete threads, or all but their latest state", Body: pruning{}, Answer: jsonvalue.Object{{"pruned_count", 0}}, Fails: []int{409},
	})
	t.Handle("GET /threads/{thread_id}", s.get, edge.Doc{Summary: "Get a thread", Answer: Thread{}})
	patch := edge.Doc{
		Summary: "Change a thread's metadata or time to live; 204 where the header Prefer is return=minimal",
		Body:    change{}, Status: []int{200, 204}, Answer: Thread{},
	}
	t.Handle("PATCH /threads/{thread_id}", s.patch, patch)
	t.Handle("DELETE /threads/{thread_id}", s.remove, edge.Doc{
		Summary: "Delete a thread with all that is its", Status: []int{204}, Fails: []int{409},
	})
	t.Handle("POST /threads/{thread_id}/copy", s.copy, edge.Doc{Summary: "Copy a thread with its history", Answer: Thread{}, Fails: []int{409}})
	where := jsonvalue.Object{{"subgraphs", false}, {"checkpoint_ns", ""}}
	t.Handle("GET /threads/{thread_id}/state", s.getState, edge.Doc{Summary: "Get its state", Query: where, Answer: state.ThreadState{}})
	t.Handle("GET /threads/{thread_id}/state/{checkpoint_id}", s.getState, edge.Doc{
		Summary: "Get the state at a checkpoint", Query: where, Answer: state.ThreadState{},
	})
	t.Handle("POST /threads/{thread_id}/state/checkpoint", s.postCheckpoint, edge.Doc{
		Summary: "Get the state at a checkpoint of any namespace", Body: place{}, Answer: state.ThreadState{},
	})
	t.Handle("POST /threads/{thread_id}/state", s.updateState, edge.Doc{
		Summary: "Change the state, also as a node or from an older checkpoint", Body: update{}, Fails: []int{409},
		Answer: jsonvalue.Object{{"checkpoint", jsonvalue.Object{{"thread_id", ""}, {"checkpoint_ns", ""}, {"checkpoint_id", ""}}}},
	})
	t.Handle("PATCH /threads/{thread_id}/state", s.patch, patch)
	t.Handle("GET /threads/{thread_id}/history", s.getHistory, edge.Doc{
		Summary: "List checkpoints, newest first", Query: jsonvalue.Object{{"limit", 0}, {"before", ""}}, Answer: []state.ThreadState{},
	})
	t.Handle("POST /threads/{thread_id}/history", s.postHistory, edge.Doc{
		Summary: "List checkpoints, newest first", Body: historyQuery{}, Answer: []state.ThreadState{},
	})
}

// Thread is what toJSON shows.
type Thread struct {
	ID         string                       `json:"thread_id"`
	CreatedAt  time.Time                    `json:"created_at"`
	UpdatedAt  time.Time                    `json:"updated_at"`
	StateAt    *time.Time                   `json:"state_updated_at"`
	Metadata   json.RawMessage              `json:"metadata" type:"object"`
	Status     string                       `json:"status" enum:"idle,busy,interrupted,error"`
	Config     json.RawMessage              `json:"config" type:"object"`
	Values     json.RawMessage              `json:"values,omitempty" type:"object"`
	Interrupts map[string][]state.Interrupt `json:"interrupts" doc:"open questions, by task"`
	Error      string                       `json:"error,omitempty" doc:"JSON: message and name"`
	ExpiresAt  time.Time                    `json:"expires_at,omitzero"`
}

// NotFound says that there is no such thread, where the error is that something is missing. Others pass.
func NotFound(err error, id string) error {
	return edge.NotFound(err, "Thread with ID %s not found", id)
}

var members = edge.Members[Thread]()

// toJSON shows a thread. Its values and interrupts are read from its state, unless nobody wants them.
func (s *Service) toJSON(ctx context.Context, th run.Thread, names []string) (jsonvalue.Object, error) {
	o := jsonvalue.Object{
		{"thread_id", th.ID}, {"created_at", jsonvalue.Time(th.CreatedAt)}, {"updated_at", jsonvalue.Time(th.UpdatedAt)},
		{"state_updated_at", jsonvalue.Time(th.StateAt)}, {"metadata", jsonvalue.OrEmpty(th.Metadata)}, {"status", th.Status}, {"config", jsonvalue.OrEmpty(th.Config)},
	}
	wanted := func(name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	interrupts := jsonvalue.Object{}
	if !th.StateAt.IsZero() && (wanted("values") || wanted("interrupts")) {
		v := s.opt.States.View(ctx, th)
		snap, err := s.opt.Store.Load(ctx, th.ID, "", "")
		switch {
		case errors.Is(err, graph.ErrNoCheckpoint): // removed in between
		case err != nil:
			return nil, err
		default:
			values, _ := v.Values(snap)
			o = append(o, jsonvalue.Member{"values", values})
			interrupts = state.Pending(snap)
		}
	}
	o = append(o, jsonvalue.Member{"interrupts", interrupts})
	if th.Error != nil {
		o = append(o, jsonvalue.Member{"error", state.ErrorText(th.Error)})
	}
	if !th.ExpiresAt.IsZero() {
		o = append(o, jsonvalue.Member{"expires_at", jsonvalue.Time(th.ExpiresAt)})
	}
	return o.Pick(names), nil
}

// timeToLive reads {"ttl": minutes, "strategy": "delete"}, or just the minutes.
type timeToLive struct {
	minutes float64
	given   bool
}

// Shape says that it has two forms.
func (timeToLive) Shape() jsonvalue.Object {
	minutes := jsonvalue.Object{{"type", "number"}, {"minimum", 0}}
	return jsonvalue.Object{{"description", "minutes; 0 is for ever"}, {"oneOf", jsonvalue.List{minutes, jsonvalue.Object{
		{"type", "object"}, {"properties", jsonvalue.Object{{"ttl", minutes}, {"strategy", edge.Word{"delete"}.Shape()}}}, {"required", []string{"ttl"}},
	}}}}
}

func (t *timeToLive) UnmarshalJSON(data []byte) error {
	if jsonvalue.IsNull(data) {
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
	if _, err := edge.OneOf("ttl.strategy", w.Strategy, "delete"); err != nil {
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

type creation struct {
	ThreadID   string          `json:"thread_id" doc:"1 to 64 letters, digits, - and _; made up, if there is none"`
	Metadata   json.RawMessage `json:"metadata" type:"object"`
	IfExists   string          `json:"if_exists" enum:"raise,do_nothing"`
	Supersteps []superstep     `json:"supersteps" doc:"a history to begin with; metadata.graph_id says of which graph"`
	TTL        timeToLive      `json:"ttl"`
}

func (s *Service) create(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req creation
	if err := edge.Decode(w, r, &req); err != nil {
		return err
	}
	policy, err := edge.OneOf("if_exists", req.IfExists, "raise", "do_nothing")
	if err == nil {
		err = edge.WantMetadata("metadata", req.Metadata)
	}
	if err != nil {
		return err
	}
	if req.ThreadID == "" {
		req.ThreadID = edge.NewID()
	} else if req.ThreadID, err = edge.ParseThread("thread_id", req.ThreadID); err != nil {
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
			return edge.Refuse(http.StatusConflict, "Thread already exists")
		}
	case err != nil:
		return err
	case len(edit.Saves) > 0:
		if err := s.opt.Store.SaveState(ctx, who, th.ID, edit.Status(created.Status), edit.Saves); err != nil {
			return err
		}
		if created, err = s.opt.Store.Thread(ctx, who, th.ID); err != nil {
			return err
		}
	}
	return s.answer(w, ctx, created)
}

func (s *Service) answer(w http.ResponseWriter, ctx context.Context, th run.Thread) error {
	o, err := s.toJSON(ctx, th, nil)
	if err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, o)
}

// Find finds the thread that the path names, if it is the caller's.
func (s *Service) Find(r *http.Request, who run.Identity) (run.Thread, error) {
	id, err := edge.PathThread(r)
	if err != nil {
		return run.Thread{}, err
	}
	th, err := s.opt.Store.Thread(r.Context(), who, id)
	return th, NotFound(err, id)
}

func (s *Service) get(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	th, err := s.Find(r, who)
	if err != nil {
		return err
	}
	return s.answer(w, r.Context(), th)
}

type change struct {
	Metadata json.RawMessage `json:"metadata" type:"object"`
	TTL      timeToLive      `json:"ttl"`
}

func (s *Service) patch(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	id, err := edge.PathThread(r)
	if err != nil {
		return err
	}
	var req change
	if err := edge.Decode(w, r, &req); err != nil {
		return err
	}
	if err := edge.WantMetadata("metadata", req.Metadata); err != nil {
		return err
	}
	th, err := s.opt.Store.PatchThread(r.Context(), who, id, req.Metadata, req.TTL.expiry())
	if err != nil {
		return NotFound(err, id)
	}
	if strings.Contains(r.Header.Get("Prefer"), "return=minimal") {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return s.answer(w, r.Context(), th)
}

func (s *Service) remove(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	id, err := edge.PathThread(r)
	if err != nil {
		return err
	}
	if err := s.opt.Engine.DeleteThread(r.Context(), who, id); err != nil {
		return NotFound(err, id)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// RemoveOf deletes the threads on which an assistant ran last.
func (s *Service) RemoveOf(ctx context.Context, who run.Identity, assistant string) error {
	mine, err := json.Marshal(map[string]string{"assistant_id": assistant})
	if err != nil {
		return err
	}
	for {
		found, _, err := s.opt.Store.SearchThreads(ctx, who, run.ThreadQuery{Metadata: mine, Limit: edge.MaxLimit})
		if err != nil {
			return err
		}
		for _, th := range found {
			if err := s.opt.Engine.DeleteThread(ctx, who, th.ID); err != nil && !errors.Is(err, run.ErrNotFound) {
				return err
			}
		}
		if len(found) < edge.MaxLimit {
			return nil
		}
	}
}

func (s *Service) copy(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	id, err := edge.PathThread(r)
	if err != nil {
		return err
	}
	th, err := s.opt.Store.CopyThread(r.Context(), who, id, edge.NewID())
	if err != nil {
		return NotFound(err, id)
	}
	return s.answer(w, r.Context(), th)
}

type pruning struct {
	ThreadIDs []string `json:"thread_ids"`
	Strategy  string   `json:"strategy" enum:"delete,keep_latest"`
}

func (s *Service) prune(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req pruning
	if err := edge.Decode(w, r, &req); err != nil {
		return err
	}
	strategy, err := edge.OneOf("strategy", req.Strategy, "delete", "keep_latest")
	if err != nil {
		return err
	}
	if len(req.ThreadIDs) > edge.MaxLimit {
		return run.Invalidf("thread_ids", "are more than %d", edge.MaxLimit)
	}
	for i, id := range req.ThreadIDs {
		if req.ThreadIDs[i], err = edge.ParseThread("thread_ids."+strconv.Itoa(i), id); err != nil {
			return err
		}
	}
	pruned := 0
	for _, id := range req.ThreadIDs {
		if strategy == "delete" {
			err = s.opt.Engine.DeleteThread(r.Context(), who, id)
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
	return edge.Answer(w, http.StatusOK, jsonvalue.Object{{"pruned_count", pruned}})
}
