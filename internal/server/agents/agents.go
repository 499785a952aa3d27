// Package agents serves custom agents: people make, read, change and delete agents of their own.
//
// # Laws
//
//   - An agent is its owner's: everybody else is told that there is none.
//   - A change names what it changes; null sets a member back to what it is where nobody says anything.
//   - What is answered is what the next run finds.
package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/tributary-ai/tributary/internal/custom"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

// Agents keep custom agents; package custom says what they promise.
type Agents interface {
	List(owner string) ([]custom.Agent, error)
	Get(owner, name string) (custom.Agent, error)
	Create(owner string, a custom.Agent) (custom.Agent, error)
	Update(owner, name string, change func(*custom.Agent) error) (custom.Agent, error)
	Delete(owner, name string) error
}

// Options are a service's parts.
type Options struct {
	Agents Agents
	// Did is told of each change; nil: nobody is.
	Did func(ctx context.Context, who run.Identity, action, kind, id string)
}

// Service serves agents.
type Service struct{ opt Options }

// New makes a service.
func New(opt Options) *Service {
	if opt.Did == nil {
		opt.Did = func(context.Context, run.Identity, string, string, string) {}
	}
	return &Service{opt}
}

// Mount adds its routes.
func (s *Service) Mount(t *edge.Routes) {
	t.Section("agents", "Custom agents, which runs name as agent_name in their configuration")
	t.Handle("GET /agents", s.list, edge.Doc{Summary: "List agents, without their souls", Answer: jsonvalue.Object{{"agents", []shown{}}}})
	t.Handle("POST /agents", s.create, edge.Doc{Summary: "Make an agent; runs can use it at once", Body: creating{}, Status: []int{201}, Answer: shown{}, Fails: []int{409}})
	t.Handle("GET /agents/check", s.check, edge.Doc{
		Summary: "Whether a name is free for an agent", Query: jsonvalue.Object{{"name", ""}}, Answer: jsonvalue.Object{{"available", false}, {"name", ""}}, Fails: []int{422},
	})
	t.Handle("GET /agents/{agent_name}", s.get, edge.Doc{Summary: "Read an agent", Answer: shown{}, Fails: []int{404}})
	t.Handle("PUT /agents/{agent_name}", s.update, edge.Doc{Summary: "Change the members of an agent that are given", Body: described{}, Answer: shown{}, Fails: []int{404}})
	t.Handle("DELETE /agents/{agent_name}", s.remove, edge.Doc{Summary: "Delete an agent", Status: []int{204}, Fails: []int{404}})
}

// described is what can be said of an agent. What is null is as it is where nobody says anything.
type described struct {
	Description *string          `json:"description" doc:"what it is good for"`
	Model       *string          `json:"model" doc:"null for the usual one"`
	Settings    *custom.Settings `json:"model_settings"`
	Thinking    *bool            `json:"thinking_enabled"`
	Effort      *string          `json:"reasoning_effort"`
	Groups      *[]string        `json:"tool_groups" doc:"groups of tools, as in web or files:read; null for all, none if it is empty"`
	Skills      *[]string        `json:"skills" doc:"names of skills; null for all, none if it is empty"`
	Soul        *string          `json:"soul" doc:"its character and knowledge, for its prompt"`
}

// creating is a new agent.
type creating struct {
	Name string `json:"name" required:"true" doc:"letters, digits and dashes; kept in small letters"`
	described
}

// SchemaName is its name for clients.
func (creating) SchemaName() string { return "NewAgent" }

// shown is an agent as clients see it.
type shown struct {
	Name string `json:"name"`
	described
	Problem string `json:"problem,omitempty" doc:"why it cannot be used, where somebody wrote its files by hand"`
}

// SchemaName is its name for clients.
func (shown) SchemaName() string { return "CustomAgent" }

func show(a custom.Agent) shown {
	return shown{Name: a.Name, described: describe(a), Problem: a.Problem}
}

func describe(a custom.Agent) described {
	d := described{Description: &a.Description, Thinking: a.Thinking, Soul: &a.Soul}
	if a.Model != "" {
		d.Model = &a.Model
	}
	if a.Settings != (custom.Settings{}) {
		d.Settings = &a.Settings
	}
	if a.Effort != "" {
		d.Effort = &a.Effort
	}
	if a.Groups != nil {
		d.Groups = &a.Groups
	}
	if a.Skills != nil {
		d.Skills = &a.Skills
	}
	return d
}

