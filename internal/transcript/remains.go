package transcript

import (
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
		whole = item.ToolResult{ID: e.head.ID, CallID: e.head.CallID, Name: e.head.Name, Blocks: blocks}
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
