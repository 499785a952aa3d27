package sandbox

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// teller keeps what is told.
type teller struct {
	tool.Scope
	told []string
}

func (s *teller) Show(_ int, part item.Block) { s.told = append(s.told, part.Text) }

// Whatever is written in whatever pieces: short output is kept to the byte, long output keeps its beginning and its end, and
// what is told is valid and is what was written.
func TestOutputKeepsItsBeginningAndItsEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 50), rapid.Map(rapid.StringN(0, 40, -1), func(s string) []byte { return []byte(s) }),
			rapid.Custom(func(t *rapid.T) []byte { return bytes.Repeat([]byte("é"), rapid.IntRange(0, 40_000).Draw(t, "n")) }))
		pieces := rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces")
		s := &teller{}
		kept := &transcript{scope: s}
		var all []byte
		for _, p := range pieces {
			kept.write(p)
			all = append(all, p...)
		}
		kept.flush(true)
		got, whole := kept.text(), strings.ToValidUTF8(string(all), "\uFFFD")
		if len(all) <= headBytes+tailBytes {
			if got != whole {
				t.Fatalf("got %q, want %q", got, whole)
			}
		} else {
			before, after, ok := strings.Cut(got, "bytes are left out here; write long output into a file]\n")
			if !ok || !strings.HasPrefix(before, strings.ToValidUTF8(string(all[:headBytes]), "\uFFFD")) || after != strings.ToValidUTF8(string(all[len(all)-tailBytes:]), "\uFFFD") {
				t.Fatalf("of %d bytes %d are kept: %q", len(all), len(got), got)
			}
		}
		told := strings.Join(s.told, "")
		for _, text := range s.told {
			if !utf8.ValidString(text) {
				t.Fatalf("%q was told", text)
			}
		}
		if len(all) <= progressBytes && utf8.Valid(all) && told != string(all) {
			t.Fatalf("told %q, want %q", told, all)
		}
		if len(told) > 3*(progressBytes+len("[more is written than is shown here]")+50_000) {
			t.Fatalf("%d bytes are told of %d", len(told), len(all))
		}
	})
}

func TestOutputIsToldAFewTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &teller{}
		kept := &transcript{scope: s}
		for range 1000 {
			kept.write([]byte("."))
			time.Sleep(time.Millisecond)
		}
		kept.flush(true)
		if n := len(s.told); n < 8 || n > 12 || strings.Join(s.told, "") != strings.Repeat(".", 1000) {
			t.Errorf("told %d times in a second", n)
		}
	})
}
