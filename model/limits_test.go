package model_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

func TestAnAnswerThatPassesALimitIsToldWhichOne(t *testing.T) {
	limits := model.Limits{TextBytes: 10, ArgumentBytes: 20, Calls: 2, Blocks: 3, DataBytes: 10}
	for setting, parts := range map[string][]model.Part{
		"text_bytes":     {model.Text{Text: "123456"}, model.Reasoning{Text: "12345"}},
		"argument_bytes": {model.ToolCall{Name: "f", Arguments: "0123456789"}, model.ToolCall{Index: 1, Name: "f", Arguments: "0123456789"}},
		"calls":          {model.ToolCall{Index: 0}, model.ToolCall{Index: 1}, model.ToolCall{Index: 0}, model.ToolCall{Index: 2}},
		"blocks":         {model.Text{Block: 0}, model.Opaque{}, model.Reasoning{Item: 1}, model.Reasoning{Item: 1}, model.Image{Block: 4}},
		"data_bytes":     {model.Image{URL: "data:1"}, model.Opaque{Raw: json.RawMessage(`{"a":1}`)}},
	} {
		m := limits.Meter()
		for i, p := range parts {
			err := m.Take(p)
			if last := i == len(parts)-1; !last && err != nil {
				t.Errorf("%s: part %d is refused: %v", setting, i, err)
			} else if last {
				var limit *model.LimitError
				if !errors.As(err, &limit) || limit.Setting != setting || !strings.Contains(err.Error(), "answers."+setting) {
					t.Errorf("%s: got %v", setting, err)
				}
			}
		}
	}
}

func TestANegativeLimitIsNone(t *testing.T) {
	m := model.Limits{TextBytes: -1, Blocks: -1}.Meter()
	for i := range 5000 {
		if err := m.Take(model.Text{Block: i, Text: strings.Repeat("x", 4096)}); err != nil {
			t.Fatal(err)
		}
	}
}

// The sums do not depend on how an answer was cut into parts.
func TestTheMeterCountsBytesAndNotParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 200, 200).Draw(t, "text")
		limit := rapid.IntRange(1, 200).Draw(t, "limit")
		m := model.Limits{TextBytes: limit}.Meter()
		var got error
		for rest := text; rest != "" && got == nil; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			got = m.Take(model.Text{Text: rest[:n]})
			rest = rest[n:]
		}
		if (got != nil) != (len(text) > limit) {
			t.Fatalf("a text of %d bytes with a limit of %d: %v", len(text), limit, got)
		}
	})
}

func TestOrdinaryAnswersPass(t *testing.T) {
	m := model.Limits{}.Meter()
	for _, p := range []model.Part{
		model.Reasoning{Text: strings.Repeat("x", 1<<20)}, model.Text{Text: strings.Repeat("x", 1<<20)}, model.Image{Block: 1, URL: strings.Repeat("x", 10<<20)},
		model.ToolCall{Name: "write", Arguments: strings.Repeat("x", 1<<20)}, model.Usage{Usage: item.Usage{InputTokens: 3}}, model.Finish{},
	} {
		if err := m.Take(p); err != nil {
			t.Error(err)
		}
	}
}
