package transcript

import (
	"slices"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

func (v *visitor) ItemStarted(e event.ItemStarted) error {
	f := v.fold()
	t := f.working()
	en := &entry{task: t, since: f.attempt, head: Item{
		ID: e.Item, Type: e.Type, Status: item.InProgress, Index: len(t.entries), Turn: e.Turn, CallID: e.CallID, Name: e.Name,
	}}
	if e.Type == item.TypeMessage {
		en.head.Role = item.Assistant
	}
	if e.Turn != "" {
		if en.turn = f.turns[e.Turn]; en.turn == nil {
			f.broke(Order, "turn %q has not started", e.Turn)
		} else {
			if en.turn.state != turnOpen {
				f.broke(Order, "turn %q is over", e.Turn)
			}
			en.head.Attempt = en.turn.started.Attempt
			en.turn.entries = append(en.turn.entries, en)
		}
	}
	key := entryKey{t.head.ID, e.Item}
	f.supersede(f.entries[key])
	if e.Type == item.TypeToolResult {
		f.supersede(t.results[e.CallID])
		t.results[e.CallID] = en
	}
	f.entries[key] = en
	t.entries = append(t.entries, en)
	f.last, f.touched = en, touched{t, en, nil}
	return nil
}

// supersede drops the earlier try of an item that starts again. That is lawful only for what a crash cut off.
func (f *Fold) supersede(old *entry) {
	if old == nil || old.void {
		return
	}
	if old.head.Status != item.InProgress {
		f.broke(Order, "item %q ended already and is never produced again", old.head.ID)
	} else if old.since == f.attempt {
		f.broke(Order, "item %q is still open", old.head.ID)
	}
	f.void(old, old.since, "restarted")
}

func (v *visitor) ItemEnded(e event.ItemEnded) error {
	f := v.fold()
	if e.Item == nil {
		f.broke(Order, "it carries no item")
		return nil
	}
	en := f.entry(e.Item.ItemID())
	if en == nil {
		return nil
	}
	if e.Item.ItemType() != en.head.Type {
		f.broke(Order, "item %q started as %s and ends as %s", en.head.ID, en.head.Type, e.Item.ItemType())
	}
	var blocks []item.Block
	switch it := e.Item.(type) {
	case item.Reasoning:
		blocks = it.Summary
	case item.Message:
		blocks = it.Content
		if it.Role != "" {
			en.head.Role = it.Role
		}
	case item.ToolCall:
		if e.Status != item.Incomplete && en.args.Len() > 0 && en.args.String() != it.Arguments {
			f.broke(SumOfParts, "arguments of item %q: the deltas give %q, the end says %q", en.head.ID, en.args.String(), it.Arguments)
		}
		en.head.Arguments, en.head.CallID, en.head.Name = it.Arguments, it.CallID, it.Name
	case item.ToolResult:
		if it.CallID != en.head.CallID {
			f.broke(Order, "item %q started for call %q and ends for %q", en.head.ID, en.head.CallID, it.CallID)
		}
		if child := f.contained(en); child != nil && child.open {
			f.broke(HoldsChild, "its sub-agent %q has not ended", child.head.ID)
		}
		blocks = it.View()
		en.head.Failed = it.Error
		if it.Name != "" {
			en.head.Name = it.Name
		}
		if f.watcher == nil {
			f.results[en.head.CallID] = it
		}
	}
	if e.Status != item.Incomplete { // what was cut off may end with a word on why, in place of its parts
		f.compare(en, blocks)
	}
	if f.watcher != nil {
		f.closeBlocks(en, blocks)
	}
	ended := make([]block, len(blocks))
	en.blocks = make([]*block, len(blocks))
	for i, b := range blocks {
		ended[i].value = b
		en.blocks[i] = &ended[i]
	}
	en.head.Value, en.head.Progress = e.Item, nil
	if en.head.Status = e.Status; e.Status == "" || e.Status == item.InProgress {
		en.head.Status = item.Completed
	}
	return nil
}

// closeBlocks tells of the blocks that end with their item, but for those that nobody sees.
func (f *Fold) closeBlocks(en *entry, ended []item.Block) {
	if f.contained(en) != nil {
		return
	}
	for i, b := range en.blocks {
		if b.open && i < len(ended) {
			f.watcher.BlockClosed(&en.task.head, &en.head, i, &ended[i])
		}
	}
}

// compare checks that an ended item repeats the blocks that were streamed.
func (f *Fold) compare(en *entry, ended []item.Block) {
	if len(en.blocks) > len(ended) {
		f.broke(SumOfParts, "item %q streamed %d blocks and ends with %d", en.head.ID, len(en.blocks), len(ended))
		return
	}
	for i, b := range en.blocks {
		if b.open {
			f.sum(en.head.ID, i, b, ended[i])
		} else if b.value.Type != ended[i].Type || b.value.Text != ended[i].Text || b.value.URL != ended[i].URL {
			f.broke(SumOfParts, "block %d of item %q differs from the one that ended before", i, en.head.ID)
		}
	}
}

// sum checks the joined deltas of a block against its end. A block without deltas came in one piece.
func (f *Fold) sum(id string, at int, b *block, ended item.Block) {
	if b.value.Type != ended.Type {
		f.broke(SumOfParts, "block %d of item %q started as %s and ends as %s", at, id, b.value.Type, ended.Type)
	}
	if b.text.Len() > 0 && b.text.String() != ended.Text {
		f.broke(SumOfParts, "block %d of item %q: the deltas give %q, the end says %q", at, id, b.text.String(), ended.Text)
	}
	if len(b.value.Annotations) > 0 && !slices.Equal(b.value.Annotations, ended.Annotations) {
		f.broke(SumOfParts, "block %d of item %q: the annotations that were added are not those of the end", at, id)
	}
}

func (v *visitor) BlockStarted(e event.BlockStarted) error {
	f := v.fold()
	en := f.entry(e.Item)
	if en == nil {
		return nil
	}
	b := &block{value: item.Block{Type: e.Type, Ref: e.Ref}, open: true}
	f.touched.block = b
	switch {
	case e.Block == len(en.blocks):
		en.blocks = append(en.blocks, b)
	case e.Block < 0 || e.Block > len(en.blocks):
		f.refuse(Order, "block %d of item %q starts before block %d", e.Block, e.Item, len(en.blocks))
	default:
		f.broke(Order, "block %d of item %q started already", e.Block, e.Item)
		en.blocks[e.Block] = b
	}
	return nil
}

func (v *visitor) TextDelta(e event.TextDelta) error {
	if b := v.fold().block(e.Item, e.Block, item.TextBlock); b != nil && v.watcher == nil {
		b.text.WriteString(e.Text)
	}
	return nil
}

func (v *visitor) ImageDelta(e event.ImageDelta) error {
	if b := v.fold().block(e.Item, e.Block, item.ImageBlock); b != nil {
		b.value.URL = e.URL
	}
	return nil
}

func (v *visitor) AnnotationAdded(e event.AnnotationAdded) error {
	if b := v.fold().block(e.Item, e.Block, item.TextBlock); b != nil && v.watcher == nil {
		b.value.Annotations = append(b.value.Annotations, e.Annotation)
	}
	return nil
}

func (v *visitor) BlockEnded(e event.BlockEnded) error {
	f := v.fold()
	en := f.entry(e.Item)
	if en == nil {
		return nil
	}
	whole := &block{value: e.Value}
	f.touched.block = whole
	switch {
	case e.Block == len(en.blocks): // a small block comes whole, without a start
		en.blocks = append(en.blocks, whole)
	case e.Block < 0 || e.Block > len(en.blocks):
		f.refuse(Order, "block %d of item %q ends before block %d starts", e.Block, e.Item, len(en.blocks))
	default:
		b := en.blocks[e.Block]
		if b.open {
			f.sum(e.Item, e.Block, b, e.Value)
		} else {
			f.broke(Order, "block %d of item %q has ended", e.Block, e.Item)
		}
		en.blocks[e.Block] = whole
	}
	return nil
}

func (v *visitor) ArgumentsDelta(e event.ArgumentsDelta) error {
	f := v.fold()
	en := f.entry(e.Item)
	if en == nil {
		return nil
	}
	if en.head.Type != item.TypeToolCall {
		f.refuse(Order, "item %q is a %s and has no arguments", e.Item, en.head.Type)
		return nil
	}
	if f.watcher == nil {
		en.args.WriteString(e.Text)
	}
	return nil
}

func (v *visitor) ToolProgressed(e event.ToolProgressed) error {
	f := v.fold()
	en := f.entry(e.Item)
	if en == nil {
		return nil
	}
	if en.head.Type != item.TypeToolResult || en.head.Status != item.InProgress {
		f.refuse(Order, "item %q is no tool result that is open", e.Item)
		return nil
	}
	en.head.Progress = &e
	return nil
}
