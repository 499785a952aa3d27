package research_test

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/internal/prose"
	"github.com/tributary-ai/tributary/item"
)

// shelfOf is passages of this project's own documentation: paragraphs of several sentences, each from its file.
func shelfOf(t testing.TB) []research.Source {
	t.Helper()
	var all []research.Source
	root := os.DirFS("../../docs")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".md") {
			return err
		}
		raw, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		for paragraph := range strings.SplitSeq(string(raw), "\n\n") {
			text := strings.Join(strings.Fields(paragraph), " ")
			if strings.ContainsAny(text[:min(len(text), 1)], "#|-`<>* ") || strings.Contains(text, "“") || strings.Contains(text, "[") || len(prose.Sentences(text)) < 2 {
				continue
			}
			n := len(all) + 1
			b := item.Block{Type: item.TextBlock, Text: text, Name: name, URL: name, Ref: n}
			all = append(all, research.Source{Number: n, Title: name, Address: name, Content: []item.Block{b}, Blocks: []item.Block{b}})
		}
		return nil
	})
	if err != nil || len(all) < 60 {
		t.Fatalf("%d passages, %v", len(all), err)
	}
	return all
}

func lookIn(all []research.Source) func(int) (research.Source, bool) {
	return func(n int) (research.Source, bool) {
		if n < 1 || n > len(all) {
			return research.Source{}, false
		}
		return all[n-1], true
	}
}

// claim is a sentence with the numbers of what it cites.
type claim struct {
	rule string
	text string
}

var (
	digits = regexp.MustCompile(`\b[0-9]+\b`)
	small  = regexp.MustCompile(`\b(?:the|a|an|also|then|therefore|just) `)
)

// sentenceOf is a sentence of a passage that says something: long enough, and no code.
func sentenceOf(src research.Source, fits func(string) bool) (string, bool) {
	for _, s := range prose.Sentences(src.Passage()) {
		if n := len(strings.Fields(s)); n >= 8 && n <= 40 && !strings.ContainsAny(s, "`\"“|/{}<>") && strings.HasSuffix(s, ".") && fits(s) {
			return s, true
		}
	}
	return "", false
}

func anything(string) bool { return true }

// plant makes claims by a rule, from passages that lie apart, until there are enough.
func plant(t *testing.T, all []research.Source, rule string, want int, make func(i int, src research.Source) (string, bool)) []claim {
	t.Helper()
	var out []claim
	for i := len(rule) % 5; i < len(all) && len(out) < want; i++ {
		if text, ok := make(i, all[i]); ok {
			out = append(out, claim{rule, text})
		}
	}
	if len(out) < want {
		t.Fatalf("rule %q gives %d claims, want %d", rule, len(out), want)
	}
	return out
}

func trueClaims(t *testing.T, all []research.Source) []claim {
	return slices.Concat(
		plant(t, all, "word for word", 10, func(_ int, src research.Source) (string, bool) {
			s, ok := sentenceOf(src, anything)
			return fmt.Sprintf("%s[^%d]", s, src.Number), ok
		}),
		plant(t, all, "quoted", 10, func(_ int, src research.Source) (string, bool) {
			s, ok := sentenceOf(src, anything)
			return fmt.Sprintf("The documentation says: “%s” [^%d]", s, src.Number), ok
		}),
		plant(t, all, "without small words, within a sentence", 10, func(_ int, src research.Source) (string, bool) {
			s, ok := sentenceOf(src, func(s string) bool { return small.MatchString(s) && !strings.Contains(s[1:], " I ") })
			if !ok {
				return "", false
			}
			s = strings.TrimSuffix(small.ReplaceAllString(s, ""), ".")
			return fmt.Sprintf("It is written that %s%s[^%d].", strings.ToLower(s[:1]), s[1:], src.Number), true
		}),
		plant(t, all, "its second half first", 10, func(_ int, src research.Source) (string, bool) {
			s, ok := sentenceOf(src, func(s string) bool { return strings.Count(s, ", ") == 1 })
			if !ok {
				return "", false
			}
			a, b, _ := strings.Cut(strings.TrimSuffix(s, "."), ", ")
			return fmt.Sprintf("%s%s, %s%s[^%d].", strings.ToUpper(b[:1]), b[1:], strings.ToLower(a[:1]), a[1:], src.Number), true
		}),
		plant(t, all, "from two passages", 10, func(i int, src research.Source) (string, bool) {
			s, ok := sentenceOf(src, anything)
			other := all[(i+1)%len(all)]
			o, also := sentenceOf(other, anything)
			if !ok || !also || s == o {
				return "", false
			}
			return fmt.Sprintf("%s; %s%s[^%d][^%d].", strings.TrimSuffix(s, "."), strings.ToLower(o[:1]), strings.TrimSuffix(o[1:], "."), src.Number, other.Number), true
		}),
	)
}

