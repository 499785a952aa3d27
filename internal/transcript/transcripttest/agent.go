package transcripttest

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// body is what one agent does between its start and its end.
func (g *generator) body(task string, depth int) script {
	var s script
	turns := 1 + g.upTo(g.size.Turns-1)
	for i := range turns {
		replaces := ""
		for attempt := 1; attempt < 3 && g.chance(20); attempt++ {
			broken, _ := g.turn(task, replaces, attempt, g.upTo(g.size.Width))
			broken = broken[:1+g.upTo(len(broken)-2)] // never its end
			replaces = broken[0].ev.(event.TurnStarted).Turn
			s = append(s, broken...)
			s = append(s, step{task, event.TurnVoided{Turn: replaces, Cause: "provider_overloaded", Usage: g.usage()}})
		}
		calls := 0
		if i < turns-1 {
			calls = g.upTo(g.size.Width)
		}
		turn, called := g.turn(task, replaces, 1, calls)
		s = append(s, turn...)
		results := []script{g.asides(task)}
		for _, c := range called {
			results = append(results, g.result(task, c, depth))
		}
		s = append(s, g.merge(results...)...)
	}
	return s
}

// turn is one model call, and the tool calls that it makes.
func (g *generator) turn(task, replaces string, attempt, calls int) (script, []item.ToolCall) {
	id := g.id("turn")
	var items []script
	if g.chance(50) {
		items = append(items, g.reasoning(task, id))
	}
	if calls == 0 || g.chance(30) {
		items = append(items, g.message(task, id))
	}
	var called []item.ToolCall
	for n := range calls {
		c := item.ToolCall{ID: g.id("fc"), CallID: g.id("call"), Name: "look_up", Arguments: `{"q":"` + g.words() + `"}`}
		called = append(called, c)
		s := script{{task, event.ItemStarted{Item: c.ID, Turn: id, Type: item.TypeToolCall, CallID: c.CallID, Name: c.Name, Index: n}}}
		for _, piece := range g.pieces(c.Arguments) {
			s = append(s, step{task, event.ArgumentsDelta{Item: c.ID, Text: piece}})
		}
		items = append(items, append(s, step{task, event.ItemEnded{Item: c, Status: item.Completed}}))
	}
	s := script{{task, event.TurnStarted{Turn: id, Model: "scripted", Replaces: replaces, Attempt: attempt}}}
	if g.chance(30) {
		s = append(s, step{task, event.ContextPrepared{Turn: id, Messages: g.upTo(5)}})
	}
	if g.chance(50) {
		s = append(s, g.merge(items...)...)
	} else {
		for _, it := range items {
			s = append(s, it...)
		}
	}
	finish := item.FinishStop
	if calls > 0 {
		finish = item.FinishToolCalls
	}
	return append(s, step{task, event.TurnEnded{Turn: id, Finish: finish, Usage: g.usage()}}), called
}

func (g *generator) reasoning(task, turn string) script {
	r := item.Reasoning{ID: g.id("rs"), Signature: "signed"}
	s := script{{task, event.ItemStarted{Item: r.ID, Turn: turn, Type: item.TypeReasoning}}}
	for i := range 1 + g.upTo(2) {
		b := item.Block{Type: item.TextBlock, Text: g.words()}
		s = append(s, g.textBlock(task, r.ID, i, b)...)
		r.Summary = append(r.Summary, b)
	}
	return append(s, step{task, event.ItemEnded{Item: r, Status: item.Completed}})
}

