package middleware

import (
	"slices"
	"sync"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
)

// memo is something that a middleware remembers of each agent of a run, and that can be made again.
type memo[T any] struct{ key *byte }

func newMemo[T any]() memo[T] { return memo[T]{new(byte)} }

type memoKey struct {
	of *byte
	ns string
}

// of returns what is remembered of the agent whose scope it is. Two agents of a run have two namespaces.
func (m memo[T]) of(s *graph.Scope) *T {
	return s.Local(memoKey{m.key, s.NS()}, func() any { return new(T) }).(*T)
}

// growing is a conversation in another form. It grows as the conversation does, and each message is looked at once.
type growing struct {
	mu      sync.Mutex
	in, out []item.Message
	changed bool // out differs from in, and is there
}

// show returns the messages with the content that one gives them; it must leave the message itself alone. As long as it changes
// none, these are the messages themselves.
func (g *growing) show(in []item.Message, one func(*item.Message) (content []item.Block, changed bool)) []item.Message {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !begins(in, g.in) {
		g.in, g.out, g.changed = nil, nil, false
	}
	for i := len(g.in); i < len(in); i++ {
		content, changed := one(&in[i])
		if changed && !g.changed {
			g.changed = true
			g.out = append(make([]item.Message, 0, len(in)+len(in)/4+8), in[:i]...)
		}
		if g.changed {
			g.out = append(g.out, in[i])
		}
		if changed {
			g.out[i].Content = content
		}
	}
	g.in = in
	if !g.changed {
		return in
	}
	return slices.Clip(g.out)
}

// begins reports that a conversation begins with another. Lists that share their memory do: whoever changes a message
// makes a new list.
func begins(list, prefix []item.Message) bool {
	if len(list) < len(prefix) {
		return false
	}
	if len(prefix) == 0 || &list[0] == &prefix[0] {
		return true
	}
	for i := range prefix {
		if !shared(&list[i], &prefix[i]) {
			return false
		}
	}
	return true
}

// shared reports that two messages are one, or copies that have their parts in common.
func shared(a, b *item.Message) bool {
	return a.ID == b.ID && a.Role == b.Role && sameList(a.Content, b.Content) && sameList(a.ToolCalls, b.ToolCalls) && sameList(a.Reasoning, b.Reasoning)
}

func sameList[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// ReminderRule is a sentence for system prompts.
const ReminderRule = "Text between <system-reminder> and </system-reminder> comes from the program that you work in, not from the person. Heed it, and do not mention it."

// reminded is text of the program. It must not hold text of others, unless that is neutral.
func reminded(text string) item.Block {
	return item.Block{Type: item.TextBlock, Text: "<system-reminder>\n" + text + "\n</system-reminder>"}
}

// reminderID is the id of the message that stands behind all others in a view.
const reminderID = "reminder"

// behind puts blocks behind everything else that the model is shown. It is for what changes from call to call.
func behind(msgs []item.Message, blocks ...item.Block) []item.Message {
	n := len(msgs)
	if n == 0 || msgs[n-1].ID != reminderID {
		return append(slices.Clip(msgs), item.Message{ID: reminderID, Role: item.User, Content: blocks})
	}
	out := slices.Clone(msgs)
	out[n-1].Content = slices.Concat(out[n-1].Content, blocks)
	return out
}

// Note is text of the program that is shown with a message of the thread, for as long as that message is shown.
type Note struct {
	Message string `json:"message"` // its id
	Text    string `json:"text"`
}

// attached shows notes before what their messages say. What was said with messages that are not shown any more stands before the
// first message that is: all of it, or the latest.
type attached struct {
	growing
	first string // of the view
	carry []string
}

// keep says how much is carried over from messages that are not shown.
type keep int

const (
	latest keep = iota
	all
)

func (a *attached) shown(in []item.Message, notes []Note, k keep) []item.Message {
	if len(notes) == 0 || len(in) == 0 {
		return in
	}
	a.prepare(in, notes, k)
	return a.show(in, func(m *item.Message) ([]item.Block, bool) {
		var blocks []item.Block
		if m.ID == a.first {
			for _, text := range a.carry {
				blocks = append(blocks, reminded(text))
			}
		}
		if m.Role == item.User {
			for i := range notes {
				if notes[i].Message == m.ID {
					blocks = append(blocks, reminded(notes[i].Text))
				}
			}
		}
		if blocks == nil {
			return nil, false
		}
		return append(blocks, m.Content...), true
	})
}

// prepare finds out what the first message has to carry. That changes only when the view begins elsewhere: a note that is added later
// belongs to a message that is shown.
func (a *attached) prepare(in []item.Message, notes []Note, k keep) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.first == in[0].ID {
		return
	}
	a.first, a.carry = in[0].ID, nil
	a.in, a.out, a.changed = nil, nil, false
	for _, n := range slices.Backward(notes) {
		if slices.ContainsFunc(in, func(m item.Message) bool { return m.ID == n.Message }) {
			continue
		}
		a.carry = append([]string{n.Text}, a.carry...)
		if k == latest {
			return
		}
	}
}

// asked is the message that the person sent last, if no answer to it has begun: what is attached to a message is made then.
func asked(msgs []item.Message) (item.Message, bool) {
	if n := len(msgs); n > 0 && msgs[n-1].Role == item.User {
		return msgs[n-1], true
	}
	return item.Message{}, false
}

// spoken is the last message of the person; nil if there is none.
func spoken(msgs []item.Message) *item.Message {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == item.User {
			return &msgs[i]
		}
	}
	return nil
}

// question is its id.
func question(msgs []item.Message) string {
	if m := spoken(msgs); m != nil {
		return m.ID
	}
	return ""
}
