package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

var assistantMembers = []string{"assistant_id", "graph_id", "version", "name", "description", "config", "context", "metadata", "created_at", "updated_at"}

func assistantJSON(a run.Assistant) object {
	return object{
		{"assistant_id", a.ID}, {"graph_id", a.Graph}, {"version", a.Version}, {"name", a.Name}, {"description", a.Description},
		{"config", orEmpty(a.Config)}, {"context", orEmpty(a.Context)}, {"metadata", orEmpty(a.Metadata)},
		{"created_at", stamp(a.CreatedAt)}, {"updated_at", stamp(a.UpdatedAt)},
	}
}

// assistantBody is what can be said of an assistant. Absent members are nil.
type assistantBody struct {
	AssistantID string          `json:"assistant_id"`
	GraphID     *string         `json:"graph_id"`
	Config      json.RawMessage `json:"config"`
	Context     json.RawMessage `json:"context"`
	Metadata    json.RawMessage `json:"metadata"`
	IfExists    string          `json:"if_exists"`
	Name        *string         `json:"name"`
	Description *string         `json:"description"`
}

func (b *assistantBody) check(s *Server, r *http.Request) error {
	for _, err := range []error{wantConfig(b.Config), wantObject("context", b.Context), wantMetadata("metadata", b.Metadata)} {
		if err != nil {
			return err
		}
	}
	if b.Name != nil {
		if err := wantName("name", *b.Name); err != nil {
			return err
		}
	}
	if b.Description != nil && len(*b.Description) > maxMetadata {
		return run.Invalidf("description", "is longer than %d bytes", maxMetadata)
	}
	if b.GraphID == nil {
		return nil
	}
	// Built with its own settings: those that the graph cannot be built with are refused now, not at the first run.
	_, err := s.opt.Graphs.Graph(r.Context(), *b.GraphID, run.Request{Graph: *b.GraphID, Config: b.Config, Context: b.Context})
	if errors.Is(err, run.ErrNotFound) {
		return &statusError{http.StatusNotFound, "graph_id", "graph_id: there is no graph " + strconv.Quote(clip(*b.GraphID))}
	}
	return err
}

