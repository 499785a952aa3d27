package tributary

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/item"
)

// InterruptedError is returned by Chat for a run that stopped to ask something. [Runtime.Resume] answers it.
type InterruptedError struct {
	Thread     string
	Interrupts []event.InterruptRaised
}

func (e *InterruptedError) Error() string {
	if len(e.Interrupts) == 0 {
		return fmt.Sprintf("thread %s stopped at a breakpoint", e.Thread)
	}
	return fmt.Sprintf("thread %s waits for an answer to %s", e.Thread, e.Interrupts[0].Value)
}

// Position is a place in a run's journal: after the event of the number Seq that was written under Epoch. The zero Position
// is the beginning. A reader that has kept only the number may leave out the epoch, and with it the check that
// the event is still the one it saw.
type Position struct {
	Epoch int
	Seq   uint64
}

// After is the position after an event.
func After(env *event.Envelope) Position { return Position{env.Epoch, env.Seq} }

// Stream starts a run and yields its events until it has ended. An error is the last thing yielded; a run that
// fails is not an error of Stream: its RunEnded says so.
func (r *Runtime) Stream(ctx context.Context, req Request) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		started, err := r.Start(ctx, req)
		if err != nil {
			yield(event.Envelope{}, err)
			return
		}
		finished := false
		if req.StopWithReader {
			defer func() {
				if !finished {
					// The reader's context may have ended; the cancel must still arrive.
					if _, err := r.Cancel(context.WithoutCancel(ctx), req.Owner, started.ID); err != nil {
						r.log.Error("cancel a run whose reader left", "run", started.ID, "err", err)
					}
				}
			}()
		}
		r.follow(ctx, started.ID, Position{}, func(env event.Envelope, err error) bool {
			_, finished = env.Event.(event.RunEnded)
			return yield(env, err)
		})
	}
}

// Resume answers questions of the thread that the request names, and yields the events of the run that goes on. It is
// Stream with [Request].Answers: an answer to what is not asked is refused before anything is created.
func (r *Runtime) Resume(ctx context.Context, req Request, answers ...Answer) iter.Seq2[event.Envelope, error] {
	req.Answers = append(slices.Clip(req.Answers), answers...)
	if len(req.Answers) == 0 {
		return func(yield func(event.Envelope, error) bool) {
			yield(event.Envelope{}, invalid("answers", "there are none"))
		}
	}
	return r.Stream(ctx, req)
}

// Follow yields the events of a run after a position until it has ended: those that are there, and then those that come. Breaking
// out of the loop stops the reading and nothing else. An error is the last thing yielded.
func (r *Runtime) Follow(ctx context.Context, owner, id string, after Position) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		if _, err := r.Run(ctx, owner, id); err != nil {
			yield(event.Envelope{}, err)
			return
		}
		r.follow(ctx, id, after, yield)
	}
}

// follow reads until the run has ended, the reader has enough, or the runtime is closed.
func (r *Runtime) follow(ctx context.Context, id string, after Position, yield func(event.Envelope, error) bool) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(r.over, stop)()
	for env, err := range r.journal.Follow(ctx, id, journal.Position(after)) {
		if err != nil {
			yield(event.Envelope{}, r.told(err))
			return
		}
		if !yield(env, nil) {
			return
		}
	}
}

// Chat starts a run, waits for its end, and returns the text of the last message of the root task. A run that
// failed is an error (*event.Error), and so is one that stopped to ask (*InterruptedError); the text so far comes with it.
func (r *Runtime) Chat(ctx context.Context, req Request) (string, error) {
	var answer answer
	for env, err := range r.Stream(ctx, req) {
		if err != nil {
			return answer.text.String(), err
		}
		answer.take(&env)
	}
	return answer.result()
}

// answer gathers what Chat returns: the deltas by message, joined once at the end, so in linear time.
type answer struct {
	thread string
	last   string          // item of the last message, which has its turn's id
	text   strings.Builder // its deltas
	asked  []event.InterruptRaised
	end    event.RunEnded
}

func (a *answer) take(env *event.Envelope) {
	a.thread = env.Thread
	if env.Task != "" {
		return
	}
	switch e := env.Event.(type) {
	case event.ItemStarted:
		if e.Type == item.TypeMessage {
			a.last = e.Item
			a.text.Reset()
		}
	case event.TextDelta:
		if e.Item == a.last {
			a.text.WriteString(e.Text)
		}
	case event.ItemEnded:
		if m, ok := e.Item.(item.Message); ok && m.ID == a.last {
			a.text.Reset()
			a.text.WriteString(m.Text())
		}
	case event.TurnVoided:
		if e.Turn == a.last {
			a.text.Reset()
		}
	case event.InterruptRaised:
		a.asked = append(a.asked, e)
	case event.RunEnded:
		a.end = e
	}
}

func (a *answer) result() (string, error) {
	switch a.end.Status {
	case event.Success:
		return a.text.String(), nil
	case event.Interrupted:
		return a.text.String(), &InterruptedError{a.thread, a.asked}
	case event.Failed, event.TimedOut:
		if a.end.Error != nil {
			return a.text.String(), a.end.Error
		}
	case event.Cancelled:
	}
	return a.text.String(), errors.New("the run was " + string(a.end.Status))
}
