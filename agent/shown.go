package agent

import (
	"slices"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// shown is what a tool has shown of its result while it worked.
type shown struct {
	blocks []shownBlock
}

type shownBlock struct {
	item.Block
	text     []byte // of a text that grows
	pictures int    // how many versions of an image there were
	whole    bool   // it has ended
}

// add takes a part in and returns the events that tell of it. A part that does not fit where it is put begins a block of its own.
func (s *shown) add(id string, at int, part item.Block) (events []event.Event) {
	part.Ref = 0 // what can be cited is numbered when the result is there
	if at < 0 || at >= len(s.blocks) || s.blocks[at].Type != part.Type || s.blocks[at].whole {
		at = len(s.blocks)
		s.blocks = append(s.blocks, shownBlock{Block: item.Block{Type: part.Type}})
		events = append(events, event.BlockStarted{Item: id, Block: at, Type: part.Type})
	}
	b := &s.blocks[at]
	switch part.Type {
	case item.TextBlock:
		if part.Text != "" {
			b.text = append(b.text, part.Text...)
			events = append(events, event.TextDelta{Item: id, Block: at, Text: part.Text})
		}
	case item.ImageBlock:
		b.Block = part
		events = append(events, event.ImageDelta{Item: id, Block: at, Partial: b.pictures, URL: part.URL})
		b.pictures++
	default:
		b.Block, b.whole = part, true
		events = append(events, event.BlockEnded{Item: id, Block: at, Value: part})
	}
	return events
}

// list is what was shown, as blocks.
func (s *shown) list() []item.Block {
	var all []item.Block
	for i := range s.blocks {
		b := s.blocks[i].Block
		if b.Type == item.TextBlock {
			b.Text = string(s.blocks[i].text)
		}
		all = append(all, b)
	}
	return all
}

// end returns the events that end the blocks which are open.
func (s *shown) end(id string) (events []event.Event) {
	for i, b := range s.list() {
		if !s.blocks[i].whole {
			events = append(events, event.BlockEnded{Item: id, Block: i, Value: b})
		}
	}
	return events
}

// seen is a result with what people were shown of it before: that stays, and of what the tool returned follows what they have not
// seen. A text that was shown and returned is there once.
func seen(before []item.Block, res item.ToolResult) item.ToolResult {
	if len(before) == 0 {
		return res
	}
	rest := res.Blocks
	if rest == nil {
		for _, b := range res.Content {
			if res.Error || b.Ref != 0 || b.Type != item.TextBlock {
				rest = append(rest, b)
			}
		}
	}
	res.Blocks = append(slices.Clip(before), rest...)
	return res
}
