package teams

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/feed"
	"github.com/tributary-ai/tributary/internal/server/socket"
	"github.com/tributary-ai/tributary/internal/server/stream"
)

// command is what a client has a team do.
type command struct {
	Type string          `json:"type" required:"true" enum:"speak,cancel_expert,cancel,answer"`
	ID   json.RawMessage `json:"id" doc:"whatever the reply is to repeat"`

	Expert string `json:"expert" doc:"whom to speak to, all if absent; or who is to stop"`
	Text   string `json:"text" doc:"what to say"`
	// Message makes it safe to say something again when no reply came.
	Message string `json:"message_id" doc:"an id of your own: words that are sent twice with the same one are said once"`

	Phase string `json:"phase" doc:"in which phase an expert is to stop"`

	Interrupt string          `json:"interrupt_id" doc:"the question that is answered"`
	Value     json.RawMessage `json:"value" doc:"the answer"`
}

// reply is what it is answered.
type reply struct {
	Type    string          `json:"type"` // accepted or refused
	ID      json.RawMessage `json:"id,omitempty"`
	Command string          `json:"command,omitempty"`
	Message string          `json:"message,omitempty"`
	// Next is the run that an answer has started.
	Next *started `json:"next,omitempty" doc:"the run that goes on after an answer"`
}

func (s *Service) command(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	rn, err := s.run(r, who)
	if err != nil {
		return err
	}
	var c command
	if err := edge.DecodeStrict(w, r, &c); err != nil {
		return err
	}
	done, err := s.carryOut(r.Context(), who, rn.ID, &c)
	if err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, done)
}

// carryOut does what a command says.
func (s *Service) carryOut(ctx context.Context, who run.Identity, id string, c *command) (reply, error) {
	done := reply{Type: "accepted", ID: c.ID, Command: c.Type}
	switch c.Type {
	case "speak":
		_, err := s.opt.Engine.Speak(ctx, who, id, event.Spoken{ID: c.Message, To: c.Expert, Text: c.Text})
		return done, unheard(err)
	case "cancel":
		_, err := s.opt.Engine.Cancel(ctx, who, id, run.StopRun)
		return done, err
	case "cancel_expert":
		if c.Expert == "" {
			return done, run.Invalidf("expert", "is required: who is to stop")
		}
		if c.Phase == "" {
			return done, run.Invalidf("phase", "is required: in which phase the expert is to stop")
		}
		rn, err := s.opt.Engine.CancelTask(ctx, who, id, c.Phase+"."+c.Expert)
		if err == nil && rn.Status.Ended() {
			err = edge.RefuseField(http.StatusConflict, "run", "run: the team has ended")
		}
		return done, err
	case "answer":
		next, err := s.answer(ctx, who, id, c)
		if err != nil {
			return done, err
		}
		place := s.where(next)
		done.Next = &place
		return done, nil
	}
	return done, run.Invalidf("type", "must be one of speak, cancel_expert, cancel, answer, not %q", edge.Clip(c.Type))
}

// unheard says why words were refused.
func unheard(err error) error {
	var invalid *run.InvalidError
	switch {
	case errors.As(err, &invalid) && invalid.Field == "to":
		return run.Invalidf("expert", "%s", invalid.Reason)
	case errors.As(err, &invalid) && invalid.Field == "id":
		return run.Invalidf("message_id", "%s", invalid.Reason)
	case errors.Is(err, graph.ErrNobodyListens):
		return edge.RefuseField(http.StatusConflict, "run", "run: "+err.Error())
	}
	return err
}

