// Package companions serves what stands around conversations: what they cost, goals, feedback, suggestions and better questions. The
// paths and the shapes are those that DeerFlow's page asks for.
package companions

import (
	"net/http"
	"time"

	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/internal/companion"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

// Mount adds the routes.
func Mount(t *edge.Routes, c *companion.Companion) {
	s := service{c}
	t.Section("companions", "What stands around conversations")
	t.Handle("GET /usage", s.usage, edge.Doc{
		Summary: "Tokens and cost of all runs that have ended, by thread, agent and model",
		Query:   jsonvalue.Object{{"since", edge.Text("runs that were created then or later: a time such as 2026-01-31T00:00:00Z")}, {"until", edge.Text("and before then")}}, Answer: spending{},
	})
	t.Handle("GET /threads/{thread_id}/token-usage", s.threadUsage, edge.Doc{Summary: "Tokens and cost of a thread", Answer: threadUsage{}, Fails: []int{404}})
	t.Handle("GET /suggestions/config", s.suggestConfig, edge.Doc{Summary: "Whether there are suggestions", Answer: suggestConfig{}})
	t.Handle("POST /threads/{thread_id}/suggestions", s.suggest, edge.Doc{
		Summary: "What the person could say next; nothing, where no language model can write it", Body: suggestRequest{}, Answer: suggestions{}, Fails: []int{404},
	})
	t.Handle("POST /input-polish", s.polish, edge.Doc{Summary: "Say a question better", Body: polishRequest{}, Answer: polished{}})
	goal := edge.Doc{Summary: "The goal of a thread", Answer: goalAnswer{}, Fails: []int{404}}
	t.Handle("GET /threads/{thread_id}/goal", s.goal, goal)
	goal.Summary, goal.Body, goal.Fails = "Give a thread a goal, which its next run works towards", goalRequest{}, []int{404, 409}
	t.Handle("PUT /threads/{thread_id}/goal", s.setGoal, goal)
	t.Handle("DELETE /threads/{thread_id}/goal", s.clearGoal, edge.Doc{Summary: "Take a thread's goal away", Answer: goalAnswer{}, Fails: []int{404, 409}})
	rated := edge.Doc{Summary: "What a person thinks of a run's answer", Answer: feedback{}, Fails: []int{404}}
	t.Handle("GET /threads/{thread_id}/runs/{run_id}/feedback", s.rating, rated)
	rated.Summary, rated.Body = "Say what one thinks of a run's answer, in place of what one said before", feedbackRequest{}
	t.Handle("PUT /threads/{thread_id}/runs/{run_id}/feedback", s.rate, rated)
	t.Handle("DELETE /threads/{thread_id}/runs/{run_id}/feedback", s.unrate, edge.Doc{Summary: "Forget it", Status: []int{204}, Fails: []int{404}})
}

type service struct{ c *companion.Companion }

// sum is what was spent.
type sum struct {
	Runs         int   `json:"runs"`
	Turns        int   `json:"turns" doc:"model calls"`
	InputTokens  int   `json:"input_tokens"`
	OutputTokens int   `json:"output_tokens"`
	CachedTokens int   `json:"cached_tokens"`
	TotalTokens  int   `json:"total_tokens"`
	CostMicros   int64 `json:"cost_micros" doc:"in millionths of the currency of the prices of models; 0 where these have none"`
}

// SchemaName is its name for clients.
func (sum) SchemaName() string { return "Spent" }

func sumOf(s companion.Sum) sum {
	u := s.Usage
	return sum{s.Runs, s.Turns, u.InputTokens, u.OutputTokens, u.CachedTokens, u.Total(), u.CostMicros}
}

// line is what was spent by or on one of something.
type line struct {
	Name string `json:"name"`
	sum
}

// SchemaName is its name for clients.
func (line) SchemaName() string { return "SpentBy" }

func lines(list []companion.Line) []line {
	out := []line{}
	for _, l := range list {
		out = append(out, line{l.Name, sumOf(l.Sum)})
	}
	return out
}

type spending struct {
	sum
	Threads []line `json:"by_thread" doc:"the costliest first, as the others"`
	Agents  []line `json:"by_agent"`
	Models  []line `json:"by_model"`
}

// SchemaName is its name for clients.
func (spending) SchemaName() string { return "UsageReport" }

func (s service) usage(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var q companion.UsageQuery
	for name, at := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		if text := r.URL.Query().Get(name); text != "" {
			var err error
			if *at, err = time.Parse(time.RFC3339, text); err != nil {
				return run.Invalidf(name, "must be a time such as 2026-01-31T00:00:00Z")
			}
		}
	}
	u, err := s.c.Used(r.Context(), who, q)
	if err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, spending{sumOf(u.Sum), lines(u.Threads), lines(u.Agents), lines(u.Models)})
}

