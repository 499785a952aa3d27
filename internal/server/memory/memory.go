// Package memory serves what is remembered of people: they list, change, delete, export, import and switch it off.
//
// # Laws
//
//   - Memory is its owner's: nobody sees, or can name, another's.
//   - A change is answered with all that is remembered then.
//   - What was deleted is in no later answer of any route, and in no later reminder.
//
// The shapes are those of DeerFlow's /api/memory, with more members; its page finds the routes under that name too.
package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/memory"
)

// Options are a service's parts.
type Options struct {
	Book *memory.Book
	// Did is told of each change; nil: nobody is.
	Did func(ctx context.Context, who run.Identity, action, kind, id string)
}

// Service serves a book.
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
	agent := jsonvalue.Object{{"agent_name", ""}}
	t.Section("memory", "What is remembered of the person who asks: by the lead agent, or by the custom agent agent_name. The same is under /api/memory, where DeerFlow's page asks for it")
	t.Handle("GET /memory", s.get, edge.Doc{Summary: "All that is remembered", Query: agent, Answer: memory.Document{}})
	t.Handle("PATCH /memory", s.describe, edge.Doc{Summary: "Change summaries", Query: agent, Body: summaries{}, Answer: memory.Document{}})
	t.Handle("DELETE /memory", s.clear, edge.Doc{
		Summary: "Forget everything, or what comes from one thread", Query: jsonvalue.Object{{"agent_name", ""}, {"thread_id", ""}}, Answer: memory.Document{},
	})
	t.Handle("POST /memory/facts", s.add, edge.Doc{Summary: "Remember a fact", Query: agent, Body: newFact{}, Answer: memory.Document{}})
	t.Handle("GET /memory/facts/{fact_id}", s.fact, edge.Doc{Summary: "Read a fact, with where it comes from", Query: agent, Answer: memory.Fact{}, Fails: []int{404}})
	t.Handle("PATCH /memory/facts/{fact_id}", s.edit, edge.Doc{Summary: "Change the members of a fact that are given", Query: agent, Body: factChange{}, Answer: memory.Document{}, Fails: []int{404}})
	t.Handle("DELETE /memory/facts/{fact_id}", s.remove, edge.Doc{Summary: "Forget a fact for good", Query: agent, Answer: memory.Document{}, Fails: []int{404}})
	t.Handle("GET /memory/search", s.search, edge.Doc{
		Summary: "Find facts by words", Query: jsonvalue.Object{{"agent_name", ""}, {"query", ""}, {"limit", 0}}, Answer: jsonvalue.Object{{"facts", []memory.Fact{}}},
	})
	t.Handle("GET /memory/export", s.get, edge.Doc{Summary: "All that is remembered, for an import", Query: agent, Answer: memory.Document{}})
	t.Handle("POST /memory/import", s.load, edge.Doc{Summary: "Put an export in the place of what is remembered", Query: agent, Body: export{}, Answer: memory.Document{}})
	t.Handle("GET /memory/config", s.config, edge.Doc{Summary: "How memory is set up", Query: agent, Answer: config{}})
	t.Handle("GET /memory/status", s.status, edge.Doc{Summary: "Whether memory is on, and how much there is", Query: agent, Answer: status{}})
	t.Handle("PUT /memory/status", s.turn, edge.Doc{Summary: "Switch memory on or off: for the agent that is named, or for all", Query: agent, Body: turning{}, Answer: status{}})
	t.Alias("/api/memory", "/memory")
}

type (
	newFact struct {
		Content    string   `json:"content" required:"true" doc:"one statement"`
		Category   string   `json:"category" doc:"a word; context if not given"`
		Confidence *float64 `json:"confidence" doc:"from 0 to 1; 0.5 if not given"`
		Topics     []string `json:"topics"`
	}
	factChange struct {
		Content    *string   `json:"content"`
		Category   *string   `json:"category"`
		Confidence *float64  `json:"confidence" doc:"from 0 to 1"`
		Topics     *[]string `json:"topics"`
	}
	summaries struct {
		WorkContext        *string `json:"workContext"`
		PersonalContext    *string `json:"personalContext"`
		TopOfMind          *string `json:"topOfMind"`
		RecentMonths       *string `json:"recentMonths"`
		EarlierContext     *string `json:"earlierContext"`
		LongTermBackground *string `json:"longTermBackground"`
	}
	turning struct {
		Enabled *bool `json:"enabled" required:"true"`
	}
	config struct {
		Enabled     bool    `json:"enabled"`
		MaxFacts    int     `json:"max_facts"`
		Threshold   float64 `json:"fact_confidence_threshold"`
		Budget      int     `json:"max_injection_tokens"`
		Corrections int     `json:"correction_tokens"`
	}
	status struct {
		Enabled bool      `json:"enabled" doc:"whether this agent remembers"`
		User    bool      `json:"user_enabled" doc:"the person's switch, for all agents"`
		Agent   bool      `json:"agent_enabled" doc:"the agent's own switch"`
		Facts   int       `json:"facts"`
		Updated time.Time `json:"lastUpdated,omitzero"`
	}
)

