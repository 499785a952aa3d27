package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/internal/journal"
)

// mostFindings bounds what is told of one kind of damage.
const mostFindings = 100

// Check reads the whole file and tells, a line each, all that is damaged: of the file's own structure, of rows that are not as
// they were written, and of what is missing. It takes about as long as reading the file; the server meanwhile goes on. It
// is not done at every start, since of a large file that takes longer than starting may: damage is found when it is met.
func (db *DB) Check(ctx context.Context) (findings []string, err error) {
	queries := []string{
		"SELECT 'file: ' || integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
		`SELECT 'thread ' || id || ': its latest checkpoint is missing' FROM threads t WHERE head IS NOT NULL
			AND NOT EXISTS (SELECT 1 FROM checkpoints c WHERE c.thread = t.no AND c.ns = '' AND c.id = t.head)`,
		`SELECT 'thread ' || t.id || ': a checkpoint is missing' FROM checkpoints c JOIN threads t ON t.no = c.thread
			WHERE c.parent IS NOT NULL AND NOT c.cut AND NOT EXISTS (SELECT 1 FROM checkpoints p WHERE p.thread = c.thread AND p.ns = c.ns AND p.id = c.parent)`,
		`SELECT DISTINCT 'thread ' || t.id || ': version ' || v.value || ' of field ' || v.key || ' is missing'
			FROM checkpoints c JOIN threads t ON t.no = c.thread, json_each(c.versions) v
			WHERE ` + checkpointRows.intact("c") + ` AND NOT EXISTS (
				SELECT 1 FROM blobs b WHERE b.thread = c.thread AND b.ns = c.ns AND b.field = v.key AND b.version = v.value)`,
		`SELECT 'thread ' || t.id || ': version ' || b.base || ' of field ' || b.field || ' is missing' FROM blobs b JOIN threads t ON t.no = b.thread
			WHERE b.base <> 0 AND NOT EXISTS (
				SELECT 1 FROM blobs o WHERE o.thread = b.thread AND o.ns = b.ns AND o.field = b.field AND o.version = b.base)`,
		`SELECT 'journal: the newest events of runs that had not ended could not be read, and were set aside as ' || name FROM sqlite_master
			WHERE type = 'table' AND name LIKE '` + asidePrefix + `%'`,
		`SELECT 'run ' || id || ': its thread is missing' FROM runs r WHERE NOT EXISTS (SELECT 1 FROM threads t WHERE t.no = r.thread AND t.id = r.thread_id)`,
	}
	for _, rows := range sealedTables {
		queries = append(queries, "SELECT '"+rows.table+": the row "+rowName[rows.table]+" is not as it was written' FROM "+rows.table+
			" WHERE NOT ("+rows.intact(rows.table)+")")
	}
	looks := []func() ([]string, error){
		db.lostLogs,
		func() ([]string, error) { return db.checkJournals(ctx) },
		func() ([]string, error) { return db.checkPieces(ctx) },
		func() ([]string, error) { return db.checkLong(ctx) },
	}
	for _, q := range queries {
		looks = append(looks, func() ([]string, error) { return db.findings(ctx, q) })
	}
	for _, look := range looks {
		found, err := look()
		if err != nil {
			// What cannot be read at all is a finding too, and no reason not to look at the rest.
			if ctx.Err() != nil {
				return findings, context.Cause(ctx)
			}
			found = append(found, "file: "+strings.ReplaceAll(err.Error(), "\n", " "))
		}
		findings = append(findings, found...)
	}
	return findings, nil
}

// Health is what can be said of a database without reading all of its rows.
type Health struct {
	Version, Current int       // of its schema, and of the one that this program writes
	Newest           time.Time // when the newest thread or run was last changed; zero if there is none
	Findings         []string  // damage
}

// Examine looks at the file's structure and at its logs. It takes a part of the time that Check takes, and finds a part.
func (db *DB) Examine(ctx context.Context) (Health, error) {
	h := Health{Current: schemaVersion}
	if err := db.read.QueryRowContext(ctx, "PRAGMA user_version").Scan(&h.Version); err != nil {
		return h, classify(err)
	}
	var newest int64
	err := db.read.QueryRowContext(ctx, `SELECT max(
		coalesce((SELECT max(updated, created) FROM runs ORDER BY no DESC LIMIT 1), 0),
		coalesce((SELECT max(updated, created) FROM threads ORDER BY no DESC LIMIT 1), 0))`).Scan(&newest)
	if err != nil {
		return h, classify(err)
	}
	if newest > 0 {
		h.Newest = time.UnixMicro(newest)
	}
	if h.Findings, err = db.lostLogs(); err != nil {
		return h, err
	}
	found, err := db.findings(ctx, "SELECT 'file: ' || quick_check FROM pragma_quick_check WHERE quick_check <> 'ok'")
	h.Findings = append(h.Findings, found...)
	return h, classify(err)
}

