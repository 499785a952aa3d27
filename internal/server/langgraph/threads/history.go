package threads

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/server/langgraph/state"
)

type historyQuery struct {
	edge.Page
	Before     checkpointBefore `json:"before"`
	Metadata   json.RawMessage  `json:"metadata" type:"object" doc:"what their metadata must contain"`
	Checkpoint *state.Ref       `json:"checkpoint"`
}

// checkpointBefore is a checkpoint's id, or a config object with one.
type checkpointBefore string

// Shape says that it has two forms.
func (checkpointBefore) Shape() jsonvalue.Object {
	return jsonvalue.Object{{"description", `a checkpoint's id, or {"configurable": {"checkpoint_id": id}}`}, {"type", []string{"string", "object"}}}
}

func (c *checkpointBefore) UnmarshalJSON(data []byte) error {
	var id string
	if json.Unmarshal(data, &id) == nil {
		*c = checkpointBefore(id)
		return nil
	}
	var config struct {
		Configurable state.Ref `json:"configurable"`
		state.Ref
	}
	if json.Unmarshal(data, &config) != nil {
		return run.Invalidf("before", `must be a checkpoint's id, or {"configurable": {"checkpoint_id": id}}`)
	}
	*c = checkpointBefore(config.Configurable.ID)
	if *c == "" {
		*c = checkpointBefore(config.ID)
	}
	return nil
}

func (s *Service) getHistory(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	limit, _, err := edge.QueryPage(r, 10)
	if err != nil {
		return err
	}
	q := historyQuery{Page: edge.Page{Limit: &limit}, Before: checkpointBefore(r.URL.Query().Get("before"))}
	return s.answerHistory(w, r, who, q)
}

func (s *Service) postHistory(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var q historyQuery
	if err := edge.Decode(w, r, &q); err != nil {
		return err
	}
	return s.answerHistory(w, r, who, q)
}

// answerHistory lists checkpoints, newest first.
func (s *Service) answerHistory(w http.ResponseWriter, r *http.Request, who run.Identity, q historyQuery) error {
	limit, _, err := q.Bounds(10)
	if err != nil {
		return err
	}
	if err := edge.WantMetadata("metadata", q.Metadata); err != nil {
		return err
	}
	before := string(q.Before)
	if before != "" {
		if before, err = edge.ParseID("before", before); err != nil {
			return err
		}
	}
	var from state.Ref
	if q.Checkpoint != nil {
		from = *q.Checkpoint
	}
	if err := from.Check("checkpoint"); err != nil {
		return err
	}
	th, err := s.Find(r, who)
	if err != nil {
		return err
	}
	ctx := r.Context()
	h := history{view: s.opt.States.View(ctx, th), want: jsonvalue.Fields(q.Metadata), found: jsonvalue.List{}}
	if from.ID != "" {
		err = h.one(ctx, s.opt.Store, th.ID, from, before)
	} else {
		err = h.gather(ctx, s.opt.Store, th.ID, from.NS, before, limit)
	}
	if err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, h.found)
}

// history is a list of checkpoints in the making.
type history struct {
	view  *state.View
	want  map[string]json.RawMessage // of their metadata
	found jsonvalue.List
}

// one takes the checkpoint that is named, and no other.
func (h *history) one(ctx context.Context, from Store, thread string, at state.Ref, before string) error {
	snap, err := from.Load(ctx, thread, at.NS, at.ID)
	if errors.Is(err, graph.ErrNoCheckpoint) {
		return nil
	}
	if err != nil || before != "" && at.ID >= before {
		return err
	}
	return h.add(ctx, snap)
}

// gather takes those of a namespace, newest first, until there are enough of them.
func (h *history) gather(ctx context.Context, from Store, thread, ns, before string, limit int) error {
	for len(h.found) < limit {
		some, err := from.List(ctx, thread, ns, before, limit)
		if err != nil {
			return err
		}
		for _, snap := range some {
			if err := h.add(ctx, snap); err != nil {
				return err
			}
			if before = snap.ID; len(h.found) == limit {
				break
			}
		}
		if len(some) < limit {
			break
		}
	}
	return nil
}

// add takes a checkpoint if its metadata is as wanted.
func (h *history) add(ctx context.Context, snap *graph.Snapshot) error {
	o, err := h.view.State(ctx, snap, false)
	if err != nil {
		return err
	}
	if len(h.want) > 0 {
		raw, err := json.Marshal(h.view.Metadata(snap))
		if err != nil {
			return err
		}
		if !matches(jsonvalue.Fields(raw), h.want) {
			return nil
		}
	}
	h.found = append(h.found, o)
	return nil
}

// matches reports that the members wanted are there with the same values.
func matches(have, want map[string]json.RawMessage) bool {
	for k, w := range want {
		var a, b any
		if json.Unmarshal(have[k], &a) != nil || json.Unmarshal(w, &b) != nil || !covers(a, b) {
			return false
		}
	}
	return true
}
