package companion

import (
	"context"
	"encoding/json"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

// Feedback is what a person thinks of a run's answer.
type Feedback struct {
	Run     string    `json:"run_id"`
	Thread  string    `json:"thread_id"`
	Rating  int       `json:"rating"` // 1 or -1
	Comment string    `json:"comment,omitempty"`
	At      time.Time `json:"created_at"`
}

// longestComment is how many bytes a note may have.
const longestComment = 4000

func feedbackOf(thread string) []string { return []string{"feedback", thread} }

// Rate keeps what a person thinks, in place of what they thought before.
func (c *Companion) Rate(ctx context.Context, who run.Identity, f Feedback) (Feedback, error) {
	if f.Rating != 1 && f.Rating != -1 {
		return f, run.Invalidf("rating", "must be 1 or -1, not %d", f.Rating)
	}
	if len(f.Comment) > longestComment {
		return f, run.Invalidf("comment", "must have at most %d bytes", longestComment)
	}
	if err := c.own(ctx, who, f.Thread, f.Run); err != nil {
		return f, err
	}
	f.At = time.Now().UTC().Truncate(time.Microsecond)
	raw, err := json.Marshal(f)
	if err != nil {
		return f, err
	}
	return f, c.Store.PutItem(ctx, who, run.Item{Namespace: feedbackOf(f.Thread), Key: f.Run, Value: raw})
}

// Rating is what a person thinks of a run; run.ErrNotFound if nobody said.
func (c *Companion) Rating(ctx context.Context, who run.Identity, thread, id string) (f Feedback, err error) {
	if err := c.own(ctx, who, thread, id); err != nil {
		return f, err
	}
	it, err := c.Store.Item(ctx, who, feedbackOf(thread), id, 0)
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(it.Value, &f)
}

// Unrate forgets it.
func (c *Companion) Unrate(ctx context.Context, who run.Identity, thread, id string) error {
	if err := c.own(ctx, who, thread, id); err != nil {
		return err
	}
	return c.Store.DeleteItem(ctx, who, feedbackOf(thread), id)
}

// own makes sure that a run is the caller's, and of that thread.
func (c *Companion) own(ctx context.Context, who run.Identity, thread, id string) error {
	r, err := c.Store.Run(ctx, who, id)
	if err == nil && r.Thread != thread {
		err = run.ErrNotFound
	}
	return err
}
