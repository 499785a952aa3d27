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

// The run that made a checkpoint is told by its id, which is in another row.
var checkpointColumns = `c.id, c.parent, c.cut, coalesce(r.id, ''), c.step, c.source, c.at, c.versions, c.next, c.joins, c.metadata, c.done,
	` + checkpointRows.intact("c") + `, c.run IS NULL OR ` + runRows.intact("r")

const checkpointFrom = ` FROM checkpoints c LEFT JOIN runs r ON r.no = c.run `

// What is asked of a thread's state. The texts are prepared once: a run asks for its state before it does anything.
var (
	stateThread  = "SELECT no, id, head, " + threadRows.intact("threads") + " FROM threads WHERE id = ?"
	stateLatest  = "SELECT " + checkpointColumns + checkpointFrom + "WHERE c.thread = ? AND c.ns = ? ORDER BY c.id DESC LIMIT 1"
	stateAt      = "SELECT " + checkpointColumns + checkpointFrom + "WHERE c.thread = ? AND c.ns = ? AND c.id = ?"
	stateBefore  = "SELECT " + checkpointColumns + checkpointFrom + "WHERE c.thread = ? AND c.ns = ? AND c.id < ? ORDER BY c.id DESC LIMIT ?"
	stateExists  = "SELECT EXISTS (SELECT 1 FROM checkpoints WHERE thread = ? AND ns = ? AND id = ?)"
	stateDone    = "SELECT done, " + checkpointRows.intact("checkpoints") + " FROM checkpoints WHERE thread = ? AND ns = ? AND id > ? AND (parent = ? OR NOT (" + checkpointRows.intact("checkpoints") + ")) ORDER BY id LIMIT 1"
	stateKept    = "SELECT outcome, " + keptRows.intact("kept") + " FROM kept WHERE thread = ? AND ns = ? AND checkpoint = ? ORDER BY task"
	stateVersion = "SELECT data, " + blobRows.intact("blobs") + " FROM blobs WHERE thread = ? AND ns = ? AND field = ? AND version = ?"
	stateValue   = `WITH RECURSIVE chain (version, base, data, intact, depth) AS (
			SELECT version, base, data, ` + blobRows.intact("blobs") + `, 0 FROM blobs WHERE thread = ?1 AND ns = ?2 AND field = ?3 AND version = ?4
			UNION ALL
			SELECT b.version, b.base, b.data, ` + blobRows.intact("b") + `, chain.depth + 1 FROM chain CROSS JOIN blobs b -- CROSS: one look-up per link, not a scan
				ON b.thread = ?1 AND b.ns = ?2 AND b.field = ?3 AND b.version = chain.base
			WHERE chain.base <> 0 AND chain.base < chain.version) -- older, or a damaged link could lead in a circle
		SELECT version, base, data, intact FROM chain ORDER BY depth DESC`
)

var stateQueries = []string{stateThread, stateLatest, stateAt, stateBefore, stateExists, stateDone, stateKept, stateVersion, stateValue, onePiece, manyPiece}

// states reads checkpoints of one namespace within one snapshot of the database.
type states struct {
	tx       *sql.Tx
	prepared map[string]*sql.Stmt
	thread   string
	threadNo int64
	head     []byte // the id of the thread's latest checkpoint
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
			return nil, classify(err)
		}
		prepared[text] = st
	}
	tx, err := db.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, classify(err)
	}
	s := &states{tx: tx, prepared: prepared, thread: thread, ns: ns, memo: map[blobKey]json.RawMessage{}}
	var id string
	var intact bool
	err = s.row(ctx, stateThread, thread).Scan(&s.threadNo, &id, &s.head, &intact)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = fmt.Errorf("thread %q: %w", thread, graph.ErrNoCheckpoint)
	case err == nil && (id != thread || !intact): // an index may lead to the wrong row
		err = damagedThread(thread)
	}
	if err != nil {
		_ = tx.Rollback()
		return nil, err
	}
	return s, nil
}

func (s *states) close() { _ = s.tx.Rollback() }

func (s *states) row(ctx context.Context, text string, args ...any) scanner {
	return classified{s.tx.StmtContext(ctx, s.prepared[text]).QueryRowContext(ctx, args...)}
}

func (s *states) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	rows, err := s.tx.StmtContext(ctx, s.prepared[text]).QueryContext(ctx, args...)
	return rows, classify(err)
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
	var row scanner
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
	if id == "" {
		if lost := s.checkLatest(snap, err); lost != nil {
			return nil, lost
		}
	}
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
	return snap.Snapshot, err
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
	if err := s.checkList(ctx, list, before == ""); err != nil {
		return nil, err
	}
	snaps := make([]*graph.Snapshot, len(list))
	for i, snap := range list {
		snaps[i] = snap.Snapshot
		if err := s.fill(ctx, snap); err != nil {
			return nil, err
		}
	}
	return snaps, nil
}

// stored is a checkpoint's row.
type stored struct {
	*graph.Snapshot
	cut  bool           // the parent was deleted on purpose
	done sql.NullString // what led to it, as it is stored
}

