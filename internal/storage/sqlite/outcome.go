package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/tributary-ai/tributary/graph"
)

// Outcomes tells what the tasks of a checkpoint did that led to the one after it; nothing, if there is none. Of
// several branches it is the oldest.
func (db *DB) Outcomes(ctx context.Context, thread, ns, id string) ([]graph.Outcome, error) {
	s, err := db.openStates(ctx, thread, ns)
	if err != nil {
		return nil, err
	}
	defer s.close()
	key, err := checkpointID(id)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", graph.ErrNoCheckpoint, err)
	}
	// Ids sort by time, so the one after is nearly always the next row.
	after := stored{Snapshot: &graph.Snapshot{}}
	var intact bool
	err = s.row(ctx, stateDone, s.threadNo, ns, key, key).Scan(&after.done, &intact)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !intact {
		return nil, s.lost(errSum, "the checkpoint after %s", id)
	}
	err = s.fillDone(ctx, after)
	return after.Done, err
}
