package threads

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTheNewestMessageWithTheWordsIsFound(t *testing.T) {
	messages := `[{"type":"human","id":"1","content":"Where do BARGES go?"},{"type":"ai","id":"2","content":[{"type":"text","text":"Two barges go\n to Basel."},{"type":"image_url","image_url":{}},"and a plain string"]},{"type":"tool","id":"3","content":"{}"}]`
	for want, in := range map[string]struct{ id, before, match, after string }{
		`(?i)barges`:       {"2", "Two ", "barges", " go to Basel."},
		`(?i)go\s+to`:      {"2", "Two barges ", "go\n to", " Basel."},
		`(?i)where`:        {"1", "", "Where", " do BARGES go?"},
		`(?i)plain string`: {"2", "and a ", "plain string", ""},
	} {
		m, ok := matchIn(json.RawMessage(messages), regexp.MustCompile(want))
		if !ok || m.Message != in.id || m.Before != in.before || m.Match != in.match || m.After != in.after {
			t.Errorf("%s: got %+v, %v, want %+v", want, m, ok, in)
		}
	}
	for _, none := range []string{messages, `null`, `{}`, `[1]`, `[{"content":7}]`, `broken`} {
		if m, ok := matchIn(json.RawMessage(none), regexp.MustCompile(`locks`)); ok {
			t.Errorf("%s: found %+v", none, m)
		}
	}
}

func TestWhatStandsAroundAMatchIsCutBetweenLetters(t *testing.T) {
	river := strings.Repeat("江河", 200)
	raw, err := json.Marshal([]map[string]string{{"id": "1", "type": "ai", "content": river + "x" + river}})
	if err != nil {
		t.Fatal(err)
	}
	m, ok := matchIn(raw, regexp.MustCompile("x"))
	if !ok || !utf8.ValidString(m.Before+m.After) || utf8.RuneCountInString(m.Before) != around || utf8.RuneCountInString(m.After) != around || strings.ContainsRune(m.Before+m.After, utf8.RuneError) {
		t.Errorf("got %d and %d letters: %q … %q, want %d each", utf8.RuneCountInString(m.Before), utf8.RuneCountInString(m.After), m.Before, m.After, around)
	}
}
