package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"sync"
	"sync/atomic"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Source is a folder of documents.
type Source struct {
	// Label names the folder in paths of passages, as in "docs/guide.md"; without it paths stand alone. Two
	// sources cannot have the same label.
	Label string
	FS    fs.FS
}

// Options say what to index and where to keep the index.
type Options struct {
	// Path of the database file, created if it is not there; empty keeps the index in memory.
	Path    string
	Sources []Source
	// Progress is told after each file that had to be read; it may be nil. It is called on the goroutine
	// that opens or refreshes, and not at all if nothing has changed.
	Progress func(Progress)
	// MaxFileSize is the size in bytes above which a file is left out; 0 means 32 MiB. Of a file at most 8 MiB of text
	// are taken.
	MaxFileSize int64
	// Embeddings have a say in the order of what is found, if there are any.
	Embeddings Embeddings
	// Log is told when the index was damaged and had to be built anew; it may be nil.
	Log *slog.Logger
}

// Progress tells how far a refresh has come.
type Progress struct {
	Done, Total int    // files
	Path        string // of the file just done
}

// Index is an open index.
type Index struct {
	opts      Options
	mostWords int      // of a vocabulary
	meaning   *meaning // nil if nobody knows of it

	refreshing sync.Mutex   // held while files are compared and written
	mu         sync.RWMutex // held for reading by those who search, and for writing, with refreshing, to change db
	db         *sql.DB

	shot atomic.Pointer[snapshot] // the newest that a search has read
	left atomic.Pointer[[]LeftOut]
}

const (
	applicationID = 0x54726962 // "Trib": the file is ours
	version       = 5          // of the tables and of the way documents are cut; another one is rebuilt

	defaultMaxFileSize = 32 << 20
)

// What people read is in passages, what is looked up in terms (see posting.go).
const tables = `
DROP TABLE IF EXISTS files;
DROP TABLE IF EXISTS passages;
DROP TABLE IF EXISTS words;
DROP TABLE IF EXISTS segments;
DROP TABLE IF EXISTS terms;
DROP TABLE IF EXISTS state;
DROP TABLE IF EXISTS vectors;
CREATE TABLE files (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	source  TEXT NOT NULL,
	path    TEXT NOT NULL,
	size    INTEGER NOT NULL,
	mtime   INTEGER NOT NULL,
	checked INTEGER NOT NULL, -- when it was read
	hash    BLOB NOT NULL,
	why     TEXT NOT NULL,    -- it has no passages; empty if it has
	says    TEXT NOT NULL,    -- the same as a sentence
	title   TEXT NOT NULL,
	author  TEXT NOT NULL,    -- as the document says, with its date; empty if it does not
	date    TEXT NOT NULL,
	UNIQUE (source, path)
);
CREATE TABLE passages (
	id     INTEGER PRIMARY KEY,
	file   INTEGER NOT NULL,
	line   INTEGER NOT NULL,
	place  TEXT NOT NULL,
	trail  TEXT NOT NULL, -- headings, one a line
	anchor TEXT NOT NULL,
	text   TEXT NOT NULL
);
CREATE TABLE segments (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	first   INTEGER NOT NULL,
	lengths BLOB NOT NULL,
	files   BLOB NOT NULL
);
CREATE TABLE terms (
	segment INTEGER NOT NULL,
	term    TEXT NOT NULL,
	data    BLOB NOT NULL,
	PRIMARY KEY (segment, term)
) WITHOUT ROWID;
CREATE TABLE vectors (
	passage INTEGER PRIMARY KEY,
	kept    INTEGER NOT NULL, -- when
	hash    BLOB NOT NULL,    -- of the model's name and the text
	data    BLOB NOT NULL
);
CREATE TABLE state (generation INTEGER NOT NULL);
INSERT INTO state VALUES (0);
`

// Open opens or creates the index and brings it up to date with its sources.
func Open(ctx context.Context, opts Options) (*Index, error) {
	if opts.MaxFileSize == 0 {
		opts.MaxFileSize = defaultMaxFileSize
	}
	seen := map[string]bool{}
	for _, s := range opts.Sources {
		if seen[s.Label] {
			return nil, fmt.Errorf("search: two folders are labelled %q; rename one", s.Label)
		}
		seen[s.Label] = true
	}
	ix := &Index{opts: opts, mostWords: mostWords, meaning: newMeaning(opts.Embeddings, opts.Log)}
	var err error
	ix.db, err = open(ctx, opts.Path)
	if damaged(err) {
		err = ix.renew(ctx, err)
	}
	if err != nil {
		return nil, fmt.Errorf("search index %s: %w", opts.Path, err)
	}
	if _, err := ix.Refresh(ctx); err != nil {
		return nil, errors.Join(err, ix.db.Close())
	}
	return ix, nil
}

func open(ctx context.Context, path string) (*sql.DB, error) {
	dsn := ":memory:"
	if path != "" {
		dsn = "file:" + (&url.URL{Path: path}).EscapedPath() +
			"?_pragma=busy_timeout(10000)&_pragma=page_size(16384)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate"
		// Passages of documents are for whoever may read the documents.
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	if path == "" { // each connection would have a memory of its own
		db.SetMaxOpenConns(1)
		db.SetMaxIdleConns(1)
	}
	if err := prepare(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// prepare makes the tables, unless they are there already. A database that somebody else made is refused.
func prepare(ctx context.Context, db *sql.DB) error {
	var app, ver, objects int
	for query, into := range map[string]*int{
		"PRAGMA application_id":              &app,
		"PRAGMA user_version":                &ver,
		"SELECT count(*) FROM sqlite_schema": &objects,
	} {
		if err := db.QueryRowContext(ctx, query).Scan(into); err != nil {
			return err
		}
	}
	if app != applicationID && objects > 0 {
		return errors.New("is a database of something else; choose another file")
	}
	if app == applicationID && ver == version {
		return nil
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	script := tables + fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, version)
	if _, err := tx.ExecContext(ctx, script); err != nil {
		return err
	}
	return tx.Commit()
}

// Close releases the database.
func (ix *Index) Close() error {
	ix.refreshing.Lock()
	defer ix.refreshing.Unlock()
	if ix.opts.Path == "" {
		return ix.db.Close()
	}
	return errors.Join(ix.keepVectors(context.Background()), ix.db.Close())
}

// Stats counts what is indexed.
func (ix *Index) Stats(ctx context.Context) (files, passages int, err error) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	err = ix.db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM files WHERE why = ''), (SELECT count(*) FROM passages)").Scan(&files, &passages)
	return files, passages, err
}