// SchemaName is its name for clients.
func (newFact) SchemaName() string { return "NewMemoryFact" }

// SchemaName is its name for clients.
func (factChange) SchemaName() string { return "MemoryFactChange" }

// SchemaName is its name for clients.
func (summaries) SchemaName() string { return "MemorySummaries" }

// SchemaName is its name for clients.
func (config) SchemaName() string { return "MemoryConfig" }

// SchemaName is its name for clients.
func (status) SchemaName() string { return "MemoryStatus" }

// SchemaName is its name for clients.
func (turning) SchemaName() string { return "MemorySwitch" }

// whose is the memory that a request is about.
func whose(r *http.Request, who run.Identity) (memory.Whose, error) {
	name := strings.ToLower(r.URL.Query().Get("agent_name"))
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return memory.Whose{}, run.Invalidf("agent_name", "has letters, digits and dashes only")
		}
	}
	if len(name) > 128 {
		return memory.Whose{}, run.Invalidf("agent_name", "is too long")
	}
	return memory.Whose{Owner: who.Owner, Agent: name}, nil
}

// refusal says in the words of routes what is wrong.
func refusal(err error) error {
	var invalid *memory.InvalidError
	switch {
	case errors.As(err, &invalid):
		return run.Invalidf(invalid.Field, "%s", invalid.Problem)
	case errors.Is(err, memory.ErrNoFact):
		return edge.RefuseField(http.StatusNotFound, "fact_id", "fact_id: there is no such fact")
	}
	return err
}

func (s *Service) get(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	return s.answer(w, r, who, s.opt.Book.Document)
}

// answer does something to a memory and shows it.
func (s *Service) answer(w http.ResponseWriter, r *http.Request, who run.Identity, do func(context.Context, memory.Whose) (memory.Document, error)) error {
	of, err := whose(r, who)
	if err != nil {
		return err
	}
	d, err := do(r.Context(), of)
	if err != nil {
		return refusal(err)
	}
	return edge.Answer(w, http.StatusOK, d)
}

func (s *Service) describe(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var body summaries
	if err := edge.DecodeStrict(w, r, &body); err != nil {
		return err
	}
	texts := map[string]string{}
	for name, text := range map[string]*string{
		"workContext": body.WorkContext, "personalContext": body.PersonalContext, "topOfMind": body.TopOfMind,
		"recentMonths": body.RecentMonths, "earlierContext": body.EarlierContext, "longTermBackground": body.LongTermBackground,
	} {
		if text != nil {
			texts[name] = *text
		}
	}
	return s.answer(w, r, who, func(ctx context.Context, of memory.Whose) (memory.Document, error) {
		d, err := s.opt.Book.Describe(ctx, of, texts)
		s.did(ctx, who, err, "change", "summaries")
		return d, err
	})
}

// did notes a change that was made.
func (s *Service) did(ctx context.Context, who run.Identity, err error, action, id string) {
	if err == nil {
		s.opt.Did(ctx, who, action, "memory", id)
	}
}

func (s *Service) clear(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	thread := r.URL.Query().Get("thread_id")
	if thread != "" {
		var err error
		if thread, err = edge.ParseThread("thread_id", thread); err != nil {
			return err
		}
	}
	return s.answer(w, r, who, func(ctx context.Context, of memory.Whose) (d memory.Document, err error) {
		if thread != "" {
			d, err = s.opt.Book.DeleteThread(ctx, of, thread)
		} else {
			d, err = s.opt.Book.Clear(ctx, of)
		}
		s.did(ctx, who, err, "delete", thread)
		return d, err
	})
}

func (s *Service) add(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var body newFact
	if err := edge.DecodeStrict(w, r, &body); err != nil {
		return err
	}
	f := memory.Fact{Content: body.Content, Category: body.Category, Confidence: 0.5, Topics: body.Topics}
	if body.Confidence != nil {
		f.Confidence = *body.Confidence
	}
	return s.answer(w, r, who, func(ctx context.Context, of memory.Whose) (memory.Document, error) {
		added, d, err := s.opt.Book.Add(ctx, of, f)
		s.did(ctx, who, err, "create", added.ID)
		return d, err
	})
}