// answer answers a question of a team, with a run that goes on.
func (s *Service) answer(ctx context.Context, who run.Identity, id string, c *command) (run.Run, error) {
	switch {
	case c.Interrupt == "":
		return run.Run{}, run.Invalidf("interrupt_id", "is required")
	case c.Value == nil:
		return run.Run{}, run.Invalidf("value", "is required; null is an answer too")
	}
	asked, err := s.opt.Store.Run(ctx, who, id)
	if err != nil {
		return run.Run{}, err
	}
	if asked.Status != run.Interrupted {
		return run.Run{}, edge.RefuseField(http.StatusConflict, "run", "run: the team asks nothing")
	}
	d, err := s.opt.Engine.Prepare(ctx, who, run.Order{Thread: asked.Thread, From: &asked, Answers: map[string]json.RawMessage{c.Interrupt: c.Value}})
	if err != nil {
		return run.Run{}, inOurWords(err)
	}
	next, err := d.Start(ctx)
	var unasked *run.NotAskedError
	switch {
	case errors.As(err, &unasked):
		err = edge.RefuseField(http.StatusConflict, "interrupt_id", "interrupt_id: "+unasked.Error())
	case errors.Is(err, run.ErrBusy):
		err = edge.RefuseField(http.StatusConflict, "interrupt_id", "interrupt_id: the thread is busy with an answer or with another run")
	}
	return next, err
}

// largestCommand is more than any command needs.
const largestCommand = 64 << 10

func (s *Service) serveSocket(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	id, after, err := s.find(r, who)
	if err != nil {
		return err
	}
	src := &patient{Reader: s.reader(id, after, true), asks: func(ctx context.Context) bool { return s.asks(ctx, who, id) }}
	talk := socket.Talk{
		Terms: s.opt.Terms, Source: src, Limit: largestCommand,
		Hear: func(ctx context.Context, message []byte, say socket.Say) error {
			line, err := json.Marshal(s.obey(ctx, who, id, message))
			if err != nil {
				return err
			}
			return say(append(line, '\n'))
		},
		Ended: "the team has been dissolved", Again: "connect again with after=",
	}
	return lost(talk.Serve(w, r))
}

// obey carries out a command. A mistake of the client's is told to it, and a failure of ours without what is inside.
func (s *Service) obey(ctx context.Context, who run.Identity, id string, message []byte) reply {
	var c command
	if err := edge.CheckJSON(message); err != nil {
		return reply{Type: "refused", Message: "a command is one JSON object: " + err.Error()}
	}
	d := json.NewDecoder(bytes.NewReader(message))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return reply{Type: "refused", Message: fmt.Sprintf("a command is an object with type, and with what that needs: %v", err)}
	}
	done, err := s.carryOut(ctx, who, id, &c)
	if err == nil {
		return done
	}
	no := reply{Type: "refused", ID: c.ID, Command: c.Type, Message: "the server failed; try again"}
	switch status, _ := edge.StatusOf(err); {
	case errors.Is(err, run.ErrNotFound):
		no.Message = "there is no such run any more"
	case status < http.StatusInternalServerError:
		no.Message = err.Error()
	default:
		s.opt.Terms.Log.Error("carry out a command for a team", "run", id, "command", c.Type, "err", err)
	}
	return no
}

// asks reports that a run has ended with a question that nobody has answered yet.
func (s *Service) asks(ctx context.Context, who run.Identity, id string) bool {
	rn, err := s.opt.Store.Run(ctx, who, id)
	if err != nil || rn.Status != run.Interrupted {
		return false
	}
	newest, err := s.opt.Store.ThreadRuns(ctx, who, rn.Thread, "", 1, 0)
	return err == nil && len(newest) > 0 && newest[0].ID == id
}

// patient is a stream that has not ended as long as its run waits for an answer: whoever reads it may want to give one.
type patient struct {
	*feed.Reader
	asks    func(context.Context) bool
	waiting bool // for an answer
}

var _ stream.Source = (*patient)(nil)

// Poll waits, after the last frame, until there is nothing to answer any more.
func (p *patient) Poll(ctx context.Context) (data []byte, bell <-chan struct{}, err error) {
	data, bell, err = p.Reader.Poll(ctx)
	if p.waiting = err == io.EOF && p.asks(ctx); p.waiting {
		return nil, nil, nil
	}
	return data, bell, err
}

// Look has the next poll ask whether it was answered elsewhere.
func (p *patient) Look(now time.Time) bool {
	return p.Reader.Look(now) || p.waiting
}
