package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/turn"
)

// CallOptions are the circumstances of a model call. The zero value is a good default.
type CallOptions struct {
	Agent string // who calls, for readers of the run
	// Fallbacks are asked one after the other when the model has failed for good.
	Fallbacks []model.Model
	Policy    Policy
	Breakers  *Breakers
	// Citable says which numbers [^n] in the answer are references; nil: none. Ask it of the run's pool.
	Citable func(n int) bool
	// Taken says which call ids have been used in the run. A provider's id that is not taken is kept. With nil
	// all calls get ids of our own, which is right wherever several agents work at the same time.
	Taken func(callID string) bool
	// Replaces names a voided turn that the call stands in for, from before a crash.
	Replaces string
	// Thread is the conversation of which the request's messages are a view, if they are one: what was left out and what
	// was added is put on record.
	Thread []item.Message
	// Accept, where set, looks at a complete answer; see [ModelCall].
	Accept func(item.Message) error
	// Log is where a panic of the model's program is written; nil: nowhere.
	Log *slog.Logger
	// Whole has a model whose stream breaks before anything of it was shown, or that cannot stream, asked once for the whole answer.
	Whole bool
	// Quiet keeps to itself what an earlier call of the same agent has already warned of.
	Quiet bool
}

// Pricer is implemented by models that know what they cost.
type Pricer interface {
	// Cost is the price of a call in millionths of the currency.
	Cost(item.Usage) int64
}

// Call asks a model from within a node, as one turn or, where tries fail, as several of which all but the last are
// void. The message that it returns has been streamed to the readers of the run, but it is the node's
// business to write it into the state.
//
// If no try succeeds, or ctx ends, what the last one had streamed stays: its turn ends incomplete, the run puts the message
// into the thread when it ends, and Call returns it beside the error, the cause of ctx or a [*Failure]. Only a run that
// is handed over to another process leaves the turn open, for that one to make it anew.
func Call(ctx context.Context, s *graph.Scope, m model.Model, req model.Request, opts CallOptions) (item.Message, error) {
	c := &call{scope: s, opts: opts, policy: opts.Policy.withDefaults(), crashed: opts.Replaces}
	msg, err := c.answer(ctx, slices.Concat([]model.Model{m}, opts.Fallbacks), req)
	if err != nil && c.broken != nil {
		return c.leave(ctx, err), err
	}
	return msg, err
}

// answer asks the models one after the other.
func (c *call) answer(ctx context.Context, models []model.Model, req model.Request) (item.Message, error) {
	var last *model.Error
	for i, m := range models {
		info := describe(m)
		if i > 0 {
			if err := c.warn(ctx, "model_fallback", fmt.Sprintf("%s; %s is asked instead", last.Error(), nameOf(info))); err != nil {
				return item.Message{}, err
			}
		}
		fitted, err := c.fit(ctx, info, req)
		if err != nil {
			return item.Message{}, err
		}
		c.last = i == len(models)-1
		msg, failure, err := c.ask(ctx, m, info, fitted)
		if err != nil || failure == nil {
			return msg, err
		}
		if last = failure; last.Class == model.Refused {
			break
		}
	}
	return item.Message{}, c.giveUp(last)
}

// call is a Call while it is made.
type call struct {
	scope    *graph.Scope
	opts     CallOptions
	policy   Policy
	tries    int
	last     bool   // no model is left after this one
	replaces string // the turn that was voided last
	// broken and crashed are what people see of an earlier try, from this call or from before a crash. It is void when a later
	// one has something to show, and not before.
	broken  *broken
	crashed string
	// unfit is the last answer that was not accepted, and why: the next try is shown both.
	unfit []item.Message
}

// broken is a try that people have seen something of.
type broken struct {
	turn  *turn.Writer
	cause string
	err   *event.Error
	wait  time.Duration
}

// leave ends the last try, after which there is no other, with what it has, and returns its message.
func (c *call) leave(ctx context.Context, err error) item.Message {
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), graph.ErrHandOver) {
		return item.Message{} // whoever goes on with the run finds it open
	}
	b := c.broken
	ctx = context.WithoutCancel(ctx)
	if c.scope.Again(err) {
		_ = b.turn.Void(ctx, b.cause, b.err, 0)
		return item.Message{}
	}
	msg, err := b.turn.Cut(ctx)
	if err != nil {
		return item.Message{} // the run cannot be written, and whoever takes it up finds the turn open
	}
	return msg
}

