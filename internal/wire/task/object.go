package task

import (
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/item"
)

// Object is the folded object of a task, as GET /tasks/{id} answers it. The run's id is the root task's.
func Object(run string, t transcript.Task) []byte {
	return object{run: run}.appendTask(nil, &t)
}

// WithContent is Object with what the model reads of tool results and messages beside what people see.
func WithContent(run string, t transcript.Task) []byte {
	return object{run: run, content: true}.appendTask(nil, &t)
}

// object is the object of a task while it is written.
type object struct {
	run     string
	content bool
}

func (o object) appendTask(dst []byte, t *transcript.Task) []byte {
	dst = append(dst, `{"task_id":`...)
	if t.ID == "" {
		dst = jsonline.AppendString(dst, o.run)
	} else {
		dst = jsonline.AppendString(dst, t.ID)
		parent := t.Parent
		if parent == "" {
			parent = o.run
		}
		dst = jsonline.AppendField(dst, "parent_task_id", parent)
	}
	dst = jsonline.AppendField(dst, "status", standing(t))
	dst = jsonline.AppendOptField(dst, "agent", t.Agent)
	dst = jsonline.AppendOptField(dst, "title", t.Title)
	if t.Attempt > 1 {
		dst = jsonline.AppendIntField(dst, "attempt", t.Attempt)
	}
	dst = jsonline.AppendOptField(dst, "cause", t.Cause)
	dst = appendTime(dst, "created_at", t.StartedAt)
	dst = jsonline.AppendKey(dst, "output")
	dst = o.appendItems(dst, t.Items, "")
	if t.Status != "" {
		dst = appendEnd(dst, t)
	}
	dst = o.appendTasks(dst, t.Tasks)
	if len(t.Interrupts) > 0 {
		dst = append(dst, `,"interrupts":[`...)
		for i := range t.Interrupts {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendInterrupt(dst, &t.Interrupts[i])
		}
		dst = append(dst, ']')
	}
	if len(t.Plans) > 0 {
		plans := make([]planObject, len(t.Plans))
		for i, p := range t.Plans {
			plans[i] = plan(p)
		}
		dst = appendValue(dst, "plans", plans)
	}
	if len(t.Teams) > 0 {
		teams := make([]teamObject, len(t.Teams))
		for i, tm := range t.Teams {
			teams[i] = team(tm.TeamFormed)
			if tm.Outcome != "" {
				teams[i].Outcome, teams[i].Reason = life(tm.Outcome), tm.Reason
			}
		}
		dst = appendValue(dst, "teams", teams)
	}
	if len(t.Warnings) > 0 {
		dst = appendValue(dst, "warnings", t.Warnings)
	}
	if len(t.Spoken) > 0 {
		dst = appendValue(dst, "spoken", t.Spoken)
	}
	return append(dst, '}')
}

// appendChild writes who the sub-agent in a container is and why it ended.
func appendChild(dst []byte, t *transcript.Task) []byte {
	dst = append(dst, `,"task":{"task_id":`...)
	dst = jsonline.AppendString(dst, t.ID)
	dst = jsonline.AppendField(dst, "status", standing(t))
	dst = jsonline.AppendOptField(dst, "agent", t.Agent)
	dst = jsonline.AppendOptField(dst, "title", t.Title)
	if t.Attempt > 1 {
		dst = jsonline.AppendIntField(dst, "attempt", t.Attempt)
	}
	dst = appendTime(dst, "created_at", t.StartedAt)
	return append(appendEnd(dst, t), '}')
}

// appendTasks writes the children that no tool result contains.
func (o object) appendTasks(dst []byte, tasks []transcript.Task) []byte {
	if len(tasks) == 0 {
		return dst
	}
	dst = append(dst, `,"tasks":[`...)
	for i := range tasks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = o.appendTask(dst, &tasks[i])
	}
	return append(dst, ']')
}

// appendEnd writes what a terminal frame says beside the status.
func appendEnd(dst []byte, t *transcript.Task) []byte {
	dst = jsonline.AppendOptField(dst, "reason", t.Reason)
	if t.Error != nil {
		dst = appendValue(dst, "error", t.Error)
	}
	if !t.Usage.IsZero() {
		dst = appendValue(dst, "usage", t.Usage)
	}
	return appendTime(dst, "ended_at", t.EndedAt)
}

// appendItems writes a task's output; inside a container each item also says whose it is.
func (o object) appendItems(dst []byte, items []transcript.Item, task string) []byte {
	dst = append(dst, '[')
	for i := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		it := &items[i]
		dst = appendItem(dst, it)
		if it.Task != "" {
			dst = jsonline.AppendKey(dst, listOf(item.TypeToolResult))
			dst = o.appendItems(dst, it.Items, it.Task)
			dst = o.appendTasks(dst, it.Tasks)
			switch it.Child.Status {
			case event.Failed, event.Cancelled, event.TimedOut:
				dst = appendChild(dst, it.Child)
			case "", event.Success, event.Interrupted:
			}
		}
		if o.content {
			dst = appendContent(dst, it.Value)
		}
		dst = append(jsonline.AppendOptField(dst, "task_id", task), '}')
	}
	return append(dst, ']')
}

// appendContent writes what the model reads of an item that has ended. The tags around what can be cited are marked as such.
func appendContent(dst []byte, it item.Item) []byte {
	var blocks []item.Block
	switch it := it.(type) {
	case item.ToolResult:
		blocks = it.Content
	case item.Message:
		blocks = it.Content
	default:
		return dst
	}
	dst = append(dst, `,"content":[`...)
	for i, b := range blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		b.Annotations = nil // people's
		if b.Type == item.ImageBlock {
			dst = append(dst, `{"type":"image_url","image_url":{"url":`...)
			dst = append(jsonline.AppendString(dst, b.URL), '}')
			if b.Ref != 0 {
				dst = jsonline.AppendIntField(dst, "id", b.Ref)
			}
			dst = append(dst, '}')
			continue
		}
		dst = appendBlock(dst, &b, false)
		if IsReferenceTag(b) {
			dst = append(dst[:len(dst)-1], `,"tags":["added_by_reference_manager"]}`...)
		}
	}
	return append(dst, ']')
}

// IsReferenceTag tells the wrapping of what can be cited from what is wrapped.
func IsReferenceTag(b item.Block) bool {
	return b.Ref != 0 && b.Type == item.TextBlock && (strings.HasPrefix(b.Text, "<referencable-item>") || b.Text == "</referencable-item>")
}
