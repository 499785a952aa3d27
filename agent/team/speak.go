package team

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
)

// mostWords is how often people may speak to a team.
const mostWords = 200

// inbox is what people have said to the team. What is in it is on disk.
type inbox struct {
	mu     sync.Mutex
	words  []event.Spoken
	closed string // why nobody listens any more; empty while somebody does
}

var inboxes = graph.NewLocal(func(s *graph.Scope) *inbox {
	in := &inbox{}
	if r, ok := s.Recall().(graph.RecallSpoken); ok {
		in.words = r.Spoken()
	}
	return in
})

// listen hears what people say to the members of the team, from now on.
func (t *team) listen(s *graph.Scope, st *State) {
	in := inboxes.Get(s)
	in.mu.Lock()
	for _, w := range slices.Backward(st.Spoken) { // in the runs before this one
		if !in.has(w.ID) {
			in.words = slices.Insert(in.words, 0, w)
		}
	}
	in.mu.Unlock()
	known := map[string]bool{"": true, slug(t.Agent.Name): true}
	var ids []string
	for _, x := range t.all(st.Experts) {
		known[x.ID()] = true
		ids = append(ids, x.ID())
	}
	s.Listen(func(words event.Spoken, record func() error) error {
		in.mu.Lock()
		defer in.mu.Unlock()
		switch {
		case in.has(words.ID):
			return nil
		case in.closed != "":
			return fmt.Errorf("%w: %s", graph.ErrNobodyListens, in.closed)
		case !known[words.To]:
			return refuse("%q is not of the team; speak to one of %s, or to all", words.To, strings.Join(ids, ", "))
		case len(in.words) >= mostWords:
			return refuse("the team has been spoken to %d times, and listens no more", mostWords)
		}
		if err := record(); err != nil {
			return err
		}
		in.words = append(in.words, words)
		return nil
	})
}

func refuse(format string, args ...any) error {
	return &event.Error{Code: graph.CodeInvalidInput, Name: "InvalidInputError", Message: fmt.Sprintf(format, args...)}
}

func (in *inbox) has(id string) bool {
	return slices.ContainsFunc(in.words, func(w event.Spoken) bool { return w.ID == id })
}

// all is what was said so far.
func (in *inbox) all() []event.Spoken {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.words)
}

// close listens no more, because of why, and returns what was said.
func (in *inbox) close(why string) []event.Spoken {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = why
	return slices.Clone(in.words)
}

// unheard is what was said to the expert, or to all, and is not in its conversation yet.
func (j *job) unheard(s *agent.Step) (msgs []item.Message) {
	for _, w := range inboxes.Get(s.Scope).all() {
		id := "spoken_" + w.ID
		if (w.To == "" || w.To == j.expert.ID()) && !slices.ContainsFunc(s.Messages, func(m item.Message) bool { return m.ID == id }) {
			msgs = append(msgs, item.UserText(id, w.Text))
		}
	}
	return msgs
}

// hearing puts what people say into the expert's conversation, before its next turn. One who has just answered is asked once more: the
// words may change the answer.
func (j *job) hearing() agent.Middleware {
	messages := graph.Messages("messages")
	return agent.Middleware{
		Name: "spoken",
		Before: agent.Hook{
			Due: func(s *agent.Step) bool { return len(j.unheard(s)) > 0 },
			Do: func(_ context.Context, s *agent.Step) (graph.Command, error) {
				return graph.Update(messages.Add(j.unheard(s)...)), nil
			},
		},
		After: agent.Hook{
			Due: func(s *agent.Step) bool {
				answer, ok := s.Answer()
				return ok && len(answer.ToolCalls) == 0 && answer.Finish != item.FinishPause && len(j.unheard(s)) > 0
			},
			Do: func(_ context.Context, s *agent.Step) (graph.Command, error) {
				return graph.Update(messages.Add(j.unheard(s)...)).Go(agent.NodeModel), nil
			},
		},
	}
}

// meanwhile is what people said while the team worked, for the lead, below the question.
func (t *team) meanwhile(st *State) string {
	var b strings.Builder
	for _, w := range st.Spoken {
		b.WriteString("\n\n")
		if w.To != "" {
			e, _ := st.expert(&t.Options, w.To)
			b.WriteString("(to " + e.Name + ") ")
		}
		b.WriteString(w.Text)
	}
	return b.String()
}
