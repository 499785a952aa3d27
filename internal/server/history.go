package server

import (
	"encoding/json"
	"net/http"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
)

type historyQuery struct {
	page
	Before     checkpointBefore `json:"before"`
	Metadata   json.RawMessage  `json:"metadata"`
	Checkpoint *checkpointRef   `json:"checkpoint"`
}

// checkpointBefore is a checkpoint's id, or a config object with one.
type checkpointBefore string

func (c *checkpointBefore) UnmarshalJSON(data []byte) error {
	var id string
	if json.Unmarshal(data, &id) == nil {
		*c = checkpointBefore(id)
		return nil
	}
	var config struct {
		Configurable checkpointRef `json:"configurable"`
		checkpointRef
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

func (s *Server) getHistory(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	limit, _, err := queryPage(r, 10)
	if err != nil {
		return err
	}
	q := historyQuery{page: page{Limit: &limit}, Before: checkpointBefore(r.URL.Query().Get("before"))}
	return s.answerHistory(w, r, who, q)
}

func (s *Server) postHistory(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var q historyQuery
	if err := decode(w, r, &q); err != nil {
		return err
	}
	return s.answerHistory(w, r, who, q)
}

// answerHistory lists checkpoints, newest first.
func (s *Server) answerHistory(w http.ResponseWriter, r *http.Request, who run.Identity, q historyQuery) error {
	limit, _, err := q.bounds(10)
	if err != nil {
		return err
	}
	if err := wantMetadata("metadata", q.Metadata); err != nil {
		return err
	}
	before := string(q.Before)
	if before != "" {
		if before, err = parseID("before", before); err != nil {
			return err
		}
	}
	var from checkpointRef
	if q.Checkpoint != nil {
		from = *q.Checkpoint
	}
	if err := from.check("checkpoint"); err != nil {
		return err
	}
	th, err := s.thread(r, who)
	if err != nil {
		return err
	}
	ctx := r.Context()
	v := s.view(ctx, th)
	want := fields(q.Metadata)
	out := list{}
	add := func(snap *graph.Snapshot) error {
		o, err := v.state(ctx, snap, false, nil)
		if err != nil {
			return err
		}
		if len(want) > 0 {
			raw, err := json.Marshal(v.metadata(snap, nil))
			if err != nil {
				return err
			}
			if !matches(fields(raw), want) {
				return nil
			}
		}
		out = append(out, o)
		return nil
	}
	if from.ID != "" { // the one that is named, and no other
		snap, err := s.opt.Store.Load(ctx, th.ID, from.NS, from.ID)
		if isGone(err) {
			s.answer(w, http.StatusOK, list{})
			return nil
		}
		if err != nil {
			return err
		}
		if before == "" || from.ID < before {
			if err := add(snap); err != nil {
				return err
			}
		}
		s.answer(w, http.StatusOK, out)
		return nil
	}
	for len(out) < limit {
		some, err := s.opt.Store.List(ctx, th.ID, from.NS, before, limit)
		if err != nil {
			return err
		}
		for _, snap := range some {
			if err := add(snap); err != nil {
				return err
			}
			if before = snap.ID; len(out) == limit {
				break
			}
		}
		if len(some) < limit {
			break
		}
	}
	s.answer(w, http.StatusOK, out)
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
