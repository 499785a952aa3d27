// Package assistants serves LangGraph's assistants: graphs with settings, in versions.
//
// # Laws
//
//   - Settings that a graph cannot be built with are refused when they are given, not at the first run.
//   - Every graph has an assistant of its own, which nobody can change; it is found by the graph's name too.
package assistants

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/server/langgraph/runs"
	"github.com/tributary-ai/tributary/internal/server/langgraph/state"
)

// Options are what the routes need; all of it is required.
type Options struct {
	Store  run.Assistants
	Graphs state.Graphs
	// RemoveThreads deletes the threads on which an assistant ran last.
	RemoveThreads func(ctx context.Context, who run.Identity, assistant string) error
}

// Service serves assistants.
type Service struct{ opt Options }

// New makes the service.
func New(opt Options) *Service { return &Service{opt} }

// Mount adds its routes.
func (s *Service) Mount(t *edge.Routes) {
	t.Section("assistants", "Graphs with settings, in versions")
	t.Handle("POST /assistants", s.create, edge.Doc{
		Summary: "Create an assistant", Body: creation{}, Answer: Assistant{}, Fails: []int{404, 409},
	})
	t.Handle("POST /assistants/search", edge.Search(s.query, toJSON), edge.Doc{Summary: "Search assistants", Body: criteria{}, Answer: []Assistant{}})
	t.Handle("POST /assistants/count", edge.Count(s.query), edge.Doc{Summary: "Count assistants", Body: criteria{}, Answer: 0})
	t.Handle("GET /assistants/{assistant_id}", s.get, edge.Doc{Summary: "Get an assistant, by id or by the name of its graph", Answer: Assistant{}})
	t.Handle("PATCH /assistants/{assistant_id}", s.patch, edge.Doc{
		Summary: "Change an assistant, which makes a new version", Body: body{}, Answer: Assistant{}, Fails: []int{403},
	})
	t.Handle("DELETE /assistants/{assistant_id}", s.remove, edge.Doc{
		Summary: "Delete an assistant", Query: jsonvalue.Object{{"delete_threads", false}}, Answer: []string{}, Fails: []int{403},
	})
	t.Handle("GET /assistants/{assistant_id}/graph", s.draw, edge.Doc{
		Summary: "Draw its graph", Query: jsonvalue.Object{{"xray", edge.Text("true, false or how many levels of subgraphs to open")}},
		Answer: jsonvalue.Object{{"nodes", []drawnNode{}}, {"edges", []drawnEdge{}}},
	})
	t.Handle("GET /assistants/{assistant_id}/schemas", s.schemas, edge.Doc{
		Summary: "Describe its input, output, state, configuration and context, as JSON Schemas",
		Answer: jsonvalue.Object{
			{"graph_id", ""}, {"input_schema", nil}, {"output_schema", nil}, {"state_schema", nil}, {"config_schema", nil}, {"context_schema", nil},
		},
	})
	subgraphs := edge.Doc{Summary: "Describe its subgraphs, by their namespaces", Query: jsonvalue.Object{{"recurse", false}}, Answer: map[string]any{}}
	t.Handle("GET /assistants/{assistant_id}/subgraphs", s.subgraphs, subgraphs)
	t.Handle("GET /assistants/{assistant_id}/subgraphs/{namespace}", s.subgraphs, subgraphs)
	t.Handle("POST /assistants/{assistant_id}/versions", s.versions, edge.Doc{
		Summary: "List its versions, newest first", Body: versionsBody{}, Answer: []version{},
	})
	t.Handle("POST /assistants/{assistant_id}/latest", s.setLatest, edge.Doc{
		Summary: "Make a version the current one", Body: latestBody{}, Answer: Assistant{}, Fails: []int{403},
	})
}

// Assistant is what toJSON shows.
type Assistant struct {
	version
	UpdatedAt time.Time `json:"updated_at"`
}

// version is an assistant as it was.
type version struct {
	ID          string          `json:"assistant_id" format:"uuid"`
	Graph       string          `json:"graph_id"`
	Version     int             `json:"version"`
	Name        string          `json:"name"`
	Description *string         `json:"description"`
	Config      json.RawMessage `json:"config" type:"object"`
	Context     json.RawMessage `json:"context" type:"object"`
	Metadata    json.RawMessage `json:"metadata" type:"object"`
	CreatedAt   time.Time       `json:"created_at"`
}

