// Package crons serves LangGraph's crons: runs that are started on a schedule.
//
// What a cron's runs are to do is checked when it is made, as if one started then. Where nothing fires crons, none can
// be made.
package crons

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/server/langgraph/runs"
	"github.com/tributary-ai/tributary/internal/server/langgraph/threads"
)

// Runs checks requests for runs.
type Runs interface {
	// Plan checks what a run is to do as if it started now, and returns it without its assistant's settings, which may
	// have changed by then.
	Plan(r *http.Request, who run.Identity, b *runs.Body, thread string) (run.Request, error)
}

// Options are what the routes need. Store and Runs are required.
type Options struct {
	Store run.Crons
	Runs  Runs
	// Kick makes whoever fires crons look at them again; nil where nobody does.
	Kick func()
}

// Service serves crons.
type Service struct{ opt Options }

// New makes the service.
func New(opt Options) *Service { return &Service{opt} }

// Mount adds its routes.
func (s *Service) Mount(t *edge.Routes) {
	t.Section("crons", "Runs on a schedule")
	t.Handle("POST /runs/crons", s.create, edge.Doc{
		Summary: "Start runs on a schedule, each on a thread of its own", Body: body{}, Answer: Cron{}, Fails: []int{404},
	})
	t.Handle("POST /threads/{thread_id}/runs/crons", s.create, edge.Doc{Summary: "Start runs of a thread on a schedule", Body: body{}, Answer: Cron{}})
	t.Handle("POST /runs/crons/search", edge.Search(s.query, toJSON), edge.Doc{Summary: "Search crons", Body: criteria{}, Answer: []Cron{}})
	t.Handle("POST /runs/crons/count", edge.Count(s.query), edge.Doc{Summary: "Count crons", Body: criteria{}, Answer: 0})
	t.Handle("PATCH /runs/crons/{cron_id}", s.patch, edge.Doc{Summary: "Change a cron", Body: body{}, Answer: Cron{}})
	t.Handle("DELETE /runs/crons/{cron_id}", s.remove, edge.Doc{Summary: "Delete a cron", Answer: jsonvalue.Object{}})
}

// Cron is what toJSON shows.
type Cron struct {
	ID             string          `json:"cron_id" format:"uuid"`
	Assistant      string          `json:"assistant_id" format:"uuid"`
	Thread         *string         `json:"thread_id"`
	Schedule       string          `json:"schedule"`
	Timezone       *string         `json:"timezone"`
	EndTime        *time.Time      `json:"end_time"`
	Next           *time.Time      `json:"next_run_date"`
	Payload        json.RawMessage `json:"payload" type:"object" doc:"what is asked of each run"`
	Metadata       json.RawMessage `json:"metadata" type:"object"`
	Enabled        bool            `json:"enabled"`
	OnRunCompleted string          `json:"on_run_completed" enum:"delete,keep"`
	User           *string         `json:"user_id"`
	CreatedAt      time.Time       `json:"created_at"`
	UpdatedAt      time.Time       `json:"updated_at"`
}

var members = edge.Members[Cron]()

