// Package teams serves expert teams: a question starts one, and a stream or a socket follows it as frames of package wire/team.
//
// A team is a run like any other. Its routes here are a second face of it: /tasks/{run} and LangGraph's routes show the same run.
//
// # Laws
//
//   - A request with a member that is not known is refused, as are experts, modes and plans that cannot work, before anything is
//     stored.
//   - A stream that is cut goes on with the sequence of the last frame that its reader has (after, or Last-Event-ID). A number that
//     the run does not have is answered with 410.
//   - A command is the same on the socket and as the body of POST /teams/{run}/commands: {"type":"speak","expert":…,"text":…} says
//     something to an expert, or to all, {"type":"cancel_expert","expert":…,"phase":…} stops one, {"type":"cancel"} the run, and
//     {"type":"answer","interrupt_id":…,"value":…} answers a review. Each may have an id, which the reply repeats. On the socket the reply is
//     one line, and a refusal never ends it; over HTTP a refusal is a problem as any other.
//   - What was said is on disk before it is accepted. Words with the message_id of earlier ones are accepted, and not said again.
//   - A team that asks has ended its stream. What the answer starts is another run, whose id the reply has; it is followed here under that.
//     A socket stays open after a question, until it is answered or the client leaves.
//   - A connection that ends stops nothing.
package teams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/feed"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/server/stream"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/team"
)

// Store finds runs.
type Store interface {
	Run(ctx context.Context, who run.Identity, id string) (run.Run, error)
	ThreadRuns(ctx context.Context, who run.Identity, thread string, status run.Status, limit, offset int) ([]run.Run, error)
}

// Engine executes runs.
type Engine interface {
	Prepare(ctx context.Context, who run.Identity, o run.Order) (*run.Draft, error)
	Cancel(ctx context.Context, who run.Identity, id string, action run.Action) (run.Run, error)
	CancelTask(ctx context.Context, who run.Identity, id, task string) (run.Run, error)
	Speak(ctx context.Context, who run.Identity, id string, words event.Spoken) (run.Run, error)
}

// Options are what the routes need; all of it is required.
type Options struct {
	Store  Store
	Engine Engine
	Feeds  *feed.Feeds
	Terms  *stream.Terms
}

// Service serves teams.
type Service struct {
	opt  Options
	path func(string) string
}

// New makes the service.
func New(opt Options) *Service { return &Service{opt: opt} }

// Mount adds its routes.
func (s *Service) Mount(t *edge.Routes) {
	s.path = t.Path
	t.Section("teams", "Questions that a team of experts answers")
	after := jsonvalue.Object{{"after", edge.Text("go on after the frame with this sequence")}}
	t.Handle("POST /teams", s.create, edge.Doc{
		Summary: "Ask a team; with stream follow it, else answer at once with where it is followed", Body: request{}, Answer: started{}, Stream: true, Fails: []int{404, 409},
	})
	t.Handle("GET /teams/{run}/events", s.events, edge.Doc{Summary: "Follow a team", Query: after, Stream: true, Fails: []int{410}})
	t.Handle("POST /teams/{run}/commands", s.command, edge.Doc{
		Summary: "Speak to an expert or to all, stop one or all, answer a review", Body: command{}, Answer: reply{}, Fails: []int{409},
	})
	t.Handle("GET /teams/{run}/ws", s.serveSocket, edge.Doc{Summary: "Follow a team over a WebSocket, and talk to it", Query: after, Status: []int{101}, Fails: []int{410}})
}

// graphName is the graph that teams are.
const graphName = "team"

