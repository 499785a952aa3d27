package providertest

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/kept"
)

// Hello is a request that any model answers.
var Hello = model.Request{Messages: []item.Message{item.UserText("1", "hello")}}

// Answer is the fold of an answer's parts.
type Answer struct {
	Texts     []string
	Reasoning []item.Reasoning
	Calls     []item.ToolCall
	Images    []string // addresses
	Notes     []model.Annotation
	Kept      []string // types
	Usage     item.Usage
	Finish    *model.Finish
}

// Collect folds the parts of an answer and holds them to the laws of package model.
func Collect(t testing.TB, m model.Model, req model.Request) (Answer, []model.Part, error) {
	var (
		a     Answer
		parts []model.Part
	)
	for p, err := range m.Stream(context.Background(), req) {
		if err != nil {
			return a, parts, err
		}
		if a.Finish != nil {
			t.Errorf("a part after the finish: %#v", p)
		}
		parts = append(parts, p)
		a.add(t, p)
	}
	return a, parts, nil
}

func (a *Answer) add(t testing.TB, p model.Part) {
	switch p := p.(type) {
	case model.Text:
		a.block(t, p.Block)
		if p.Block != len(a.Texts)-1 || p.Text == "" {
			t.Fatalf("text %#v after %d blocks", p, len(a.Texts))
		}
		a.Texts[p.Block] += p.Text
	case model.Reasoning:
		if p.Item == len(a.Reasoning) {
			a.Reasoning = append(a.Reasoning, item.Reasoning{})
		}
		r := &a.Reasoning[p.Item]
		r.Summary = item.Text(item.JoinText(r.Summary) + p.Text)
		r.Signature += p.Signature
		r.Encrypted += p.Encrypted
	case model.ToolCall:
		if p.Index == len(a.Calls) {
			if p.Name == "" {
				t.Fatalf("call begins with %#v", p)
			}
			a.Calls = append(a.Calls, item.ToolCall{CallID: p.ID, Name: p.Name})
		}
		a.Calls[p.Index].Arguments += p.Arguments
		a.Calls[p.Index].Signature += p.Signature
	case model.Image:
		a.block(t, p.Block)
		a.Images = append(a.Images, p.URL)
	case model.Opaque:
		raw, mark, ok := kept.Take(p.Raw)
		if !ok || mark.Provider == "" || !json.Valid(raw) {
			t.Errorf("kept without a mark: %s", p.Raw)
		}
		a.Kept = append(a.Kept, kept.Type(p.Raw))
	case model.Annotation:
		if n := len([]rune(a.Texts[p.Block])); p.End > n || p.Start >= p.End {
			t.Errorf("annotation %d–%d of a text of %d", p.Start, p.End, n)
		}
		a.Notes = append(a.Notes, p)
	case model.Usage:
		a.Usage = p.Usage
	case model.Finish:
		a.Finish = &p
	}
}

// block begins a block: their numbers rise by one.
func (a *Answer) block(t testing.TB, n int) {
	t.Helper()
	if n == len(a.Texts) {
		a.Texts = append(a.Texts, "")
	}
}

// SameJSON compares a decoded value with JSON text.
func SameJSON(t testing.TB, what string, got any, want string) {
	t.Helper()
	var w any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if !reflect.DeepEqual(got, w) {
		b, _ := json.Marshal(got)
		t.Errorf("%s:\n got %s\nwant %s", what, b, want)
	}
}