func falseClaims(t *testing.T, all []research.Source) []claim {
	has := func(src research.Source, word string) bool {
		return strings.Contains(strings.ToLower(src.Title+" "+src.Passage()), strings.ToLower(word))
	}
	return slices.Concat(
		plant(t, all, "another number", 9, func(_ int, src research.Source) (string, bool) {
			s, ok := sentenceOf(src, digits.MatchString)
			if !ok {
				return "", false
			}
			n := digits.FindString(s)
			s = strings.Replace(s, n, n+"7", 1)
			return fmt.Sprintf("%s[^%d]", s, src.Number), !has(src, n+"7")
		}),
		plant(t, all, "a number where there was none", 8, func(_ int, src research.Source) (string, bool) {
			s, ok := sentenceOf(src, func(s string) bool { return !digits.MatchString(s) })
			return fmt.Sprintf("%s, in 83 percent of cases[^%d].", strings.TrimSuffix(s, "."), src.Number), ok && !has(src, "83")
		}),
		plant(t, all, "another word in a quotation", 9, func(_ int, src research.Source) (string, bool) {
			s, ok := sentenceOf(src, anything)
			if !ok {
				return "", false
			}
			words := strings.Fields(s)
			words[len(words)/2] = "seldom"
			return fmt.Sprintf("The documentation says: “%s” [^%d]", strings.Join(words, " "), src.Number), !has(src, "seldom")
		}),
		plant(t, all, "a name that it does not mention", 8, func(_ int, src research.Source) (string, bool) {
			s, ok := sentenceOf(src, anything)
			return fmt.Sprintf("%s with Postgres[^%d].", strings.TrimSuffix(s, "."), src.Number), ok && !has(src, "Postgres")
		}),
		plant(t, all, "cited from another document", 8, func(i int, src research.Source) (string, bool) {
			s, ok := sentenceOf(src, anything)
			other := all[(i+len(all)/2)%len(all)]
			return fmt.Sprintf("%s[^%d]", s, other.Number), ok && other.Address != src.Address
		}),
		plant(t, all, "under a number that nothing was read under", 8, func(i int, src research.Source) (string, bool) {
			s, ok := sentenceOf(src, anything)
			return fmt.Sprintf("%s[^%d]", s, len(all)+1+i), ok
		}),
	)
}

func TestTheCheckFindsFalseCitationsAndLeavesTrueOnes(t *testing.T) {
	all := shelfOf(t)
	good, bad := trueClaims(t, all), falseClaims(t, all)
	if len(good) != 50 || len(bad) != 50 {
		t.Fatalf("%d true and %d false claims, want 50 of each", len(good), len(bad))
	}
	caught, flagged := 0, 0
	for _, c := range good {
		if d := research.Check(c.text, "", lookIn(all)); len(d) > 0 {
			flagged++
			t.Errorf("a true claim (%s) is doubted, %s %q:\n%s", c.rule, d[0].Reason, d[0].Detail, c.text)
		}
	}
	for _, c := range bad {
		if len(research.Check(c.text, "", lookIn(all))) > 0 {
			caught++
		} else {
			t.Errorf("a false claim (%s) passes:\n%s", c.rule, c.text)
		}
	}
	// All in one report, true and false in turns: the marks stand behind the false ones and nowhere else.
	var report strings.Builder
	for i := range 50 {
		fmt.Fprintf(&report, "%s\n\n- %s\n\n", good[i].text, bad[i].text)
	}
	if n := len(research.Check(report.String(), "", lookIn(all))); n < 50 {
		t.Errorf("%d doubts in one report, want 50 or more", n)
	}
	t.Logf("found %d of 50 false citations, doubted %d of 50 true ones", caught, flagged)
}

