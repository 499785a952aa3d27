package tributary

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
)

// Item is a value in long-term memory.
type Item struct {
	Namespace []string // labels, from the widest to the narrowest
	Key       string
	Value     json.RawMessage // an object
	CreatedAt time.Time
	UpdatedAt time.Time
	ExpiresAt time.Time // zero for never
}

func itemOf(it run.Item) Item {
	return Item{Namespace: it.Namespace, Key: it.Key, Value: it.Value, CreatedAt: it.CreatedAt, UpdatedAt: it.UpdatedAt, ExpiresAt: it.ExpiresAt}
}

// Store is long-term memory: values by namespace and key, which outlive threads. Nodes and tools of an owner's runs see the
// same values. Every call names whose; an empty owner is the local user.
type Store struct{ r *Runtime }

// Store returns the runtime's long-term memory.
func (r *Runtime) Store() Store { return Store{r} }

// Get returns an item, or [ErrNotFound].
func (s Store) Get(ctx context.Context, owner string, namespace []string, key string) (Item, error) {
	it, err := s.r.db.Item(ctx, identity(owner), namespace, key, 0)
	if err != nil {
		return Item{}, s.r.told(err)
	}
	return itemOf(it), nil
}

// Put stores a value, which is encoded as JSON and must be an object, in place of what was there. It lives for the ttl; 0
// for ever.
func (s Store) Put(ctx context.Context, owner string, namespace []string, key string, value any, ttl time.Duration) error {
	if err := wantNamespace(namespace); err != nil {
		return err
	}
	if key == "" {
		return invalid("key", "is required")
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return invalid("value", err.Error())
	}
	if len(raw) == 0 || raw[0] != '{' {
		return invalid("value", "must be an object")
	}
	it := run.Item{Namespace: namespace, Key: key, Value: raw}
	if ttl < 0 {
		return invalid("ttl", "must not be negative")
	}
	if ttl > 0 {
		it.TTL, it.ExpiresAt = ttl, time.Now().Add(ttl)
	}
	return s.r.told(s.r.db.PutItem(ctx, identity(owner), it))
}

// Delete deletes an item. That there is none is no error.
func (s Store) Delete(ctx context.Context, owner string, namespace []string, key string) error {
	return s.r.told(s.r.db.DeleteItem(ctx, identity(owner), namespace, key))
}

// ItemQuery selects items. Zero fields do not restrict.
type ItemQuery struct {
	Prefix []string // of their namespace
	// Filter compares members of the value: with a plain value for equality, or with an object of the operators $eq, $ne,
	// $gt, $gte, $lt, $lte.
	Filter json.RawMessage
	Text   string // every word of it must occur in the value
	Page
}

// Search returns a page of items, the last changed first.
func (s Store) Search(ctx context.Context, owner string, q ItemQuery) ([]Item, error) {
	limit, offset, err := q.bounds()
	if err != nil {
		return nil, s.r.told(err)
	}
	if err := wantObject("filter", q.Filter); err != nil {
		return nil, err
	}
	found, err := s.r.db.SearchItems(ctx, identity(owner), run.ItemQuery{Prefix: q.Prefix, Filter: q.Filter, Text: q.Text, Limit: limit, Offset: offset})
	if err != nil {
		return nil, s.r.told(err)
	}
	var items []Item
	for _, it := range found {
		items = append(items, itemOf(it))
	}
	return items, nil
}

// NamespaceQuery selects namespaces; "*" stands for any one label. Zero fields do not restrict.
type NamespaceQuery struct {
	Prefix   []string
	Suffix   []string
	MaxDepth int // namespaces are cut to so many labels
	Page
}

// Namespaces lists those that hold something, in order.
func (s Store) Namespaces(ctx context.Context, owner string, q NamespaceQuery) ([][]string, error) {
	limit, offset, err := q.bounds()
	if err != nil {
		return nil, s.r.told(err)
	}
	if q.MaxDepth < 0 {
		return nil, invalid("max_depth", "must not be negative")
	}
	found, err := s.r.db.Namespaces(ctx, identity(owner), run.NamespaceQuery{
		Prefix: q.Prefix, Suffix: q.Suffix, MaxDepth: q.MaxDepth, Limit: limit, Offset: offset,
	})
	return found, s.r.told(err)
}

// wantNamespace refuses labels that could not be named in a query of the HTTP interface.
func wantNamespace(labels []string) error {
	if len(labels) == 0 {
		return invalid("namespace", "is required")
	}
	for _, l := range labels {
		if l == "" || strings.ContainsAny(l, ".\x1f") {
			return invalid("namespace", "labels must not be empty, or contain periods")
		}
	}
	return nil
}

// ownItems shows an owner's items to graphs.
type ownItems struct {
	items run.Items
	who   run.Identity
}

var _ graph.Store = ownItems{}

// storeOf is the long-term store as one owner's runs see it.
func (r *Runtime) storeOf(who run.Identity) graph.Store { return ownItems{r.db, who} }

func (m ownItems) Get(ctx context.Context, namespace []string, key string) (json.RawMessage, bool, error) {
	it, err := m.items.Item(ctx, m.who, namespace, key, 0)
	if errors.Is(err, run.ErrNotFound) {
		return nil, false, nil
	}
	return it.Value, err == nil, err
}

// Stamp is for package memory: what is remembered of a person may be long, and is asked for before every run.
func (m ownItems) Stamp(ctx context.Context, namespace []string, key string) (string, bool, error) {
	stamp, err := m.items.ItemStamp(ctx, m.who, namespace, key)
	if errors.Is(err, run.ErrNotFound) {
		return "", false, nil
	}
	return stamp, err == nil, err
}

func (m ownItems) Put(ctx context.Context, namespace []string, key string, value json.RawMessage) error {
	return m.items.PutItem(ctx, m.who, run.Item{Namespace: namespace, Key: key, Value: value})
}

func (m ownItems) Delete(ctx context.Context, namespace []string, key string) error {
	return m.items.DeleteItem(ctx, m.who, namespace, key)
}

func (m ownItems) Search(ctx context.Context, prefix []string, limit int) ([]graph.StoreItem, error) {
	found, err := m.items.SearchItems(ctx, m.who, run.ItemQuery{Prefix: prefix, Limit: limit})
	out := make([]graph.StoreItem, len(found))
	for i, it := range found {
		out[i] = graph.StoreItem{Namespace: it.Namespace, Key: it.Key, Value: it.Value}
	}
	return out, err
}