type byModel struct {
	Tokens     int   `json:"tokens"`
	Runs       int   `json:"runs"`
	CostMicros int64 `json:"cost_micros"`
}

type byCaller struct {
	Lead       int `json:"lead_agent"`
	Subagent   int `json:"subagent"`
	Middleware int `json:"middleware"`
}

type contextUsage struct {
	Tokens     int      `json:"token_count" doc:"of the last request of the thread's own agent"`
	Most       *int     `json:"max_context_tokens"`
	Percentage *float64 `json:"percentage"`
}

type threadUsage struct {
	Thread  string             `json:"thread_id"`
	Total   int                `json:"total_tokens"`
	Input   int                `json:"total_input_tokens"`
	Output  int                `json:"total_output_tokens"`
	Cost    int64              `json:"cost_micros" doc:"in millionths of the currency of the prices of models"`
	Runs    int                `json:"total_runs"`
	Models  map[string]byModel `json:"by_model"`
	Callers byCaller           `json:"by_caller"`
	Context *contextUsage      `json:"context_usage"`
}

func (s service) threadUsage(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	thread, err := edge.PathThread(r)
	if err != nil {
		return err
	}
	u, err := s.c.ThreadUsed(r.Context(), who, thread)
	if err != nil {
		return err
	}
	out := threadUsage{
		Thread: thread, Total: u.Usage.Total(), Input: u.Usage.InputTokens, Output: u.Usage.OutputTokens, Cost: u.Usage.CostMicros, Runs: u.Runs,
		Models: map[string]byModel{}, Callers: byCaller{u.Lead, u.Subagents, u.Middleware},
	}
	for _, l := range u.Models {
		out.Models[l.Name] = byModel{l.Usage.Total(), l.Runs, l.Usage.CostMicros}
	}
	if u.Context > 0 {
		out.Context = &contextUsage{Tokens: u.Context}
	}
	return edge.Answer(w, http.StatusOK, out)
}

type suggestConfig struct {
	Enabled bool `json:"enabled"`
	Most    int  `json:"max_suggestions"`
}

const usualSuggestions = 3

func (s service) suggestConfig(w http.ResponseWriter, _ *http.Request, _ run.Identity) error {
	return edge.Answer(w, http.StatusOK, suggestConfig{s.c.Write != nil, usualSuggestions})
}

type suggestRequest struct {
	Messages []companion.Said `json:"messages" doc:"the end of the conversation; without it, that of the thread"`
	N        *int             `json:"n" doc:"how many, 1 to 10; 3 if it is missing"`
	Model    string           `json:"model_name" doc:"is not heeded: the model that answers where nobody chooses writes"`
}

type suggestions struct {
	Suggestions []string `json:"suggestions"`
}

