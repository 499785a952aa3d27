package middleware

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// SummaryOptions are settings of [Summarise].
type SummaryOptions struct {
	// Model writes the summaries; nil: there are none, and what is too much is left out.
	Model     model.Model
	Fallbacks []model.Model
	Policy    agent.Policy
	Breakers  *agent.Breakers
	// Trigger is how many tokens of messages make a summary due; zero means 32,000. Keep is how many of the latest are then still
	// shown as they are; zero means a quarter of Trigger.
	Trigger, Keep int
	// Length bounds a summary, in tokens; zero means 1,500.
	Length int
	// Tokens measures a message; nil means [Tokens].
	Tokens func(item.Message) int
	// Hints, where set, are further wishes about what a summary must hold.
	Hints string
}

// Summary is what a thread remembers of the messages that its model is not shown any more.
type Summary struct {
	Text   string `json:"text"`
	Tokens int    `json:"tokens"` // of the text
	// Upto is the last message that is left out of the view; the messages themselves stay in the thread. Messages counts them.
	Upto     string `json:"upto"`
	Messages int    `json:"messages"`
	// Through is the last message that the text tells of. It is an earlier one than Upto where a summary could not be made.
	Through string `json:"through,omitempty"`
	// Question is a message before Upto that is shown all the same: what the person had asked.
	Question string `json:"question,omitempty"`
}

// SummaryField holds the summary in the state.
var SummaryField = graph.LastValue[Summary]("summary")

// Summarise shows models a summary in place of the older messages when the conversation is too long for them. The thread stays as it
// is. A summary is made in a node of its own, by a sub-agent whose call is on record like any other; it is kept in the
// state and used until the messages behind it are too many in their turn. If it cannot be made the messages are left out
// without one, and people are warned; the next summary tells of them too.
func Summarise(o SummaryOptions) agent.Middleware {
	if o.Trigger <= 0 {
		o.Trigger = 32_000
	}
	if o.Keep <= 0 || o.Keep >= o.Trigger {
		o.Keep = o.Trigger / 4
	}
	if o.Length <= 0 {
		o.Length = 1500
	}
	if o.Tokens == nil {
		o.Tokens = Tokens
	}
	w := &summariser{SummaryOptions: o, sums: newMemo[sums](), views: newMemo[summaryView]()}
	return agent.Middleware{
		Name: "summary", Fields: []graph.AnyField{SummaryField},
		Before: agent.Hook{Due: w.due, Do: w.do},
		Model: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
				if s, ok := SummaryField.Lookup(c.Step.Scope); ok {
					c.Request.Messages = w.views.of(c.Step.Scope).show(c.Request.Messages, s)
				}
				return next(ctx, c)
			}
		},
	}
}

type summariser struct {
	SummaryOptions
	sums  memo[sums]
	views memo[summaryView]
}

// due says that what is shown is too much, and that leaving out the older part would help.
func (w *summariser) due(s *agent.Step) bool {
	_, ok := w.cut(s)
	return ok
}

// cut finds the first message that is shown as it is after a new summary.
func (w *summariser) cut(s *agent.Step) (int, bool) {
	old := SummaryField.Get(s.Scope)
	t := w.sums.of(s.Scope)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.follow(s.Messages, w.Tokens)
	start := after(s.Messages, old.Upto)
	if old.Tokens+t.between(start, len(s.Messages)) <= w.Trigger {
		return 0, false
	}
	cut := boundary(s.Messages, t, w.Keep)
	// A cut that leaves out little would be made at every step.
	return cut, cut > start && t.between(start, cut) >= (w.Trigger-w.Keep)/4
}

// boundary is where the latest messages of so many tokens begin. Results stay with their calls.
func boundary(msgs []item.Message, t *sums, keep int) int {
	cut := len(msgs)
	for cut > 0 && t.between(cut-1, len(msgs)) <= keep {
		cut--
	}
	for cut < len(msgs) && msgs[cut].Role == item.Tool {
		cut++
	}
	if cut == len(msgs) {
		cut--
		for cut > 0 && msgs[cut].Role == item.Tool {
			cut--
		}
	}
	return cut
}

