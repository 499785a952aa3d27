package storagetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

func assistants(t *testing.T, b Backend) {
	ctx := t.Context()
	create := func(who run.Identity, name, metadata string) run.Assistant {
		t.Helper()
		a, err := b.CreateAssistant(ctx, who, run.Assistant{ID: id(), Graph: "g", Name: name, Metadata: json.RawMessage(metadata), CreatedAt: now()})
		must(t, err)
		return a
	}
	system := create(run.Identity{}, "system one", `{"created_by":"system"}`)
	mine, theirs := create(alice, "My Helper", `{"a":1}`), create(bob, "theirs", `{}`)
	_, err := b.CreateAssistant(ctx, alice, mine)
	wantErr(t, "create twice", err, run.ErrExists)
	_, err = b.Assistant(ctx, alice, theirs.ID)
	wantErr(t, "somebody else's", err, run.ErrNotFound)
	if _, err := b.Assistant(ctx, alice, system.ID); err != nil {
		t.Errorf("the system's: %v", err)
	}
	name, desc := "New Name", "what it is for"
	_, err = b.PatchAssistant(ctx, alice, system.ID, run.AssistantPatch{Name: &name})
	wantErr(t, "change the system's", err, run.ErrNotFound)
	wantErr(t, "delete the system's", b.DeleteAssistant(ctx, alice, system.ID), run.ErrNotFound)

	got, err := b.PatchAssistant(ctx, alice, mine.ID, run.AssistantPatch{Name: &name, Description: &desc, Config: json.RawMessage(`{"x":1}`), Metadata: json.RawMessage(`{"b":2}`)})
	must(t, err)
	if got.Version != 2 || got.Name != name || got.Description == nil || *got.Description != desc || got.Graph != "g" {
		t.Errorf("patched: %+v", got)
	}
	wantJSON(t, "metadata", got.Metadata, `{"a":1,"b":2}`)
	got, err = b.SetLatestAssistant(ctx, alice, mine.ID, 1)
	if err != nil || got.Name != "My Helper" || got.Version != 1 {
		t.Errorf("set back: %+v, %v", got, err)
	}
	_, err = b.SetLatestAssistant(ctx, alice, mine.ID, 9)
	wantErr(t, "a missing version", err, run.ErrNotFound)
	if got, err = b.PatchAssistant(ctx, alice, mine.ID, run.AssistantPatch{Name: &desc}); err != nil || got.Version != 3 {
		t.Errorf("a patch of version 1 is version %d, %v; want 3", got.Version, err)
	}
	list, err := b.AssistantVersions(ctx, alice, mine.ID, nil, 2, 0)
	if err != nil || len(list) != 2 || list[0].Version != 3 || list[1].Version != 2 {
		t.Errorf("versions: %+v, %v", list, err)
	}
	if list, err := b.AssistantVersions(ctx, alice, mine.ID, json.RawMessage(`{"b":2}`), 9, 0); err != nil || len(list) != 1 {
		t.Errorf("versions by metadata: %d, %v", len(list), err)
	}
	for _, c := range []struct {
		q     run.AssistantQuery
		total int
	}{
		{run.AssistantQuery{}, 2}, {run.AssistantQuery{Graph: "g"}, 2}, {run.AssistantQuery{Graph: "other"}, 0},
		{run.AssistantQuery{Name: "SYSTEM"}, 1}, {run.AssistantQuery{Name: "%"}, 0}, {run.AssistantQuery{Metadata: json.RawMessage(`{"created_by":"system"}`)}, 1},
		{run.AssistantQuery{SortBy: "name; --"}, 2},
	} {
		c.q.Limit = 10
		list, total, err := b.SearchAssistants(ctx, alice, c.q)
		if err != nil || total != c.total || len(list) != c.total {
			t.Errorf("%+v finds %d of %d, %v; want %d", c.q, len(list), total, err, c.total)
		}
	}
	must(t, b.DeleteAssistant(ctx, alice, mine.ID))
	_, err = b.Assistant(ctx, alice, mine.ID)
	wantErr(t, "deleted", err, run.ErrNotFound)
}

