package run

import (
	"context"

	"github.com/tributary-ai/tributary/graph"
)

// Edits gathers what an edit of a thread's state wants stored: nothing is, before all is known to be right. It is the
// Recorder of a [graph.Edit]; what it gathered belongs into [Threads.SaveState].
type Edits struct{ Saves []graph.Save }

var _ graph.Recorder = (*Edits)(nil)

// Record implements graph.Recorder.
func (e *Edits) Record(_ context.Context, b graph.Batch) error {
	e.Saves = append(e.Saves, b.Save...)
	return nil
}

// Status is what the thread is after the edit: waiting, if a node of the root graph is due; as it was, if the edit was
// below the root.
func (e *Edits) Status(was ThreadStatus) ThreadStatus {
	for i := len(e.Saves) - 1; i >= 0; i-- {
		if c, ok := e.Saves[i].(graph.Commit); ok && c.Checkpoint.NS == "" {
			if len(c.Checkpoint.Next) > 0 {
				return ThreadInterrupted
			}
			return Idle
		}
	}
	return was
}
