package tributary

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-ai/tributary/internal/run"
)

// Assistant is a graph with settings, in versions. Every graph has a default one, which belongs to nobody, has the graph's
// name, and cannot be changed.
type Assistant struct {
	ID          string
	Owner       string // empty for the default of a graph
	Graph       string
	Version     int
	Name        string
	Description string
	Config      json.RawMessage // an object: configurable, tags, recursion_limit; a request's count before them
	Context     json.RawMessage // an object, under that of a request
	Metadata    json.RawMessage // an object
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

func assistantOf(a run.Assistant) Assistant {
	out := Assistant{
		ID: a.ID, Owner: a.Owner, Graph: a.Graph, Version: a.Version, Name: a.Name, Config: a.Config, Context: a.Context,
		Metadata: a.Metadata, CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt,
	}
	if a.Description != nil {
		out.Description = *a.Description
	}
	return out
}

// Assistants are a runtime's assistants. Every call names whose; an empty owner is the local user.
type Assistants struct{ r *Runtime }

// Assistants returns the runtime's assistants.
func (r *Runtime) Assistants() Assistants { return Assistants{r} }

// NewAssistant is an assistant to be created.
type NewAssistant struct {
	ID          string // a UUID; made up, if empty
	Graph       string
	Name        string
	Description string
	Config      json.RawMessage
	Context     json.RawMessage
	Metadata    json.RawMessage
}

// Create creates an assistant. Settings with which its graph cannot be built are refused now, and not at the first run.
func (s Assistants) Create(ctx context.Context, owner string, n NewAssistant) (Assistant, error) {
	a := run.Assistant{
		ID: n.ID, Graph: n.Graph, Name: n.Name, Config: n.Config, Context: n.Context, Metadata: n.Metadata, CreatedAt: time.Now().UTC(),
	}
	switch {
	case a.ID == "":
		a.ID = uuid.Must(uuid.NewV7()).String()
	case uuid.Validate(a.ID) != nil:
		return Assistant{}, invalid("assistant_id", "must be a UUID: other names are those of graphs")
	}
	if a.Name == "" {
		a.Name = "Untitled"
	}
	if n.Description != "" {
		a.Description = &n.Description
	}
	if err := s.check(ctx, owner, a.Graph, a.Config, a.Context, a.Metadata); err != nil {
		return Assistant{}, err
	}
	made, err := s.r.db.CreateAssistant(ctx, identity(owner), a)
	if err != nil {
		return Assistant{}, s.r.told(err)
	}
	return assistantOf(made), nil
}

// check builds the graph as a run of the assistant would.
func (s Assistants) check(ctx context.Context, owner, graph string, config, context, metadata json.RawMessage) error {
	for field, raw := range map[string]json.RawMessage{"config": config, "context": context, "metadata": metadata} {
		if err := wantObject(field, raw); err != nil {
			return err
		}
	}
	if err := run.WithoutSecrets(config, context); err != nil {
		return s.r.told(err)
	}
	if _, ok := s.r.graphs[graph]; !ok {
		return invalid("graph_id", "there is no graph "+graph+"; there are "+strings.Join(graphs(s).Names(), ", "))
	}
	_, err := s.r.build(ctx, run.Run{Owner: identity(owner).Owner, Request: run.Request{Graph: graph, Config: config, Context: context}})
	return s.r.told(err)
}

// Get returns an assistant, by its id or as the default of the graph of that name.
func (s Assistants) Get(ctx context.Context, owner, name string) (Assistant, error) {
	a, err := run.Resolve(ctx, s.r.db, identity(owner), name)
	if err != nil {
		return Assistant{}, s.r.told(err)
	}
	return assistantOf(a), nil
}

// AssistantQuery selects assistants. Zero fields do not restrict.
type AssistantQuery struct {
	Graph    string
	Name     string          // a part of it; case does not matter
	Metadata json.RawMessage // an object; every key must be there with an equal value
	SortBy   string          // assistant_id, graph_id, name, created_at, updated_at; empty for created_at
	Asc      bool
	Page
}

// Search returns a page of the assistants that an owner can use, and the number of all that match.
func (s Assistants) Search(ctx context.Context, owner string, q AssistantQuery) (found []Assistant, total int, err error) {
	rq := run.AssistantQuery{Graph: q.Graph, Name: q.Name, Metadata: q.Metadata, SortBy: q.SortBy, Asc: q.Asc}
	if rq.Limit, rq.Offset, err = q.bounds(); err != nil {
		return nil, 0, s.r.told(err)
	}
	if err := wantOne("sort_by", q.SortBy, "assistant_id", "graph_id", "name", "created_at", "updated_at"); err != nil {
		return nil, 0, err
	}
	if err := wantObject("metadata", q.Metadata); err != nil {
		return nil, 0, err
	}
	list, total, err := s.r.db.SearchAssistants(ctx, identity(owner), rq)
	return assistantsOf(list), total, s.r.told(err)
}

func assistantsOf(list []run.Assistant) []Assistant {
	var out []Assistant
	for _, a := range list {
		out = append(out, assistantOf(a))
	}
	return out
}

// AssistantUpdate changes an assistant. Nil fields stay as they are; keys of the metadata are set.
type AssistantUpdate struct {
	Graph       *string
	Name        *string
	Description *string
	Config      json.RawMessage
	Context     json.RawMessage
	Metadata    json.RawMessage
}

// Update makes a new version of an assistant and returns it.
func (s Assistants) Update(ctx context.Context, owner, id string, u AssistantUpdate) (Assistant, error) {
	a, err := s.own(ctx, owner, id)
	if err != nil {
		return Assistant{}, err
	}
	graph, config, context := a.Graph, a.Config, a.Context
	if u.Graph != nil {
		graph = *u.Graph
	}
	if u.Config != nil {
		config = u.Config
	}
	if u.Context != nil {
		context = u.Context
	}
	if err := s.check(ctx, owner, graph, config, context, u.Metadata); err != nil {
		return Assistant{}, err
	}
	made, err := s.r.db.PatchAssistant(ctx, identity(owner), a.ID, run.AssistantPatch(u))
	if err != nil {
		return Assistant{}, s.r.told(err)
	}
	return assistantOf(made), nil
}

// own is Get for those that the caller may change.
func (s Assistants) own(ctx context.Context, owner, id string) (Assistant, error) {
	a, err := s.Get(ctx, owner, id)
	if err == nil && a.Owner == "" {
		err = invalid("assistant_id", "the default assistant of a graph cannot be changed; create one of your own")
	}
	return a, err
}

// Delete deletes an assistant with all its versions. Runs that it has started go on.
func (s Assistants) Delete(ctx context.Context, owner, id string) error {
	a, err := s.own(ctx, owner, id)
	if err != nil {
		return err
	}
	return s.r.told(s.r.db.DeleteAssistant(ctx, identity(owner), a.ID))
}

// Versions returns a page of an assistant's versions, newest first.
func (s Assistants) Versions(ctx context.Context, owner, id string, p Page) ([]Assistant, error) {
	limit, offset, err := p.bounds()
	if err != nil {
		return nil, s.r.told(err)
	}
	a, err := s.Get(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	list, err := s.r.db.AssistantVersions(ctx, identity(owner), a.ID, nil, limit, offset)
	return assistantsOf(list), s.r.told(err)
}

// SetLatest makes an older version the current one.
func (s Assistants) SetLatest(ctx context.Context, owner, id string, version int) (Assistant, error) {
	a, err := s.own(ctx, owner, id)
	if err != nil {
		return Assistant{}, err
	}
	made, err := s.r.db.SetLatestAssistant(ctx, identity(owner), a.ID, version)
	if err != nil {
		return Assistant{}, s.r.told(err)
	}
	return assistantOf(made), nil
}

// wantOne refuses a word that is none of a few.
func wantOne(field, word string, words ...string) error {
	if word == "" || slices.Contains(words, word) {
		return nil
	}
	return invalid(field, "must be one of "+strings.Join(words, ", ")+", not "+word)
}
