package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
)

// command is a request of the thread-centric protocol.
type command struct {
	ID     *int64          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// check makes sure that there is something to answer to.
func (c *command) check() error {
	switch {
	case c.ID == nil || *c.ID < 0:
		return &statusError{http.StatusBadRequest, "id", "id: must be a number that is not negative"}
	case c.Method == "":
		return &statusError{http.StatusBadRequest, "method", "method: is required"}
	}
	return nil
}

// commandError is a refusal in the words of the protocol.
type commandError struct{ code, message string }

func (e *commandError) Error() string { return e.message }

func invalidArgument(message string) error { return &commandError{"invalid_argument", message} }

// postCommand carries a command out. What is wrong with it is told in the answer; the status tells of the envelope.
func (s *Server) postCommand(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	thread, err := pathID(r, "thread_id")
	if err != nil {
		return err
	}
	var c command
	if err := decode(w, r, &c); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	o, err := s.obey(r, who, thread, &c)
	if err != nil {
		return err
	}
	s.answer(w, http.StatusOK, o)
	return nil
}

// obey carries a command out and returns the answer to it. An error is our own.
func (s *Server) obey(r *http.Request, who run.Identity, thread string, c *command) (object, error) {
	var result object
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
		err = &commandError{"unknown_command", "Unknown protocol command: " + clip(c.Method)}
	}
	if err != nil {
		return commandFailed(*c.ID, err)
	}
	through, err := s.through(r.Context(), who, thread)
	if err != nil {
		return nil, err
	}
	return object{
		{"type", "success"}, {"id", *c.ID}, {"result", result},
		{"meta", object{{"thread_id", thread}, {"applied_through_seq", through}}},
	}, nil
}

// commandFailed tells a client's mistake in the protocol's words; what is our fault is not its to hear.
func commandFailed(id int64, err error) (object, error) {
	var refused *commandError
	if !errors.As(err, &refused) {
		status, _ := statusOf(err)
		switch {
		case status >= 500:
			return nil, err
		case status == http.StatusNotFound:
			refused = &commandError{"no_such_run", err.Error()}
		default:
			refused = &commandError{"invalid_argument", err.Error()}
		}
	}
	return object{{"type", "error"}, {"id", id}, {"error", refused.code}, {"message", refused.message}}, nil
}

type startParams struct {
	AssistantID       string          `json:"assistant_id"`
	Input             json.RawMessage `json:"input"`
	Config            json.RawMessage `json:"config"`
	Metadata          json.RawMessage `json:"metadata"`
	MultitaskStrategy string          `json:"multitaskStrategy"`
}

// startCommand starts a run. On a thread that waits for an answer, the input is the answer.
func (s *Server) startCommand(r *http.Request, who run.Identity, thread string, params json.RawMessage) (object, error) {
	var p startParams
	if err := readParams(params, &p); err != nil {
		return nil, err
	}
	if p.AssistantID == "" {
		return nil, invalidArgument("run.start requires an assistant_id.")
	}
	body := runBody{
		AssistantID: p.AssistantID, Input: p.Input, Config: p.Config, Metadata: p.Metadata, MultitaskStrategy: p.MultitaskStrategy,
		IfNotExists: "create",
	}
	if !isNull(p.Input) {
		open, err := s.openInterrupts(r.Context(), who, thread)
		if err != nil {
			return nil, err
		}
		if len(open) > 0 {
			body.Input = nil
			if body.Command, err = json.Marshal(object{{"resume", p.Input}}); err != nil {
				return nil, err
			}
		}
	}
	rn, err := s.startOn(r, who, thread, &body)
	if err != nil {
		return nil, err
	}
	return object{{"run_id", rn.ID}}, nil
}

