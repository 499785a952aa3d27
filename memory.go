package tributary

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
)

// memory shows an owner's long-term items to graphs.
type memory struct {
	items run.Items
	who   run.Identity
}

var _ graph.Store = memory{}

func (m memory) Get(ctx context.Context, namespace []string, key string) (json.RawMessage, bool, error) {
	it, err := m.items.Item(ctx, m.who, namespace, key, 0)
	if errors.Is(err, run.ErrNotFound) {
		return nil, false, nil
	}
	return it.Value, err == nil, err
}

func (m memory) Put(ctx context.Context, namespace []string, key string, value json.RawMessage) error {
	return m.items.PutItem(ctx, m.who, run.Item{Namespace: namespace, Key: key, Value: value})
}

func (m memory) Delete(ctx context.Context, namespace []string, key string) error {
	return m.items.DeleteItem(ctx, m.who, namespace, key)
}

func (m memory) Search(ctx context.Context, prefix []string, limit int) ([]graph.StoreItem, error) {
	found, err := m.items.SearchItems(ctx, m.who, run.ItemQuery{Prefix: prefix, Limit: limit})
	out := make([]graph.StoreItem, len(found))
	for i, it := range found {
		out[i] = graph.StoreItem{Namespace: it.Namespace, Key: it.Key, Value: it.Value}
	}
	return out, err
}
