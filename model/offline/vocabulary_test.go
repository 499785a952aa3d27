package offline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer/codec"
	"pgregory.net/rapid"
)

func encode(text string) []string {
	var out []string
	tokensOf(text, func(token string) { out = append(out, token) })
	return out
}

func TestTokensJoinedAreTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("aAbéß漢字 \t\r\n'/s1٣.,-–😀́"))),
			rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) })).Draw(t, "text")
		tokens := encode(text)
		if got := strings.Join(tokens, ""); got != text {
			t.Fatalf("got %q, want %q", got, text)
		}
		for _, tok := range tokens {
			if _, ok := ranks()[tok]; !ok {
				t.Fatalf("%q is no token", tok)
			}
		}
	})
}

// The tokens are the first of those that the whole vocabulary has, under the same numbers.
func TestTheVocabularyIsTheBeginningOfTheWhole(t *testing.T) {
	whole := codec.NewO200kBase()
	if len(ranks()) != 50_000 {
		t.Fatalf("there are %d tokens", len(ranks()))
	}
	for token, rank := range ranks() {
		if got, err := whole.Decode([]uint{uint(rank)}); err != nil || got != token {
			t.Fatalf("token %d is %q, and of the whole %q, %v", rank, token, got, err)
		}
	}
}

// What the smaller vocabulary counts is near to what the whole one does: budgets are kept by it.
func TestCountsAreNearToThoseOfTheWholeVocabulary(t *testing.T) {
	whole := codec.NewO200kBase()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	ours, theirs := 0, 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw[:min(len(raw), 20_000)])
		n, err := whole.Count(text)
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs = ours+Tokens(text), theirs+n
	}
	if ours < theirs || ours > theirs*115/100 {
		t.Errorf("we count %d tokens in the documentation, the whole vocabulary %d", ours, theirs)
	}
	t.Logf("ours %d, the whole %d", ours, theirs)
}
