package offline

import (
	"runtime"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// A document of ten megabytes is answered with no more work than one of a hundred kilobytes.
func TestALongTextCostsNoMoreThanAShortOne(t *testing.T) {
	const long = 99 << 20 / 10
	Tokens("the vocabulary is loaded")
	for name, piece := range map[string]string{"words": "word and another ", "one word": "a", "Chinese": "数到九百是什么", "spaces": " ", "signs": "!?-("} {
		spent := func(size int) (bytes uint64) {
			text := strings.Repeat(piece, size/len(piece))
			req := model.Request{Messages: []item.Message{item.UserText("", text+" now count to three")}}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var answer strings.Builder
			for part, err := range New(Options{}).Stream(t.Context(), req) {
				if err != nil {
					t.Fatal(err)
				}
				if p, ok := part.(model.Text); ok {
					answer.WriteString(p.Text)
				}
			}
			runtime.ReadMemStats(&after)
			if name == "words" && answer.String() != "one\ntwo\nthree" {
				t.Errorf("after %d bytes of %s it says %q", size, name, answer.String())
			}
			return after.TotalAlloc - before.TotalAlloc
		}
		least := func(size int) uint64 { // what a collection took from pools is made anew, and is not the text's
			return min(spent(size), spent(size), spent(size))
		}
		short := least(100 << 10)
		if got := least(long); got > 2*short+1<<20 {
			t.Errorf("%s: 9.9 MiB cost %d bytes of memory, 100 KiB %d", name, got, short)
		}
	}
}

func TestTheTokensOfALongTextAreEstimated(t *testing.T) {
	text := strings.Repeat("word and another ", 100<<10)
	got := Tokens(text)
	if want := 3 * 100 << 10; got < want*99/100 || got > want*101/100 {
		t.Errorf("got %d tokens, want about %d", got, want)
	}
}
