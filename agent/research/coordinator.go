package research

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// handoff is the tool with which the coordinator begins the research. It is never run: the call is the decision.
var handoff = model.Tool{
	Name:        "handoff_to_planner",
	Description: "Begins deep research on a topic: a plan, searches, and a report with citations.",
	Schema: json.RawMessage(`{"type":"object","properties":{` +
		`"research_topic":{"type":"string","description":"what is to be found out, so that it can be understood without the conversation"},` +
		`"locale":{"type":"string","description":"the language of the report, as in en-US or zh-CN"}},"required":["research_topic"]}`),
}

// coordinate decides what becomes of what the user said: research, an answer, or a question back.
func (w *work) coordinate(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	c, asked := w.Settings, rounds.Get(s)
	if asked > 0 { // the talk goes on
		c = w.settings(s)
	} else if err := w.warn(ctx, s); err != nil {
		return graph.Command{}, err
	}
	question := lastSaid(messages.Get(s))
	if c.Clarify && asked >= c.MaxClarifications {
		return w.begin(s, c, clarified(s), ""), nil
	}
	lang := localeOf(c, question)
	msg, err := w.ask(ctx, s, model.Request{
		System: prompt("coordinator", lang, promptData{Locale: lang, Clarify: c.Clarify, Left: c.MaxClarifications - asked}), Messages: talk(messages.Get(s)), Tools: []model.Tool{handoff},
	}, agent.CallOptions{Thread: messages.Get(s), Quiet: asked > 0})
	if err != nil {
		return graph.Command{}, err
	}
	i := slices.IndexFunc(msg.ToolCalls, func(call item.ToolCall) bool { return call.Name == handoff.Name })
	switch {
	case i >= 0:
		closed, err := w.closeCalls(ctx, s, msg)
		if err != nil {
			return graph.Command{}, err
		}
		var args struct {
			Topic  string `json:"research_topic"`
			Locale string `json:"locale"`
		}
		_ = json.Unmarshal([]byte(msg.ToolCalls[i].Arguments), &args) // the decision counts, whatever its arguments
		if args.Topic == "" {
			args.Topic = clarified(s)
		}
		cmd := w.begin(s, c, args.Topic, args.Locale)
		cmd.Writes = append(cmd.Writes, messages.Add(closed...))
		return cmd, nil
	case c.Clarify && msg.Text() != "":
		writes := []graph.Write{messages.Add(msg), settings.Set(c), rounds.Set(asked + 1)}
		if asked == 0 {
			writes = append(writes, topic.Set(question), history.Set(nil))
		} else if asked > len(history.Get(s)) { // the user answered with a message of its own, and not the question
			writes = append(writes, history.Set(append(slices.Clone(history.Get(s)), question)))
		}
		return graph.Update(writes...).Go(NodeClarify), nil
	case c.Clarify:
		return w.begin(s, c, clarified(s), ""), nil
	}
	return graph.Update(messages.Add(msg), settings.Set(c)).Go(graph.End), nil
}

func (w *work) warn(ctx context.Context, s *graph.Scope) error {
	var told []event.Event
	for _, warning := range w.Warnings {
		told = append(told, warning)
	}
	if told == nil {
		return nil
	}
	return s.Emit(ctx, told...)
}

// begin starts the research: what an earlier question of the thread left is put away, but for what was read.
func (w *work) begin(s *graph.Scope, c Settings, about, said string) graph.Command {
	lang := localeOf(c, about)
	if c.Locale == "" && (chinese(said) || strings.HasPrefix(strings.ToLower(said), "en")) {
		lang = said
	}
	next := NodePlanner
	if on(c.Background) {
		next = NodeBackground
	}
	return graph.Update(
		settings.Set(c), topic.Set(about), locale.Set(lang), rounds.Set(0), history.Set(nil), planID.Set("plan_"+s.Execution()), plan.Set(Plan{}),
		iterations.Set(0), feedback.Set(""), background.Set(nil), results.Set(map[string]Result{}), known.Set(len(sources.Get(s))),
		report.Set(""), citations.Set(nil), doubts.Set(nil), reportFile.Set(""), clock.Set(Clock{}),
	).Go(next)
}

