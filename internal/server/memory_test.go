package server_test

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/memory"
)

// items is an owner's long-term memory as a book wants it.
type items struct {
	run.Items
	who run.Identity
}

func (i items) Get(ctx context.Context, namespace []string, key string) (json.RawMessage, bool, error) {
	it, err := i.Item(ctx, i.who, namespace, key, 0)
	if errors.Is(err, run.ErrNotFound) {
		return nil, false, nil
	}
	return it.Value, err == nil, err
}

func (i items) Put(ctx context.Context, namespace []string, key string, value json.RawMessage) error {
	return i.PutItem(ctx, i.who, run.Item{Namespace: namespace, Key: key, Value: value})
}

func bookOn(store run.Items) *memory.Book {
	return memory.New(memory.Options{Store: func(owner string) memory.Store { return items{store, run.Identity{Owner: owner}} }})
}