// startOn creates a run on a thread for this protocol, whose readers see all of it.
func (s *Server) startOn(r *http.Request, who run.Identity, thread string, body *runBody) (run.Run, error) {
	body.StreamMode = words{"values", "updates", "messages", "tools", "custom", "tasks"}
	body.StreamSubgraphs, body.StreamResumable = true, true
	rn, _, err := s.createOn(r, who, body, thread, false, true)
	return rn, err
}

func readParams(params json.RawMessage, v any) error {
	if isNull(params) {
		return nil
	}
	if err := json.Unmarshal(params, v); err != nil {
		return invalidArgument("params: " + strings.TrimPrefix(jsonProblem(err).Error(), "body: "))
	}
	return nil
}

// openInterrupts lists the questions that a thread waits for an answer to; none where there is no such thread.
func (s *Server) openInterrupts(ctx context.Context, who run.Identity, thread string) ([]graph.Interrupt, error) {
	if _, err := s.opt.Store.Thread(ctx, who, thread); err != nil {
		if errors.Is(err, run.ErrNotFound) {
			err = nil
		}
		return nil, err
	}
	snap, err := s.opt.Store.Load(ctx, thread, "", "")
	if err != nil {
		if isGone(err) {
			err = nil
		}
		return nil, err
	}
	var open []graph.Interrupt
	for _, t := range snap.Next {
		if o := outcome(snap.Kept, t.ID); o != nil && !o.Finished {
			open = append(open, o.Interrupts...)
		}
	}
	return open, nil
}

// respondCommand answers questions and goes on.
func (s *Server) respondCommand(r *http.Request, who run.Identity, thread string, params json.RawMessage) (object, error) {
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
	resume := object{}
	for _, a := range answers {
		if a.ID == "" {
			return nil, invalidArgument("input.respond requires an interrupt_id.")
		}
		resume = append(resume, member{a.ID, orNull(a.Response)})
	}
	if len(resume) == 0 {
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
	for _, a := range resume {
		if !isOpen(open, a.name) {
			return nil, &commandError{"no_such_interrupt", "No interrupt " + clip(a.name) + " is waiting for a response."}
		}
	}
	orders := object{{"resume", resume}}
	for name, raw := range map[string]json.RawMessage{"update": p.Update, "goto": p.Goto} {
		if !isNull(raw) {
			orders = append(orders, member{name, raw})
		}
	}
	body := runBody{AssistantID: textOf(fields(th.Metadata), "assistant_id"), Config: p.Config, Metadata: p.Metadata}
	if body.Command, err = json.Marshal(orders); err != nil {
		return nil, err
	}
	rn, err := s.startOn(r, who, thread, &body)
	if err != nil {
		return nil, err
	}
	return object{{"run_id", rn.ID}}, nil
}

func isOpen(open []graph.Interrupt, id string) bool {
	for _, i := range open {
		if i.ID == id {
			return true
		}
	}
	return false
}

// stateCommand reads the values of a thread.
func (s *Server) stateCommand(ctx context.Context, who run.Identity, thread string, params json.RawMessage) (object, error) {
	var p struct {
		Namespace []string `json:"namespace"`
		Keys      []string `json:"keys"`
	}
	if err := readParams(params, &p); err != nil {
		return nil, err
	}
	th, err := s.opt.Store.Thread(ctx, who, thread)
	if err != nil {
		return nil, noThread(err, thread)
	}
	ns := strings.Join(p.Namespace, "|")
	snap, err := s.opt.Store.Load(ctx, thread, ns, "")
	if isGone(err) {
		return object{{"values", object{}}}, nil
	}
	if err != nil {
		return nil, err
	}
	raw, _, err := s.view(ctx, th).values(snap)
	if err != nil {
		return nil, err
	}
	var values any = raw
	if p.Keys != nil {
		kept, all := object{}, fields(raw)
		for _, k := range p.Keys {
			if v, ok := all[k]; ok {
				kept = append(kept, member{k, v})
			}
		}
		values = kept
	}
	return object{{"values", values}, {"checkpoint", object{{"id", snap.ID}, {"ns", ns}}}}, nil
}