// closeCalls gives every call of the coordinator its result, so that nobody waits for one.
func (w *work) closeCalls(ctx context.Context, s *graph.Scope, msg item.Message) ([]item.Message, error) {
	msgs := []item.Message{msg}
	for _, call := range msg.ToolCalls {
		res := item.ToolResult{ID: "fco_" + call.CallID, CallID: call.CallID, Name: call.Name, Content: item.Text("The research begins.")}
		if call.Name != handoff.Name {
			res.Error, res.Content = true, item.Text("There is no such tool.")
		}
		if _, _, ended := s.Recall().ToolResult(call.CallID); !ended {
			b := res.Content[0]
			err := s.Emit(ctx,
				event.ItemStarted{Item: res.ID, Type: item.TypeToolResult, CallID: call.CallID, Name: call.Name},
				event.BlockStarted{Item: res.ID, Type: b.Type}, event.TextDelta{Item: res.ID, Text: b.Text}, event.BlockEnded{Item: res.ID, Value: b},
				event.ItemEnded{Item: res, Status: item.Completed},
			)
			if err != nil {
				return nil, err
			}
		}
		msgs = append(msgs, item.Message{ID: res.ID, Role: item.Tool, CallID: call.CallID, Name: call.Name, Content: res.Content, Failed: res.Error})
	}
	return msgs, nil
}

// clarify puts the coordinator's question to the person.
func (w *work) clarify(_ context.Context, s *graph.Scope) (graph.Command, error) {
	msgs := messages.Get(s)
	answer, err := graph.Ask[json.RawMessage](s, msgs[len(msgs)-1].Text(), graph.Kind(event.AskClarification))
	if err != nil {
		return graph.Command{}, err
	}
	said := saidIn(answer)
	return graph.Update(messages.Add(item.UserText("", said)), history.Set(append(slices.Clone(history.Get(s)), said))), nil
}

// saidIn is the text of an answer: a string, or an object that has one.
func saidIn(answer json.RawMessage) string {
	var text string
	if json.Unmarshal(answer, &text) == nil {
		return strings.TrimSpace(text)
	}
	var object map[string]any
	_ = json.Unmarshal(answer, &object)
	for _, key := range []string{"answer", "text", "feedback", "content", "message"} {
		if text, ok := object[key].(string); ok {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// clarified is what is asked, with what was answered to questions about it.
func clarified(s *graph.Scope) string {
	last := lastSaid(messages.Get(s))
	if rounds.Get(s) == 0 {
		return last
	}
	parts := append([]string{topic.Get(s)}, history.Get(s)...)
	if len(history.Get(s)) < rounds.Get(s) {
		parts = append(parts, last)
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "\n")
}

func lastSaid(msgs []item.Message) string {
	for _, m := range slices.Backward(msgs) {
		if m.Role == item.User && m.Name != nameFeedback {
			return strings.TrimSpace(m.Text())
		}
	}
	return ""
}

// talk is the conversation as the coordinator sees it: what was said, without plans and calls.
func talk(msgs []item.Message) []item.Message {
	var out []item.Message
	for _, m := range msgs {
		switch {
		case m.Role == item.User && m.Name != nameFeedback:
			out = append(out, m)
		case m.Role == item.Assistant && m.Name != NodePlanner && m.Text() != "":
			out = append(out, item.AssistantText(m.ID, m.Text()))
		}
	}
	return out
}

// investigate searches once, before anybody plans. It is a child task like any step, whose model is a program.
func (w *work) investigate(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	search, ok := w.searcher(on(w.settings(s).WebSearch))
	if !ok {
		return graph.Command{}, nil
	}
	remembered.Get(s)
	child, err := agent.New(agent.Options{
		Name: NodeBackground, Model: &once{search, w.settings(s).MaxSearchResults}, Tools: search.set, Log: w.Log, MaxSteps: 3,
	})
	if err != nil {
		return graph.Command{}, err
	}
	done, err := w.run(ctx, ctx, s, child, graph.Child{
		Task: "background-" + s.Execution(), Agent: NodeBackground, Title: firstWords(topic.Get(s), 80), Uncalled: true,
		Input: []graph.Write{messages.Add(item.UserText("in_"+s.Execution(), topic.Get(s)))}, OmitValues: true,
	})
	if failure := (*stepError)(nil); errors.As(err, &failure) {
		return graph.Command{}, s.Emit(ctx, event.Warned{Code: "background_failed", Message: "the search before the plan failed: " + failure.Error()})
	}
	if err != nil {
		return graph.Command{}, err
	}
	found := sourcesOf(done.messages, "", time.Now())
	if len(found) == 0 {
		return graph.Command{}, nil
	}
	var numbers []int
	for n := range found {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return graph.Update(background.Set(numbers), sources.Set(keyed(found))), nil
}
