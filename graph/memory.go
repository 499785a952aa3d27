package graph

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/piece"
)

// Memory keeps threads, a journal and long-term memory in the process: a [Checkpointer], [Recorder] and [Store] for
// tests and for programs that need nothing to outlive them. It stores just what a database would and puts
// values together from it in the same way.
type Memory struct {
	mu     sync.Mutex
	spaces map[spaceKey]*space
	events []event.Envelope
	items  map[string]StoreItem
	pieces map[pieceKey][]byte
}

type pieceKey struct {
	thread string
	hash   piece.Hash
}

type spaceKey struct{ thread, ns string }

// space is a namespace of a thread.
type space struct {
	commits []*Commit // in the order of their ids
	blobs   map[blobKey]Blob
	kept    map[string][]Outcome // by checkpoint
}

type blobKey struct {
	field   string
	version int64
}

var (
	_ Checkpointer = (*Memory)(nil)
	_ Recorder     = (*Memory)(nil)
	_ Store        = (*Memory)(nil)
)

// NewMemory returns an empty Memory.
func NewMemory() *Memory {
	return &Memory{spaces: map[spaceKey]*space{}, items: map[string]StoreItem{}, pieces: map[pieceKey][]byte{}}
}

// Record stores the batch at once, and numbers its events in the order of arrival.
func (m *Memory) Record(ctx context.Context, b Batch) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := now()
	for _, ev := range b.Events {
		ev.Seq, ev.At = uint64(len(m.events))+1, at
		m.events = append(m.events, ev)
	}
	for _, s := range b.Save {
		switch s := s.(type) {
		case Commit:
			m.commit(&s)
		case Kept:
			sp := m.space(s.Thread, s.NS)
			list := slices.DeleteFunc(slices.Clone(sp.kept[s.Checkpoint]), func(o Outcome) bool { return o.Task == s.Outcome.Task })
			sp.kept[s.Checkpoint] = append(list, s.Outcome)
		case Shown:
			for _, p := range s.Pieces {
				m.pieces[pieceKey{s.Thread, p.Hash}] = p.Data
			}
		}
	}
	return nil
}

func (m *Memory) commit(c *Commit) {
	sp := m.space(c.Checkpoint.Thread, c.Checkpoint.NS)
	for _, b := range c.Blobs {
		sp.blobs[blobKey{b.Field, b.Version}] = b
	}
	at, _ := slices.BinarySearchFunc(sp.commits, c.Checkpoint.ID, func(c *Commit, id string) int { return cmp.Compare(c.Checkpoint.ID, id) })
	sp.commits = slices.Insert(sp.commits, at, c)
}

func (m *Memory) space(thread, ns string) *space {
	k := spaceKey{thread, ns}
	if m.spaces[k] == nil {
		m.spaces[k] = &space{blobs: map[blobKey]Blob{}, kept: map[string][]Outcome{}}
	}
	return m.spaces[k]
}

// Load implements [Checkpointer].
func (m *Memory) Load(_ context.Context, thread, ns, id string) (*Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	sp := m.space(thread, ns)
	for i := len(sp.commits) - 1; i >= 0; i-- {
		if id == "" || sp.commits[i].Checkpoint.ID == id {
			return sp.snapshot(sp.commits[i])
		}
	}
	return nil, ErrNoCheckpoint
}

// List implements [Checkpointer].
func (m *Memory) List(_ context.Context, thread, ns, before string, limit int) ([]*Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	sp := m.space(thread, ns)
	var out []*Snapshot
	for i := len(sp.commits) - 1; i >= 0 && len(out) < limit; i-- {
		if before != "" && sp.commits[i].Checkpoint.ID >= before {
			continue
		}
		s, err := sp.snapshot(sp.commits[i])
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (sp *space) snapshot(c *Commit) (*Snapshot, error) {
	s := &Snapshot{Checkpoint: c.Checkpoint, Values: map[string]json.RawMessage{}, Kept: slices.Clone(sp.kept[c.Checkpoint.ID])}
	for field, version := range c.Checkpoint.Versions {
		v, err := sp.value(field, version)
		if err != nil {
			return nil, err
		}
		s.Values[field] = v
	}
	for _, o := range c.Done {
		for _, field := range slices.Sorted(maps.Keys(o.Stored)) {
			b := sp.blobs[blobKey{field, o.Stored[field]}]
			o.Writes = append(slices.Clip(o.Writes), FieldWrite{Field: field, Value: b.Data})
		}
		o.Stored = nil
		s.Done = append(s.Done, o)
	}
	return s, nil
}

// value follows a list or a map back to the version that holds all of it.
func (sp *space) value(field string, version int64) (json.RawMessage, error) {
	var parts []json.RawMessage
	for {
		b, ok := sp.blobs[blobKey{field, version}]
		if !ok {
			return nil, fmt.Errorf("field %q has no version %d", field, version)
		}
		parts = append(parts, b.Data)
		if b.Base == 0 {
			break
		}
		version = b.Base
	}
	slices.Reverse(parts)
	return concat(parts), nil
}

// concat joins lists, or objects.
func concat(parts []json.RawMessage) json.RawMessage {
	if len(parts) == 1 {
		return parts[0]
	}
	var out []byte
	for _, p := range parts {
		p = bytes.TrimSpace(p)
		if out == nil {
			out = append(out, p[0])
		}
		inner := bytes.TrimSpace(p[1 : len(p)-1])
		if len(inner) == 0 {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, inner...)
	}
	return append(out, out[0]+2) // ']' and '}' stand two places behind what they close
}

// Piece returns a piece of what models were shown.
func (m *Memory) Piece(_ context.Context, thread string, h piece.Hash) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.pieces[pieceKey{thread, h}]
	if !ok {
		return nil, ErrNoPiece
	}
	return data, nil
}

// Events returns what was recorded so far.
func (m *Memory) Events() []event.Envelope {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.events)
}

func itemKey(namespace []string, key string) string {
	return strings.Join(namespace, "\x00") + "\x00\x00" + key
}

// Get implements [Store].
func (m *Memory) Get(_ context.Context, namespace []string, key string) (json.RawMessage, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	it, ok := m.items[itemKey(namespace, key)]
	return it.Value, ok, nil
}

// Put implements [Store].
func (m *Memory) Put(_ context.Context, namespace []string, key string, value json.RawMessage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.items[itemKey(namespace, key)] = StoreItem{slices.Clone(namespace), key, bytes.Clone(value)}
	return nil
}

// Delete implements [Store].
func (m *Memory) Delete(_ context.Context, namespace []string, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.items, itemKey(namespace, key))
	return nil
}

// Search implements [Store].
func (m *Memory) Search(_ context.Context, prefix []string, limit int) ([]StoreItem, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []StoreItem
	for _, k := range slices.Sorted(maps.Keys(m.items)) {
		it := m.items[k]
		if len(it.Namespace) >= len(prefix) && slices.Equal(it.Namespace[:len(prefix)], prefix) && len(out) < limit {
			out = append(out, it)
		}
	}
	return out, nil
}
