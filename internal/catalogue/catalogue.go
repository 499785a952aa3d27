// Package catalogue is the store of a runtime with the custom agents among its assistants, so that every wire that knows
// assistants knows them too.
//
// # Laws
//
//   - A custom agent is an assistant of its owner's: listed, counted, found by its name, and run like any other. Nobody else sees it.
//   - What is found is what the agent's folder says now. Nothing is copied into the database, so nothing can be out of date.
//   - Its id follows from its name, as that of a graph's own assistant does. A graph's name comes first.
//   - It is not changed here: whoever tries is told where that is done.
package catalogue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/tributary-ai/tributary/internal/custom"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage"
)

// Store is the database with custom agents among its assistants.
type Store struct {
	storage.Backend
	// Agents are the custom agents, and Graph is the graph that runs them; empty: none does, and they are no assistants.
	Agents *custom.Agents
	Graph  string
	// Taken reports that a name is that of a graph.
	Taken func(name string) bool

	system sync.Map // the system's assistants that were asked for, by id: every run begins with one, and nobody changes them
}

var _ run.Assistants = (*Store)(nil)

// assistant is a custom agent as an assistant.
func (s *Store) assistant(owner string, a custom.Agent) (run.Assistant, error) {
	config, err := json.Marshal(map[string]any{"configurable": map[string]string{"agent_name": a.Name}})
	if err != nil {
		return run.Assistant{}, err
	}
	metadata, err := json.Marshal(map[string]string{"created_by": "agents", "agent_name": a.Name})
	return run.Assistant{
		ID: run.DefaultAssistant(a.Name), Owner: owner, Graph: s.Graph, Version: 1, Name: a.Name, Description: &a.Description,
		Config: config, Metadata: metadata, CreatedAt: a.Changed.UTC(), UpdatedAt: a.Changed.UTC(),
	}, err
}

// agent finds the custom agent with an assistant's id; run.ErrNotFound if there is none.
func (s *Store) agent(who run.Identity, id string) (run.Assistant, error) {
	missing := fmt.Errorf("assistant %q: %w", id, run.ErrNotFound)
	if s.Graph == "" {
		return run.Assistant{}, missing
	}
	names, err := s.Agents.Names(who.Owner)
	if err != nil {
		return run.Assistant{}, err
	}
	at := slices.IndexFunc(names, func(name string) bool { return run.DefaultAssistant(name) == id })
	if at < 0 || s.taken(names[at]) {
		return run.Assistant{}, missing
	}
	a, err := s.Agents.Get(who.Owner, names[at])
	if errors.Is(err, custom.ErrNone) {
		return run.Assistant{}, missing
	}
	if err != nil {
		return run.Assistant{}, run.Invalidf("assistant_id", "%v; mend its files or delete it", err)
	}
	return s.assistant(who.Owner, a)
}

func (s *Store) taken(name string) bool { return s.Taken != nil && s.Taken(name) }

// CreateAssistant refuses an id that a custom agent has.
func (s *Store) CreateAssistant(ctx context.Context, who run.Identity, a run.Assistant) (run.Assistant, error) {
	if who.Owner != "" {
		if _, err := s.agent(who, a.ID); err == nil {
			return a, fmt.Errorf("assistant %q: %w", a.ID, run.ErrExists)
		}
	}
	return s.Backend.CreateAssistant(ctx, who, a)
}

// Assistant finds an assistant; run.ErrNotFound if there is none.
func (s *Store) Assistant(ctx context.Context, who run.Identity, id string) (run.Assistant, error) {
	if a, ok := s.system.Load(id); ok {
		return a.(run.Assistant), nil
	}
	a, err := s.Backend.Assistant(ctx, who, id)
	switch {
	case errors.Is(err, run.ErrNotFound):
		return s.agent(who, id)
	case err == nil && a.Owner == "":
		s.system.Store(id, a)
	}
	return a, err
}

// SearchAssistants returns a page of the assistants of both sorts, and the number of all that match.
func (s *Store) SearchAssistants(ctx context.Context, who run.Identity, q run.AssistantQuery) ([]run.Assistant, int, error) {
	more, err := s.matching(who, q)
	if err != nil {
		return nil, 0, err
	}
	if len(more) == 0 {
		return s.Backend.SearchAssistants(ctx, who, q)
	}
	from := q
	if q.Limit > 0 {
		from.Limit, from.Offset = q.Offset+q.Limit, 0
	}
	list, total, err := s.Backend.SearchAssistants(ctx, who, from)
	total += len(more)
	if err != nil || q.Limit == 0 {
		return nil, total, err
	}
	list = append(list, more...)
	slices.SortFunc(list, func(a, b run.Assistant) int { return order(a, b, q) })
	list = list[min(q.Offset, len(list)):]
	return list[:min(q.Limit, len(list))], total, nil
}