// wantConfig checks a config object.
func wantConfig(raw json.RawMessage) error {
	if isNull(raw) {
		return nil
	}
	var c struct {
		Configurable   map[string]json.RawMessage `json:"configurable"`
		Tags           []string                   `json:"tags"`
		RecursionLimit *int                       `json:"recursion_limit"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return run.Invalidf("config."+wrong.Field, "got a %s where something else is expected", wrong.Value)
		}
		return run.Invalidf("config", "must be an object")
	}
	if c.RecursionLimit != nil && (*c.RecursionLimit < 1 || *c.RecursionLimit > 1_000_000) {
		return run.Invalidf("config.recursion_limit", "must be between 1 and 1000000")
	}
	return nil
}

func (s *Server) createAssistant(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req assistantBody
	if err := decode(w, r, &req); err != nil {
		return err
	}
	policy, err := oneOf("if_exists", req.IfExists, "raise", "do_nothing")
	if err != nil {
		return err
	}
	if req.GraphID == nil || *req.GraphID == "" {
		return run.Invalidf("graph_id", "is required")
	}
	if err := req.check(s, r); err != nil {
		return err
	}
	if req.AssistantID == "" {
		req.AssistantID = newID()
	} else if req.AssistantID, err = parseID("assistant_id", req.AssistantID); err != nil {
		return err
	}
	a := run.Assistant{
		ID: req.AssistantID, Graph: *req.GraphID, Name: "Untitled", Description: req.Description,
		Config: req.Config, Context: req.Context, Metadata: req.Metadata, CreatedAt: time.Now().UTC(),
	}
	if req.Name != nil {
		a.Name = *req.Name
	}
	created, err := s.opt.Store.CreateAssistant(r.Context(), who, a)
	if errors.Is(err, run.ErrExists) {
		if created, err = s.opt.Store.Assistant(r.Context(), who, a.ID); err != nil || policy == "raise" {
			return failure(http.StatusConflict, "Assistant already exists")
		}
	}
	if err != nil {
		return err
	}
	s.answer(w, http.StatusOK, assistantJSON(created))
	return nil
}

type assistantSearch struct {
	page
	Metadata  json.RawMessage `json:"metadata"`
	GraphID   string          `json:"graph_id"`
	Name      string          `json:"name"`
	SortBy    string          `json:"sort_by"`
	SortOrder string          `json:"sort_order"`
	Select    []string        `json:"select"`
}

func (q *assistantSearch) query() (run.AssistantQuery, error) {
	out := run.AssistantQuery{Graph: q.GraphID, Name: q.Name, SortBy: q.SortBy}
	if err := wantMetadata("metadata", q.Metadata); err != nil {
		return out, err
	}
	if !isNull(q.Metadata) {
		out.Metadata = q.Metadata
	}
	if err := selection(q.Select, assistantMembers...); err != nil {
		return out, err
	}
	var err error
	out.Asc, err = sorted(q.SortBy, q.SortOrder, "assistant_id", "graph_id", "name", "created_at", "updated_at")
	return out, err
}

func (s *Server) searchAssistants(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req assistantSearch
	if err := decode(w, r, &req); err != nil {
		return err
	}
	q, err := req.query()
	if err == nil {
		q.Limit, q.Offset, err = req.bounds(10)
	}
	if err != nil {
		return err
	}
	found, total, err := s.opt.Store.SearchAssistants(r.Context(), who, q)
	if err != nil {
		return err
	}
	out := list{}
	for _, a := range found {
		out = append(out, assistantJSON(a).pick(req.Select))
	}
	paginate(w, total, q.Offset, len(out))
	s.answer(w, http.StatusOK, out)
	return nil
}

func (s *Server) countAssistants(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req assistantSearch
	if err := decode(w, r, &req); err != nil {
		return err
	}
	q, err := req.query()
	if err != nil {
		return err
	}
	_, total, err := s.opt.Store.SearchAssistants(r.Context(), who, q)
	if err != nil {
		return err
	}
	s.answer(w, http.StatusOK, total)
	return nil
}

// assistant finds the assistant that the path names: by id, or by its graph.
func (s *Server) assistant(r *http.Request, who run.Identity) (run.Assistant, error) {
	a, err := run.Resolve(r.Context(), s.opt.Store, who, r.PathValue("assistant_id"))
	return a, notFound(err, "Assistant not found")
}

func (s *Server) getAssistant(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	a, err := s.assistant(r, who)
	if err != nil {
		return err
	}
	s.answer(w, http.StatusOK, assistantJSON(a))
	return nil
}

// ownAssistant is assistant for those that the caller may change: not the system's.
func (s *Server) ownAssistant(r *http.Request, who run.Identity) (run.Assistant, error) {
	a, err := s.assistant(r, who)
	if err == nil && a.Owner == "" {
		err = failure(http.StatusForbidden, "The default assistant of a graph cannot be changed; create one of your own")
	}
	return a, err
}

func (s *Server) patchAssistant(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req assistantBody
	if err := decode(w, r, &req); err != nil {
		return err
	}
	if req.GraphID != nil && *req.GraphID == "" {
		return run.Invalidf("graph_id", "must not be empty")
	}
	if err := req.check(s, r); err != nil {
		return err
	}
	a, err := s.ownAssistant(r, who)
	if err != nil {
		return err
	}
	p := run.AssistantPatch{Graph: req.GraphID, Name: req.Name, Description: req.Description}
	for _, f := range []struct{ to, from *json.RawMessage }{{&p.Config, &req.Config}, {&p.Context, &req.Context}, {&p.Metadata, &req.Metadata}} {
		if !isNull(*f.from) {
			*f.to = *f.from
		}
	}
	if a, err = s.opt.Store.PatchAssistant(r.Context(), who, a.ID, p); err != nil {
		return notFound(err, "Assistant not found")
	}
	s.answer(w, http.StatusOK, assistantJSON(a))
	return nil
}

func (s *Server) deleteAssistant(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	threads, err := queryBool(r, "delete_threads")
	if err != nil {
		return err
	}
	a, err := s.ownAssistant(r, who)
	if err != nil {
		return err
	}
	ctx := r.Context()
	if err := s.opt.Store.DeleteAssistant(ctx, who, a.ID); err != nil {
		return notFound(err, "Assistant not found")
	}
	if threads {
		mine, err := json.Marshal(map[string]string{"assistant_id": a.ID})
		if err != nil {
			return err
		}
		for {
			found, _, err := s.opt.Store.SearchThreads(ctx, who, run.ThreadQuery{Metadata: mine, Limit: maxLimit})
			if err != nil {
				return err
			}
			for _, th := range found {
				if err := s.removeThread(ctx, who, th.ID); err != nil && !errors.Is(err, run.ErrNotFound) {
					return err
				}
			}
			if len(found) < maxLimit {
				break
			}
		}
	}
	s.answer(w, http.StatusOK, list{a.ID})
	return nil
}

func (s *Server) assistantVersions(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req struct {
		page
		Metadata json.RawMessage `json:"metadata"`
	}
	if err := decode(w, r, &req); err != nil {
		return err
	}
	limit, offset, err := req.bounds(10)
	if err == nil {
		err = wantMetadata("metadata", req.Metadata)
	}
	if err != nil {
		return err
	}
	a, err := s.assistant(r, who)
	if err != nil {
		return err
	}
	filter := req.Metadata
	if isNull(filter) {
		filter = nil
	}
	found, err := s.opt.Store.AssistantVersions(r.Context(), who, a.ID, filter, limit, offset)
	if err != nil {
		return notFound(err, "Assistant not found")
	}
	out := list{}
	for _, v := range found {
		v.CreatedAt = v.UpdatedAt // of the version
		out = append(out, assistantJSON(v).pick(assistantMembers[:len(assistantMembers)-1]))
	}
	s.answer(w, http.StatusOK, out)
	return nil
}

func (s *Server) setLatestAssistant(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req struct {
		Version *int `json:"version"`
	}
	if err := decode(w, r, &req); err != nil {
		return err
	}
	if req.Version == nil {
		return run.Invalidf("version", "is required")
	}
	a, err := s.ownAssistant(r, who)
	if err != nil {
		return err
	}
	if a, err = s.opt.Store.SetLatestAssistant(r.Context(), who, a.ID, *req.Version); err != nil {
		return notFound(err, "Assistant version not found")
	}
	s.answer(w, http.StatusOK, assistantJSON(a))
	return nil
}
