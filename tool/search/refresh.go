package search

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Changes counts the files that a refresh found added, changed or removed.
type Changes struct{ Added, Changed, Removed int }

// settle is how old a file must be, when it is read, for its time to be trusted later: a file written twice
// within the clock's grain has the same time and may have the same size.
const settle = 2 * time.Second

// key names a file.
type key struct{ source, path string }

// seen is what is known of a file without reading it.
type seen struct {
	id          int64
	size, mtime int64
	checked     int64
	hash        []byte
}

type candidate struct {
	key
	fsys        fs.FS
	size, mtime int64
	known       *seen // nil for a file that is new
}

// Refresh compares the index with its sources and brings it up to date. Files are told apart by size and time
// where the source has times, and by their content where it has not.
func (ix *Index) Refresh(ctx context.Context) (Changes, error) {
	ix.refreshing.Lock()
	defer ix.refreshing.Unlock()
	changes, err := ix.refresh(ctx)
	if damaged(err) && ix.opts.Path != "" {
		if err := ix.renew(ctx, err); err != nil {
			return changes, fmt.Errorf("search index: %w", err)
		}
		changes, err = ix.refresh(ctx)
	}
	return changes, err
}

func (ix *Index) refresh(ctx context.Context) (Changes, error) {
	var changes Changes
	known, err := ix.known(ctx)
	if err != nil {
		return changes, fmt.Errorf("search index: %w", err)
	}
	stale, err := ix.walk(ctx, known)
	if err != nil {
		return changes, err
	}
	for i, c := range stale {
		if err := ix.update(ctx, c, &changes); err != nil {
			return changes, fmt.Errorf("index %s: %w", c.path, err)
		}
		if ix.opts.Progress != nil {
			ix.opts.Progress(Progress{Done: i + 1, Total: len(stale), Path: join(c.source, c.path)})
		}
	}
	for k, s := range known { // walk has taken out those that are still there
		if err := ix.remove(ctx, s.id); err != nil {
			return changes, fmt.Errorf("remove %s from the index: %w", k.path, err)
		}
		changes.Removed++
	}
	return changes, nil
}

func (ix *Index) known(ctx context.Context) (map[key]*seen, error) {
	rows, err := ix.db.QueryContext(ctx, "SELECT id, source, path, size, mtime, checked, hash FROM files")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[key]*seen{}
	for rows.Next() {
		var k key
		var s seen
		if err := rows.Scan(&s.id, &k.source, &k.path, &s.size, &s.mtime, &s.checked, &s.hash); err != nil {
			return nil, err
		}
		out[k] = &s
	}
	return out, rows.Err()
}

// walk lists the files that may have changed, and takes every file it meets out of known.
func (ix *Index) walk(ctx context.Context, known map[key]*seen) ([]candidate, error) {
	var stale []candidate
	for _, src := range ix.opts.Sources {
		err := fs.WalkDir(src.FS, ".", func(p string, d fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			switch {
			case err != nil && p == ".":
				return err // the folder itself is not there
			case err != nil:
				return nil // what cannot be read is not indexed
			case d.IsDir():
				if p != "." && hidden(d.Name()) {
					return fs.SkipDir
				}
				return nil
			case !document(d):
				return nil
			}
			info, err := d.Info()
			if err != nil || info.Size() > ix.opts.MaxFileSize {
				return nil // gone since, or too large
			}
			c := candidate{key: key{src.Label, p}, fsys: src.FS, size: info.Size()}
			if !info.ModTime().IsZero() { // embedded files have no time
				c.mtime = info.ModTime().UnixNano()
			}
			c.known = known[c.key]
			delete(known, c.key)
			if c.known == nil || !c.known.certain(c) {
				stale = append(stale, c)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read documents of %q: %w", src.Label, err)
		}
	}
	slices.SortStableFunc(stale, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.path, b.path))
	})
	return stale, nil
}

// certain reports that a file need not be read again to know that it is the same.
func (s *seen) certain(c candidate) bool {
	return c.mtime != 0 && s.mtime == c.mtime && s.size == c.size && s.mtime < s.checked-int64(settle)
}

func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor"
}

func document(d fs.DirEntry) bool {
	if !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".") {
		return false
	}
	switch strings.ToLower(path.Ext(d.Name())) {
	case ".md", ".markdown", ".mdx", ".txt", ".rst":
		return true
	}
	return false
}

// update reads one file and replaces its passages if its content is new.
func (ix *Index) update(ctx context.Context, c candidate, changes *Changes) error {
	checked := time.Now()
	data, err := fs.ReadFile(c.fsys, c.path)
	if err != nil || bytes.IndexByte(data, 0) >= 0 { // gone, locked, or not text
		if c.known == nil {
			return nil
		}
		changes.Removed++
		return ix.remove(ctx, c.known.id)
	}
	hash := sha256.Sum256(data)
	if c.known != nil && bytes.Equal(c.known.hash, hash[:]) {
		_, err := ix.db.ExecContext(ctx, "UPDATE files SET size = ?, mtime = ?, checked = ? WHERE id = ?", c.size, c.mtime, checked.UnixNano(), c.known.id)
		return err
	}
	err = ix.transact(ctx, func(tx *sql.Tx) error {
		if c.known != nil {
			if err := erase(ctx, tx, c.known.id); err != nil {
				return err
			}
		}
		res, err := tx.ExecContext(ctx, "INSERT INTO files (source, path, size, mtime, checked, hash) VALUES (?, ?, ?, ?, ?, ?)",
			c.source, c.path, c.size, c.mtime, checked.UnixNano(), hash[:])
		if err != nil {
			return err
		}
		id, err := res.LastInsertId()
		if err != nil {
			return err
		}
		return insert(ctx, tx, id, Split(c.path, string(data)))
	})
	if err != nil {
		return err
	}
	if c.known == nil {
		changes.Added++
	} else {
		changes.Changed++
	}
	return nil
}

func insert(ctx context.Context, tx *sql.Tx, file int64, passages []Passage) error {
	passage, err := tx.PrepareContext(ctx, "INSERT INTO passages (file, line, title, trail, anchor, text) VALUES (?, ?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	defer passage.Close()
	words, err := tx.PrepareContext(ctx, "INSERT INTO words (rowid, title, trail, text) VALUES (?, ?, ?, ?)")
	if err != nil {
		return err
	}
	defer words.Close()
	for _, p := range passages {
		trail := strings.Join(p.Trail, "\n")
		res, err := passage.ExecContext(ctx, file, p.Line, p.Title, trail, p.Anchor, p.Text)
		if err != nil {
			return err
		}
		id, err := res.LastInsertId()
		if err != nil {
			return err
		}
		if _, err := words.ExecContext(ctx, id, pairs(p.Title), pairs(trail), pairs(p.Text)); err != nil {
			return err
		}
	}
	return nil
}

func (ix *Index) remove(ctx context.Context, file int64) error {
	return ix.transact(ctx, func(tx *sql.Tx) error { return erase(ctx, tx, file) })
}

func erase(ctx context.Context, tx *sql.Tx, file int64) error {
	for _, stmt := range []string{
		"DELETE FROM words WHERE rowid IN (SELECT id FROM passages WHERE file = ?)",
		"DELETE FROM passages WHERE file = ?",
		"DELETE FROM files WHERE id = ?",
	} {
		if _, err := tx.ExecContext(ctx, stmt, file); err != nil {
			return err
		}
	}
	return nil
}

func (ix *Index) transact(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := ix.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
