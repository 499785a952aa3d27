package threads

import (
	"encoding/json"
	"testing"

	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

func TestExtractFollowsPaths(t *testing.T) {
	o := jsonvalue.Object{{"values", json.RawMessage(`{"messages":[{"content":"first"},{"content":"last","tags":["a","b"]}]}`)}, {"status", "idle"}}
	for path, want := range map[string]string{
		"status":                      `"idle"`,
		"values.messages[-1].content": `"last"`,
		"values.messages[0].content":  `"first"`,
		"values.messages[1].tags[-2]": `"a"`,
		"values.messages[5].content":  `null`,
		"values.nothing.here":         `null`,
		"status[0]":                   `null`,
	} {
		paths, err := parsePaths(map[string]string{"x": path})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		got, err := extract(o, paths)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := json.Marshal(got["x"])
		if string(raw) != want {
			t.Errorf("%s: got %s, want %s", path, raw, want)
		}
	}
	for _, bad := range []string{"a[", "a]b", "a[x]", "[[0]]"} {
		if _, err := parsePaths(map[string]string{"x": bad}); err == nil {
			t.Errorf("%q was read as a path", bad)
		}
	}
}

func FuzzPaths(f *testing.F) {
	for _, s := range []string{"a.b[0]", "values.messages[-1].content", "[", "a..b", "a[99999999999]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		paths, err := parsePaths(map[string]string{"x": text})
		if err != nil {
			return
		}
		if _, err := extract(jsonvalue.Object{{"a", jsonvalue.List{jsonvalue.Object{{"b", 1}}}}}, paths); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}
