package langgraph_test

import (
	"testing"

	"github.com/tributary-ai/tributary/internal/wire/langgraph"
)

func TestParseCursor(t *testing.T) {
	type position struct {
		epoch int
		seq   uint64
		place int
	}
	for s, want := range map[string]position{
		"":                       {0, 0, -1},
		"-1":                     {0, 0, -1},
		"1-5":                    {1, 5, 0},
		"3-5.2":                  {3, 5, 2},
		"17":                     {0, 17, 0},
		"0":                      {0, 0, 0},
		"1-18446744073709551615": {1, 18446744073709551615, 0},
	} {
		epoch, seq, place, err := langgraph.ParseCursor(s)
		if got := (position{epoch, seq, place}); err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"x", "-2", "1-", "-", "1-5.", "1-5.0", "01-5", "1-05", "1-5.01", "1-5.2.3", "1-5-6", "1 - 5", "+1", "1-18446744073709551616", "4294967296-1"} {
		if _, _, _, err := langgraph.ParseCursor(s); err == nil {
			t.Errorf("%q was taken for a cursor", s)
		}
	}
}

// What parses is the ID of some frame, spelled in the only way that we write it, and two cursors are never the same place.
func FuzzParseCursor(f *testing.F) {
	for _, s := range []string{"", "-1", "0", "1-1", "2-33.4", "1-5.0", "9-18446744073709551616"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		epoch, seq, place, err := langgraph.ParseCursor(s)
		if err != nil {
			return
		}
		if place < 0 {
			if s != "" && s != "-1" {
				t.Fatalf("%q is taken for the beginning", s)
			}
			return
		}
		if again := langgraph.FormatCursor(epoch, seq, place); again != s && "0-"+s != again {
			t.Fatalf("%q is written as %q", s, again)
		}
	})
}