// What a sentence denies is found where the passage has nearly the same sentence.
func TestASentenceTurnedIntoItsOppositeIsDoubted(t *testing.T) {
	src := research.Source{Number: 1, Title: "Journal", Blocks: item.Text("A slow reader delays the run. Events are never rewritten once a reader has seen them.")}
	look := func(n int) (research.Source, bool) { return src, n == 1 }
	for text, want := range map[string]int{
		"A slow reader delays the run[^1].":                                    0,
		"A slow reader does not delay the run[^1].":                            1,
		"Events are rewritten once a reader has seen them[^1].":                1,
		"Once a reader has seen them, events are never rewritten again[^1].":   0,
		"The run is delayed by a reader that is slow, and never by others[^1]": 0,
	} {
		if d := research.Check(text, "", look); len(d) != want {
			t.Errorf("%q: %+v, want %d doubts", text, d, want)
		}
	}
}

func TestChineseClaimsAreCheckedToo(t *testing.T) {
	src := research.Source{Number: 1, Title: "尼罗河", Blocks: item.Text("尼罗河全长6650公里，流经十一个国家，最后注入地中海。")}
	look := func(n int) (research.Source, bool) { return src, n == 1 }
	for text, want := range map[string]research.Reason{
		"尼罗河全长6650公里。[^1]":       "",
		"尼罗河全长7650公里。[^1]":       research.NoNumber,
		"“流经十一个国家”[^1]。":         "",
		"“流经十二个非洲国家”[^1]。":       research.NotQuoted,
		"长江是亚洲最长的河流之一。[^1]":      research.OffTopic,
		"The Nile is long. [^1]": "", // a translation is not held against its words
		"It is 6651 km long[^1]": research.NoNumber,
	} {
		d := research.Check(text, "", look)
		switch {
		case want == "" && len(d) > 0:
			t.Errorf("%q is doubted: %+v", text, d)
		case want != "" && (len(d) != 1 || d[0].Reason != want):
			t.Errorf("%q: %+v, want %s", text, d, want)
		}
	}
}

// However a report is cut into pieces, the same is shown and the same is doubted.
func TestAnyChunkingGivesTheSameReport(t *testing.T) {
	src := research.Source{Number: 1, Title: "Nile", Blocks: item.Text("The Nile is 6650 km long.")}
	look := func(n int) (research.Source, bool) { return src, n == 1 }
	text := "# Rivers\n\nThe Nile is 6650 km long[^1]. It is 7000 km long [^1], [^2] they say.\n\n- a [x] list[^1]\n[^1]: mine\n\n## References\n\n1. Mine\n\n## After\n\nEnd[^9]"
	want := research.Stream(look, "", text)
	if !strings.Contains(want, "It is 7000 km long [^1], [^2] ⚠ they say.") || strings.Contains(want, "ine\n") || !strings.Contains(want, "## After\n\nEnd[^9] ⚠") || strings.Count(want, "⚠") != 3 {
		t.Fatalf("got %q", want)
	}
	rapid.Check(t, func(t *rapid.T) {
		var pieces []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, min(9, len(rest))).Draw(t, "n")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if got := research.Stream(look, "", pieces...); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func FuzzCheck(f *testing.F) {
	src := research.Source{Number: 1, Title: "Nile", Blocks: item.Text("The Nile is 6650 km long.")}
	look := func(n int) (research.Source, bool) { return src, n == 1 }
	f.Add("# A\n\nThe Nile is 6650 km long[^1].", 3)
	f.Add("“The Nile” … is [^1][^2]\n[^3]: x\n## Sources\nx", 1)
	f.Fuzz(func(t *testing.T, text string, at int) {
		whole := research.Stream(look, "", text)
		at = min(max(at, 0), len(text))
		if cut := research.Stream(look, "", text[:at], text[at:]); cut != whole {
			t.Errorf("cut at %d: %q, whole: %q", at, cut, whole)
		}
	})
}
