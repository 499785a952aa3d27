package graph_test

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
)

// fold writes updates one after the other and returns the field's final JSON.
func fold(t testing.TB, f graph.AnyField, input string, writes ...graph.Write) string {
	t.Helper()
	g := graph.New("fold", f)
	for i, w := range writes {
		name := string(rune('a' + i))
		g.Node(name, does(graph.Update(w)))
		if i > 0 {
			g.Edge(string(rune('a'+i-1)), name)
		}
	}
	g.Edge(graph.Start, "a")
	r, err := g.Run(context.Background(), graph.Execution{Input: json.RawMessage(input), RecursionLimit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return string(r.Values[f.Name()])
}

func TestReducers(t *testing.T) {
	artifacts := graph.Union[string]("artifacts")
	images := graph.Merge[int]("viewed_images")
	sum := graph.Reduced("sum", func(a, b int) int { return a + b })
	raw := graph.JSON("raw")
	flag := graph.LastValue[bool]("flag")
	for _, c := range []struct{ what, got, want string }{
		{"union", fold(t, artifacts, `{"artifacts":["b"]}`, artifacts.Add("a", "b"), artifacts.Add("c", "c", "a")), `["b","a","c"]`},
		{"merge", fold(t, images, `{"viewed_images":{"a":1,"b":2}}`, images.Set(map[string]int{"b": 3})), `{"a":1,"b":3}`},
		{"merge clears", fold(t, images, `{"viewed_images":{"a":1}}`, images.Set(nil)), `{}`},
		{"reduced", fold(t, sum, `{"sum":1}`, sum.Set(2), sum.Set(3)), `6`},
		{"last value", fold(t, flag, `{"flag":false}`, flag.Set(true)), `true`},
		{"any JSON", fold(t, raw, `{"raw":{"a":[1]}}`, raw.Set(json.RawMessage(`[2]`))), `[2]`},
		{"list", fold(t, notes, `{}`, notes.Add("a"), notes.Add(), notes.Set([]string{"b", "a"})), `["a","b","a"]`},
		{"untouched list", fold(t, notes, `{}`, notes.Add()), `[]`},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", c.what, c.got, c.want)
		}
	}
}

func TestNullIsAValueOfAnyField(t *testing.T) {
	anything := graph.LastValue[any]("anything")
	both := graph.Reduced("both", func(a, b any) any { return []any{a, b} })
	g := graph.New("any", anything, both).Node("a", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		if v, ok := anything.Lookup(s); v != nil || !ok {
			t.Errorf("read %v, %t", v, ok)
		}
		return graph.Update(both.Set(nil)), nil
	}).Edge(graph.Start, "a")
	r := begin(t, g).input(`{"anything":null,"both":1}`)
	equal(t, "both", string(r.Values["both"]), `[[null,1],null]`)
	v, err := graph.Decode(r, both)
	if err != nil || len(v.([]any)) != 2 {
		t.Errorf("decoded %v, %v", v, err)
	}
}