func (g *generator) message(task, turn string) script {
	m := item.Message{ID: g.id("msg"), Role: item.Assistant}
	s := script{{task, event.ItemStarted{Item: m.ID, Turn: turn, Type: item.TypeMessage}}}
	for i := range g.upTo(2) {
		b := item.Block{Type: item.TextBlock, Text: g.words()}
		for n := range g.upTo(2) {
			start := utf8.RuneCountInString(b.Text)
			b.Text += "[^" + strconv.Itoa(n+1) + "]"
			b.Annotations = append(b.Annotations, item.Annotation{Type: item.ReferenceToBlock, Ref: n + 1, Start: start, End: utf8.RuneCountInString(b.Text)})
		}
		s = append(s, g.textBlock(task, m.ID, i, b)...)
		m.Content = append(m.Content, b)
	}
	return append(s, step{task, event.ItemEnded{Item: m, Status: item.Completed}})
}

// textBlock streams a block in one of the three sizes, or leaves it to the item's end.
func (g *generator) textBlock(task, id string, at int, b item.Block) script {
	var s script
	if g.chance(80) {
		s = append(s, step{task, event.BlockStarted{Item: id, Block: at, Type: b.Type, Ref: b.Ref}})
		for _, piece := range g.pieces(b.Text) {
			s = append(s, step{task, event.TextDelta{Item: id, Block: at, Text: piece}})
		}
		for _, a := range b.Annotations {
			s = append(s, step{task, event.AnnotationAdded{Item: id, Block: at, Annotation: a}})
		}
	}
	return append(s, step{task, event.BlockEnded{Item: id, Block: at, Value: b}})
}

// result is the outcome of one call: a tool's, or a sub-agent's.
func (g *generator) result(task string, call item.ToolCall, depth int) script {
	if depth < g.size.Depth && g.budget > 0 && g.chance(50) {
		g.budget--
		return g.subAgent(task, call, depth+1)
	}
	r := item.ToolResult{ID: g.id("fco"), CallID: call.CallID, Name: call.Name}
	s := script{{task, event.ItemStarted{Item: r.ID, Type: item.TypeToolResult, CallID: r.CallID, Name: r.Name}}}
	for n := range g.upTo(2) {
		s = append(s, step{task, event.ToolProgressed{Item: r.ID, CallID: r.CallID, Name: r.Name, Message: g.words(), Done: float64(n), Total: 2}})
	}
	switch g.rand.IntN(4) {
	case 0:
		r.Error, r.Content = true, item.Text("no such thing: "+g.words())
	case 1:
		r.Content = item.Text(g.words()) // a tool with one view, told at its end only
	default:
		ref := 1 + g.upTo(9)
		text := item.Block{Type: item.TextBlock, Text: g.words(), Name: "a title", Ref: ref}
		image := item.Block{Type: item.ImageBlock, URL: "data:image/png;base64,iVBORw0KGgo=", Ref: ref}
		r.Content = item.Text("for the model")
		r.Blocks = []item.Block{text, image}
		s = append(s, g.textBlock(task, r.ID, 0, text)...)
		if g.chance(50) {
			s = append(s, step{task, event.BlockStarted{Item: r.ID, Block: 1, Type: item.ImageBlock, Ref: ref}})
			for n := range g.upTo(3) {
				s = append(s, step{task, event.ImageDelta{Item: r.ID, Block: 1, Partial: n, URL: "data:image/png;base64," + strings.Repeat("AAAA", n+1)}})
			}
			s = append(s, step{task, event.BlockEnded{Item: r.ID, Block: 1, Value: image}})
		}
	}
	return append(s, step{task, event.ItemEnded{Item: r, Status: item.Completed}})
}

