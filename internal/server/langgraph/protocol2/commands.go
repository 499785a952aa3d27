package protocol2

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/feed"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/server/langgraph/runs"
	"github.com/tributary-ai/tributary/internal/server/langgraph/threads"
)

// command is a request of the thread-centric protocol.
type command struct {
	ID     *int64          `json:"id" required:"true" doc:"a number of yours, which the answer repeats"`
	Method string          `json:"method" required:"true" doc:"run.start, input.respond, state.get or agent.getTree"`
	Params json.RawMessage `json:"params" type:"object"`
}

// answer is what obey returns.
type answer struct {
	Type    string         `json:"type" enum:"success,error"`
	ID      int64          `json:"id"`
	Result  map[string]any `json:"result,omitempty"`
	Meta    map[string]any `json:"meta,omitempty" doc:"thread_id and applied_through_seq"`
	Error   string         `json:"error,omitempty" doc:"a word for programs"`
	Message string         `json:"message,omitempty"`
}

// check makes sure that there is something to answer to.
func (c *command) check() error {
	switch {
	case c.ID == nil || *c.ID < 0:
		return edge.RefuseField(http.StatusBadRequest, "id", "id: must be a number that is not negative")
	case c.Method == "":
		return edge.RefuseField(http.StatusBadRequest, "method", "method: is required")
	}
	return nil
}

// commandError is a refusal in the words of the protocol.
type commandError struct{ code, message string }

func (e *commandError) Error() string { return e.message }

func invalidArgument(message string) error { return &commandError{"invalid_argument", message} }

// postCommand carries a command out. What is wrong with it is told in the answer; the status tells of the envelope.
func (s *Service) postCommand(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	thread, err := edge.PathThread(r)
	if err != nil {
		return err
	}
	var c command
	if err := edge.Decode(w, r, &c); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	o, err := s.obey(r, who, thread, &c)
	if err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, o)
}

// obey carries a command out and returns the answer to it. An error is our own.
func (s *Service) obey(r *http.Request, who run.Identity, thread string, c *command) (jsonvalue.Object, error) {
	var result jsonvalue.Object
	var err error
	switch c.Method {
	case "run.start":
		result, err = s.startCommand(r, who, thread, c.Params)
	case "input.respond":
		result, err = s.respondCommand(r, who, thread, c.Params)
	case "state.get":
		result, err = s.stateCommand(r.Context(), who, thread, c.Params)
	case "agent.getTree":
		result, err = s.treeCommand(r.Context(), who, thread)
	default:
		err = &commandError{"unknown_command", "Unknown protocol command: " + edge.Clip(c.Method)}
	}
	if err != nil {
		return commandFailed(*c.ID, err)
	}
	through, err := s.opt.Numbers.through(r.Context(), who, thread)
	if err != nil {
		return nil, err
	}
	return jsonvalue.Object{
		{"type", "success"}, {"id", *c.ID}, {"result", result},
		{"meta", jsonvalue.Object{{"thread_id", thread}, {"applied_through_seq", through}}},
	}, nil
}

// commandFailed tells a client's mistake in the protocol's words; what is our fault is not its to hear.
func commandFailed(id int64, err error) (jsonvalue.Object, error) {
	var refused *commandError
	if !errors.As(err, &refused) {
		status, _ := edge.StatusOf(err)
		switch {
		case status >= 500:
			return nil, err
		case status == http.StatusNotFound:
			refused = &commandError{"no_such_run", err.Error()}
		default:
			refused = &commandError{"invalid_argument", err.Error()}
		}
	}
	return jsonvalue.Object{{"type", "error"}, {"id", id}, {"error", refused.code}, {"message", refused.message}}, nil
}

type startParams struct {
	AssistantID       string          `json:"assistant_id"`
	Input             json.RawMessage `json:"input"`
	Config            json.RawMessage `json:"config"`
	Context           json.RawMessage `json:"context"`
	Metadata          json.RawMessage `json:"metadata"`
	MultitaskStrategy string          `json:"multitaskStrategy"`
}

// startCommand starts a run. On a thread that waits for an answer, the input is the answer.
func (s *Service) startCommand(r *http.Request, who run.Identity, thread string, params json.RawMessage) (jsonvalue.Object, error) {
	var p startParams
	if err := readParams(params, &p); err != nil {
		return nil, err
	}
	if p.AssistantID == "" {
		return nil, invalidArgument("run.start requires an assistant_id.")
	}
	body := runs.Body{
		AssistantID: p.AssistantID, Input: p.Input, Config: p.Config, Context: p.Context, Metadata: p.Metadata, MultitaskStrategy: p.MultitaskStrategy,
		IfNotExists: "create",
	}
	if !jsonvalue.IsNull(p.Input) {
		open, err := s.openInterrupts(r.Context(), who, thread)
		if err != nil {
			return nil, err
		}
		if len(open) > 0 {
			body.Input = nil
			if body.Command, err = json.Marshal(jsonvalue.Object{{"resume", p.Input}}); err != nil {
				return nil, err
			}
		}
	}
	rn, err := s.opt.Runs.StartAll(r, who, &body, thread)
	if err != nil {
		return nil, err
	}
	return jsonvalue.Object{{"run_id", rn.ID}}, nil
}

