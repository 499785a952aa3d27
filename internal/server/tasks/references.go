package tasks

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/internal/wire/task"
	"github.com/tributary-ai/tributary/item"
)

// referenceList is what the answers of a task cite.
type referenceList struct {
	TaskID     string      `json:"task_id"`
	ThreadID   string      `json:"thread_id"`
	References []reference `json:"references"`
}

// reference is one thing that is cited.
type reference struct {
	ID     int         `json:"id" doc:"the number, as in [^1]"`
	CallID string      `json:"call_id,omitempty" doc:"of the call that found it"`
	Name   string      `json:"name,omitempty" doc:"the tool's"`
	Blocks []modelPart `json:"block_list"`
}

// showReferences answers with what a task cites. Numbers count on through a thread, so a task may cite what an earlier one
// found: that is looked up in the state from which it spoke.
func (s *Service) showReferences(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	ref, err := s.find(r, who)
	if err != nil {
		return err
	}
	fold, err := s.fold(r.Context(), ref.run.ID, nil)
	if err != nil {
		return err
	}
	picture, ok := fold.Task(ref.child)
	if !ok && ref.child != "" {
		return edge.RefuseField(http.StatusNotFound, "id", fmt.Sprintf("id: task %q has no sub-agent %q", ref.run.ID, ref.child))
	}
	list := referenceList{TaskID: cmp.Or(ref.child, ref.run.ID), ThreadID: ref.run.Thread, References: []reference{}}
	cited := map[int]bool{}
	note(cited, picture.Items)
	found := map[int]reference{}
	for res := range fold.Results() {
		collect(found, cited, res)
	}
	if len(found) < len(cited) {
		if err := s.collectEarlier(r, ref, found, cited); err != nil {
			return err
		}
	}
	for _, f := range found {
		list.References = append(list.References, f)
	}
	slices.SortFunc(list.References, func(a, b reference) int { return a.ID - b.ID })
	return edge.Answer(w, http.StatusOK, list)
}

// note marks the numbers that items cite, those of sub-agents in them too.
func note(cited map[int]bool, items []transcript.Item) {
	for _, it := range items {
		for _, b := range it.Blocks {
			for _, a := range b.Annotations {
				if a.Type == item.ReferenceToBlock {
					cited[a.Ref] = true
				}
			}
		}
		note(cited, it.Items)
	}
}

// collect takes what is cited out of a result. What people see has no tags around it, and may itself be spelled like one.
func collect(found map[int]reference, cited map[int]bool, res item.ToolResult) {
	blocks := res.Blocks
	if blocks == nil {
		blocks = slices.DeleteFunc(slices.Clone(res.Content), task.IsReferenceTag)
	}
	for _, b := range blocks {
		if _, known := found[b.Ref]; known || !cited[b.Ref] {
			continue
		}
		parts := modelParts(slices.DeleteFunc(slices.Clone(blocks), func(other item.Block) bool { return other.Ref != b.Ref }))
		for i := range parts {
			parts[i].Tags = nil
		}
		found[b.Ref] = reference{ID: b.Ref, CallID: res.CallID, Name: res.Name, Blocks: parts}
	}
}

// collectEarlier looks into the conversation that the task went on with.
func (s *Service) collectEarlier(r *http.Request, ref target, found map[int]reference, cited map[int]bool) error {
	ns, checkpoint, err := s.lastCheckpoint(r.Context(), target{run: ref.run})
	if err != nil || checkpoint == "" {
		return err
	}
	snap, err := s.opt.Store.Load(r.Context(), ref.run.Thread, ns, checkpoint)
	if errors.Is(err, graph.ErrNoCheckpoint) {
		return edge.RefuseField(http.StatusGone, "id", fmt.Sprintf("id: the state of task %q was pruned", ref.run.ID))
	}
	if err != nil {
		return err
	}
	var messages []item.Message
	if raw := snap.Values[messagesField]; len(raw) > 0 {
		if err := json.Unmarshal(raw, &messages); err != nil {
			return fmt.Errorf("messages of checkpoint %s: %w", snap.ID, err)
		}
	}
	for _, m := range messages {
		if m.Role == item.Tool {
			// A sub-agent's result has no blocks of its own; what it cites is in what the model was shown of it.
			collect(found, cited, item.ToolResult{CallID: m.CallID, Name: m.Name, Content: m.Content, Blocks: m.Blocks})
			collect(found, cited, item.ToolResult{CallID: m.CallID, Name: m.Name, Content: m.Content})
		}
	}
	return nil
}