// start begins a try, to take the place of the one before.
func (c *call) start(ctx context.Context, info event.TurnStarted) (*turn.Writer, error) {
	if b := c.broken; b != nil {
		return b.turn.Again(ctx, info, b.cause, b.err, b.wait)
	}
	info.Replaces = cmp.Or(c.crashed, c.replaces)
	return turn.Start(ctx, c.scope, info)
}

// ask calls one model as often as the policy allows. A failure is the model's, an error ends the call.
func (c *call) ask(ctx context.Context, m model.Model, info model.Info, req model.Request) (item.Message, *model.Error, error) {
	whole := !c.opts.Whole // it was asked without streaming, or must not be
	for n := 1; ; n++ {
		p, rest, err := c.enter(ctx, info)
		if err != nil {
			return item.Message{}, nil, err
		}
		if rest > 0 {
			return item.Message{}, &model.Error{
				Class: model.Overloaded, Provider: info.Provider, After: rest,
				Message: fmt.Sprintf("%s failed too often in a row and is left alone for another %v", nameOf(info), rest.Round(time.Second)),
			}, nil
		}
		msg, err := c.try(ctx, m, info, req, n)
		var failed *tryError
		switch {
		case err == nil:
			p.answered()
			return msg, nil, nil
		case !errors.As(err, &failed):
			p.undecided()
			return item.Message{}, nil, err
		}
		p.failed(failed.reason.Class)
		req.Whole = !whole && failed.unseen && noStream(failed.reason)
		whole = whole || req.Whole
		if !failed.again && !req.Whole {
			return item.Message{}, failed.reason, nil
		}
		if err := pause(ctx, failed.wait); err != nil {
			return item.Message{}, nil, err
		}
	}
}

// enter asks the model's breaker. With another model at hand, nobody waits for one that is left alone.
func (c *call) enter(ctx context.Context, info model.Info) (pass, time.Duration, error) {
	var patience time.Duration
	if c.last {
		patience = c.policy.MaxWait
	}
	at := c.scope.Config()
	return c.opts.Breakers.await(ctx, info, cmp.Or(at.Thread, at.Run), patience)
}

// tryError is a try that failed through no fault of ours, and what the policy says about it.
type tryError struct {
	reason *model.Error
	again  bool
	wait   time.Duration
	unseen bool // nobody has seen anything of it
}

// noStream reports that a failure may be that of streaming alone: the stream broke, or the server says that it has none.
func noStream(reason *model.Error) bool {
	switch reason.Class {
	case model.Broken, model.Network:
		return true
	case model.BadRequest:
		return strings.Contains(strings.ToLower(reason.Message), "stream")
	}
	return false
}

func (e *tryError) Error() string { return e.reason.Error() }

// try makes one turn. n counts the tries of this model.
func (c *call) try(ctx context.Context, m model.Model, info model.Info, req model.Request, n int) (item.Message, error) {
	c.tries++
	w, err := c.start(ctx, event.TurnStarted{
		Turn: newTurnID(), Execution: c.scope.Execution(), Agent: c.opts.Agent,
		Provider: info.Provider, Model: info.Model, Attempt: c.tries,
	})
	if err != nil {
		return item.Message{}, err
	}
	req.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)], c.unfit...)
	rec := &record{call: c, turn: w.ID(), req: req, done: !c.scope.Records()}
	if !rec.done {
		req.Sent = func(body []byte) { rec.sent(ctx, body) }
	}
	finish, err := c.stream(ctx, w, rec, m, info, req)
	if err == nil {
		err = c.accept(w, info, finish.Reason)
	}
	if err == nil {
		// What is complete is kept, even if somebody cancels at this moment.
		ctx := context.WithoutCancel(ctx)
		msg, err := w.End(ctx, finish.Reason, finish.Model)
		if err != nil {
			return msg, err
		}
		return msg, c.explain(ctx, info, msg, finish)
	}
	if unwritten := (*writeError)(nil); errors.As(err, &unwritten) && ctx.Err() == nil {
		return item.Message{}, unwritten.err
	}
	b := &broken{turn: w}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
		b.cause = codeOf(err)
	} else {
		failed := &tryError{reason: classify(err, info)}
		failed.wait, failed.again = c.policy.again(n, failed.reason)
		b.cause, b.err, b.wait = string(failed.reason.Class), tell(failed.reason), failed.wait
		err = failed
	}
	if w.Shown() {
		c.broken, c.crashed = b, ""
		return item.Message{}, err
	}
	// Nobody has seen anything of it, so that nothing is taken from anybody.
	if failed := (*tryError)(nil); errors.As(err, &failed) {
		failed.unseen = true
	}
	c.replaces = w.ID()
	if unwritten := w.Void(context.WithoutCancel(ctx), b.cause, b.err, b.wait); unwritten != nil {
		return item.Message{}, unwritten
	}
	return item.Message{}, err
}