var members = edge.Members[Assistant]()

func toJSON(a run.Assistant) jsonvalue.Object {
	return jsonvalue.Object{
		{"assistant_id", a.ID}, {"graph_id", a.Graph}, {"version", a.Version}, {"name", a.Name}, {"description", a.Description},
		{"config", jsonvalue.OrEmpty(a.Config)}, {"context", jsonvalue.OrEmpty(a.Context)}, {"metadata", jsonvalue.OrEmpty(a.Metadata)},
		{"created_at", jsonvalue.Time(a.CreatedAt)}, {"updated_at", jsonvalue.Time(a.UpdatedAt)},
	}
}

// creation is a body that makes an assistant.
type creation struct {
	body
	AssistantID string `json:"assistant_id" format:"uuid" doc:"made up, if there is none"`
	IfExists    string `json:"if_exists" enum:"raise,do_nothing"`
}

// body is what can be said of an assistant. Absent members are nil.
type body struct {
	GraphID     *string         `json:"graph_id" required:"true"`
	Config      json.RawMessage `json:"config" type:"object"`
	Context     json.RawMessage `json:"context" type:"object"`
	Metadata    json.RawMessage `json:"metadata" type:"object"`
	Name        *string         `json:"name"`
	Description *string         `json:"description"`
}

func (b *body) check(graphs state.Graphs, r *http.Request, who run.Identity) error {
	for _, err := range []error{runs.CheckConfig(b.Config), edge.WantObject("context", b.Context), edge.WantMetadata("metadata", b.Metadata), run.WithoutSecrets(b.Config, b.Context)} {
		if err != nil {
			return err
		}
	}
	if b.Name != nil {
		if err := edge.WantName("name", *b.Name); err != nil {
			return err
		}
	}
	if b.Description != nil && len(*b.Description) > edge.MaxMetadata {
		return run.Invalidf("description", "is longer than %d bytes", edge.MaxMetadata)
	}
	if b.GraphID == nil {
		return nil
	}
	// Built with its own settings: those that the graph cannot be built with are refused now, not at the first run.
	_, err := graphs.Graph(r.Context(), who, *b.GraphID, run.Request{Graph: *b.GraphID, Config: b.Config, Context: b.Context})
	if errors.Is(err, run.ErrNotFound) {
		return edge.RefuseField(http.StatusNotFound, "graph_id", "graph_id: there is no graph "+strconv.Quote(edge.Clip(*b.GraphID)))
	}
	return err
}

func (s *Service) create(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req creation
	if err := edge.Decode(w, r, &req); err != nil {
		return err
	}
	policy, err := edge.OneOf("if_exists", req.IfExists, "raise", "do_nothing")
	if err != nil {
		return err
	}
	if req.GraphID == nil || *req.GraphID == "" {
		return run.Invalidf("graph_id", "is required")
	}
	if err := req.check(s.opt.Graphs, r, who); err != nil {
		return err
	}
	if req.AssistantID == "" {
		req.AssistantID = edge.NewID()
	} else if req.AssistantID, err = edge.ParseID("assistant_id", req.AssistantID); err != nil {
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
			return edge.Refuse(http.StatusConflict, "Assistant already exists")
		}
	}
	if err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, toJSON(created))
}

type criteria struct {
	edge.Criteria
	GraphID string `json:"graph_id"`
	Name    string `json:"name"`
}

// query reads a search and turns it into the store's words.
func (s *Service) query(w http.ResponseWriter, r *http.Request, who run.Identity) (*edge.Criteria, edge.Finder[run.Assistant], error) {
	var req criteria
	if err := edge.Decode(w, r, &req); err != nil {
		return nil, nil, err
	}
	asc, err := req.Check(members, "assistant_id", "graph_id", "name", "created_at", "updated_at")
	q := run.AssistantQuery{Graph: req.GraphID, Name: req.Name, Metadata: req.Metadata, SortBy: req.SortBy, Asc: asc}
	return &req.Criteria, func(limit, offset int) ([]run.Assistant, int, error) {
		q.Limit, q.Offset = limit, offset
		return s.opt.Store.SearchAssistants(r.Context(), who, q)
	}, err
}

