package transcripttest

import (
	"slices"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// cut stops a script at some point and closes what is open in it, as a cancel or an error does. With rude, it leaves
// open turns and results as they are, for the end of the task to close; tasks below are left open too.
func (g *generator) cut(s script, root string, rude bool) script {
	keep := g.upTo(len(s))
	if root == "" {
		keep = max(keep, 1) // the start of the run
	}
	s = s[:keep:keep]
	if rude {
		return s
	}
	return append(s, open(s).closeTask(g, root)...)
}

// crash stops a run at some point and lets a second attempt bring it to an end.
func (g *generator) crash(s script) script {
	keep := 1 + g.upTo(len(s)-1)
	s = s[:keep:keep]
	o := open(s)
	s = append(s, step{"", event.AttemptStarted{Attempt: 2, Cause: pick(g, "crash", event.LostPower)}})
	replaces := ""
	for _, t := range o.turns {
		s = append(s, step{t.task, event.TurnVoided{Turn: t.id, Cause: "crash"}})
		if t.task == "" {
			replaces = t.id
		}
	}
	o.turns = nil
	// A tool that may run again does so under a new item.
	for i, r := range o.results {
		if r.contains == "" && g.chance(50) {
			r.id = g.id("fco")
			o.results[i] = r
			s = append(s, step{r.task, event.ItemStarted{Item: r.id, Type: item.TypeToolResult, CallID: r.call}})
		}
	}
	// A sub-agent goes on with its parent.
	for _, t := range o.tasks {
		if g.chance(50) {
			s = append(s, step{t.id, event.TaskStarted{Parent: t.parent, CallID: t.call, Attempt: t.attempt}})
			turn, _ := g.turn(t.id, "", 1, 0)
			s = append(s, turn...)
		}
	}
	s = append(s, o.closeTask(g, "")...)
	turn, _ := g.turn("", replaces, 2, 0)
	return append(s, turn...)
}

// opened is what a script has begun and not ended.
type opened struct {
	turns   []openTurn
	results []openResult
	tasks   []openTask
}

type openTurn struct{ task, id string }

type openResult struct{ task, id, call, contains string }

type openTask struct {
	id, parent, call string
	attempt          int
}

func open(s script) *opened {
	o := &opened{}
	for _, st := range s {
		switch e := st.ev.(type) {
		case event.TurnStarted:
			o.turns = append(o.turns, openTurn{st.task, e.Turn})
		case event.TurnEnded:
			o.turns = slices.DeleteFunc(o.turns, func(t openTurn) bool { return t.id == e.Turn })
		case event.TurnVoided:
			o.turns = slices.DeleteFunc(o.turns, func(t openTurn) bool { return t.id == e.Turn })
		case event.ItemStarted:
			if e.Type == item.TypeToolResult {
				o.results = append(o.results, openResult{st.task, e.Item, e.CallID, ""})
			}
		case event.ItemEnded:
			o.results = slices.DeleteFunc(o.results, func(r openResult) bool { return r.id == e.Item.ItemID() })
		case event.TaskStarted:
			o.tasks = append(o.tasks, openTask{st.task, e.Parent, e.CallID, e.Attempt})
			for i := range o.results {
				if o.results[i].task == e.Parent && o.results[i].call == e.CallID {
					o.results[i].contains = st.task
				}
			}
		case event.TaskEnded:
			// What a rude end left open below ends with it.
			for _, id := range o.below(st.task) {
				o.turns = slices.DeleteFunc(o.turns, func(t openTurn) bool { return t.task == id })
				o.results = slices.DeleteFunc(o.results, func(r openResult) bool { return r.task == id })
				o.tasks = slices.DeleteFunc(o.tasks, func(t openTask) bool { return t.id == id })
			}
		}
	}
	return o
}

// below lists a task and the open tasks under it.
func (o *opened) below(task string) []string {
	ids := []string{task}
	for _, t := range o.tasks {
		if slices.Contains(ids, t.parent) {
			ids = append(ids, t.id)
		}
	}
	return ids
}

// closeTask ends everything in a task, deepest first, but not the task itself.
func (o *opened) closeTask(g *generator, task string) script {
	var s script
	for _, t := range slices.Backward(o.tasks) {
		if t.parent == task && t.id != task {
			s = append(s, o.closeTask(g, t.id)...)
			s = append(s, step{t.id, event.TaskEnded{Status: event.Cancelled}})
		}
	}
	for _, t := range o.turns {
		if t.task == task {
			s = append(s, step{task, event.TurnVoided{Turn: t.id, Cause: "cancelled", Usage: g.usage()}})
		}
	}
	for _, r := range o.results {
		if r.task == task {
			s = append(s, step{task, event.ItemEnded{
				Item:   item.ToolResult{ID: r.id, CallID: r.call, Error: true, Content: item.Text("cancelled")},
				Status: item.Incomplete,
			}})
		}
	}
	return s
}