// after is the index behind a message; 0 if it is not there, as in a thread that was begun anew.
func after(msgs []item.Message, id string) int {
	if id == "" {
		return 0
	}
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].ID == id {
			return i + 1
		}
	}
	return 0
}

// sums are the tokens of a conversation, added up from its beginning.
type sums struct {
	mu    sync.Mutex
	in    []item.Message
	total []int // of in[:i+1]
}

func (t *sums) follow(msgs []item.Message, tokens func(item.Message) int) {
	if !begins(msgs, t.in) {
		t.in, t.total = nil, nil
	}
	t.total = slices.Grow(t.total, len(msgs)-len(t.in))
	for i := len(t.in); i < len(msgs); i++ {
		t.total = append(t.total, t.between(0, i)+tokens(msgs[i]))
	}
	t.in = msgs
}

func (t *sums) between(from, to int) int {
	n := 0
	if to > 0 {
		n = t.total[to-1]
	}
	if from > 0 {
		n -= t.total[from-1]
	}
	return n
}

// do makes a new summary out of the old one and what came after it.
func (w *summariser) do(ctx context.Context, s *agent.Step) (graph.Command, error) {
	cut, ok := w.cut(s)
	if !ok {
		return graph.Command{}, nil
	}
	msgs := s.Messages
	old := SummaryField.Get(s.Scope)
	if after(msgs, old.Upto) == 0 {
		old = Summary{} // of messages that are not in the thread any more
	}
	next := Summary{Text: old.Text, Tokens: old.Tokens, Through: old.Through, Upto: msgs[cut-1].ID, Messages: cut}
	if q := question(msgs); after(msgs, q) <= cut {
		next.Question = q
	}
	text, err := w.write(ctx, s, old, msgs[after(msgs, old.Through):cut])
	var failed *summaryError
	switch {
	case errors.As(err, &failed):
		warned := event.Warned{Code: "summary_failed", Message: "the conversation is too long and could not be summarised (" + failed.why + "); its older messages are left out of what the model is shown"}
		if err := s.Emit(ctx, warned); err != nil {
			return graph.Command{}, err
		}
	case err != nil:
		return graph.Command{}, err
	case text != "":
		next.Text, next.Through = text, next.Upto
		next.Tokens = tokensOf(text)
	}
	return graph.Update(SummaryField.Set(next)), nil
}

// summaryView is a conversation whose beginning is a summary.
type summaryView struct {
	mu      sync.Mutex
	of      Summary
	in, out []item.Message
}

func (v *summaryView) show(in []item.Message, s Summary) []item.Message {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.of != s || !begins(in, v.in) || v.out == nil {
		start := after(in, s.Upto)
		if start == 0 {
			return in
		}
		v.of, v.in = s, in[:start]
		v.out = make([]item.Message, 0, len(in)-start+len(in)/4+8)
		for _, m := range in[:start] {
			if m.Role == item.System {
				v.out = append(v.out, m)
			}
		}
		v.out = append(v.out, item.Message{ID: "summary_" + s.Upto, Role: item.User, Content: item.Text(s.shown())})
		for _, m := range in[:start] {
			if m.ID == s.Question {
				v.out = append(v.out, m)
			}
		}
	}
	v.out = append(v.out, in[len(v.in):]...)
	v.in = in
	return slices.Clip(v.out)
}

// shown is the summary as models read it.
func (s Summary) shown() string {
	if s.Text == "" {
		return fmt.Sprintf("<conversation-summary>\nThe conversation began %d messages before this. They are left out here because of their length.\n</conversation-summary>", s.Messages)
	}
	rest := ""
	if s.Through != s.Upto {
		rest = "\n\nMessages between this summary and what follows are left out because of their length."
	}
	return fmt.Sprintf("<conversation-summary>\nThe conversation began %d messages before this. In their place, a summary:\n\n%s%s\n</conversation-summary>", s.Messages, s.Text, rest)
}
