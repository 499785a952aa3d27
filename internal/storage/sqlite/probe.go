package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

// probeBytes is how much room there must be. The database itself would not notice that there is none until its
// write-ahead log has to grow, which it does not while it can begin anew.
const probeBytes = 64 << 10

// Probe finds out whether a promise could be kept now: it writes a file into the folder and a row into the database, both to the
// disk, and takes the file away again.
func (db *DB) Probe(ctx context.Context) error {
	if db.writer == nil {
		return errors.New("the database is open for reading only")
	}
	if err := probeFolder(filepath.Dir(db.path)); err != nil {
		return fmt.Errorf("%w: %w", run.ErrUnavailable, err)
	}
	return db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		return tx.exec(ctx, "INSERT INTO meta (key, value) VALUES ('probe', ?1) ON CONFLICT DO UPDATE SET value = ?1", time.Now().UTC().Format(time.RFC3339Nano))
	})
}

func probeFolder(dir string) error {
	path := filepath.Join(dir, "probe")
	err := writeSynced(path, make([]byte, probeBytes))
	if gone := os.Remove(path); gone != nil && err == nil && !errors.Is(gone, fs.ErrNotExist) {
		err = gone
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err // who asks may not know where the folder is
	}
	if err != nil {
		return fmt.Errorf("the data folder cannot be written to: %w", err)
	}
	return nil
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