func (s service) suggest(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	thread, err := edge.PathThread(r)
	if err != nil {
		return err
	}
	var in suggestRequest
	if err := edge.Decode(w, r, &in); err != nil {
		return err
	}
	n := usualSuggestions
	if in.N != nil {
		n = *in.N
	}
	if n < 1 || n > companion.MostSuggestions {
		return run.Invalidf("n", "must be between 1 and %d, not %d", companion.MostSuggestions, n)
	}
	said, err := s.c.Recent(r.Context(), who, thread) // also to see whose thread it is
	if err != nil {
		return err
	}
	if len(in.Messages) > 0 {
		said = in.Messages
	}
	list, err := s.c.Suggest(r.Context(), who, said, n)
	if err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, suggestions{list})
}

type polishRequest struct {
	Text   string `json:"text" required:"true"`
	Locale string `json:"locale"`
	Thread string `json:"thread_id"`
}

type polished struct {
	Text    string `json:"rewritten_text"`
	Changed bool   `json:"changed" doc:"false where no language model can write it, or where it was clear already"`
}

// longestText is how many bytes a text may have that is to be polished.
const longestText = 100_000

func (s service) polish(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var in polishRequest
	if err := edge.Decode(w, r, &in); err != nil {
		return err
	}
	if in.Text == "" || len(in.Text) > longestText {
		return run.Invalidf("text", "must have 1 to %d bytes", longestText)
	}
	better, err := s.c.Polish(r.Context(), who, in.Text)
	if err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, polished{better, better != in.Text})
}

type goalRequest struct {
	Objective string `json:"objective" required:"true" doc:"what is to be reached"`
}

type goalAnswer struct {
	Goal *middleware.Goal `json:"goal"`
}

func (s service) goal(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	thread, err := edge.PathThread(r)
	if err != nil {
		return err
	}
	g, err := s.c.Goal(r.Context(), who, thread)
	if err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, goalAnswer{g})
}

func (s service) setGoal(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var in goalRequest
	if err := edge.Decode(w, r, &in); err != nil {
		return err
	}
	if in.Objective == "" {
		return run.Invalidf("objective", "is required; to take the goal away, delete it")
	}
	return s.change(w, r, who, in.Objective)
}

func (s service) clearGoal(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	return s.change(w, r, who, "")
}

func (s service) change(w http.ResponseWriter, r *http.Request, who run.Identity, objective string) error {
	thread, err := edge.PathThread(r)
	if err != nil {
		return err
	}
	g, err := s.c.Goal(r.Context(), who, thread)
	if err != nil {
		return err
	}
	if objective != "" || g != nil {
		if g, err = s.c.SetGoal(r.Context(), who, thread, objective); err != nil {
			return err
		}
	}
	return edge.Answer(w, http.StatusOK, goalAnswer{g})
}

type feedbackRequest struct {
	Rating  int    `json:"rating" required:"true" doc:"1 or -1"`
	Comment string `json:"comment"`
}

type feedback struct {
	ID      string `json:"feedback_id"`
	Rating  int    `json:"rating"`
	Comment string `json:"comment"`
}

// place is the thread and the run of a path.
func place(r *http.Request) (thread, id string, err error) {
	if thread, err = edge.PathThread(r); err != nil {
		return "", "", err
	}
	id, err = edge.PathID(r, "run_id")
	return thread, id, err
}

func (s service) rating(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	thread, id, err := place(r)
	if err != nil {
		return err
	}
	f, err := s.c.Rating(r.Context(), who, thread, id)
	if err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, feedback{f.Run, f.Rating, f.Comment})
}

func (s service) rate(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	thread, id, err := place(r)
	if err != nil {
		return err
	}
	var in feedbackRequest
	if err := edge.Decode(w, r, &in); err != nil {
		return err
	}
	f, err := s.c.Rate(r.Context(), who, companion.Feedback{Run: id, Thread: thread, Rating: in.Rating, Comment: in.Comment})
	if err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, feedback{f.Run, f.Rating, f.Comment})
}

func (s service) unrate(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	thread, id, err := place(r)
	if err != nil {
		return err
	}
	if err := s.c.Unrate(r.Context(), who, thread, id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