// onto is the agent that is described.
func (d described) onto(name string) custom.Agent {
	a := custom.Agent{
		Name: name, Description: value(d.Description), Model: value(d.Model), Settings: value(d.Settings), Thinking: d.Thinking, Effort: value(d.Effort), Soul: value(d.Soul),
	}
	if d.Groups != nil {
		a.Groups = append([]string{}, *d.Groups...)
	}
	if d.Skills != nil {
		a.Skills = append([]string{}, *d.Skills...)
	}
	return a
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// refusal says in the words of routes what is wrong.
func refusal(err error) error {
	var invalid *custom.InvalidError
	switch {
	case errors.As(err, &invalid):
		return run.Invalidf(invalid.Field, "%s", invalid.Problem)
	case errors.Is(err, custom.ErrNone):
		return edge.RefuseField(http.StatusNotFound, "agent_name", "agent_name: there is no such agent")
	case errors.Is(err, custom.ErrExists):
		return edge.RefuseField(http.StatusConflict, "name", "name: there is an agent of that name already")
	case errors.Is(err, custom.ErrFull):
		return edge.Refuse(http.StatusConflict, err.Error())
	}
	return err
}

func (s *Service) list(w http.ResponseWriter, _ *http.Request, who run.Identity) error {
	all, err := s.opt.Agents.List(who.Owner)
	if err != nil {
		return err
	}
	list := []shown{}
	for _, a := range all {
		one := show(a)
		one.Soul = nil
		list = append(list, one)
	}
	return edge.Answer(w, http.StatusOK, jsonvalue.Object{{"agents", list}})
}

func (s *Service) create(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var c creating
	if err := edge.DecodeStrict(w, r, &c); err != nil {
		return err
	}
	a, err := s.opt.Agents.Create(who.Owner, c.onto(c.Name))
	if err != nil {
		return refusal(err)
	}
	s.opt.Did(r.Context(), who, "create", "agent", a.Name)
	return edge.Answer(w, http.StatusCreated, show(a))
}

func (s *Service) check(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	name, err := custom.NameOf(r.URL.Query().Get("name"))
	if err != nil {
		return refusal(err)
	}
	_, err = s.opt.Agents.Get(who.Owner, name) // one whose files are broken has its name too
	return edge.Answer(w, http.StatusOK, jsonvalue.Object{{"available", errors.Is(err, custom.ErrNone)}, {"name", name}})
}

func (s *Service) get(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	a, err := s.opt.Agents.Get(who.Owner, r.PathValue("agent_name"))
	if err != nil {
		return refusal(err)
	}
	return edge.Answer(w, http.StatusOK, show(a))
}

// members are those of described, by which a misspelt one is found.
var members = []string{"description", "model", "model_settings", "thinking_enabled", "reasoning_effort", "tool_groups", "skills", "soul"}

func (s *Service) update(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var said described // looked at before anything is locked, since a client may be slow
	raw, err := edge.DecodeRaw(w, r, &said)
	if err != nil {
		return err
	}
	if bytes.TrimSpace(raw)[0] != '{' {
		return run.Invalidf("body", "must be an object")
	}
	var given map[string]json.RawMessage
	if err := edge.Unmarshal(raw, &given); err != nil {
		return err
	}
	for key := range given {
		if !slices.Contains(members, key) {
			return run.Invalidf(key, "is not a field of this request")
		}
	}
	a, err := s.opt.Agents.Update(who.Owner, r.PathValue("agent_name"), func(a *custom.Agent) error {
		d := describe(*a)
		if err := edge.Unmarshal(raw, &d); err != nil { // what is not given stays
			return err
		}
		*a = d.onto(a.Name)
		return nil
	})
	if err != nil {
		return refusal(err)
	}
	s.opt.Did(r.Context(), who, "change", "agent", a.Name)
	return edge.Answer(w, http.StatusOK, show(a))
}

func (s *Service) remove(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	if err := s.opt.Agents.Delete(who.Owner, r.PathValue("agent_name")); err != nil {
		return refusal(err)
	}
	s.opt.Did(r.Context(), who, "delete", "agent", r.PathValue("agent_name"))
	w.WriteHeader(http.StatusNoContent)
	return nil
}
