package cite

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/item"
)

// referencableText is a tool's result with each text as a thing of its own, the same for model and people.
func referencableText(texts ...string) item.ToolResult {
	var res item.ToolResult
	for i, s := range texts {
		res.Blocks = append(res.Blocks, item.Block{Type: item.TextBlock, Text: s, Ref: i + 1})
	}
	res.Content = slices.Clone(res.Blocks)
	return res
}

func refs(blocks []item.Block) []int {
	var out []int
	for _, b := range blocks {
		out = append(out, b.Ref)
	}
	return out
}

func TestNumbersOfThePoolVectors(t *testing.T) {
	var file struct {
		Cases []struct {
			Why   string
			Steps []struct {
				Tool      string
				ModelOnly bool `json:"model_only"`
				Groups    []struct {
					LocalID int `json:"local_id"`
					Blocks  []item.Block
				}
				Numbers []*int
			}
		}
	}
	readVectors(t, "vectors-reference-pool.json", &file)
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range file.Cases {
		t.Run(c.Why, func(t *testing.T) {
			var pool Pool
			for _, step := range c.Steps {
				res := item.ToolResult{Blocks: []item.Block{}}
				for _, g := range step.Groups {
					res.Content = append(res.Content, item.Block{Type: item.TextBlock, Text: "for the model", Ref: g.LocalID})
					for _, b := range g.Blocks {
						b.Ref = g.LocalID
						res.Blocks = append(res.Blocks, b)
					}
				}
				res = pool.Add(res)
				var want []int
				for _, n := range step.Numbers {
					if n != nil {
						want = append(want, *n)
					}
				}
				if got := refs(res.Blocks); !slices.Equal(got, want) {
					t.Errorf("%s: people see numbers %v, want %v", step.Tool, got, want)
				}
				if got := order(res.Content); !slices.Equal(got, want) {
					t.Errorf("%s: the model sees numbers %v, want %v", step.Tool, got, want)
				}
			}
		})
	}
}

func TestForeignAnswerIsRenumbered(t *testing.T) {
	var v struct {
		Before    []int             `json:"run_pool_before"`
		ChildPool map[string]string `json:"child_pool"`
		Text      string            `json:"child_text"`
		Map       map[string]int
		Rewritten string
	}
	readVectors(t, "vectors-foreign-subagent.json", &v)
	var pool Pool
	for _, n := range v.Before {
		pool.Add(referencableText("known " + strconv.Itoa(n)))
	}
	groups := map[int]Group{}
	for key, text := range v.ChildPool {
		n, _ := strconv.Atoi(key)
		groups[n] = Group{item.Text(text), item.Text(text)}
	}
	got := pool.Adopt(v.Text, groups)
	if got.Text != v.Rewritten {
		t.Errorf("got  %q\nwant %q", got.Text, v.Rewritten)
	}
	want := map[int]int{}
	for key, n := range v.Map {
		old, _ := strconv.Atoi(key)
		want[old] = n
	}
	if !reflect.DeepEqual(got.Numbers, want) {
		t.Errorf("numbers %v, want %v", got.Numbers, want)
	}
	if len(got.Annotations) != 3 {
		t.Errorf("three markers resolve, got annotations %v", got.Annotations)
	}
	for _, a := range got.Annotations {
		if s := string([]rune(got.Text)[a.Start:a.End]); s != "[^"+strconv.Itoa(a.Ref)+"]" {
			t.Errorf("annotation %v covers %q", a, s)
		}
	}
	if g, ok := pool.Group(4); !ok || item.JoinText(g.Blocks) != "doc A" {
		t.Errorf("number 4 should be doc A, got %v", g)
	}
}

// The trap of renumbering one number after another: 1→2 would be rewritten again by 2→1.
func TestForeignNumbersThatTradePlaces(t *testing.T) {
	var pool Pool
	groups := map[int]Group{1: {item.Text("a"), item.Text("a")}, 2: {item.Text("b"), item.Text("b")}}
	if got := pool.Adopt("[^2][^1][^2]", groups); got.Text != "[^1][^2][^1]" {
		t.Errorf("got %q", got.Text)
	}
	// The foreign 3 resolves nowhere; that this pool has a 3 by now must not turn it into a citation.
	pool.Add(referencableText("c"))
	if got := pool.Adopt("[^3]", groups); got.Text != "[^3]" || got.Annotations != nil {
		t.Errorf("got %+v", got)
	}
}

func TestModelViewOfParentAndChild(t *testing.T) {
	var golden struct {
		Parent []goldenResult `json:"tool_results"`
		Child  []goldenResult `json:"child_tool_results"`
	}
	readVectors(t, "canonical-subagent.model-view.json", &golden)

	var pool Pool
	clock := pool.Add(referencableText("2025-01-01T12:00:00+01:00"))
	weather := pool.Add(item.ToolResult{Content: []item.Block{
		{Type: item.TextBlock, Text: `{"temperature":"15C","condition":"Sunny"}`, Ref: 1},
		{Type: item.ImageBlock, URL: "data:image/png;base64,iVBORw0KGgo=", Ref: 1},
	}})
	text := "The weather in Paris is sunny with a temperature of 15C.[^2]"
	answer := pool.Quote([]item.Block{{Type: item.TextBlock, Text: text, Annotations: Annotate(text, pool.Has)}})

	for _, c := range []struct {
		what string
		got  []item.Block
		want goldenResult
	}{
		{"clock", clock.Content, golden.Parent[0]},
		{"child's weather", weather.Content, golden.Child[0]},
		{"answer to the parent", answer, golden.Parent[1]},
	} {
		if got := asParts(c.got); !reflect.DeepEqual(got, c.want.Content) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.what, got, c.want.Content)
		}
	}
	if got := refs(weather.Blocks); !slices.Equal(got, []int{2, 2}) {
		t.Errorf("people see text and image as number 2, got %v", got)
	}
}