// accept asks whoever called what he thinks of the answer.
func (c *call) accept(w *turn.Writer, info model.Info, finish item.Finish) error {
	if c.opts.Accept == nil {
		return nil
	}
	msg := w.Message()
	msg.Finish = finish
	err := c.opts.Accept(msg)
	if err == nil {
		return nil
	}
	c.unfit = []item.Message{item.UserText("", "That cannot be used: "+err.Error()+"\n\nAnswer again, with all of it.")}
	if text := msg.Text(); text != "" {
		c.unfit = append([]item.Message{item.AssistantText("", text)}, c.unfit...)
	}
	return &model.Error{Class: model.Unfit, Provider: info.Provider, Message: "the answer cannot be used: " + err.Error(), Err: err}
}

// explain tells people why an answer is shorter than they may expect, or not there at all.
func (c *call) explain(ctx context.Context, info model.Info, msg item.Message, fin model.Finish) error {
	var code, why string
	switch fin.Reason {
	case item.FinishFilter:
		code, why = "model_filtered", "'s answer was stopped by the provider's filter"
	case item.FinishRefusal:
		if msg.Text() != "" {
			return nil // it says so itself
		}
		code, why = "model_refused", " refused to answer"
	case item.FinishOther:
		code, why = "model_stopped", " stopped before its answer was complete"
	case item.FinishStop, item.FinishToolCalls, item.FinishLength, item.FinishPause:
		return nil
	}
	if code == "" || fin.Raw == "" {
		return nil
	}
	why = nameOf(info) + why + " (" + fin.Raw + ")"
	if fin.Message != "" {
		why += ": " + fin.Message
	}
	return c.scope.Emit(ctx, event.Warned{Code: code, Message: why})
}

// codeOf names the reason for which a context ended.
func codeOf(cause error) string {
	var told *event.Error
	if errors.As(cause, &told) {
		return told.Code
	}
	return graph.CodeCancelled
}

// fit takes out of a request what the model cannot do.
func (c *call) fit(ctx context.Context, info model.Info, req model.Request) (model.Request, error) {
	if !req.Thinking.On || info.Thinking || info == (model.Info{}) {
		return req, nil
	}
	req.Thinking = model.Thinking{}
	return req, c.warn(ctx, "thinking_unsupported", nameOf(info)+" cannot think before it answers; it answers at once")
}

func (c *call) warn(ctx context.Context, code, message string) error {
	if c.opts.Quiet {
		return nil
	}
	return c.scope.Emit(ctx, event.Warned{Code: code, Message: message})
}

// giveUp makes the error that the run ends with.
func (c *call) giveUp(last *model.Error) error {
	told := tell(last)
	if c.tries > 1 {
		told.Message = fmt.Sprintf("%s (after %d tries)", told.Message, c.tries)
	}
	return &Failure{told: told, err: last}
}

// Failure is the error of a call that no model answered. It unwraps to the *event.Error that people are told and to
// the *model.Error of the last try.
type Failure struct {
	told *event.Error
	err  *model.Error
}

func (f *Failure) Error() string   { return f.told.Message }
func (f *Failure) Unwrap() []error { return []error{f.told, f.err} }

func tell(err *model.Error) *event.Error {
	return &event.Error{Code: string(err.Class), Name: "ModelError", Message: err.Error()}
}

func describe(m model.Model) model.Info {
	if d, ok := m.(model.Describer); ok {
		return d.Describe()
	}
	return model.Info{}
}

func nameOf(info model.Info) string {
	switch {
	case info.Model == "":
		return "the model"
	case info.Provider == "" || info.Provider == info.Model:
		return info.Model
	}
	return info.Provider + "'s " + info.Model
}
