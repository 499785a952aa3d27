package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
)

// runNumber is what the run column of state rows holds: nothing for an update from outside of runs.
func runNumber(no int64) any {
	if no == 0 {
		return nil
	}
	return no
}

func (t *tx) saveCheckpoint(ctx context.Context, threadNo, runNo int64, c graph.Commit) error {
	cp := &c.Checkpoint
	id, err := checkpointID(cp.ID)
	if err != nil {
		return err
	}
	parent, err := checkpointID(cp.Parent)
	if err != nil {
		return err
	}
	versions, err := json.Marshal(cp.Versions)
	if err != nil {
		return err
	}
	next, err := encode(cp.Next, len(cp.Next) == 0)
	if err != nil {
		return err
	}
	joins, err := encode(cp.Joins, len(cp.Joins) == 0)
	if err != nil {
		return err
	}
	done, err := encode(c.Done, len(c.Done) == 0)
	if err != nil {
		return err
	}
	metadata, err := encode(cp.Metadata, len(cp.Metadata) == 0)
	if err != nil {
		return err
	}
	err = t.exec(ctx, `INSERT INTO checkpoints (thread, ns, id, parent, run, step, source, at, versions, next, joins, metadata, done)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		threadNo, cp.NS, id, parent, runNumber(runNo), cp.Step, string(cp.Source), micros(cp.At), string(versions), next, joins, metadata, done)
	if err != nil {
		return fmt.Errorf("checkpoint %s: %w", cp.ID, err)
	}
	for _, b := range c.Blobs {
		err := t.exec(ctx, "INSERT INTO blobs (thread, ns, field, version, base, run, data) VALUES (?, ?, ?, ?, ?, ?, ?)",
			threadNo, cp.NS, b.Field, b.Version, b.Base, runNumber(runNo), []byte(b.Data))
		if err != nil {
			return fmt.Errorf("field %s version %d: %w", b.Field, b.Version, err)
		}
	}
	return t.exec(ctx, "UPDATE threads SET state_at = ? WHERE no = ?", micros(cp.At), threadNo)
}

func (t *tx) saveKept(ctx context.Context, threadNo, runNo int64, k graph.Kept) error {
	id, err := checkpointID(k.Checkpoint)
	if err != nil {
		return err
	}
	outcome, err := json.Marshal(k.Outcome)
	if err != nil {
		return err
	}
	return t.exec(ctx, `INSERT INTO kept (thread, ns, checkpoint, task, run, outcome) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET outcome = excluded.outcome, run = excluded.run`,
		threadNo, k.NS, id, k.Outcome.Task, runNumber(runNo), string(outcome))
}

const checkpointColumns = `c.id, c.parent, coalesce(r.id, ''), c.step, c.source, c.at, c.versions, c.next, c.joins, c.metadata, c.done`

const checkpointFrom = ` FROM checkpoints c LEFT JOIN runs r ON r.no = c.run `

// What is asked of a thread's state. The texts are prepared once: a run asks for its state before it does anything.
const (
	stateThread  = "SELECT no FROM threads WHERE id = ?"
	stateLatest  = "SELECT " + checkpointColumns + checkpointFrom + "WHERE c.thread = ? AND c.ns = ? ORDER BY c.id DESC LIMIT 1"
	stateAt      = "SELECT " + checkpointColumns + checkpointFrom + "WHERE c.thread = ? AND c.ns = ? AND c.id = ?"
	stateBefore  = "SELECT " + checkpointColumns + checkpointFrom + "WHERE c.thread = ? AND c.ns = ? AND c.id < ? ORDER BY c.id DESC LIMIT ?"
	stateDone    = "SELECT done FROM checkpoints WHERE thread = ? AND ns = ? AND id > ? AND parent = ? ORDER BY id LIMIT 1"
	stateKept    = "SELECT outcome FROM kept WHERE thread = ? AND ns = ? AND checkpoint = ? ORDER BY task"
	stateVersion = "SELECT data FROM blobs WHERE thread = ? AND ns = ? AND field = ? AND version = ?"
	stateValue   = `WITH RECURSIVE chain (version, base, data, depth) AS (
			SELECT version, base, data, 0 FROM blobs WHERE thread = ?1 AND ns = ?2 AND field = ?3 AND version = ?4
			UNION ALL
			SELECT b.version, b.base, b.data, chain.depth + 1 FROM chain CROSS JOIN blobs b -- CROSS: one look-up per link, not a scan
				ON b.thread = ?1 AND b.ns = ?2 AND b.field = ?3 AND b.version = chain.base
			WHERE chain.base <> 0 AND chain.base < chain.version) -- older, or a damaged link could lead in a circle
		SELECT base, data FROM chain ORDER BY depth DESC`
)

var stateQueries = []string{stateThread, stateLatest, stateAt, stateBefore, stateDone, stateKept, stateVersion, stateValue}

// states reads checkpoints of one namespace within one snapshot of the database.
type states struct {
	tx       *sql.Tx
	prepared map[string]*sql.Stmt
	thread   string
	threadNo int64
	ns       string
	memo     map[blobKey]json.RawMessage // values that several checkpoints share
}

type blobKey struct {
	field   string
	version int64
}

func (db *DB) openStates(ctx context.Context, thread, ns string) (*states, error) {
	// Prepared before the transaction has a connection: whoever holds one must not wait for another.
	prepared := make(map[string]*sql.Stmt, len(stateQueries))
	for _, text := range stateQueries {
		st, err := db.reads.prepare(ctx, text)
		if err != nil {
			return nil, err
		}
		prepared[text] = st
	}
	tx, err := db.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	s := &states{tx: tx, prepared: prepared, thread: thread, ns: ns, memo: map[blobKey]json.RawMessage{}}
	err = s.row(ctx, stateThread, thread).Scan(&s.threadNo)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("thread %q: %w", thread, graph.ErrNoCheckpoint)
	}
	if err != nil {
		_ = tx.Rollback()
		return nil, err
	}
	return s, nil
}

func (s *states) close() { _ = s.tx.Rollback() }

func (s *states) row(ctx context.Context, text string, args ...any) *sql.Row {
	return s.tx.StmtContext(ctx, s.prepared[text]).QueryRowContext(ctx, args...)
}

func (s *states) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return s.tx.StmtContext(ctx, s.prepared[text]).QueryContext(ctx, args...)
}

// Load returns a checkpoint, the latest if id is empty.
func (db *DB) Load(ctx context.Context, thread, ns, id string) (*graph.Snapshot, error) {
	return db.load(ctx, thread, ns, id, true)
}

// Head is Load without the values.
func (db *DB) Head(ctx context.Context, thread, ns, id string) (*graph.Snapshot, error) {
	return db.load(ctx, thread, ns, id, false)
}

func (db *DB) load(ctx context.Context, thread, ns, id string, values bool) (*graph.Snapshot, error) {
	s, err := db.openStates(ctx, thread, ns)
	if err != nil {
		return nil, err
	}
	defer s.close()
	var row *sql.Row
	if id == "" {
		row = s.row(ctx, stateLatest, s.threadNo, ns)
	} else {
		key, err := checkpointID(id)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", graph.ErrNoCheckpoint, err)
		}
		row = s.row(ctx, stateAt, s.threadNo, ns, key)
	}
	snap, err := s.scan(row)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("thread %q, namespace %q, checkpoint %q: %w", thread, ns, id, graph.ErrNoCheckpoint)
	}
	if err != nil {
		return nil, err
	}
	if values {
		err = s.fill(ctx, snap)
	} else {
		err = s.fillTasks(ctx, snap)
	}
	return snap, err
}

// List returns checkpoints, newest first.
func (db *DB) List(ctx context.Context, thread, ns, before string, limit int) ([]*graph.Snapshot, error) {
	s, err := db.openStates(ctx, thread, ns)
	if errors.Is(err, graph.ErrNoCheckpoint) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer s.close()
	key := bytes.Repeat([]byte{0xff}, 17) // sorts after every id
	if before != "" {
		if key, err = checkpointID(before); err != nil {
			return nil, fmt.Errorf("%w: %w", graph.ErrNoCheckpoint, err)
		}
	}
	rows, err := s.query(ctx, stateBefore, s.threadNo, ns, key, limit)
	list, err := collect(rows, err, s.scan)
	if err != nil {
		return nil, err
	}
	for _, snap := range list {
		if err := s.fill(ctx, snap); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (s *states) scan(row scanner) (*graph.Snapshot, error) {
	snap := &graph.Snapshot{Checkpoint: graph.Checkpoint{Thread: s.thread, NS: s.ns}}
	var id, parent []byte
	var at int64
	var source, versions string
	var next, joins, metadata, done sql.NullString
	err := row.Scan(&id, &parent, &snap.Run, &snap.Step, &source, &at, &versions, &next, &joins, &metadata, &done)
	if err != nil {
		return nil, err
	}
	snap.ID, snap.At, snap.Source = checkpointText(id), fromMicros(at), event.Source(source)
	if len(parent) > 0 {
		snap.Parent = checkpointText(parent)
	}
	return snap, errors.Join(
		json.Unmarshal([]byte(versions), &snap.Versions),
		decodeInto(next, &snap.Next), decodeInto(joins, &snap.Joins),
		decodeInto(metadata, &snap.Metadata), decodeInto(done, &snap.Done))
}

// fill reads the values, and what is known of the tasks.
func (s *states) fill(ctx context.Context, snap *graph.Snapshot) error {
	snap.Values = make(map[string]json.RawMessage, len(snap.Versions))
	for field, version := range snap.Versions {
		v, err := s.value(ctx, field, version)
		if err != nil {
			return fmt.Errorf("checkpoint %s: %w", snap.ID, err)
		}
		snap.Values[field] = v
	}
	return s.fillTasks(ctx, snap)
}

// fillTasks reads what is known of the tasks that are due, and of those that led here.
func (s *states) fillTasks(ctx context.Context, snap *graph.Snapshot) error {
	if err := s.fillStored(ctx, snap); err != nil {
		return err
	}
	id, err := checkpointID(snap.ID)
	if err != nil {
		return err
	}
	rows, err := s.query(ctx, stateKept, s.threadNo, s.ns, id)
	snap.Kept, err = collect(rows, err, func(row scanner) (o graph.Outcome, err error) {
		var text sql.NullString
		if err := row.Scan(&text); err != nil {
			return o, err
		}
		return o, decodeInto(text, &o)
	})
	return err
}

// fillStored turns the references of finished tasks back into what they wrote.
func (s *states) fillStored(ctx context.Context, snap *graph.Snapshot) error {
	for i := range snap.Done {
		o := &snap.Done[i]
		for field, version := range o.Stored {
			var data []byte
			err := s.row(ctx, stateVersion, s.threadNo, s.ns, field, version).Scan(&data)
			if err != nil {
				return fmt.Errorf("field %s version %d: %w", field, version, err)
			}
			o.Writes = append(o.Writes, graph.FieldWrite{Field: field, Value: data})
		}
		o.Stored = nil
	}
	return nil
}

// value puts a field's value together: the last whole one, and everything that was appended to it since.
func (s *states) value(ctx context.Context, field string, version int64) (json.RawMessage, error) {
	if v, ok := s.memo[blobKey{field, version}]; ok {
		return v, nil
	}
	rows, err := s.query(ctx, stateValue, s.threadNo, s.ns, field, version)
	type link struct {
		base int64
		data []byte
	}
	chain, err := collect(rows, err, func(row scanner) (l link, err error) { return l, row.Scan(&l.base, &l.data) })
	if err != nil {
		return nil, err
	}
	if len(chain) == 0 || chain[0].base != 0 {
		return nil, fmt.Errorf("field %s: version %d, or one that it builds on, is missing", field, version)
	}
	parts := make([][]byte, len(chain))
	for i, l := range chain {
		parts[i] = l.data
	}
	v := joinLists(parts)
	s.memo[blobKey{field, version}] = v
	return v, nil
}

// joinLists concatenates JSON lists. A single part is any value and is returned as it is.
func joinLists(parts [][]byte) json.RawMessage {
	if len(parts) == 1 {
		return parts[0]
	}
	size := 2
	for _, p := range parts {
		size += len(p)
	}
	out := append(make([]byte, 0, size), '[')
	for _, p := range parts {
		inner := bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimPrefix(bytes.TrimSpace(p), []byte{'['}), []byte{']'}))
		if len(inner) == 0 {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, inner...)
	}
	return append(out, ']')
}

// StateBytes is what a thread's checkpoints take up, keys included, without the overhead of pages.
func (db *DB) StateBytes(ctx context.Context, thread string) (int64, error) {
	var n int64
	err := db.reads.row(ctx, `WITH t (no) AS (SELECT no FROM threads WHERE id = ?)
		SELECT (SELECT coalesce(sum(24 + length(ns) + length(id) + coalesce(length(parent), 0) + length(source) + length(versions)
				+ coalesce(length(next), 0) + coalesce(length(joins), 0) + coalesce(length(metadata), 0) + coalesce(length(done), 0)), 0)
				FROM checkpoints, t WHERE thread = t.no)
			+ (SELECT coalesce(sum(24 + length(ns) + length(field) + length(data)), 0) FROM blobs, t WHERE thread = t.no)
			+ (SELECT coalesce(sum(16 + length(ns) + length(checkpoint) + length(task) + length(outcome)), 0) FROM kept, t WHERE thread = t.no)`,
		thread).Scan(&n)
	return n, err
}