func (s *Service) fact(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	of, err := whose(r, who)
	if err != nil {
		return err
	}
	d, err := s.opt.Book.Document(r.Context(), of)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(d.Facts, func(f memory.Fact) bool { return f.ID == r.PathValue("fact_id") })
	if i < 0 {
		return refusal(memory.ErrNoFact)
	}
	return edge.Answer(w, http.StatusOK, d.Facts[i])
}

func (s *Service) edit(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var body factChange
	if err := edge.DecodeStrict(w, r, &body); err != nil {
		return err
	}
	return s.answer(w, r, who, func(ctx context.Context, of memory.Whose) (memory.Document, error) {
		d, err := s.opt.Book.Edit(ctx, of, r.PathValue("fact_id"), memory.Change(body))
		s.did(ctx, who, err, "change", r.PathValue("fact_id"))
		return d, err
	})
}

func (s *Service) remove(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	return s.answer(w, r, who, func(ctx context.Context, of memory.Whose) (memory.Document, error) {
		d, err := s.opt.Book.Delete(ctx, of, r.PathValue("fact_id"))
		s.did(ctx, who, err, "delete", r.PathValue("fact_id"))
		return d, err
	})
}

func (s *Service) search(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	of, err := whose(r, who)
	if err != nil {
		return err
	}
	limit := 20
	if l := r.URL.Query().Get("limit"); l != "" {
		if limit, err = strconv.Atoi(l); err != nil || limit < 1 || limit > 1000 {
			return run.Invalidf("limit", "must be a whole number from 1 to 1000")
		}
	}
	found, err := s.opt.Book.Search(r.Context(), of, r.URL.Query().Get("query"), limit)
	if err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, jsonvalue.Object{{"facts", found}})
}

// export is what GET /memory/export answers. The version, the count of changes and the time of an import are its own.
type export struct {
	Version     json.RawMessage `json:"version,omitempty"`
	Revision    json.RawMessage `json:"revision,omitempty"`
	LastUpdated json.RawMessage `json:"lastUpdated,omitempty"`
	User        memory.User     `json:"user,omitzero"`
	History     memory.History  `json:"history,omitzero"`
	Facts       []memory.Fact   `json:"facts" required:"true"`
}

func (s *Service) load(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var e export
	raw, err := edge.DecodeRaw(w, r, &e)
	if err != nil {
		return err
	}
	var given map[string]json.RawMessage
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' {
		return run.Invalidf("body", "must be an object, as GET /memory/export answers")
	}
	if err := edge.Unmarshal(raw, &given); err != nil {
		return err
	}
	if f := given["facts"]; f == nil || string(f) == "null" { // what is no export must not delete everything
		return run.Invalidf("facts", "is required")
	}
	return s.answer(w, r, who, func(ctx context.Context, of memory.Whose) (memory.Document, error) {
		d, err := s.opt.Book.Import(ctx, of, memory.Document{User: e.User, History: e.History, Facts: e.Facts})
		s.did(ctx, who, err, "import", "")
		return d, err
	})
}

func (s *Service) config(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	of, err := whose(r, who)
	if err != nil {
		return err
	}
	on, err := s.opt.Book.Status(r.Context(), of)
	if err != nil {
		return err
	}
	o := s.opt.Book.Settings()
	return edge.Answer(w, http.StatusOK, config{on.Enabled, o.MaxFacts, o.Threshold, o.Budget, o.Corrections})
}

func (s *Service) status(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	of, err := whose(r, who)
	if err != nil {
		return err
	}
	on, err := s.opt.Book.Status(r.Context(), of)
	if err != nil {
		return err
	}
	d, err := s.opt.Book.Document(r.Context(), of)
	if err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, status{on.Enabled, on.User, on.Agent, len(d.Facts), d.LastUpdated})
}

func (s *Service) turn(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	of, err := whose(r, who)
	if err != nil {
		return err
	}
	var body turning
	if err := edge.DecodeStrict(w, r, &body); err != nil {
		return err
	}
	if body.Enabled == nil {
		return run.Invalidf("enabled", "is required")
	}
	if of.Agent == "" {
		err = s.opt.Book.SwitchAll(r.Context(), of.Owner, *body.Enabled)
	} else {
		err = s.opt.Book.Switch(r.Context(), of, *body.Enabled)
	}
	if err != nil {
		return err
	}
	s.did(r.Context(), who, nil, "switch", strconv.FormatBool(*body.Enabled))
	return s.status(w, r, who)
}