// request is the body of POST /teams.
type request struct {
	Question  string          `json:"question" required:"true"`
	Assistant string          `json:"assistant" doc:"an assistant's id, or a graph's name; team if absent"`
	Model     string          `json:"model" doc:"of the lead, and of experts that name none"`
	Thread    string          `json:"thread_id" doc:"a thread to use, which is made if it is missing"`
	Metadata  json.RawMessage `json:"metadata" type:"object"`
	Stream    bool            `json:"stream" doc:"follow the team instead of answering at once"`

	Mode      string          `json:"mode" enum:"divide,discuss,debate" doc:"divide the work, discuss in rounds, or debate before a judge"`
	Rounds    int             `json:"rounds" doc:"of a discussion or a debate; 2 if absent"`
	Experts   []expert        `json:"experts" doc:"the members; if absent, three that look at any question"`
	Invent    bool            `json:"invent" doc:"have the lead make up the experts"`
	LeadPlans bool            `json:"lead_plans" doc:"have the lead make the plan"`
	Replan    bool            `json:"replan" doc:"have the lead look at the plan again after each phase"`
	Review    bool            `json:"review" doc:"ask a person to accept the plan before anything is done"`
	Plan      []phase         `json:"plan" doc:"the phases, where they do not follow from the mode"`
	Judge     *expert         `json:"judge" doc:"of a debate; the lead if absent"`
	Budget    json.RawMessage `json:"budget" type:"object" doc:"turns, expert_turns, tokens, seconds, expert_seconds"`
}

type expert struct {
	Name         string   `json:"name" doc:"alone, without role and instructions, also that of an agent of your own, or of guide, skeptic, practitioner"`
	Role         string   `json:"role,omitempty" doc:"what it looks at, in a few words"`
	Instructions string   `json:"instructions,omitempty"`
	Tools        []string `json:"tools,omitempty" doc:"those that it may use; all if absent"`
	Toolless     bool     `json:"toolless,omitempty" doc:"it may use none"`
	Model        string   `json:"model,omitempty"`
}

type phase struct {
	ID        string   `json:"id"`
	Title     string   `json:"title,omitempty"`
	Task      string   `json:"task,omitempty"`
	Experts   []string `json:"experts,omitempty" doc:"all if absent"`
	DependsOn []string `json:"depends_on,omitempty"`
}

// started is the answer to POST /teams.
type started struct {
	Run    string `json:"run"`
	Thread string `json:"thread_id"`
	Events string `json:"events" doc:"where it is followed"`
	Socket string `json:"ws"`
}

func (s *Service) create(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req request
	if err := edge.DecodeStrict(w, r, &req); err != nil {
		return err
	}
	rn, err := s.start(r.Context(), who, &req)
	if err != nil {
		return err
	}
	w.Header().Set("Location", s.path("/teams/"+rn.ID+"/events"))
	if req.Stream {
		return s.opt.Terms.Follow(w, r, s.reader(rn.ID, "", false))
	}
	return edge.Answer(w, http.StatusOK, s.where(rn))
}

// where says where a run is followed.
func (s *Service) where(rn run.Run) started {
	return started{rn.ID, rn.Thread, s.path("/teams/" + rn.ID + "/events"), s.path("/teams/" + rn.ID + "/ws")}
}

func (s *Service) start(ctx context.Context, who run.Identity, req *request) (run.Run, error) {
	if strings.TrimSpace(req.Question) == "" {
		return run.Run{}, run.Invalidf("question", "is required: what the team is to answer")
	}
	if _, err := edge.OneOf("mode", req.Mode, "divide", "discuss", "debate"); err != nil {
		return run.Run{}, err
	}
	for field, raw := range map[string]json.RawMessage{"metadata": req.Metadata, "budget": req.Budget} {
		if err := edge.WantObject(field, raw); err != nil {
			return run.Run{}, err
		}
	}
	rr := run.Request{Assistant: req.Assistant, Metadata: req.Metadata, CreateThread: true}
	if rr.Assistant == "" {
		rr.Assistant = graphName
	}
	if req.Thread != "" {
		var err error
		if req.Thread, err = edge.ParseThread("thread_id", req.Thread); err != nil {
			return run.Run{}, err
		}
	}
	var err error
	if rr.Config, err = req.config(); err != nil {
		return run.Run{}, err
	}
	d, err := s.opt.Engine.Prepare(ctx, who, run.Order{Thread: req.Thread, Request: rr})
	if err != nil {
		return run.Run{}, inOurWords(err)
	}
	d.Request.Input, err = json.Marshal(map[string]any{"messages": []map[string]string{{"role": "user", "content": req.Question}}})
	if err != nil {
		return run.Run{}, err
	}
	return d.Start(ctx)
}

