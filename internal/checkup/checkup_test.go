package checkup

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Every check has a finding, in the order of the list, whatever one of them does; and whatever is not in order says what to do.
func TestEveryCheckIsMade(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var names []string
		var checks []Check
		for _, kind := range rapid.SliceOfN(rapid.IntRange(0, 4), 1, 8).Draw(t, "kinds") {
			name := string(rune('a' + len(names)))
			names = append(names, name)
			checks = append(checks, Check{name, func(context.Context) []Finding {
				switch kind {
				case 0:
					return []Finding{Well("fine")}
				case 1:
					return []Finding{Warn("mend it", "not fine"), Bad("", "bad")}
				case 2:
					return nil
				case 3:
					panic("words")
				}
				var none []int
				return []Finding{Well("%d", none[len(checks)])}
			}})
		}
		found := Make(t.Context(), checks)
		var got []string
		for _, f := range found {
			if f.State != OK && f.Do == "" {
				t.Errorf("%+v does not say what to do", f)
			}
			got = append(got, f.Check)
		}
		if got = slices.Compact(got); !slices.Equal(got, names) {
			t.Errorf("findings of %v, want %v", got, names)
		}
	})
}

func TestTextAndJSON(t *testing.T) {
	found := Make(t.Context(), []Check{
		{"folder", func(context.Context) []Finding { return []Finding{Well("is there")} }},
		{"files", func(context.Context) []Finding {
			return []Finding{Warn("chmod 600 f", "f is open\nwrong  fake\x1b[2J"), Bad("mend it", "g is gone")}
		}},
	})
	var text strings.Builder
	if err := Text(&text, found); err != nil {
		t.Fatal(err)
	}
	want := "folder  ok       is there\n" +
		"files   warning  f is open wrong  fake [2J\n" +
		"                 → chmod 600 f\n" +
		"        wrong    g is gone\n" +
		"                 → mend it\n"
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
	var out strings.Builder
	if err := JSON(&out, found); err != nil {
		t.Fatal(err)
	}
	var back struct {
		OK       bool
		Findings []Finding
	}
	if err := json.Unmarshal([]byte(out.String()), &back); err != nil || back.OK || !slices.Equal(back.Findings, found) {
		t.Errorf("%s, %v", out.String(), err)
	}
}
