// Package trial finds out what a model can do by asking it: the smallest calls that show that a thing works.
//
// # Laws
//
//   - Each check is one call, and the second turn, which needs the first, is one more. None is made twice: what a provider
//     refuses, it is shown to have refused.
//   - What a model is not said to be able to do is not tried, and reported as skipped.
//   - A check that fails says what was missing, or why in the provider's own words. The other checks are made all the same, unless
//     the first call shows that none can succeed.
package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// State is how a check went.
type State string

const (
	Works   State = "works"
	Fails   State = "fails"
	Skipped State = "skipped"
)

// Result is what a check showed.
type Result struct {
	Name  string        `json:"check"`
	State State         `json:"state"`
	Note  string        `json:"note,omitempty"` // what was seen, or why it failed
	Took  time.Duration `json:"-"`
	Usage item.Usage    `json:"usage"`
}

// Subject is a model and what it is said to be able to do.
type Subject struct {
	Model model.Model
	model.Info
}

// check is one trial: it returns what was seen, or why it fails; a skip, where it was not made.
type check struct {
	name string
	try  func(*session) (note string, err error)
}

var checks = []check{
	{"stream", (*session).stream},
	{"tool call", (*session).call},
	{"second turn", (*session).second},
	{"tool without arguments", (*session).bare},
	{"thinking", (*session).think},
	{"structured output", (*session).shape},
	{"picture", (*session).picture},
	{"too long", (*session).long},
	{"cancel", (*session).cancel},
}

// Names are those of the checks, in order.
func Names() []string {
	var names []string
	for _, c := range checks {
		names = append(names, c.name)
	}
	return names
}

// skip says why a check is not made.
type skip string

func (s skip) Error() string { return string(s) }

// Run makes the checks one after the other, but for those that are left out, and tells each result as it comes. It ends early
// with ctx, or when the first call shows that no other can succeed.
func Run(ctx context.Context, subject Subject, without func(name string) bool, tell func(Result)) {
	s := &session{ctx: ctx, Subject: subject}
	for _, c := range checks {
		if ctx.Err() != nil {
			return
		}
		r := Result{Name: c.name, State: Works}
		if without != nil && without(c.name) {
			r.State, r.Note = Skipped, "left out"
			tell(r)
			continue
		}
		s.usage = item.Usage{}
		began := time.Now()
		note, err := c.try(s)
		r.Took, r.Usage, r.Note = time.Since(began), s.usage, note
		var skipped skip
		switch {
		case errors.As(err, &skipped):
			r.State, r.Note = Skipped, string(skipped)
		case err != nil:
			r.State, r.Note = Fails, err.Error()
		}
		tell(r)
		if hopeless(err) {
			return
		}
	}
}

// hopeless reports that no other call can succeed either.
func hopeless(err error) bool {
	var failed *model.Error
	if !errors.As(err, &failed) {
		return false
	}
	switch failed.Class {
	case model.Auth, model.Quota, model.NotFound, model.Network:
		return true
	}
	return false
}

// session is a conversation with the subject.
type session struct {
	Subject
	ctx   context.Context
	usage item.Usage
	// called is the answer that the second turn goes on with.
	called *item.Message
}

// answer is what one call came to.
type answer struct {
	item.Message
	pieces   int // of text
	thoughts int // bytes
	first    time.Duration
	finish   model.Finish
}

// ask makes one call.
func (s *session) ask(req model.Request) (answer, error) {
	a := answer{Message: item.Message{ID: "check", Role: item.Assistant}}
	var text strings.Builder
	calls := map[int]*item.ToolCall{}
	began := time.Now()
	ended := false
	for part, err := range s.Model.Stream(s.ctx, req) {
		if err != nil {
			return a, err
		}
		if a.first == 0 {
			a.first = time.Since(began)
		}
		switch p := part.(type) {
		case model.Text:
			a.pieces++
			text.WriteString(p.Text)
		case model.Reasoning:
			a.thoughts += len(p.Text) + len(p.Encrypted)
			a.reason(p, s.Provider)
		case model.ToolCall:
			c := calls[p.Index]
			if c == nil {
				c = &item.ToolCall{}
				calls[p.Index] = c
			}
			c.CallID, c.Name = c.CallID+p.ID, c.Name+p.Name
			c.Arguments += p.Arguments
			c.Signature += p.Signature
		case model.Usage:
			s.usage = p.Usage
		case model.Finish:
			a.finish, ended = p, true
		}
	}
	if !ended {
		return a, errors.New("the answer has no end")
	}
	a.Content = item.Text(text.String())
	for i := range len(calls) {
		if c := calls[i]; c != nil {
			if c.CallID == "" {
				c.CallID = fmt.Sprintf("check_%d", i)
			}
			a.ToolCalls = append(a.ToolCalls, *c)
		}
	}
	return a, nil
}

// reason keeps what the provider wants back.
func (a *answer) reason(p model.Reasoning, provider string) {
	for len(a.Reasoning) <= p.Item {
		a.Reasoning = append(a.Reasoning, item.Reasoning{Provider: provider})
	}
	r := &a.Reasoning[p.Item]
	if p.Text != "" {
		if len(r.Summary) == 0 {
			r.Summary = item.Text(p.Text)
		} else {
			r.Summary[0].Text += p.Text
		}
	}
	r.Signature, r.Encrypted, r.ID = r.Signature+p.Signature, r.Encrypted+p.Encrypted, r.ID+p.ID
}

// said is the beginning of an answer, for people.
func (a answer) said() string {
	text := strings.Join(strings.Fields(a.Text()), " ")
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:60], "") + "…"
	}
	return fmt.Sprintf("%q", text)
}

// arguments reads the arguments of the first call, which must be that of a tool.
func (a answer) arguments(tool string) (map[string]any, error) {
	if len(a.ToolCalls) == 0 {
		return nil, fmt.Errorf("the tool was not called; the model said %s and stopped with %s", a.said(), a.finish.Raw)
	}
	c := a.ToolCalls[0]
	if c.Name != tool {
		return nil, fmt.Errorf("the tool that was called is %q, and not %q", c.Name, tool)
	}
	if strings.TrimSpace(c.Arguments) == "" {
		return map[string]any{}, nil
	}
	var in map[string]any
	if err := json.Unmarshal([]byte(c.Arguments), &in); err != nil {
		return nil, fmt.Errorf("the arguments %q are no JSON object", c.Arguments)
	}
	return in, nil
}
