package search

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/internal/document"
)

// Changes counts the files that a refresh found added, changed or removed.
type Changes struct{ Added, Changed, Removed int }

// LeftOut says how many files are not searched for one reason.
type LeftOut struct {
	Reason  string // "unknown format", "too large", "protected", "damaged", "unsafe", "without text"
	Count   int
	Example string // the path of one, with what is wrong where more can be said
}

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
	why, says   string
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
	return ix.refreshOnce(ctx, pass{progress: ix.opts.Progress})
}

// pass is how a refresh goes about it.
type pass struct {
	progress func(Progress) // may be nil
	timeless bool           // files without a time are as they were
}

// refreshOnce refreshes, with a new index if the old one turns out to be damaged. The caller holds refreshing.
func (ix *Index) refreshOnce(ctx context.Context, how pass) (Changes, error) {
	changes, err := ix.refresh(ctx, how)
	if damaged(err) && ix.opts.Path != "" {
		if err := ix.renew(ctx, err); err != nil {
			return changes, fmt.Errorf("search index: %w", err)
		}
		changes, err = ix.refresh(ctx, how)
	}
	return changes, err
}

func (ix *Index) refresh(ctx context.Context, how pass) (Changes, error) {
	var changes Changes
	known, err := ix.known(ctx)
	if err != nil {
		return changes, fmt.Errorf("search index: %w", err)
	}
	left := map[string]*LeftOut{}
	for k, s := range known {
		if s.why != "" {
			count(left, s.why, join(k.source, k.path)+": "+s.says)
		}
	}
	stale, err := ix.walk(ctx, known, left, how)
	if err != nil {
		return changes, err
	}
	if len(stale) > 0 || len(known) > 0 {
		if err := ix.write(ctx, stale, known, left, how, &changes); err != nil {
			return changes, err
		}
	}
	all := make([]LeftOut, 0, len(left))
	for _, l := range left {
		if l.Count > 0 {
			all = append(all, *l)
		}
	}
	slices.SortFunc(all, func(a, b LeftOut) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason)) })
	ix.left.Store(&all)
	return changes, nil
}

func count(left map[string]*LeftOut, why, example string) {
	if left[why] == nil {
		left[why] = &LeftOut{Reason: why, Example: example}
	}
	left[why].Count++
}

// LeftOut lists why files of the sources are not searched, as the last refresh found them; the most frequent first.
func (ix *Index) LeftOut() []LeftOut {
	if p := ix.left.Load(); p != nil {
		return *p
	}
	return nil
}

// write brings what is stale, and what is gone, into the index, in batches.
func (ix *Index) write(ctx context.Context, stale []candidate, gone map[key]*seen, left map[string]*LeftOut, how pass, changes *Changes) error {
	b, err := ix.begin(ctx)
	if err != nil {
		return fmt.Errorf("search index: %w", err)
	}
	defer func() { b.rollback() }()
	read, stop := ix.readAhead(ctx, stale)
	defer stop()
	for i, c := range stale {
		r, ok := <-read
		if !ok || ctx.Err() != nil {
			return ctx.Err()
		}
		if b.full() || b.in != nil && b.in != r.in {
			if err := b.commit(ctx); err != nil {
				return fmt.Errorf("search index: %w", err)
			}
			next, err := ix.begin(ctx)
			if err != nil {
				return fmt.Errorf("search index: %w", err)
			}
			b = next
		}
		if c.known != nil && c.known.why != "" {
			left[c.known.why].Count--
		}
		if err := b.update(ctx, r, left, changes); err != nil {
			return fmt.Errorf("index %s: %w", c.path, err)
		}
		if how.progress != nil {
			how.progress(Progress{Done: i + 1, Total: len(stale), Path: join(c.source, c.path)})
		}
	}
	for k, s := range gone { // walk has taken out those that are still there
		if err := b.erase(ctx, s.id); err != nil {
			return fmt.Errorf("remove %s from the index: %w", k.path, err)
		}
		if s.why != "" {
			left[s.why].Count--
		} else {
			changes.Removed++
		}
	}
	if err := b.commit(ctx); err != nil {
		return fmt.Errorf("search index: %w", err)
	}
	return nil
}

func (ix *Index) known(ctx context.Context) (map[key]*seen, error) {
	rows, err := ix.db.QueryContext(ctx, "SELECT id, source, path, size, mtime, checked, hash, why, says FROM files")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[key]*seen{}
	for rows.Next() {
		var k key
		var s seen
		if err := rows.Scan(&s.id, &k.source, &k.path, &s.size, &s.mtime, &s.checked, &s.hash, &s.why, &s.says); err != nil {
			return nil, err
		}
		out[k] = &s
	}
	return out, rows.Err()
}

// walk lists the files that may have changed, and takes every file it meets out of known.
func (ix *Index) walk(ctx context.Context, known map[key]*seen, left map[string]*LeftOut, how pass) ([]candidate, error) {
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
				count(left, "unreadable", fmt.Sprintf("%s: %v", join(src.Label, p), err))
				return nil
			case d.IsDir():
				if p != "." && hidden(d.Name()) {
					return fs.SkipDir
				}
				return nil
			case !d.Type().IsRegular() || strings.HasPrefix(d.Name(), "."):
				return nil
			case document.FormatOf(d.Name()) == "":
				count(left, string(document.Unknown), join(src.Label, p))
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return nil // gone since
			}
			c := candidate{key: key{src.Label, p}, fsys: src.FS, size: info.Size()}
			if c.size > ix.opts.MaxFileSize {
				count(left, string(document.TooLarge), join(src.Label, p))
				return nil
			}
			if !info.ModTime().IsZero() { // embedded files have no time
				c.mtime = info.ModTime().UnixNano()
			}
			c.known = known[c.key]
			delete(known, c.key)
			same := c.known != nil && (c.known.certain(c) || how.timeless && c.mtime == 0 && c.size == c.known.size)
			if !same {
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

// update replaces the passages of a file if its content is new.
func (b *batch) update(ctx context.Context, r reading, left map[string]*LeftOut, changes *Changes) error {
	c := r.candidate
	switch {
	case r.gone && c.known == nil:
		return nil
	case r.gone:
		if c.known.why == "" {
			changes.Removed++
		}
		return b.erase(ctx, c.known.id)
	case r.same:
		if c.known.why != "" {
			left[c.known.why].Count++
		}
		_, err := b.tx.ExecContext(ctx, "UPDATE files SET size = ?, mtime = ?, checked = ? WHERE id = ?", c.size, c.mtime, r.checked, c.known.id)
		return err
	case r.err != nil:
		return r.err
	}
	if r.why.Why != "" {
		count(left, string(r.why.Why), join(c.source, c.path)+": "+r.why.Says)
	}
	if c.known != nil {
		if err := b.erase(ctx, c.known.id); err != nil {
			return err
		}
	}
	var of Passage
	if len(r.passages) > 0 {
		of = r.passages[0]
	}
	res, err := b.file.ExecContext(ctx, c.source, c.path, c.size, c.mtime, r.checked, r.hash[:], string(r.why.Why), r.why.Says, of.Title, of.Author, of.Date)
	if err != nil {
		return err
	}
	id, err := res.LastInsertId()
	if err != nil {
		return err
	}
	switch {
	case c.known != nil && c.known.why == "":
		changes.Changed++
	case r.why.Why == "":
		changes.Added++
	}
	return b.insert(ctx, id, r)
}