func TestMessagesWithoutAnIDAreGivenOne(t *testing.T) {
	s := begin(t, chatGraph())
	s.input(`{"messages":["hello",{"role":"user","content":"again"},["human","thrice"]]}`)
	var before, after []item.Message
	snaps := s.snapshots("")
	if err := errorsOf(json.Unmarshal(snaps[1].Values["messages"], &before), json.Unmarshal(snaps[2].Values["messages"], &after)); err != nil {
		t.Fatal(err)
	}
	if len(before) != 3 || len(after) != 4 {
		t.Fatalf("%d messages, then %d", len(before), len(after))
	}
	for i, m := range before {
		if len(m.ID) != 36 || after[i].ID != m.ID {
			t.Errorf("message %d has id %q, later %q", i, m.ID, after[i].ID)
		}
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// The rule for messages in the plainest words: a list of ids and a map.
type conversation struct {
	order []string
	text  map[string]string
}

func (c *conversation) apply(update []item.Message) {
	for i := len(update) - 1; i >= 0; i-- {
		if update[i].Role == item.Remove && update[i].ID == item.RemoveAll {
			c.order, c.text = nil, map[string]string{}
			update = update[i+1:]
			break
		}
	}
	gone := map[string]bool{}
	for _, m := range update {
		if m.Role == item.Remove {
			gone[m.ID] = true
			continue
		}
		if _, ok := c.text[m.ID]; !ok {
			c.order = append(c.order, m.ID)
			gone[m.ID] = false
		}
		delete(gone, m.ID)
		c.text[m.ID] = m.Text()
	}
	c.order = slices.DeleteFunc(c.order, func(id string) bool { return gone[id] })
	maps.DeleteFunc(c.text, func(id, _ string) bool { return gone[id] })
}

func TestMessagesAreAddedReplacedAndRemovedById(t *testing.T) {
	drawMessage := rapid.Custom(func(t *rapid.T) item.Message {
		id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(t, "id")
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0, 1:
			return item.Message{ID: id, Role: item.Remove}
		case 2:
			return item.Message{ID: item.RemoveAll, Role: item.Remove}
		}
		return item.UserText(id, rapid.SampledFrom([]string{"x", "y"}).Draw(t, "text"))
	})
	rapid.Check(t, func(rt *rapid.T) {
		updates := rapid.SliceOfN(rapid.SliceOfN(drawMessage, 0, 7), 1, 6).Draw(rt, "updates")
		want := conversation{text: map[string]string{}}
		var writes []graph.Write
		for _, u := range updates {
			want.apply(u)
			writes = append(writes, messages.Set(u))
		}
		var got []item.Message
		if err := json.Unmarshal([]byte(fold(t, messages, `{}`, writes...)), &got); err != nil {
			rt.Fatal(err)
		}
		var order []string
		for _, m := range got {
			order = append(order, m.ID)
			if m.Text() != want.text[m.ID] {
				rt.Errorf("message %s says %q, want %q", m.ID, m.Text(), want.text[m.ID])
			}
		}
		if !slices.Equal(order, want.order) {
			rt.Errorf("got %v, want %v", order, want.order)
		}
	})
}

func TestSchemas(t *testing.T) {
	type step struct {
		Title string  `json:"title"`
		Done  bool    `json:"done,omitempty"`
		Next  *step   `json:"next,omitempty"`
		Score float64 `json:"-"`
	}
	for _, c := range []struct {
		f    graph.AnyField
		want string
	}{
		{topic, `{"type":"string"}`},
		{notes, `{"type":"array","items":{"type":"string"}}`},
		{graph.Merge[int]("m"), `{"type":"object","additionalProperties":{"type":"integer"}}`},
		{graph.JSON("j"), `{}`},
		{graph.Enum("e", "red", "green"), `{"type":"string","enum":["red","green"]}`},
		{messages, `{"type":"array","langgraph_type":"messages","items":{"type":"object","properties":{"id":{"type":"string"},"type":{"type":"string"},"content":{}},"required":["type","content"]}}`},
		{graph.LastValue[*step]("s"), `{"type":"object","properties":{"done":{"type":"boolean"},"next":{},"title":{"type":"string"}},"required":["title"]}`},
	} {
		if got := string(c.f.Schema()); got != c.want {
			t.Errorf("%s: got %s, want %s", c.f.Name(), got, c.want)
		}
	}
	if got, want := string(graph.New("g", topic, notes).Schema()), `{"type":"object","properties":{"topic":{"type":"string"},"notes":{"type":"array","items":{"type":"string"}}}}`; got != want {
		t.Errorf("state: got %s, want %s", got, want)
	}
}

func TestEnumRefusesOtherTexts(t *testing.T) {
	type colour string
	light := graph.Enum[colour]("light", "red", "green")
	run := func(input string, write colour) (graph.Result, error) {
		g := graph.New("lights", light).Node("a", func(context.Context, *graph.Scope) (graph.Command, error) {
			if write == "" {
				return graph.Command{}, nil
			}
			return graph.Update(light.Set(write)), nil
		}).Edge(graph.Start, "a")
		return g.Run(t.Context(), graph.Execution{Input: json.RawMessage(input)})
	}
	if r, err := run(`{"light":"red"}`, "green"); err != nil || string(r.Values["light"]) != `"green"` {
		t.Errorf("got %v, %v", r, err)
	}
	if r, err := run(`{}`, ""); err != nil || r.Values["light"] != nil {
		t.Errorf("a field that nobody wrote: got %v, %v", r, err)
	}
	for _, c := range []struct {
		input string
		write colour
		code  string
	}{
		{`{"light":"blue"}`, "", graph.CodeInvalidInput},
		{`{"light":null}`, "", graph.CodeInvalidInput},
		{`{"light":7}`, "", graph.CodeInvalidInput},
		{`{"light":"red"}`, "blue", graph.CodeInvalidUpdate},
	} {
		_, err := run(c.input, c.write)
		if e := graph.ErrorOf(err); e == nil || e.Code != c.code || !strings.Contains(e.Message, `"light"`) {
			t.Errorf("%s, then %q: got %v, want %s that names the field", c.input, c.write, err, c.code)
		}
	}
}

// Nobody's input may make the runtime panic, and what it accepts it must be able to store and read again.
func FuzzInput(f *testing.F) {
	for _, s := range []string{`{}`, `{"messages":"hi","notes":["a"]}`, `[["topic","x"],["notes",["y"]]]`, `{"messages":{"type":"human","content":[{"type":"text","text":"x"}]}}`, `{"topic":null,"raw":[1,{}]}`, `7`} {
		f.Add([]byte(s), []byte(`{"resume":null,"goto":["a"],"update":`+s+`}`))
	}
	g := graph.New("fuzz", messages, topic, notes, graph.JSON("raw"), graph.Merge[any]("map")).Node("a", does(graph.Command{})).Edge(graph.Start, "a")
	f.Fuzz(func(t *testing.T, input, orders []byte) {
		mem := graph.NewMemory()
		x := graph.Execution{Thread: "t", Run: "r", Input: input, Checkpoints: mem, Recorder: mem}
		r, err := g.Run(t.Context(), x)
		if err != nil {
			return
		}
		again, err := g.Run(t.Context(), graph.Execution{Thread: "t", Run: "r2", Checkpoints: mem, Recorder: mem})
		if err != nil || !reflect.DeepEqual(again.Values, r.Values) {
			t.Fatalf("stored %s, read %s, %v", r.Values, again.Values, err)
		}
		var o graph.Orders
		if json.Unmarshal(orders, &o) != nil {
			return
		}
		x.Input, x.Orders, x.Run = nil, &o, "r3"
		if _, err := g.Run(t.Context(), x); err != nil {
			return
		}
		if _, err := mem.Load(t.Context(), "t", "", ""); err != nil {
			t.Fatal(err)
		}
	})
}
