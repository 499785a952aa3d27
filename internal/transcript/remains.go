package transcript

import (
	"slices"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// CutOff returns the events that end an open turn as it stands: everything that is open of it ends incomplete, with what it
// has. ok is false for a turn that is not open, or of which nothing was shown.
func (f *Fold) CutOff(turn string) (closing []event.Event, ok bool) {
	t := f.turns[turn]
	if t == nil || t.state != turnOpen {
		return nil, false
	}
	for _, e := range t.entries {
		if e.void {
			continue
		}
		ok = true
		if e.head.Value == nil {
			_, ends := e.soFar()
			closing = append(closing, ends...)
		}
	}
	return append(closing, event.TurnEnded{Turn: turn, Finish: item.FinishIncomplete, Model: t.started.Model}), ok
}

// CutOffCall ends a call's result that is open and had something to show, with what it had. ok is false for any other.
func (f *Fold) CutOffCall(task, id string) (closing []event.Event, ok bool) {
	e := f.entries[entryKey{task, id}]
	if e == nil || e.void || e.head.Value != nil || e.head.Type != item.TypeToolResult || len(e.shown()) == 0 {
		return nil, false
	}
	_, closing = e.soFar()
	return closing, true
}

// stopped is what the model reads of a call that was stopped, behind what the tool had shown.
const stopped = "The call was stopped before it ended."

// shown is what there is to see of an item that has not ended.
func (e *entry) shown() []item.Block {
	var blocks []item.Block
	for _, b := range e.snapshot().Blocks {
		if !(b.Type == item.ForeignBlock && b.Foreign == nil || b.Type == item.ImageBlock && b.URL == "" || b.Type == item.TextBlock && b.Text == "") {
			blocks = append(blocks, b.Block)
		}
	}
	return blocks
}

// soFar is an item that was cut off, with what it has, and the events that say so. A block in which nothing can be shown yet is
// left out.
func (e *entry) soFar() (item.Item, []event.Event) {
	var blocks []item.Block
	var ends []event.Event
	for at, b := range e.snapshot().Blocks {
		if b.Type == item.ForeignBlock && b.Foreign == nil || b.Type == item.ImageBlock && b.URL == "" {
			continue
		}
		blocks = append(blocks, b.Block)
		if b.Open {
			ends = append(ends, event.BlockEnded{Item: e.head.ID, Block: at, Value: b.Block})
		}
	}
	var whole item.Item
	switch e.head.Type {
	case item.TypeReasoning:
		whole = item.Reasoning{ID: e.head.ID, Summary: blocks}
	case item.TypeToolCall:
		whole = item.ToolCall{ID: e.head.ID, CallID: e.head.CallID, Name: e.head.Name, Arguments: e.snapshot().Arguments}
	case item.TypeToolResult:
		whole = item.ToolResult{
			ID: e.head.ID, CallID: e.head.CallID, Name: e.head.Name, Error: true, Blocks: blocks,
			Content: append(slices.Clip(blocks), item.Text(stopped)...),
		}
	default:
		whole = item.Message{ID: e.head.ID, Role: item.Assistant, Content: blocks}
	}
	return whole, append(ends, event.ItemEnded{Item: whole, Status: item.Incomplete})
}

// Before reports whether one turn began before another. It is false where either is not known.
func (f *Fold) Before(turn, other string) bool {
	a, b := f.turns[turn], f.turns[other]
	if a == nil || b == nil || a == b {
		return false
	}
	for _, t := range f.turnOrder {
		if t == a || t == b {
			return t == a
		}
	}
	return false
}