// find finds the assistant that the path names: by id, or by its graph.
func (s *Service) find(r *http.Request, who run.Identity) (run.Assistant, error) {
	a, err := run.Resolve(r.Context(), s.opt.Store, who, r.PathValue("assistant_id"))
	return a, edge.NotFound(err, "Assistant not found")
}

func (s *Service) get(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	a, err := s.find(r, who)
	if err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, toJSON(a))
}

// findOwn is find for those that the caller may change: not the system's.
func (s *Service) findOwn(r *http.Request, who run.Identity) (run.Assistant, error) {
	a, err := s.find(r, who)
	if err == nil && a.Owner == "" {
		err = edge.Refuse(http.StatusForbidden, "The default assistant of a graph cannot be changed; create one of your own")
	}
	return a, err
}

func (s *Service) patch(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req body
	if err := edge.Decode(w, r, &req); err != nil {
		return err
	}
	if req.GraphID != nil && *req.GraphID == "" {
		return run.Invalidf("graph_id", "must not be empty")
	}
	if err := req.check(s.opt.Graphs, r, who); err != nil {
		return err
	}
	a, err := s.findOwn(r, who)
	if err != nil {
		return err
	}
	p := run.AssistantPatch{Graph: req.GraphID, Name: req.Name, Description: req.Description}
	for _, f := range []struct{ to, from *json.RawMessage }{{&p.Config, &req.Config}, {&p.Context, &req.Context}, {&p.Metadata, &req.Metadata}} {
		if !jsonvalue.IsNull(*f.from) {
			*f.to = *f.from
		}
	}
	if a, err = s.opt.Store.PatchAssistant(r.Context(), who, a.ID, p); err != nil {
		return edge.NotFound(err, "Assistant not found")
	}
	return edge.Answer(w, http.StatusOK, toJSON(a))
}

func (s *Service) remove(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	threads, err := edge.QueryBool(r, "delete_threads")
	if err != nil {
		return err
	}
	a, err := s.findOwn(r, who)
	if err != nil {
		return err
	}
	ctx := r.Context()
	if err := s.opt.Store.DeleteAssistant(ctx, who, a.ID); err != nil {
		return edge.NotFound(err, "Assistant not found")
	}
	if threads {
		if err := s.opt.RemoveThreads(ctx, who, a.ID); err != nil {
			return err
		}
	}
	return edge.Answer(w, http.StatusOK, jsonvalue.List{a.ID})
}

type versionsBody struct {
	edge.Page
	Metadata json.RawMessage `json:"metadata" type:"object" doc:"what their metadata must contain"`
}

func (s *Service) versions(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req versionsBody
	if err := edge.Decode(w, r, &req); err != nil {
		return err
	}
	limit, offset, err := req.Bounds(10)
	if err == nil {
		err = edge.WantMetadata("metadata", req.Metadata)
	}
	if err != nil {
		return err
	}
	a, err := s.find(r, who)
	if err != nil {
		return err
	}
	filter := req.Metadata
	if jsonvalue.IsNull(filter) {
		filter = nil
	}
	found, err := s.opt.Store.AssistantVersions(r.Context(), who, a.ID, filter, limit, offset)
	if err != nil {
		return edge.NotFound(err, "Assistant not found")
	}
	out := jsonvalue.List{}
	for _, v := range found {
		v.CreatedAt = v.UpdatedAt // of the version
		out = append(out, toJSON(v).Pick(members[:len(members)-1]))
	}
	return edge.Answer(w, http.StatusOK, out)
}

type latestBody struct {
	Version *int `json:"version" required:"true"`
}

func (s *Service) setLatest(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req latestBody
	if err := edge.Decode(w, r, &req); err != nil {
		return err
	}
	if req.Version == nil {
		return run.Invalidf("version", "is required")
	}
	a, err := s.findOwn(r, who)
	if err != nil {
		return err
	}
	if a, err = s.opt.Store.SetLatestAssistant(r.Context(), who, a.ID, *req.Version); err != nil {
		return edge.NotFound(err, "Assistant version not found")
	}
	return edge.Answer(w, http.StatusOK, toJSON(a))
}
