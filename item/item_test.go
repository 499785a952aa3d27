package item_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/event/eventtest"
	"github.com/tributary-ai/tributary/item"
)

func TestUsageAddsUpFieldByField(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := eventtest.Usage(t), eventtest.Usage(t), eventtest.Usage(t)
		if a.Plus(b) != b.Plus(a) || a.Plus(b).Plus(c) != a.Plus(b.Plus(c)) {
			t.Fatalf("the order of adding %v, %v, %v matters", a, b, c)
		}
		if a.Plus(item.Usage{}) != a {
			t.Fatalf("%v plus nothing is %v", a, a.Plus(item.Usage{}))
		}
		if got, want := a.Plus(b).Total(), a.Total()+b.Total(); got != want {
			t.Fatalf("total: got %d, want %d", got, want)
		}
	})
	one := item.Usage{InputTokens: 1, OutputTokens: 2, CachedTokens: 3, CacheWriteTokens: 4, ReasoningTokens: 5, CostMicros: 6}
	two := item.Usage{InputTokens: 2, OutputTokens: 4, CachedTokens: 6, CacheWriteTokens: 8, ReasoningTokens: 10, CostMicros: 12}
	if got := one.Plus(one); got != two {
		t.Errorf("got %v, want %v", got, two)
	}
}

func TestItemOfAnUnknownTypeSaysSo(t *testing.T) {
	_, err := item.Unmarshal([]byte(`{"type":"hologram","value":{}}`))
	var unknown *item.UnknownTypeError
	if !errors.As(err, &unknown) || unknown.Type != "hologram" {
		t.Errorf("got %v, want an UnknownTypeError for hologram", err)
	}
	for _, data := range []string{`{}`, `null`, `{"value":{}}`, `{"type":"reasoning"}`, `{"type":"message","value":null}`, `[`} {
		if it, err := item.Unmarshal([]byte(data)); err == nil || errors.As(err, &unknown) {
			t.Errorf("%s: got %#v and %v, want a plain error", data, it, err)
		}
	}
	if _, err := item.Marshal(nil); err == nil {
		t.Error("no item was encoded without an error")
	}
}

func TestPeopleSeeBlocksOrElseContent(t *testing.T) {
	content, blocks := item.Text("for the model"), item.Text("for people")
	if got := (item.ToolResult{Content: content}).View(); item.JoinText(got) != "for the model" {
		t.Errorf("with content alone: got %v", got)
	}
	if got := (item.ToolResult{Content: content, Blocks: blocks}).View(); item.JoinText(got) != "for people" {
		t.Errorf("with both: got %v", got)
	}
	if got := (item.ToolResult{Content: content, Blocks: []item.Block{}}).View(); len(got) != 0 {
		t.Errorf("with nothing for people, said so: got %v", got)
	}
}

func TestJoinTextSkipsWhatIsNoText(t *testing.T) {
	blocks := []item.Block{
		{Type: item.TextBlock, Text: "a"}, {Type: item.ImageBlock, Text: "not this", URL: "u"}, {Type: item.TextBlock, Text: "b"},
	}
	if got := item.JoinText(blocks); got != "ab" {
		t.Errorf("got %q, want ab", got)
	}
	if got := item.Text(""); got != nil {
		t.Errorf("no text gives %v, want no block", got)
	}
}
