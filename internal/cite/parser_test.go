package cite

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/item"
)

func readVectors(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func always(int) bool { return true }

func TestMarkersOfTheCitationVectors(t *testing.T) {
	var file struct {
		Vectors []struct {
			Why, Text   string
			Pool        []int
			Annotations []struct {
				Ref      int `json:"reference_id"`
				Start    int `json:"start_index"`
				End      int `json:"end_index"`
				Resolved bool
			}
		}
	}
	readVectors(t, "vectors-citations.json", &file)
	if len(file.Vectors) == 0 {
		t.Fatal("no vectors")
	}
	for _, v := range file.Vectors {
		t.Run(v.Why, func(t *testing.T) {
			var want []item.Annotation
			for _, a := range v.Annotations {
				if a.Resolved {
					want = append(want, item.Annotation{Type: item.ReferenceToBlock, Ref: a.Ref, Start: a.Start, End: a.End})
				}
			}
			known := func(n int) bool { return slices.Contains(v.Pool, n) }
			if got := Annotate(v.Text, known); !reflect.DeepEqual(got, want) {
				t.Errorf("whole text: got %v, want %v", got, want)
			}
			if got := feedBytes(v.Text, known); !reflect.DeepEqual(got, want) {
				t.Errorf("byte by byte: got %v, want %v", got, want)
			}
		})
	}
}

func feedBytes(text string, known func(int) bool) []item.Annotation {
	p := NewParser(known)
	var got []item.Annotation
	for i := range len(text) {
		got = append(got, p.Feed(text[i:i+1])...)
	}
	return got
}

// A number is looked up when its marker is complete: the pool of that moment decides, not a later one.
func TestMarkerIsResolvedWhenItEnds(t *testing.T) {
	var pool Pool
	p := NewParser(pool.Has)
	if got := p.Feed("early[^1]"); got != nil {
		t.Errorf("number 1 is not in the pool yet, got %v", got)
	}
	pool.Add(referencableText("x"))
	want := []item.Annotation{{Type: item.ReferenceToBlock, Ref: 1, Start: 13, End: 17}}
	if got := p.Feed("late[^1]"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestEndlessDigitsAreNoNumber(t *testing.T) {
	text := "[^" + string(slices.Repeat([]byte("9"), 100)) + "]"
	if got := Annotate(text, func(n int) bool { return n < 1000 }); got != nil {
		t.Errorf("got %v", got)
	}
}

// oracle finds markers the slow way, with a regular expression over the whole text.
func oracle(text string) []item.Annotation {
	var want []item.Annotation
	for _, m := range marker.FindAllStringSubmatchIndex(text, -1) {
		n, err := strconv.ParseInt(text[m[2]:m[3]], 10, 32)
		if err != nil {
			n = 1<<31 - 1
		}
		want = append(want, item.Annotation{
			Type: item.ReferenceToBlock, Ref: int(n),
			Start: utf8.RuneCountInString(text[:m[0]]), End: utf8.RuneCountInString(text[:m[1]]),
		})
	}
	return want
}

func TestAnyChunkingGivesTheSameAnnotations(t *testing.T) {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"[", "^", "]", "[^", "[^1]", "[^12]", "[^a]", "0", "7", "巴", "👨‍👩‍👧", "\xff", "\xe5\xb7", " word "}),
		rapid.StringN(0, 4, -1),
	)
	rapid.Check(t, func(t *rapid.T) {
		var text string
		p := NewParser(always)
		var got []item.Annotation
		for _, s := range rapid.SliceOfN(piece, 0, 40).Draw(t, "pieces") {
			text += s
			got = append(got, p.Feed(s)...)
		}
		if want := oracle(text); !reflect.DeepEqual(got, want) {
			t.Fatalf("text %q: got %v, want %v", text, got, want)
		}
	})
}

func FuzzChunking(f *testing.F) {
	f.Add("The weather is fine.[^1]", uint64(0x55))
	f.Add("巴黎[^01][^2] [^] \xff[^3]", uint64(0xffff))
	f.Add("[[^1]^[^2", uint64(3))
	f.Fuzz(func(t *testing.T, text string, cuts uint64) {
		p := NewParser(always)
		var got []item.Annotation
		start := 0
		for i := range len(text) {
			if cuts>>(i%64)&1 == 1 {
				got = append(got, p.Feed(text[start:i])...)
				start = i
			}
		}
		got = append(got, p.Feed(text[start:])...)
		if want := oracle(text); !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// go test -bench Feed ./internal/cite
func BenchmarkFeed(b *testing.B) {
	b.ReportAllocs()
	p := NewParser(always)
	for b.Loop() {
		p.Feed(" weather in 巴黎 is")
	}
}