// order is the one in which the database lists assistants.
func order(a, b run.Assistant, q run.AssistantQuery) int {
	var c int
	switch q.SortBy {
	case "assistant_id":
	case "graph_id":
		c = strings.Compare(a.Graph, b.Graph)
	case "name":
		c = strings.Compare(a.Name, b.Name)
	case "updated_at":
		c = a.UpdatedAt.Compare(b.UpdatedAt)
	default:
		c = a.CreatedAt.Compare(b.CreatedAt)
	}
	if c = cmp.Or(c, strings.Compare(a.ID, b.ID)); !q.Asc {
		c = -c
	}
	return c
}

// matching are the custom agents that a query selects. Those that cannot be used are none.
func (s *Store) matching(who run.Identity, q run.AssistantQuery) ([]run.Assistant, error) {
	if s.Graph == "" || q.Graph != "" && q.Graph != s.Graph {
		return nil, nil
	}
	all, err := s.Agents.List(who.Owner)
	if err != nil {
		return nil, err
	}
	var out []run.Assistant
	for _, a := range all {
		if a.Problem != "" || s.taken(a.Name) || !strings.Contains(a.Name, strings.ToLower(q.Name)) {
			continue
		}
		one, err := s.assistant(who.Owner, a)
		if err != nil {
			return nil, err
		}
		if contains(one.Metadata, q.Metadata) {
			out = append(out, one)
		}
	}
	return out, nil
}

// contains reports that an object has every member of another with an equal value.
func contains(have, want json.RawMessage) bool {
	if len(want) == 0 {
		return true
	}
	var h, w map[string]any
	if json.Unmarshal(have, &h) != nil || json.Unmarshal(want, &w) != nil {
		return false
	}
	for k, v := range w {
		if got, ok := h[k]; !ok || !reflect.DeepEqual(got, v) {
			return false
		}
	}
	return true
}

// elsewhere says where a custom agent is changed.
func (s *Store) elsewhere(who run.Identity, id string, err error) error {
	if !errors.Is(err, run.ErrNotFound) {
		return err
	}
	if a, none := s.agent(who, id); none == nil {
		return fmt.Errorf("%s is a custom agent: change or delete it at /agents/%s, or with tributary agents: %w", a.Name, a.Name, run.ErrForbidden)
	}
	return err
}

// changed forgets the system's assistants where the system itself may have changed one.
func (s *Store) changed(by run.Identity) {
	if by.Owner == "" {
		s.system.Clear()
	}
}

// PatchAssistant changes an assistant that is no custom agent.
func (s *Store) PatchAssistant(ctx context.Context, who run.Identity, id string, p run.AssistantPatch) (run.Assistant, error) {
	defer s.changed(who)
	a, err := s.Backend.PatchAssistant(ctx, who, id, p)
	return a, s.elsewhere(who, id, err)
}

// DeleteAssistant deletes an assistant that is no custom agent.
func (s *Store) DeleteAssistant(ctx context.Context, who run.Identity, id string) error {
	defer s.changed(who)
	return s.elsewhere(who, id, s.Backend.DeleteAssistant(ctx, who, id))
}

// SetLatestAssistant makes an older version of an assistant that is no custom agent the current one.
func (s *Store) SetLatestAssistant(ctx context.Context, who run.Identity, id string, version int) (run.Assistant, error) {
	defer s.changed(who)
	a, err := s.Backend.SetLatestAssistant(ctx, who, id, version)
	return a, s.elsewhere(who, id, err)
}

// AssistantVersions lists versions; a custom agent has one.
func (s *Store) AssistantVersions(ctx context.Context, who run.Identity, id string, metadata json.RawMessage, limit, offset int) ([]run.Assistant, error) {
	list, err := s.Backend.AssistantVersions(ctx, who, id, metadata, limit, offset)
	if !errors.Is(err, run.ErrNotFound) {
		return list, err
	}
	a, err := s.agent(who, id)
	if err != nil || offset > 0 || limit < 1 || !contains(a.Metadata, metadata) {
		return nil, err
	}
	return []run.Assistant{a}, nil
}
