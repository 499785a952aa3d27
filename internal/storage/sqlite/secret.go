package sqlite

import (
	"context"

	"github.com/tributary-ai/tributary/internal/run"
)

// Secrets returns what the request of a run brought in confidence, as it was sealed.
func (db *DB) Secrets(ctx context.Context, id string) (sealed []byte, err error) {
	err = db.reads.row(ctx, "SELECT s.data FROM runs r JOIN secrets s ON s.thread = r.thread AND s.run = r.no WHERE r.id = ?", id).Scan(&sealed)
	return sealed, found(err, "secrets of run", id)
}

// keepSecrets stores those of a new run. Those of a run of its thread that asked something go: the thread goes on.
func (t *tx) keepSecrets(ctx context.Context, threadNo int64, r *run.NewRun, newThread bool) error {
	if !newThread {
		if err := t.exec(ctx, "DELETE FROM secrets WHERE thread = ?1 AND NOT EXISTS (SELECT 1 FROM runs WHERE no = secrets.run AND "+inFlight+")", threadNo); err != nil {
			return err
		}
	}
	if len(r.Secrets) == 0 {
		return nil
	}
	return t.exec(ctx, "INSERT INTO secrets (thread, run, data) SELECT thread, no, ?2 FROM runs WHERE id = ?1", r.ID, r.Secrets)
}

// dropSecrets deletes those of a run that has ended, unless it asks something: who answers goes on with them.
func (t *tx) dropSecrets(ctx context.Context, l leased, e *run.End) error {
	if !e.Sealed || e.Status == run.Interrupted && !e.Rollback {
		return nil
	}
	return t.exec(ctx, "DELETE FROM secrets WHERE thread = ? AND run = ?", l.threadNo, l.no)
}