type goldenResult struct{ Content []part }

type part struct {
	Type, Text string
	Image      *struct{ URL string } `json:"image_url"`
	ID         int
	Tags       []string
}

func asParts(blocks []item.Block) []part {
	var out []part
	for _, b := range blocks {
		p := part{Type: "text", Text: b.Text, ID: b.Ref}
		if b.Type == item.ImageBlock {
			p.Type, p.Image = "image_url", &struct{ URL string }{b.URL}
		}
		if isTag(b) {
			p.Tags = []string{"added_by_reference_manager"}
		}
		out = append(out, p)
	}
	return out
}

func TestPartsThatLieApartAreWrappedApart(t *testing.T) {
	var pool Pool
	res := pool.Add(item.ToolResult{
		Content: []item.Block{
			{Type: item.TextBlock, Text: "a", Ref: 5}, {Type: item.TextBlock, Text: "between"},
			{Type: item.TextBlock, Text: "b", Ref: 5}, {Type: item.TextBlock, Text: "nobody sees", Ref: 6},
		},
		Blocks: []item.Block{{Type: item.TextBlock, Text: "ab", Ref: 5}, {Type: item.TextBlock, Text: "no part", Ref: 9}},
	})
	var got []string
	for _, b := range res.Content {
		got = append(got, b.Text)
	}
	want := []string{openPrefix + "1", "a", closing, "between", openPrefix + "1", "b", closing, "nobody sees"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := refs(res.Blocks); !slices.Equal(got, []int{1, 0}) {
		t.Errorf("a block without a part cannot be cited: got numbers %v", got)
	}
}

func TestIdentityOfForeignBlocks(t *testing.T) {
	block := func(foreign string) []item.Block {
		return []item.Block{{Type: item.ForeignBlock, Foreign: json.RawMessage(foreign)}}
	}
	same := identify(block(`{"type":"chart","data":[1,2],"id":1}`))
	for foreign, equal := range map[string]bool{
		`{"data": [1, 2], "type": "chart"}`:                       true,
		`{"id":7,"tags":["x"],"type":"chart","data":[1,2]}`:       true,
		`{"type":"chart","data":[1,2],"annotations":[{"ref":1}]}`: true,
		`{"type":"chart","data":[2,1]}`:                           false,
		`{"type":"chart","data":[1,2]} trailing`:                  false,
	} {
		if got := identify(block(foreign)) == same; got != equal {
			t.Errorf("%s: same = %v, want %v", foreign, got, equal)
		}
	}
	if identify([]item.Block{{Type: "text", Text: "ab"}, {Type: "text"}}) == identify([]item.Block{{Type: "text", Text: "a"}, {Type: "text", Text: "b"}}) {
		t.Error("the cut between blocks does not count")
	}
}

// Adding the same thing again, and restoring a pool from what was recorded, change no number; the restored pool
// goes on as the first.
func TestNumbersSurviveReplay(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g"})
	rapid.Check(t, func(t *rapid.T) {
		var pool, restored Pool
		results := rapid.SliceOfN(rapid.SliceOfN(word, 0, 4), 1, 8).Draw(t, "results")
		crash := rapid.IntRange(0, len(results)).Draw(t, "crash")
		for i, texts := range results {
			fresh := referencableText(texts...)
			recorded := pool.Add(fresh)
			if again := pool.Add(fresh); !reflect.DeepEqual(again, recorded) {
				t.Fatalf("adding twice: got %+v, want %+v", again, recorded)
			}
			if i < crash {
				restored.Restore(recorded)
			} else if got := restored.Add(fresh); !reflect.DeepEqual(got, recorded) {
				t.Fatalf("after the crash: got %+v, want %+v", got, recorded)
			}
		}
		if !reflect.DeepEqual(restored.groups, pool.groups) {
			t.Fatalf("got %v, want %v", restored.groups, pool.groups)
		}
	})
}

// Two tools ran in parallel and were recorded in the other order: the journal's numbers stand.
func TestRestoreKeepsRecordedNumbers(t *testing.T) {
	var pool, restored Pool
	first, second := pool.Add(referencableText("x")), pool.Add(referencableText("y"))
	restored.Restore(second)
	restored.Restore(first)
	if g, _ := restored.Group(2); item.JoinText(g.Blocks) != "y" {
		t.Errorf("number 2 is %v", g)
	}
	if got := refs(restored.Add(referencableText("z", "x")).Blocks); !slices.Equal(got, []int{3, 1}) {
		t.Errorf("got numbers %v", got)
	}
}

// Tools run in parallel: whatever the order, each thing has one number and no number is left out.
func TestParallelToolsShareThePool(t *testing.T) {
	var pool Pool
	var tools sync.WaitGroup
	for tool := range 8 {
		tools.Go(func() {
			for i := range 50 {
				pool.Add(referencableText("common "+strconv.Itoa(i), "own "+strconv.Itoa(tool)+" "+strconv.Itoa(i)))
			}
		})
	}
	tools.Wait()
	const things = 50 + 8*50
	for n := 1; n <= things; n++ {
		if !pool.Has(n) {
			t.Fatalf("number %d was not given", n)
		}
	}
	if pool.Has(things + 1) {
		t.Error("something has two numbers")
	}
}