// config is what the graph of a team reads of its run.
func (req *request) config() (json.RawMessage, error) {
	settings := map[string]any{}
	for name, v := range map[string]any{
		"mode": req.Mode, "rounds": req.Rounds, "invent": req.Invent, "lead_plans": req.LeadPlans, "replan": req.Replan, "review": req.Review,
	} {
		if v != "" && v != 0 && v != false {
			settings[name] = v
		}
	}
	if len(req.Experts) > 0 {
		settings["experts"] = req.Experts
	}
	if len(req.Plan) > 0 {
		settings["plan"] = req.Plan
	}
	if req.Judge != nil {
		settings["judge"] = req.Judge
	}
	if !jsonvalue.IsNull(req.Budget) {
		settings["budget"] = req.Budget
	}
	configurable := map[string]any{"team": settings}
	if req.Model != "" {
		configurable["model"] = req.Model
	}
	return json.Marshal(map[string]any{"configurable": configurable})
}

// inOurWords gives what is refused the name that it has here.
func inOurWords(err error) error {
	var gone *run.MissingError
	if errors.As(err, &gone) && gone.Field == "assistant_id" {
		return edge.RefuseField(http.StatusNotFound, "assistant", fmt.Sprintf("assistant: there is no assistant or graph %q", gone.ID))
	}
	var invalid *run.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	field := strings.TrimPrefix(strings.TrimPrefix(invalid.Field, "config."), "configurable.")
	if strings.HasPrefix(field, "model") {
		field = "model"
	}
	return &run.InvalidError{Field: strings.TrimPrefix(field, "team."), Reason: invalid.Reason}
}

func (s *Service) reader(id, after string, lines bool) *feed.Reader {
	return s.opt.Feeds.Reader(feed.Key{Run: id, Dialect: "team", Lines: lines}, project, feed.Start{Last: after})
}

func project() wire.Projector { return team.New() }

func (s *Service) run(r *http.Request, who run.Identity) (run.Run, error) {
	id := r.PathValue("run")
	rn, err := s.opt.Store.Run(r.Context(), who, id)
	if errors.Is(err, run.ErrNotFound) {
		err = edge.RefuseField(http.StatusNotFound, "run", fmt.Sprintf("run: there is no run %q", id))
	}
	return rn, err
}

// find reads which run a stream is of, and after which frame it begins.
//
//go:noinline
func (s *Service) find(r *http.Request, who run.Identity) (id, after string, err error) {
	rn, err := s.run(r, who)
	if err != nil {
		return "", "", err
	}
	id = rn.ID
	text, field := r.Header.Get("Last-Event-ID"), "Last-Event-ID"
	if text == "" {
		text, field = r.URL.Query().Get("after"), "after"
	}
	if text == "" || text == "-1" {
		return id, "", nil
	}
	if n, err := strconv.ParseUint(text, 10, 63); err != nil || strconv.FormatUint(n, 10) != text {
		return "", "", edge.RefuseField(http.StatusUnprocessableEntity, field, fmt.Sprintf("%s: %q is no sequence; give that of the last frame you have, or -1 for all", field, text))
	}
	return id, text, nil
}

func (s *Service) events(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	id, after, err := s.find(r, who)
	if err != nil {
		return err
	}
	return lost(s.opt.Terms.Follow(w, r, s.reader(id, after, false)))
}

// lost answers a cursor that the run does not have.
func lost(err error) error {
	if errors.Is(err, journal.ErrLost) {
		return edge.RefuseField(http.StatusGone, "after", "after: the team has no such frame; read it again from the beginning")
	}
	return err
}
