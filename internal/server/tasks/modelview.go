package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/wire/task"
	"github.com/tributary-ai/tributary/item"
)

// modelView is what the model of a task has been shown: the conversation at the task's latest checkpoint, with the
// model's view of tool results. Users' streams never carry it.
type modelView struct {
	TaskID     string         `json:"task_id"`
	ThreadID   string         `json:"thread_id"`
	Checkpoint string         `json:"checkpoint_id,omitempty"` // none before the first
	Messages   []modelMessage `json:"messages"`
}

type modelMessage struct {
	ID        string           `json:"id,omitempty"`
	Role      item.Role        `json:"role"`
	Name      string           `json:"name,omitempty"`
	CallID    string           `json:"call_id,omitempty"`
	IsError   bool             `json:"is_error,omitempty"`
	Reasoning []modelReasoning `json:"reasoning,omitempty"`
	Content   []modelPart      `json:"content"`
	ToolCalls []modelCall      `json:"tool_calls,omitempty"`
}

type modelReasoning struct {
	Summary   []modelPart `json:"summary"`
	Encrypted bool        `json:"encrypted,omitempty"` // there is more, which only the provider can read
}

type modelCall struct {
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type modelPart struct {
	Type     string          `json:"type"`
	Text     *string         `json:"text,omitempty"`
	ImageURL *imageAddress   `json:"image_url,omitempty"`
	URL      string          `json:"url,omitempty"`
	Name     string          `json:"name,omitempty"`
	MIME     string          `json:"mime_type,omitempty"`
	Foreign  json.RawMessage `json:"foreign,omitempty"`
	Ref      int             `json:"id,omitempty"` // the number under which it is cited
	Tags     []string        `json:"tags,omitempty"`
}

type imageAddress struct {
	URL string `json:"url"`
}

func (s *Service) showModelView(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	ref, err := s.find(r, who)
	if err != nil {
		return err
	}
	ns, checkpoint, err := s.lastCheckpoint(r.Context(), ref)
	if err != nil {
		return err
	}
	view := modelView{TaskID: ref.run.ID, ThreadID: ref.run.Thread, Checkpoint: checkpoint, Messages: []modelMessage{}}
	if ref.child != "" {
		view.TaskID = ref.child
	}
	if checkpoint != "" {
		snap, err := s.opt.Store.Load(r.Context(), ref.run.Thread, ns, checkpoint)
		if errors.Is(err, graph.ErrNoCheckpoint) {
			return edge.RefuseField(http.StatusGone, "id", fmt.Sprintf("id: the state of task %q was pruned", view.TaskID))
		}
		if err != nil {
			return err
		}
		if view.Messages, err = modelMessages(snap); err != nil {
			return err
		}
	}
	return edge.Answer(w, http.StatusOK, view)
}

// lastCheckpoint finds the latest state that a task saved.
func (s *Service) lastCheckpoint(ctx context.Context, ref target) (ns, id string, err error) {
	known := ref.child == ""
	for env, err := range s.opt.Journal.Read(ctx, ref.run.ID, 0) {
		if err != nil {
			return "", "", err
		}
		if env.Task != ref.child {
			continue
		}
		known = true
		// A subgraph of the task has a longer namespace than the graph that it is a node of.
		if e, ok := env.Event.(event.CheckpointSaved); ok && (id == "" || len(env.NS) <= len(ns)) {
			ns, id = env.NS, e.ID
		}
	}
	if !known {
		err = edge.RefuseField(http.StatusNotFound, "id", fmt.Sprintf("id: task %q has no sub-agent %q", ref.run.ID, ref.child))
	}
	return ns, id, err
}

func modelMessages(snap *graph.Snapshot) ([]modelMessage, error) {
	var messages []item.Message
	if raw := snap.Values[messagesField]; len(raw) > 0 {
		if err := json.Unmarshal(raw, &messages); err != nil {
			return nil, fmt.Errorf("messages of checkpoint %s: %w", snap.ID, err)
		}
	}
	out := make([]modelMessage, len(messages))
	for i := range messages {
		m := &messages[i]
		o := modelMessage{ID: m.ID, Role: m.Role, Name: m.Name, CallID: m.CallID, IsError: m.Failed, Content: modelParts(m.Content)}
		for _, r := range m.Reasoning {
			o.Reasoning = append(o.Reasoning, modelReasoning{modelParts(r.Summary), r.Encrypted != ""})
		}
		for _, c := range m.ToolCalls {
			o.ToolCalls = append(o.ToolCalls, modelCall{c.CallID, c.Name, c.Arguments})
		}
		out[i] = o
	}
	return out, nil
}

func modelParts(blocks []item.Block) []modelPart {
	parts := make([]modelPart, len(blocks))
	for i, b := range blocks {
		p := modelPart{Type: string(b.Type), Name: b.Name, MIME: b.MIME, Foreign: b.Foreign, Ref: b.Ref}
		switch b.Type {
		case item.TextBlock:
			p.Text, p.URL = &blocks[i].Text, b.URL
			if task.IsReferenceTag(b) {
				p.Tags = []string{"added_by_reference_manager"}
			}
		case item.ImageBlock:
			p.Type, p.ImageURL = "image_url", &imageAddress{b.URL}
		case item.FileBlock, item.ForeignBlock:
			p.URL = b.URL
		}
		parts[i] = p
	}
	return parts
}
