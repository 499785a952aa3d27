package graph

import (
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// saying returns the events that tell of messages which a node wrote into a conversation and which no turn has said: an answer
// that was put together, a word from a middleware. People see them like any other answer, once, as a whole.
func (e *engine) saying(t *taskRun) (events []event.Event) {
	for _, w := range t.writes {
		msgs, ok := w.value.([]item.Message)
		if !ok {
			continue
		}
		for _, m := range msgs {
			if m.Role == item.Assistant && len(m.Content) > 0 && !e.knows(t, w.def, m.ID) && e.x.tell(m.ID) {
				events = append(events,
					event.ItemStarted{Item: m.ID, Type: item.TypeMessage},
					event.ItemEnded{Item: item.Message{ID: m.ID, Role: m.Role, Name: m.Name, Content: m.Content}, Status: item.Completed})
			}
		}
	}
	return events
}

// knows reports that a message is in the conversation already, or was said in an attempt before this one.
func (e *engine) knows(t *taskRun, d *definition, id string) bool {
	if e.x.Recall != nil {
		if said, ended, _ := e.x.Recall.Turn(t.task.ID); ended && said.ID == id {
			return true
		}
	}
	i, ok := e.g.index[d.name]
	if !ok {
		return false
	}
	old, _ := e.st[i].value.([]item.Message)
	for at := range old {
		if old[at].ID == id {
			return true
		}
	}
	return false
}

// tell notes that readers are told of a message. It is false if they were before.
func (x *session) tell(id string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.said[id] {
		return false
	}
	if x.said == nil {
		x.said = map[string]bool{}
	}
	x.said[id] = true
	return true
}
