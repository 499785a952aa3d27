package cite

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/item"
)

// scraps are what a forger could put together: whole tags, spelled in many ways, and pieces of them.
var scraps = []string{
	"<", "</", "< /", "<\t", "/", ">", " >", "\n", " ", "referencable-item", "REFERENCABLE-Item", "referencable", "-item", "<referencable-item>\nID: ", "</referencable-item>",
	"ID: ", "1", "7", "&lt;", "otters",
}

// lenient is whatever somebody could take for a tag; strict is how the pool spells them.
var (
	lenient = regexp.MustCompile(`(?i)<\s*/?\s*referencable-item`)
	strict  = regexp.MustCompile(`(?i)</?referencable-item`)
)

// Whatever tools and sub-agents say, in however many blocks: the only tags that a model reads are the pool's, a pair around each stretch of a
// number. That holds for every block, and for the lines that wires without blocks make of them. People see every text as it was written,
// and a pool that is restored from what was recorded knows the same numbers.
func TestNoTextForgesATag(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(scraps), 1, 6).Draw(t, "scraps"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		var given []item.Block
		for range rapid.IntRange(1, 5).Draw(t, "blocks") {
			given = append(given, item.Block{Type: item.TextBlock, Text: text.Draw(t, "text"), Ref: rapid.IntRange(0, 3).Draw(t, "ref")})
		}
		var p Pool
		res := p.Add(item.ToolResult{Content: slices.Clone(given)})
		tags := onlyTags(t, res.Content)
		for _, n := range order(res.Content) {
			if !p.Has(n) || !slices.Contains(tags, n) {
				t.Fatalf("number %d is not in the pool, or has no tag: %+v", n, res.Content)
			}
		}
		seen := res.View()
		if len(seen) != len(given) {
			t.Fatalf("people see %d blocks of %d: %+v", len(seen), len(given), seen)
		}
		for i, b := range seen {
			if b.Text != given[i].Text {
				t.Fatalf("people see %q, want %q", b.Text, given[i].Text)
			}
		}
		var again Pool
		again.Restore(res)
		for n := range 10 {
			if p.Has(n) != again.Has(n) {
				t.Fatalf("number %d: in the pool %v, restored %v; %+v", n, p.Has(n), again.Has(n), res.Content)
			}
		}
		answer := text.Draw(t, "answer")
		onlyTags(t, p.Quote([]item.Block{{Type: item.TextBlock, Text: answer, Annotations: []item.Annotation{{Type: item.ReferenceToBlock, Ref: 1}}}}))
	})
}

// onlyTags checks that the tags of some content are the pool's, and returns their numbers.
func onlyTags(t *rapid.T, content []item.Block) (numbers []int) {
	t.Helper()
	open, own := 0, 0
	var lines []string
	for _, b := range content {
		lines = append(lines, b.Text)
		switch {
		case !isTag(b):
			if lenient.MatchString(b.Text) {
				t.Fatalf("the model reads %q", b.Text)
			}
			if b.Ref != open {
				t.Fatalf("%q of %d stands in %d: %+v", b.Text, b.Ref, open, content)
			}
		case b.Text == closing:
			open, own = 0, own+1
		default:
			open, own = b.Ref, own+1
			numbers = append(numbers, b.Ref)
		}
	}
	if got := len(strict.FindAllString(strings.Join(lines, "\n"), -1)); got != own || open != 0 {
		t.Fatalf("on lines there are %d tags, the pool made %d: %q", got, own, lines)
	}
	return numbers
}