func put(t *testing.T, b Backend, ns, key, value string, change ...func(*run.Item)) {
	t.Helper()
	it := run.Item{Namespace: strings.Split(ns, "."), Key: key, Value: json.RawMessage(value)}
	for _, f := range change {
		f(&it)
	}
	must(t, b.PutItem(t.Context(), alice, it))
}

func items(t *testing.T, b Backend) {
	ctx := t.Context()
	put(t, b, "a.b", "k", `{"v":1}`)
	first, err := b.ItemStamp(ctx, alice, []string{"a", "b"}, "k")
	must(t, err)
	put(t, b, "a.b", "k", `{"v":2}`)
	second, err := b.ItemStamp(ctx, alice, []string{"a", "b"}, "k")
	must(t, err)
	if again, err := b.ItemStamp(ctx, alice, []string{"a", "b"}, "k"); err != nil || again != second || first == second {
		t.Errorf("the stamps are %q, after a change %q, and without one %q, %v", first, second, again, err)
	}
	_, err = b.ItemStamp(ctx, bob, []string{"a", "b"}, "k")
	wantErr(t, "the stamp of somebody else's", err, run.ErrNotFound)
	it, err := b.Item(ctx, alice, []string{"a", "b"}, "k", 0)
	must(t, err)
	wantJSON(t, "value", it.Value, `{"v":2}`)
	if fmt.Sprint(it.Namespace) != "[a b]" || it.UpdatedAt.Before(it.CreatedAt) {
		t.Errorf("item is %+v", it)
	}
	_, err = b.Item(ctx, bob, []string{"a", "b"}, "k", 0)
	wantErr(t, "somebody else's", err, run.ErrNotFound)
	_, err = b.Item(ctx, alice, []string{"a"}, "k", 0)
	wantErr(t, "another namespace", err, run.ErrNotFound)

	put(t, b, "a", "soon", `{}`, func(it *run.Item) { it.ExpiresAt = now().Add(time.Hour) })
	if it, err := b.Item(ctx, alice, []string{"a"}, "soon", 2*time.Hour); err != nil || time.Until(it.ExpiresAt) < time.Hour {
		t.Errorf("a read did not refresh: %v, %v", it.ExpiresAt, err)
	}
	put(t, b, "a", "past", `{}`, func(it *run.Item) { it.ExpiresAt = now().Add(-time.Second) })
	_, err = b.Item(ctx, alice, []string{"a"}, "past", 0)
	wantErr(t, "expired", err, run.ErrNotFound)
	_, err = b.ItemStamp(ctx, alice, []string{"a"}, "past")
	wantErr(t, "the stamp of what has expired", err, run.ErrNotFound)
	_, err = b.Sweep(ctx, now(), 10)
	must(t, err)

	must(t, b.DeleteItem(ctx, bob, []string{"a", "b"}, "k"))
	must(t, b.DeleteItem(ctx, alice, []string{"a", "b"}, "missing"))
	if _, err := b.Item(ctx, alice, []string{"a", "b"}, "k", 0); err != nil {
		t.Errorf("deleted by somebody else: %v", err)
	}
	must(t, b.DeleteItem(ctx, alice, []string{"a", "b"}, "k"))
	_, err = b.Item(ctx, alice, []string{"a", "b"}, "k", 0)
	wantErr(t, "deleted", err, run.ErrNotFound)
}