func readParams(params json.RawMessage, v any) error {
	if jsonvalue.IsNull(params) {
		return nil
	}
	if err := edge.Unmarshal(params, v); err != nil {
		return invalidArgument("params: " + strings.TrimPrefix(err.Error(), "body: "))
	}
	return nil
}

// openInterrupts lists the questions that a thread waits for an answer to; none where there is no such thread.
func (s *Service) openInterrupts(ctx context.Context, who run.Identity, thread string) ([]graph.Interrupt, error) {
	if _, err := s.opt.Store.Thread(ctx, who, thread); err != nil {
		if errors.Is(err, run.ErrNotFound) {
			err = nil
		}
		return nil, err
	}
	snap, err := s.opt.Store.Load(ctx, thread, "", "")
	if err != nil {
		if feed.Gone(err) {
			err = nil
		}
		return nil, err
	}
	return snap.Open(), nil
}

// respondCommand answers questions and goes on.
func (s *Service) respondCommand(r *http.Request, who run.Identity, thread string, params json.RawMessage) (jsonvalue.Object, error) {
	type answerTo struct {
		ID       string          `json:"interrupt_id"`
		Response json.RawMessage `json:"response"`
	}
	var p struct {
		answerTo
		Responses []answerTo      `json:"responses"`
		Update    json.RawMessage `json:"update"`
		Goto      json.RawMessage `json:"goto"`
		Config    json.RawMessage `json:"config"`
		Metadata  json.RawMessage `json:"metadata"`
	}
	if err := readParams(params, &p); err != nil {
		return nil, err
	}
	answers := p.Responses
	if answers == nil {
		answers = []answerTo{p.answerTo}
	}
	body := runs.Body{Config: p.Config, Metadata: p.Metadata, Answers: map[string]json.RawMessage{}}
	for _, a := range answers {
		if a.ID == "" {
			return nil, invalidArgument("input.respond requires an interrupt_id.")
		}
		body.Answers[a.ID] = jsonvalue.OrNull(a.Response)
	}
	if len(answers) == 0 {
		return nil, invalidArgument("input.respond requires at least one response.")
	}
	th, err := s.opt.Store.Thread(r.Context(), who, thread)
	if errors.Is(err, run.ErrNotFound) {
		return nil, &commandError{"no_such_run", "No interrupted run is bound to this thread."}
	}
	if err != nil {
		return nil, err
	}
	open, err := s.openInterrupts(r.Context(), who, thread)
	if err != nil {
		return nil, err
	}
	if len(open) == 0 {
		return nil, invalidArgument("input.respond can only be used while the run is interrupted.")
	}
	orders := jsonvalue.Object{}
	if !jsonvalue.IsNull(p.Update) {
		orders = append(orders, jsonvalue.Member{"update", p.Update})
	}
	if !jsonvalue.IsNull(p.Goto) {
		orders = append(orders, jsonvalue.Member{"goto", p.Goto})
	}
	body.AssistantID = jsonvalue.Text(jsonvalue.Fields(th.Metadata), "assistant_id")
	if body.Command, err = json.Marshal(orders); err != nil {
		return nil, err
	}
	rn, err := s.opt.Runs.StartAll(r, who, &body, thread)
	var unasked *run.NotAskedError
	if errors.As(err, &unasked) {
		return nil, &commandError{"no_such_interrupt", "No interrupt " + edge.Clip(unasked.ID) + " is waiting for a response."}
	}
	if err != nil {
		return nil, err
	}
	return jsonvalue.Object{{"run_id", rn.ID}}, nil
}

// stateCommand reads the values of a thread.
func (s *Service) stateCommand(ctx context.Context, who run.Identity, thread string, params json.RawMessage) (jsonvalue.Object, error) {
	var p struct {
		Namespace []string `json:"namespace"`
		Keys      []string `json:"keys"`
	}
	if err := readParams(params, &p); err != nil {
		return nil, err
	}
	th, err := s.opt.Store.Thread(ctx, who, thread)
	if err != nil {
		return nil, threads.NotFound(err, thread)
	}
	ns := strings.Join(p.Namespace, "|")
	snap, err := s.opt.Store.Load(ctx, thread, ns, "")
	if feed.Gone(err) {
		return jsonvalue.Object{{"values", jsonvalue.Object{}}}, nil
	}
	if err != nil {
		return nil, err
	}
	raw, _ := s.opt.States.View(ctx, th).Values(snap)
	var values any = raw
	if p.Keys != nil {
		kept, all := jsonvalue.Object{}, jsonvalue.Fields(raw)
		for _, k := range p.Keys {
			if v, ok := all[k]; ok {
				kept = append(kept, jsonvalue.Member{k, v})
			}
		}
		values = kept
	}
	return jsonvalue.Object{{"values", values}, {"checkpoint", jsonvalue.Object{{"id", snap.ID}, {"ns", ns}}}}, nil
}
