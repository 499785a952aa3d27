package answer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
)

// However a text with spans is cut, its pieces are the same.
func TestThinkSpansSurviveAnyCut(t *testing.T) {
	word := rapid.SampledFrom([]string{"<think>", "</think>", "<", "th", "a", "\n", " ", "é", "`", ">", "/"})
	split := func(pieces []string) (text, thought string) {
		var s thinkSplitter
		add := func(to *string) func(string) {
			return func(p string) {
				if p == "" {
					t.Error("an empty piece")
				}
				*to += p
			}
		}
		for _, p := range pieces {
			s.split(p, add(&text), add(&thought))
		}
		s.flush(add(&text), add(&thought))
		return text, thought
	}
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOf(word).Draw(t, "in"), "")
		text, thought := split([]string{in})
		if gotText, gotThought := split(strings.Split(in, "")); gotText != text || gotThought != thought {
			t.Errorf("%q cut up: %q and %q, whole: %q and %q", in, gotText, gotThought, text, thought)
		}
		for _, c := range "aé`" {
			if strings.Count(text+thought, string(c)) != strings.Count(in, string(c)) {
				t.Errorf("%q: text was lost or doubled: %q and %q", in, text, thought)
			}
		}
	})
}

// Whatever a server sends, the decoders keep the laws: no panic, and after at most one end, nothing.
func FuzzDecoders(f *testing.F) {
	files, err := filepath.Glob("../../testdata/*/*")
	if err != nil || len(files) == 0 {
		f.Fatal("no recordings: ", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 5_000 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, dec := range []Decoder{NewChat(eventstream.Fault{}, Habits{}), NewResponses(eventstream.Fault{})} {
			ended, calls := false, 0
			emit := func(p model.Part) bool {
				if ended {
					t.Errorf("%T after the end", p)
				}
				switch p := p.(type) {
				case model.Finish:
					ended = true
				case model.ToolCall:
					if p.Index > calls || p.Index < 0 {
						t.Errorf("call %d after %d", p.Index, calls)
					}
					calls = max(calls, p.Index+1)
				}
				return true
			}
			done := false
			for line := range strings.SplitSeq(string(body), "\n") {
				line = strings.TrimPrefix(line, "data: ")
				var err error
				if done, err = dec.Event("", []byte(line), emit); done || err != nil {
					if err == nil && !ended {
						t.Error("done without a finish")
					}
					done = true
					break
				}
			}
			if !done {
				if err := dec.End(nil, emit); (err == nil) != ended {
					t.Errorf("ended %v, error %v", ended, err)
				}
			}
		}
	})
}
