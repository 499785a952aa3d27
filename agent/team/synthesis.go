package team

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// synthesise makes one answer of the findings and dissolves the team.
func (t *team) synthesise(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	st := t.state.Get(s)
	in := inboxes.Get(s)
	in.close("the lead puts the answer together; ask again when it is there") // first: after a crash the answer may be there
	if err := t.announce(ctx, s, &st); err != nil {
		return graph.Command{}, err
	}
	st.Spoken = in.all()
	msg, ended, voided := s.Recall().Turn(s.Execution())
	if !ended {
		var err error
		if msg, err = t.answer(ctx, s, &st, voided); err != nil {
			return graph.Command{}, err
		}
	}
	return graph.Update(t.messages.Add(msg)), t.dissolve(ctx, s, event.Success, st.Stopped)
}

// answer asks the lead. If it cannot be had, the findings are the answer.
func (t *team) answer(ctx context.Context, s *graph.Scope, st *State, voided string) (item.Message, error) {
	opts := t.callOptions(s)
	opts.Replaces, opts.Whole = voided, true
	found := false
	for _, f := range st.Findings {
		found = found || f.Status == event.Success
	}
	switch {
	case len(st.Findings) == 0:
		return agent.Call(ctx, s, plain("Nothing was done: "+st.Stopped+"."), model.Request{}, agent.CallOptions{Agent: t.Agent.Name, Replaces: voided})
	case !found:
		return item.Message{}, &event.Error{Code: "team_failed", Name: "TeamError", Message: "no expert of the team could answer: " + t.absent(st)}
	}
	together := plain(t.together(st))
	opts.Fallbacks = append(opts.Fallbacks[:len(opts.Fallbacks):len(opts.Fallbacks)], together)
	opts.Accept = func(m item.Message) error {
		if strings.TrimSpace(m.Text()) == "" {
			return errNothingSaid
		}
		return nil
	}
	msg, err := agent.Call(ctx, s, t.Agent.Model, t.request(st, t.question(s)), opts)
	if err == nil || ctx.Err() != nil {
		return msg, err
	}
	// The provider refused, so that nobody else was asked.
	return agent.Call(ctx, s, together, model.Request{}, agent.CallOptions{Agent: t.Agent.Name, Citable: opts.Citable})
}

// request shows the lead the question, and each expert as a tool that it has asked: what they found comes with the passages
// that they cite.
func (t *team) request(st *State, question string) model.Request {
	task := "You lead a team of experts, who have answered. Put one answer together from what they found: say where they agree and where they do not, and keep their citations [^n]."
	if t.Mode == Debate {
		task = "You judge a debate between experts. Say what each side has shown, decide, and give your reasons; keep their citations [^n]."
	}
	if len(st.Spoken) > 0 {
		task += "\nBelow the question stands what a person said to you or to the experts while they worked: heed it."
	}
	if gone := t.absent(st); gone != "" {
		task += "\nThese are missing, and your answer must say so: " + gone
	}
	if st.Stopped != "" {
		task += "\nThe work ended early, and your answer must say so: " + st.Stopped
	}
	req := model.Request{System: t.system(task), Choice: "none", Thinking: t.Agent.Thinking, Extra: t.Agent.Extra}
	calls := item.Message{ID: "consulted", Role: item.Assistant, Finish: item.FinishToolCalls}
	var results []item.Message
	offered := map[string]bool{}
	for i, f := range st.Findings {
		e, _ := st.expert(&t.Options, f.Expert)
		name := "ask_" + toolName(f.Expert)
		arguments, _ := json.Marshal(map[string]string{"phase": f.Phase}) // strings can be encoded
		id := fmt.Sprintf("consult_%d", i+1)
		if !offered[name] {
			offered[name] = true
			req.Tools = append(req.Tools, model.Tool{Name: name, Description: "Asks " + e.Name + " about " + e.Role + ".",
				Schema: json.RawMessage(`{"type":"object","properties":{"phase":{"type":"string"}}}`)})
		}
		calls.ToolCalls = append(calls.ToolCalls, item.ToolCall{ID: id, CallID: id, Name: name, Arguments: string(arguments)})
		res := item.Message{ID: "result_" + id, Role: item.Tool, Name: name, CallID: id, Content: f.Content, Failed: f.Status != event.Success}
		if res.Failed {
			res.Content = item.Text(e.Name + " is missing: " + missing(f))
		}
		results = append(results, res)
	}
	req.Messages = append([]item.Message{item.UserText("question", question+t.meanwhile(st)), calls}, results...)
	return req
}

// toolName spells an id as providers want the names of tools.
func toolName(id string) string {
	return strings.Map(func(r rune) rune {
		if r < 128 {
			return r
		}
		return '_'
	}, id)
}

// absent lists who has no finding in which phase, and why.
func (t *team) absent(st *State) string {
	var list []string
	for _, f := range st.Findings {
		if f.Status != event.Success {
			e, _ := st.expert(&t.Options, f.Expert)
			list = append(list, fmt.Sprintf("%s (%s): %s", e.Name, f.Phase, missing(f)))
		}
	}
	return strings.Join(list, "; ")
}

// together are the findings one after the other, for want of a lead.
func (t *team) together(st *State) string {
	var b strings.Builder
	b.WriteString("The lead could not put the answers of the team together; they follow as they are.")
	for _, f := range st.Findings {
		e, _ := st.expert(&t.Options, f.Expert)
		fmt.Fprintf(&b, "\n\n## %s (%s)\n\n", e.Name, f.Phase)
		if f.Status == event.Success {
			b.WriteString(f.Text)
		} else {
			b.WriteString("Missing: " + missing(f))
		}
	}
	return b.String()
}

// plain is a text that is said as it is, where no model is asked.
type plain string

func (p plain) Stream(context.Context, model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		_ = yield(model.Text{Text: string(p)}, nil) && yield(model.Finish{Reason: item.FinishStop}, nil)
	}
}

func (plain) Describe() model.Info { return model.Info{Provider: "team", Model: "findings"} }
