package task

import (
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/jsonline"
)

// Times writes when each item frame (task.output_item.added, .done) came to be, as its member at. Most readers do not want to know.
func (p *Projector) Times() { p.times = true }

// Times are when the items of a run were begun and ended, in the order in which they were begun: for who has the object of a task and not
// its stream, the same that [Projector.Times] tells.
type Times struct {
	list []itemTime
	last map[string]int // by item
}

type itemTime struct {
	task, item   string
	began, ended time.Time
}

// Apply takes in the next event of the run.
func (t *Times) Apply(env *event.Envelope) {
	switch e := env.Event.(type) {
	case event.ItemStarted:
		if t.last == nil {
			t.last = map[string]int{}
		}
		t.last[e.Item] = len(t.list)
		t.list = append(t.list, itemTime{task: env.Task, item: e.Item, began: env.At})
	case event.ItemEnded:
		if i, ok := t.last[e.Item.ItemID()]; ok {
			t.list[i].ended = env.At
		}
	}
}

// AddTo gives the object of a task its member times.
func (t *Times) AddTo(object []byte, run string) []byte {
	b := append(object[:len(object)-1], `,"times":[`...)
	for i, it := range t.list {
		if i > 0 {
			b = append(b, ',')
		}
		task := it.task
		if task == "" {
			task = run
		}
		b = jsonline.AppendString(append(b, `{"item_id":`...), it.item)
		b = jsonline.AppendField(b, "task_id", task)
		b = appendTime(b, "began_at", it.began)
		b = append(appendTime(b, "ended_at", it.ended), '}')
	}
	return append(b, "]}"...)
}
