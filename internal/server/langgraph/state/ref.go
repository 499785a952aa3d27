package state

import (
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
)

// Ref is a checkpoint as a client names it.
type Ref struct {
	ID  string            `json:"checkpoint_id"`
	NS  string            `json:"checkpoint_ns"`
	Map map[string]string `json:"checkpoint_map"`
}

// Check makes sure that it can be looked up.
func (c *Ref) Check(field string) (err error) {
	if c.ID != "" {
		if c.ID, err = edge.ParseID(field+"_id", c.ID); err != nil {
			return err
		}
	}
	if len(c.NS) > 4096 {
		return run.Invalidf(field+"_ns", "is too long")
	}
	return nil
}
