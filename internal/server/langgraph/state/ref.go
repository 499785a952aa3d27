package state

import (
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
)

// Ref is a checkpoint as a client names it.
type Ref struct {
	ID  string            `json:"checkpoint_id" format:"uuid"`
	NS  string            `json:"checkpoint_ns" doc:"of a subgraph; empty for the graph itself"`
	Map map[string]string `json:"checkpoint_map" doc:"the checkpoints of the graphs above, by namespace"`
}

// SchemaName is what it is called in the description of the API.
func (Ref) SchemaName() string { return "CheckpointRef" }

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
