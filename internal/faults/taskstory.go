package faults

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// taskIDs makes sure that the ids of the task wires are 0, 1, 2 ….
func (j *judge) taskIDs(frames []Frame) {
	var ids []int
	for i := range frames {
		n, err := strconv.Atoi(frames[i].ID)
		var said struct {
			N int `json:"sequence_number"`
		}
		if !j.parse(&frames[i], &said) {
			return
		}
		if err != nil || said.N != n {
			j.blame(Unreadable, "the event %d has the id %q", said.N, frames[i].ID)
			return
		}
		ids = append(ids, n)
	}
	j.rising(ids, func(a, b int) int { return a - b })
	sorted := slices.Compact(slices.Sorted(slices.Values(ids)))
	for i, n := range sorted {
		if n != i {
			j.blame(Lost, "event %d", i)
			return
		}
	}
}

// taskFrame is what the oracle reads of an event.
type taskFrame struct {
	Type   string `json:"type"`
	Task   string `json:"task_id"`
	ItemID string `json:"item_id"`
	Block  int    `json:"block_index"`
	Delta  string `json:"delta"`
	Usage  *usage `json:"usage"`
	Error  *struct {
		Code string `json:"code"`
	} `json:"error"`
	Item *taskItem `json:"item"`
}

type taskItem struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	Status    string `json:"status"`
	Role      string `json:"role"`
	CallID    string `json:"call_id"`
	Text      string `json:"text"`
	BlockList []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"block_list"`
}

func (it *taskItem) text() string {
	var b strings.Builder
	for _, block := range it.BlockList {
		b.WriteString(block.Text)
	}
	return b.String()
}

// shown is an item as it grew.
type shown struct {
	typ   string
	texts map[int]*strings.Builder
	open  bool
	void  bool
	final *taskItem
}

// foldTask reads a stream of the task wire as a client would, and blames what no client could make sense of.
func (j *judge) foldTask(frames []Frame) *story {
	s := &story{results: map[string]string{}}
	items := map[string]*shown{}
	var order []string
	for i := range frames {
		var f taskFrame
		if !j.parse(&frames[i], &f) {
			return s
		}
		if s.ended {
			j.blame(AfterEnd, "event %s: %s", frames[i].ID, frames[i].Data)
			continue
		}
		switch f.Type {
		case "task.output_item.added":
			if items[f.Item.ID] != nil {
				j.blame(Repeated, "item %s was added again", f.Item.ID)
				continue
			}
			items[f.Item.ID] = &shown{typ: f.Item.Type, texts: map[int]*strings.Builder{}, open: true}
			order = append(order, f.Item.ID)
		case "task.text.delta":
			if it := j.openItem(items, f.ItemID, frames[i].ID); it != nil {
				if it.texts[f.Block] == nil {
					it.texts[f.Block] = &strings.Builder{}
				}
				it.texts[f.Block].WriteString(f.Delta)
			}
		case "task.text.done":
			if it := j.openItem(items, f.ItemID, frames[i].ID); it != nil && it.texts[f.Block] != nil && it.texts[f.Block].String() != f.Item.Text {
				j.blame(Mixed, "the deltas of %s make %q, its text is %q", f.ItemID, it.texts[f.Block], f.Item.Text)
			}
		case "task.output_item.reset":
			if it := items[f.ItemID]; it != nil {
				it.void, it.open = true, false
			}
		case "task.output_item.done":
			if it := j.openItem(items, f.Item.ID, frames[i].ID); it != nil {
				j.itemDone(it, f.Item)
			}
		case "task.completed", "task.failed", "task.canceled", "task.expired", "task.input_required":
			if f.Task == j.c.Run {
				s.ended, s.failed = true, f.Type != "task.completed"
				if f.Usage != nil {
					s.input, s.output = f.Usage.Input, f.Usage.Output
				}
				if f.Error != nil {
					s.code = f.Error.Code
				}
				if s.failed && j.c.Failed && s.code != j.c.WantCode {
					j.blame(WrongEnd, "the error is %q, want %q", s.code, j.c.WantCode)
				}
			}
		}
	}
	if !s.ended {
		j.blame(Endless, "there is no terminal event among %d", len(frames))
	}
	for _, id := range order {
		it := items[id]
		switch {
		case it.void:
		case it.open:
			j.blame(Untold, "item %s was begun, and neither ended nor voided", id)
		case it.typ == "message":
			s.messages = append(s.messages, message{id, it.final.text()})
		case it.typ == "tool_result":
			s.results[it.final.CallID] = it.final.text()
		}
	}
	return s
}

// openItem finds the item that an event speaks of; one that is unknown, done or void cannot grow.
func (j *judge) openItem(items map[string]*shown, id, at string) *shown {
	it := items[id]
	if it == nil || !it.open {
		j.blame(Mixed, "event %s is about item %s, which is not open", at, id)
		return nil
	}
	return it
}

func (j *judge) itemDone(it *shown, final *taskItem) {
	it.open, it.final = false, final
	if it.typ != "message" {
		return
	}
	for i, b := range final.BlockList {
		if grown := it.texts[i]; b.Type == "text" && grown != nil && grown.String() != b.Text {
			j.blame(Mixed, "the deltas of %s make %q, its text is %q", final.ID, grown, b.Text)
		}
	}
	if len(it.texts) > len(final.BlockList) {
		j.blame(Mixed, "message %s has fewer blocks than were streamed", final.ID)
	}
}

// object holds GET /tasks/{id} against the order.
func (j *judge) object() {
	var o struct {
		TaskID string     `json:"task_id"`
		Status string     `json:"status"`
		Output []taskItem `json:"output"`
		Usage  usage      `json:"usage"`
	}
	if err := json.Unmarshal(j.c.Object, &o); err != nil {
		j.blame(Unreadable, "%v: %s", err, j.c.Object)
		return
	}
	s := &story{ended: true, failed: o.Status == "failed", input: o.Usage.Input, output: o.Usage.Output}
	if o.Status != "completed" && o.Status != "failed" {
		j.blame(Endless, "the task is %q", o.Status)
		return
	}
	for _, it := range o.Output {
		if it.Type == "message" {
			s.messages = append(s.messages, message{it.ID, it.text()})
		}
	}
	j.story(s)
}

// rising makes sure that ids come in order, each once.
func (j *judge) rising(ids []int, cmp func(a, b int) int) {
	seen := map[int]bool{}
	for i, n := range ids {
		switch {
		case seen[n]:
			j.blame(Repeated, "event %d", n)
		case i > 0 && cmp(n, ids[i-1]) < 0:
			j.blame(Swapped, "event %d came after %d", n, ids[i-1])
		}
		seen[n] = true
	}
}