// subAgent is a call that is answered by a child task.
func (g *generator) subAgent(parent string, call item.ToolCall, depth int) script {
	id := call.CallID
	r := item.ToolResult{ID: g.id("fco"), CallID: id, Name: call.Name, Content: item.Text("what the parent's model is told")}
	s := script{{parent, event.ItemStarted{Item: r.ID, Type: item.TypeToolResult, CallID: id, Name: call.Name}}}
	started := event.TaskStarted{Parent: parent, CallID: id, Agent: "researcher", Title: g.words()}
	status := event.Success
	for attempt := 1; ; attempt++ {
		if attempt > 1 {
			started.Attempt = attempt
		}
		s = append(s, step{id, started})
		body := g.body(id, depth)
		status = pick(g, event.Success, event.Success, event.Failed, event.Failed, event.Cancelled)
		if status != event.Success {
			body = g.cut(body, id, g.chance(30))
		}
		s = append(s, body...)
		ended := event.TaskEnded{Status: status}
		if status == event.Failed {
			ended.Error = &event.Error{Code: "model_unavailable", Message: "nobody answers"}
		}
		s = append(s, step{id, ended})
		if status != event.Failed || attempt == 3 || g.chance(30) {
			break
		}
	}
	itemStatus := item.Completed
	if status != event.Success {
		r.Error, itemStatus = true, item.Incomplete
	}
	return append(s, step{parent, event.ItemEnded{Item: r, Status: itemStatus}})
}

// asides are facts that belong to no item.
func (g *generator) asides(task string) script {
	var s script
	if g.chance(20) {
		s = append(s, step{task, event.Custom{Name: "progress", Data: []byte(`{"done":0.5}`)}})
	}
	if g.chance(10) {
		s = append(s, step{task, event.Warned{Code: "no_thinking", Message: "the model cannot think"}})
	}
	if g.chance(20) {
		plan := event.PlanUpdated{Plan: "plan_" + task, Title: g.words(), Steps: []event.PlanStep{{ID: "1", Title: "look", Status: "running"}, {ID: "2", Title: "tell", Status: "pending"}}}
		s = append(s, step{task, plan})
		plan.Steps = []event.PlanStep{{ID: "1", Title: "look", Status: "done"}, {ID: "2", Title: "tell", Status: "running"}}
		s = append(s, step{task, plan})
	}
	if g.chance(10) {
		s = append(s, step{task, event.Spoken{ID: g.id("said"), Text: g.words()}})
	}
	if g.chance(10) {
		team := g.id("team")
		s = append(s, step{task, event.TeamFormed{Team: team, Members: []event.Member{{ID: "m1", Name: "Ada"}}}})
		if g.budget > 0 {
			g.budget--
			expert := g.id("expert") // a child that no call opened
			s = append(s, step{expert, event.TaskStarted{Parent: task, Agent: "Ada"}})
			s = append(s, g.body(expert, g.size.Depth)...)
			s = append(s, step{expert, event.TaskEnded{Status: event.Success}})
		}
		s = append(s, step{task, event.TeamDissolved{Team: team, Outcome: event.Success}})
	}
	if g.chance(20) {
		exec := g.id("exec")
		s = append(s, step{task, event.NodeStarted{Execution: exec}}, step{task, event.NodeEnded{Execution: exec}})
		s = append(s, step{task, event.CheckpointSaved{}}, step{task, event.Unknown{Name: "from_the_future", Data: []byte(`{}`)}})
	}
	return s
}

func (g *generator) usage() item.Usage {
	return item.Usage{InputTokens: g.upTo(100), OutputTokens: g.upTo(100), CostMicros: int64(g.upTo(10))}
}

// words is a text with everything in it that a wire may trip over.
func (g *generator) words() string {
	vocabulary := []string{"rain ", "15C ", "巴黎", "☀️", "👨‍👩‍👧 ", "<b> ", "a\nb", "tab\t", `back\slash`, "\u2028", "[^", "] ", "\x01"}
	var b strings.Builder
	for range 1 + g.upTo(5) {
		b.WriteString(pick(g, vocabulary...))
	}
	return b.String()
}

// pieces cuts a text between code points.
func (g *generator) pieces(text string) []string {
	runes := []rune(text)
	var out []string
	for n := g.size.Fragment; n > 1 && len(runes) > 1; n-- {
		at := 1 + g.upTo(len(runes)-2)
		out = append(out, string(runes[:at]))
		runes = runes[at:]
	}
	return append(out, string(runes))
}