func (s *states) scan(row scanner) (stored, error) {
	snap := stored{Snapshot: &graph.Snapshot{Checkpoint: graph.Checkpoint{Thread: s.thread, NS: s.ns}}}
	var intact, runIntact bool
	var id, parent []byte
	var at int64
	var source, versions string
	var next, joins, metadata sql.NullString
	err := row.Scan(&id, &parent, &snap.cut, &snap.Run, &snap.Step, &source, &at, &versions, &next, &joins, &metadata, &snap.done, &intact, &runIntact)
	if err != nil {
		return snap, err
	}
	if !intact {
		return snap, s.lost(errSum, "checkpoint %s", checkpointText(id))
	}
	if !runIntact {
		return snap, s.lost(errors.New("the run that made it is damaged or missing"), "checkpoint %s", checkpointText(id))
	}
	snap.ID, snap.At, snap.Source = checkpointText(id), fromMicros(at), event.Source(source)
	if len(parent) > 0 {
		snap.Parent = checkpointText(parent)
	}
	return snap, errors.Join(
		json.Unmarshal([]byte(versions), &snap.Versions),
		decodeInto(next, &snap.Next), decodeInto(joins, &snap.Joins),
		decodeInto(metadata, &snap.Metadata))
}

// fill reads the values, and what is known of the tasks.
func (s *states) fill(ctx context.Context, snap stored) error {
	snap.Values = make(map[string]json.RawMessage, len(snap.Versions))
	for field, version := range snap.Versions {
		v, err := s.value(ctx, field, version)
		if err != nil {
			return err
		}
		snap.Values[field] = v
	}
	return s.fillTasks(ctx, snap)
}

// fillTasks reads what is known of the tasks that are due, and of those that led here.
func (s *states) fillTasks(ctx context.Context, snap stored) error {
	if err := s.fillDone(ctx, snap); err != nil {
		return err
	}
	id, err := checkpointID(snap.ID)
	if err != nil {
		return err
	}
	rows, err := s.query(ctx, stateKept, s.threadNo, s.ns, id)
	texts, err := collect(rows, err, func(row scanner) (text sql.NullString, err error) {
		var intact bool
		if err := row.Scan(&text, &intact); err != nil {
			return text, err
		}
		if !intact {
			return text, s.lost(errSum, "what a task of checkpoint %s did", snap.ID)
		}
		return text, nil
	})
	if err != nil {
		return err
	}
	for _, text := range texts {
		var o graph.Outcome
		if text, err = s.lengthenText(ctx, text, "what a task of checkpoint %s did", snap.ID); err != nil {
			return err
		}
		if err := decodeInto(text, &o); err != nil {
			return err
		}
		snap.Kept = append(snap.Kept, o)
	}
	return nil
}

// fillDone reads what led to a checkpoint, and turns references to what tasks wrote back into it.
func (s *states) fillDone(ctx context.Context, snap stored) error {
	done, err := s.lengthenText(ctx, snap.done, "what led to checkpoint %s", snap.ID)
	if err != nil {
		return err
	}
	if err := decodeInto(done, &snap.Done); err != nil {
		return err
	}
	for i := range snap.Done {
		o := &snap.Done[i]
		for field, version := range o.Stored {
			var data []byte
			var intact bool
			err := s.row(ctx, stateVersion, s.threadNo, s.ns, field, version).Scan(&data, &intact)
			if errors.Is(err, sql.ErrNoRows) {
				return s.lost(errMissing, "version %d of field %q", version, field)
			}
			if err == nil && !intact {
				return s.lost(errSum, "version %d of field %q", version, field)
			}
			if err != nil {
				return fmt.Errorf("field %s version %d: %w", field, version, err)
			}
			if data, err = s.lengthen(ctx, data, "version %d of field %q", version, field); err != nil {
				return err
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
		version, base int64
		data          []byte
		intact        bool
	}
	chain, err := collect(rows, err, func(row scanner) (l link, err error) { return l, row.Scan(&l.version, &l.base, &l.data, &l.intact) })
	if err != nil {
		return nil, err
	}
	parts := make([][]byte, len(chain))
	for i, l := range chain {
		if !l.intact {
			return nil, s.lost(errSum, "version %d of field %q", l.version, field)
		}
		if parts[i], err = s.lengthen(ctx, l.data, "version %d of field %q", l.version, field); err != nil {
			return nil, err
		}
	}
	if len(chain) == 0 {
		return nil, s.lost(errMissing, "version %d of field %q", version, field)
	}
	if base := chain[0].base; base != 0 {
		return nil, s.lost(errMissing, "version %d of field %q", base, field)
	}
	v := joinParts(parts)
	s.memo[blobKey{field, version}] = v
	return v, nil
}

// joinParts concatenates JSON lists, or objects that have no key in common. A single part is any value and is returned as it is.
func joinParts(parts [][]byte) json.RawMessage {
	if len(parts) == 1 {
		return parts[0]
	}
	size := 2
	for _, p := range parts {
		size += len(p)
	}
	from, to := byte('['), byte(']')
	if first := bytes.TrimSpace(parts[0]); len(first) > 0 && first[0] == '{' {
		from, to = '{', '}'
	}
	out := append(make([]byte, 0, size), from)
	for _, p := range parts {
		inner := bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimPrefix(bytes.TrimSpace(p), []byte{from}), []byte{to}))
		if len(inner) == 0 {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, inner...)
	}
	return append(out, to)
}

// StateBytes is what a thread's checkpoints take up, keys included, without the overhead of pages. Long texts are not counted:
// their pieces belong to events and requests too.
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