func itemFilters(t *testing.T, b Backend) {
	ctx := t.Context()
	put(t, b, "docs.x", "1", `{"n":1,"s":"Alpha beta","t":true}`)
	put(t, b, "docs.y", "2", `{"n":2.5,"s":"gamma"}`)
	put(t, b, "docs2", "3", `{"n":3}`)
	for _, c := range []struct {
		prefix, filter, text string
		want                 string
	}{
		{"", ``, "", "123"}, {"docs", ``, "", "12"}, {"docs.x", ``, "", "1"}, {"doc", ``, "", ""},
		{"", `{"n":1}`, "", "1"}, {"", `{"n":{"$gt":1}}`, "", "23"}, {"", `{"n":{"$gte":2.5,"$lt":3}}`, "", "2"},
		{"", `{"n":{"$ne":1}}`, "", "23"}, {"", `{"s":{"$ne":"gamma"}}`, "", "13"}, {"", `{"t":true}`, "", "1"}, {"", `{"t":{"$eq":false}}`, "", ""},
		{"", `{"s":{"$lte":"b"}}`, "", "1"}, {"", `{"missing":null}`, "", ""}, {"", `{"s' OR 1=1 --":1}`, "", ""}, {"", `{"$.n":1}`, "", ""},
		{"", ``, "ALPHA beta", "1"}, {"", ``, "alpha gamma", ""},
	} {
		q := run.ItemQuery{Filter: json.RawMessage(c.filter), Text: c.text, Limit: 10}
		if c.prefix != "" {
			q.Prefix = strings.Split(c.prefix, ".")
		}
		found, err := b.SearchItems(ctx, alice, q)
		must(t, err)
		got := map[string]bool{}
		for _, it := range found {
			got[it.Key] = true
		}
		keys := ""
		for _, k := range []string{"1", "2", "3"} {
			if got[k] {
				keys += k
			}
		}
		if keys != c.want {
			t.Errorf("prefix %q, filter %s, text %q finds %q, want %q", c.prefix, c.filter, c.text, keys, c.want)
		}
	}
	var invalid *run.InvalidError
	for _, bad := range []string{`{"n":{"$regex":"x"}}`, `[1]`} {
		if _, err := b.SearchItems(ctx, alice, run.ItemQuery{Filter: json.RawMessage(bad), Limit: 1}); !errors.As(err, &invalid) {
			t.Errorf("filter %s: %v", bad, err)
		}
	}
	if found, err := b.SearchItems(ctx, bob, run.ItemQuery{Limit: 10}); err != nil || len(found) != 0 {
		t.Errorf("bob finds %d of alice's, %v", len(found), err)
	}
	if found, err := b.SearchItems(ctx, alice, run.ItemQuery{Limit: 1, Offset: 2}); err != nil || len(found) != 1 || found[0].Key != "1" {
		t.Errorf("the last page is %v, %v", found, err)
	}
}

func namespaces(t *testing.T, b Backend) {
	for _, ns := range []string{"a", "a.b", "a.b.c", "a.x.c", "z.c"} {
		put(t, b, ns, "k", `{}`)
	}
	for _, c := range []struct {
		q    run.NamespaceQuery
		want string
	}{
		{run.NamespaceQuery{}, "[[a] [a b] [a b c] [a x c] [z c]]"},
		{run.NamespaceQuery{Prefix: []string{"a"}}, "[[a] [a b] [a b c] [a x c]]"},
		{run.NamespaceQuery{Suffix: []string{"c"}}, "[[a b c] [a x c] [z c]]"},
		{run.NamespaceQuery{Prefix: []string{"a", "*", "c"}}, "[[a b c] [a x c]]"},
		{run.NamespaceQuery{MaxDepth: 1}, "[[a] [z]]"},
		{run.NamespaceQuery{Limit: 2, Offset: 1}, "[[a b] [a b c]]"},
		{run.NamespaceQuery{Offset: 9}, "[]"},
	} {
		if c.q.Limit == 0 {
			c.q.Limit = 100
		}
		got, err := b.Namespaces(t.Context(), alice, c.q)
		must(t, err)
		if fmt.Sprint(got) != c.want {
			t.Errorf("%+v lists %v, want %s", c.q, got, c.want)
		}
	}
}