func toJSON(c run.Cron) jsonvalue.Object {
	done := "delete"
	if c.Keep {
		done = "keep"
	}
	return jsonvalue.Object{
		{"cron_id", c.ID}, {"assistant_id", c.Request.Assistant}, {"thread_id", orNil(c.Thread)}, {"schedule", c.Schedule}, {"timezone", orNil(c.Timezone)},
		{"end_time", jsonvalue.Time(c.EndTime)}, {"next_run_date", jsonvalue.Time(c.Next)}, {"payload", jsonvalue.OrEmpty(c.Payload)}, {"metadata", jsonvalue.OrEmpty(c.Metadata)},
		{"enabled", c.Enabled}, {"on_run_completed", done}, {"user_id", nil}, {"created_at", jsonvalue.Time(c.CreatedAt)}, {"updated_at", jsonvalue.Time(c.UpdatedAt)},
	}
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// body is a cron in a request. In a patch, what is absent stays.
type body struct {
	runs.Body
	Schedule       *string `json:"schedule" required:"true" doc:"minute, hour, day of month, month and day of week"`
	Timezone       *string `json:"timezone" doc:"a name such as Europe/Berlin; UTC if there is none"`
	EndTime        *string `json:"end_time" format:"date-time"`
	Enabled        *bool   `json:"enabled"`
	OnRunCompleted string  `json:"on_run_completed" enum:"delete,keep" doc:"what becomes of the thread of a run"`
}

// SchemaName is what it is called in the description of the API.
func (body) SchemaName() string { return "CronRequest" }

// apply sets what the body says.
func (b *body) apply(c *run.Cron) error {
	if b.Schedule != nil {
		c.Schedule = *b.Schedule
	}
	if b.Timezone != nil {
		c.Timezone = *b.Timezone
	}
	if b.EndTime != nil {
		end, err := time.Parse(time.RFC3339, *b.EndTime)
		if err != nil {
			return run.Invalidf("end_time", "must be a time such as 2030-01-31T12:00:00Z")
		}
		c.EndTime = end
	}
	if b.Enabled != nil {
		c.Enabled = *b.Enabled
	}
	if b.OnRunCompleted != "" {
		done, err := edge.OneOf("on_run_completed", b.OnRunCompleted, "delete", "keep")
		if err != nil {
			return err
		}
		c.Keep = done == "keep"
	}
	for field, text := range map[string]string{"schedule": c.Schedule, "timezone": c.Timezone} {
		if err := edge.WantName(field, text); err != nil {
			return err
		}
	}
	if c.Schedule == "" {
		return run.Invalidf("schedule", "is required")
	}
	return c.Plan(time.Now())
}

// noScheduler refuses what would never fire.
func (s *Service) noScheduler() error {
	if s.opt.Kick == nil {
		return edge.Refuse(http.StatusNotFound, "this server has no crons")
	}
	return nil
}

func (s *Service) create(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	if err := s.noScheduler(); err != nil {
		return err
	}
	var req body
	raw, err := edge.DecodeRaw(w, r, &req)
	if err != nil {
		return err
	}
	at := time.Now().UTC()
	c := run.Cron{ID: edge.NewID(), Enabled: true, Metadata: req.Metadata, CreatedAt: at, UpdatedAt: at}
	if id := r.PathValue("thread_id"); id != "" {
		if c.Thread, err = edge.ParseThread("thread_id", id); err != nil {
			return err
		}
	}
	if err := req.apply(&c); err != nil {
		return err
	}
	if err := s.request(r, who, &req.Body, &c); err != nil {
		return err
	}
	c.Payload = payloadOf(raw)
	created, err := s.opt.Store.CreateCron(r.Context(), who, c)
	if err != nil {
		return threads.NotFound(err, c.Thread)
	}
	s.opt.Kick()
	return edge.Answer(w, http.StatusOK, toJSON(created))
}

// request checks what the cron's runs are to do, as if one started now, and keeps it without the assistant's
// settings.
func (s *Service) request(r *http.Request, who run.Identity, b *runs.Body, c *run.Cron) error {
	req, err := s.opt.Runs.Plan(r, who, b, c.Thread)
	if err != nil {
		return err
	}
	if err := run.WithoutSecrets(req.Config, req.Context); err != nil {
		return err
	}
	if req.Metadata, err = json.Marshal(jsonvalue.Object{{"cron_id", c.ID}}.With(b.Metadata)); err != nil {
		return err
	}
	c.Request = req
	return nil
}

// payloadOf is what the client asked of each run: its body without what concerns the schedule.
func payloadOf(raw json.RawMessage) json.RawMessage {
	m := jsonvalue.Fields(raw)
	for _, name := range []string{"schedule", "timezone", "end_time", "enabled", "on_run_completed", "metadata"} {
		delete(m, name)
	}
	out, err := json.Marshal(m)
	if err != nil {
		return nil
	}
	return out
}

// find finds the cron that the path names.
func (s *Service) find(r *http.Request, who run.Identity) (run.Cron, error) {
	id, err := edge.PathID(r, "cron_id")
	if err != nil {
		return run.Cron{}, err
	}
	c, err := s.opt.Store.Cron(r.Context(), who, id)
	return c, edge.NotFound(err, "Cron not found")
}

func (s *Service) patch(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	if err := s.noScheduler(); err != nil {
		return err
	}
	var req body
	raw, err := edge.DecodeRaw(w, r, &req)
	if err != nil {
		return err
	}
	c, err := s.find(r, who)
	if err != nil {
		return err
	}
	if err := edge.WantMetadata("metadata", req.Metadata); err != nil {
		return err
	}
	if c.Metadata, err = jsonvalue.Merge(c.Metadata, req.Metadata); err != nil {
		return err
	}
	if err := req.apply(&c); err != nil {
		return err
	}
	// What its runs do is its payload with the changes, checked like a new one.
	payload, err := jsonvalue.Merge(c.Payload, payloadOf(raw))
	if err != nil {
		return err
	}
	var whole runs.Body
	if err := edge.Unmarshal(jsonvalue.OrEmpty(payload), &whole); err != nil {
		return err
	}
	whole.Metadata = c.Metadata
	if err := s.request(r, who, &whole, &c); err != nil {
		return err
	}
	c.Payload = payload
	if c, err = s.opt.Store.ReplaceCron(r.Context(), who, c); err != nil {
		return edge.NotFound(err, "Cron not found")
	}
	s.opt.Kick()
	return edge.Answer(w, http.StatusOK, toJSON(c))
}

func (s *Service) remove(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	id, err := edge.PathID(r, "cron_id")
	if err != nil {
		return err
	}
	if err := s.opt.Store.DeleteCron(r.Context(), who, id); err != nil {
		return edge.NotFound(err, "Cron not found")
	}
	return edge.Answer(w, http.StatusOK, jsonvalue.Object{})
}

type criteria struct {
	edge.Criteria
	AssistantID string `json:"assistant_id"`
	ThreadID    string `json:"thread_id"`
	Enabled     *bool  `json:"enabled"`
}

// query reads a search and turns it into the store's words.
func (s *Service) query(w http.ResponseWriter, r *http.Request, who run.Identity) (*edge.Criteria, edge.Finder[run.Cron], error) {
	var req criteria
	if err := edge.Decode(w, r, &req); err != nil {
		return nil, nil, err
	}
	q := run.CronQuery{Enabled: req.Enabled, SortBy: req.SortBy, Assistant: req.AssistantID}
	if req.AssistantID != "" && len(req.AssistantID) != 36 {
		q.Assistant = run.DefaultAssistant(req.AssistantID)
	}
	var err error
	if req.ThreadID != "" {
		if q.Thread, err = edge.ParseThread("thread_id", req.ThreadID); err != nil {
			return nil, nil, err
		}
	}
	q.Asc, err = req.Check(members, "cron_id", "assistant_id", "thread_id", "next_run_date", "end_time", "created_at", "updated_at")
	q.Metadata = req.Metadata
	return &req.Criteria, func(limit, offset int) ([]run.Cron, int, error) {
		q.Limit, q.Offset = limit, offset
		return s.opt.Store.SearchCrons(r.Context(), who, q)
	}, err
}
