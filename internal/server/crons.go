package server

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

var cronMembers = []string{"cron_id", "assistant_id", "thread_id", "schedule", "timezone", "end_time", "next_run_date", "payload", "metadata",
	"enabled", "on_run_completed", "user_id", "created_at", "updated_at"}

func cronJSON(c run.Cron) object {
	done := "delete"
	if c.Keep {
		done = "keep"
	}
	return object{
		{"cron_id", c.ID}, {"assistant_id", c.Request.Assistant}, {"thread_id", orNil(c.Thread)}, {"schedule", c.Schedule}, {"timezone", orNil(c.Timezone)},
		{"end_time", stamp(c.EndTime)}, {"next_run_date", stamp(c.Next)}, {"payload", orEmpty(c.Payload)}, {"metadata", orEmpty(c.Metadata)},
		{"enabled", c.Enabled}, {"on_run_completed", done}, {"user_id", nil}, {"created_at", stamp(c.CreatedAt)}, {"updated_at", stamp(c.UpdatedAt)},
	}
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// cronBody is a cron in a request. In a patch, what is absent stays.
type cronBody struct {
	runBody
	Schedule       *string    `json:"schedule"`
	Timezone       *string    `json:"timezone"`
	EndTime        *time.Time `json:"end_time"`
	Enabled        *bool      `json:"enabled"`
	OnRunCompleted string     `json:"on_run_completed"`
}

// apply sets what the body says.
func (b *cronBody) apply(c *run.Cron) error {
	if b.Schedule != nil {
		c.Schedule = *b.Schedule
	}
	if b.Timezone != nil {
		c.Timezone = *b.Timezone
	}
	if b.EndTime != nil {
		c.EndTime = *b.EndTime
	}
	if b.Enabled != nil {
		c.Enabled = *b.Enabled
	}
	if b.OnRunCompleted != "" {
		done, err := oneOf("on_run_completed", b.OnRunCompleted, "delete", "keep")
		if err != nil {
			return err
		}
		c.Keep = done == "keep"
	}
	for field, text := range map[string]string{"schedule": c.Schedule, "timezone": c.Timezone} {
		if err := wantName(field, text); err != nil {
			return err
		}
	}
	if c.Schedule == "" {
		return run.Invalidf("schedule", "is required")
	}
	return c.Plan(time.Now())
}

// noScheduler refuses what would never fire.
func (s *Server) noScheduler() error {
	if s.opt.Scheduler == nil {
		return failure(http.StatusNotFound, "this server has no crons")
	}
	return nil
}

func (s *Server) createCron(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	if err := s.noScheduler(); err != nil {
		return err
	}
	var body cronBody
	raw, err := decodeRaw(w, r, &body)
	if err != nil {
		return err
	}
	at := time.Now().UTC()
	c := run.Cron{ID: newID(), Enabled: true, Metadata: body.Metadata, CreatedAt: at, UpdatedAt: at}
	if id := r.PathValue("thread_id"); id != "" {
		if c.Thread, err = parseID("thread_id", id); err != nil {
			return err
		}
	}
	if err := body.apply(&c); err != nil {
		return err
	}
	if err := s.cronRequest(r, who, &body.runBody, &c); err != nil {
		return err
	}
	c.Payload = cronPayload(raw)
	created, err := s.opt.Store.CreateCron(r.Context(), who, c)
	if err != nil {
		return noThread(err, c.Thread)
	}
	s.opt.Scheduler.Kick()
	s.answer(w, http.StatusOK, cronJSON(created))
	return nil
}

// cronRequest checks what the cron's runs are to do, as if one started now, and keeps it without the assistant's
// settings.
func (s *Server) cronRequest(r *http.Request, who run.Identity, b *runBody, c *run.Cron) error {
	req, _, err := s.prepare(r, who, b, c.Thread)
	if err != nil {
		return err
	}
	now := req
	if err := s.fromAssistant(r, who, b, &now); err != nil {
		return err
	}
	req.Assistant = now.Assistant // its id, also where a graph was named
	if req.Metadata, err = json.Marshal(combine(object{{"cron_id", c.ID}}, b.Metadata)); err != nil {
		return err
	}
	c.Request = req
	return nil
}

// cronPayload is what the client asked of each run: its body without what concerns the schedule.
func cronPayload(raw json.RawMessage) json.RawMessage {
	m := fields(raw)
	for _, name := range []string{"schedule", "timezone", "end_time", "enabled", "on_run_completed", "metadata"} {
		delete(m, name)
	}
	out, err := json.Marshal(m)
	if err != nil {
		return nil
	}
	return out
}

// cron finds the cron that the path names.
func (s *Server) cron(r *http.Request, who run.Identity) (run.Cron, error) {
	id, err := pathID(r, "cron_id")
	if err != nil {
		return run.Cron{}, err
	}
	c, err := s.opt.Store.Cron(r.Context(), who, id)
	return c, notFound(err, "Cron not found")
}

func (s *Server) patchCron(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	if err := s.noScheduler(); err != nil {
		return err
	}
	var body cronBody
	raw, err := decodeRaw(w, r, &body)
	if err != nil {
		return err
	}
	c, err := s.cron(r, who)
	if err != nil {
		return err
	}
	if err := wantMetadata("metadata", body.Metadata); err != nil {
		return err
	}
	if c.Metadata, err = merge(c.Metadata, body.Metadata); err != nil {
		return err
	}
	if err := body.apply(&c); err != nil {
		return err
	}
	// What its runs do is its payload with the changes, checked like a new one.
	payload, err := merge(c.Payload, cronPayload(raw))
	if err != nil {
		return err
	}
	var whole runBody
	if err := json.Unmarshal(orEmpty(payload), &whole); err != nil {
		return jsonProblem(err)
	}
	whole.Metadata = c.Metadata
	if err := s.cronRequest(r, who, &whole, &c); err != nil {
		return err
	}
	c.Payload = payload
	if c, err = s.opt.Store.ReplaceCron(r.Context(), who, c); err != nil {
		return notFound(err, "Cron not found")
	}
	s.opt.Scheduler.Kick()
	s.answer(w, http.StatusOK, cronJSON(c))
	return nil
}

func (s *Server) deleteCron(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	id, err := pathID(r, "cron_id")
	if err != nil {
		return err
	}
	if err := s.opt.Store.DeleteCron(r.Context(), who, id); err != nil {
		return notFound(err, "Cron not found")
	}
	s.answer(w, http.StatusOK, object{})
	return nil
}

type cronSearch struct {
	page
	AssistantID string          `json:"assistant_id"`
	ThreadID    string          `json:"thread_id"`
	Enabled     *bool           `json:"enabled"`
	Metadata    json.RawMessage `json:"metadata"`
	SortBy      string          `json:"sort_by"`
	SortOrder   string          `json:"sort_order"`
	Select      []string        `json:"select"`
}

func (q *cronSearch) query() (run.CronQuery, error) {
	out := run.CronQuery{Enabled: q.Enabled, SortBy: q.SortBy}
	var err error
	if q.AssistantID != "" {
		if out.Assistant = q.AssistantID; len(q.AssistantID) != 36 {
			out.Assistant = run.DefaultAssistant(q.AssistantID)
		}
	}
	if q.ThreadID != "" {
		if out.Thread, err = parseID("thread_id", q.ThreadID); err != nil {
			return out, err
		}
	}
	if err := wantMetadata("metadata", q.Metadata); err != nil {
		return out, err
	}
	if !isNull(q.Metadata) {
		out.Metadata = q.Metadata
	}
	if err := selection(q.Select, cronMembers...); err != nil {
		return out, err
	}
	out.Asc, err = sorted(q.SortBy, q.SortOrder, "cron_id", "assistant_id", "thread_id", "next_run_date", "end_time", "created_at", "updated_at")
	return out, err
}

func (s *Server) searchCrons(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req cronSearch
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
	found, total, err := s.opt.Store.SearchCrons(r.Context(), who, q)
	if err != nil {
		return err
	}
	out := list{}
	for _, c := range found {
		out = append(out, cronJSON(c).pick(req.Select))
	}
	paginate(w, total, q.Offset, len(out))
	s.answer(w, http.StatusOK, out)
	return nil
}

func (s *Server) countCrons(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req cronSearch
	if err := decode(w, r, &req); err != nil {
		return err
	}
	q, err := req.query()
	if err != nil {
		return err
	}
	_, total, err := s.opt.Store.SearchCrons(r.Context(), who, q)
	if err != nil {
		return err
	}
	s.answer(w, http.StatusOK, total)
	return nil
}