// checkJournals looks for events that are not as they were written, or missing.
func (db *DB) checkJournals(ctx context.Context) (found []string, err error) {
	parts, broken, err := db.storedParts(ctx) // before the rows: parts become rows
	if err != nil {
		return nil, err
	}
	for _, no := range broken {
		found = append(found, fmt.Sprintf("journal: segment %d is not as it was written; of which runs it has events cannot be known", no))
	}
	rows, err := db.read.QueryContext(ctx, `SELECT coalesce(r.id, ''), coalesce(r.thread, 0), j.key, j.last, j.epoch, j.sum, j.data
		FROM journal j LEFT JOIN runs r ON r.no = j.key >> 32 ORDER BY j.key`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	lasts := map[int64]uint64{} // events in rows, of runs that have parts
	var before, bad int64       // runs, by their numbers
	var last uint64
	type longChunk struct {
		journal.Chunk
		threadNo int64
	}
	var long []longChunk // looked at afterwards: who reads rows must not wait for another connection
	for rows.Next() && len(found) < mostFindings {
		var c journal.Chunk
		var threadNo, key, sum int64
		if err := rows.Scan(&c.Run, &threadNo, &key, &c.Last, &c.Epoch, &sum, &c.Data); err != nil {
			return found, err
		}
		no := key >> 32
		c.First, c.Sum = uint64(key&0xffffffff), uint32(sum)
		if no != before {
			before, last = no, 0
		}
		switch {
		case no == bad: // once is enough
		case c.Run == "":
			found, bad = append(found, fmt.Sprintf("journal: events of a run that is missing, number %d", no)), no
		case c.First != last+1:
			found, bad = append(found, fmt.Sprintf("run %s: events %d to %d are missing", c.Run, last+1, c.First-1)), no
		case hasReference(c.Data):
			long = append(long, longChunk{c, threadNo})
		case !c.Intact():
			found, bad = append(found, fmt.Sprintf("run %s: events %d to %d are not as they were written", c.Run, c.First, c.Last)), no
		}
		last = c.Last
		if parts[no] != nil {
			lasts[no] = last
		}
		if no == bad {
			delete(parts, no)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return found, err
	}
	for _, no := range slices.Sorted(maps.Keys(parts)) {
		said, err := db.checkParts(ctx, no, lasts[no], parts[no])
		if err != nil {
			return found, err
		}
		if said != "" && len(found) < mostFindings {
			found = append(found, said)
		}
	}
	for i := range long {
		c := &long[i]
		whole, err := lengthenLines(ctx, &db.reads, c.threadNo, c.Data)
		if err != nil && !isLost(err) {
			return found, err
		}
		if c.Data = whole; !c.Intact() && len(found) < mostFindings {
			found = append(found, fmt.Sprintf("run %s: events %d to %d are not as they were written", c.Run, c.First, c.Last))
		}
	}
	return found, nil
}

// checkParts looks at the parts of a run in segments that count.
func (db *DB) checkParts(ctx context.Context, no int64, last uint64, parts []journal.Chunk) (string, error) {
	var id string
	err := db.reads.row(ctx, "SELECT id FROM runs WHERE no = ?", no).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) { // it was deleted meanwhile
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, c := range outstanding(id, last, parts) {
		if c.First != last+1 {
			return fmt.Sprintf("run %s: events %d to %d are missing", id, last+1, c.First-1), nil
		}
		if !c.Intact() {
			return fmt.Sprintf("run %s: events %d to %d are not as they were written", id, c.First, c.Last), nil
		}
		last = c.Last
	}
	return "", nil
}

func (db *DB) findings(ctx context.Context, query string) ([]string, error) {
	rows, err := db.read.QueryContext(ctx, fmt.Sprintf("%s LIMIT %d", query, mostFindings))
	var out []string
	_, err = collect(rows, err, func(row scanner) (struct{}, error) {
		var line string
		err := row.Scan(&line)
		if err == nil {
			out = append(out, line)
		}
		return struct{}{}, err
	})
	return out, err // with what was found before the error
}

// rowName is SQL, within a text, that names a row of a table.
var rowName = map[string]string{
	"threads": "' || id || '", "runs": "' || id || '", "assistants": "' || id || '", "crons": "' || id || '", "follow_ups": "' || key || '",
	"assistant_versions": "' || id || ' version ' || version || '",
	"items":              "' || replace(ns, char(31), '.') || key || '",
	"checkpoints":        "' || lower(hex(id)) || ' of thread ' || coalesce((SELECT t.id FROM threads t WHERE t.no = thread), '?') || '",
	"blobs":              "' || field || ' version ' || version || ' of thread ' || coalesce((SELECT t.id FROM threads t WHERE t.no = thread), '?') || '",
	"gaps":               "' || at || ' of thread ' || coalesce((SELECT t.id FROM threads t WHERE t.no = thread), '?') || '",
	"kept":               "' || task || ' of thread ' || coalesce((SELECT t.id FROM threads t WHERE t.no = thread), '?') || '",
}
