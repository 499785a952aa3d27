package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const canary = "canary-5d1f0c7b9a"

func TestSecretsAreTakenOutAndPutBack(t *testing.T) {
	for name, c := range map[string]struct{ settings, rest string }{
		"none":                   {`{"b":1,"a":"x"}`, `{"b":1,"a":"x"}`},
		"nothing":                {``, ``},
		"null":                   {`null`, `null`},
		"no object":              {`[1]`, `[1]`},
		"named":                  {`{"a":1,"secrets":{"K":"` + canary + `"}}`, `{"a":1}`},
		"in any letters":         {`{"a":1,"SECRETS":{"K":"` + canary + `"}}`, `{"a":1}`},
		"twice":                  {`{"secrets":{"K":"` + canary + `"},"a":1,"secrets":{}}`, `{"a":1}`},
		"no values":              {`{"secrets":"` + canary + `"}`, `{}`},
		"headers":                {`{"mcp_settings":{"servers":{"x":{"url":"https://h/p","headers":{"A":"` + canary + `"}}}}}`, `{"mcp_settings":{"servers":{"x":{"url":"https://h/p"}}}}`},
		"headers in any letters": {`{"mcp_settings":{"servers":{"x":{"Headers":{"A":"` + canary + `"},"ENV":["` + canary + `"]}}}}`, `{"mcp_settings":{"servers":{"x":{}}}}`},
		"headers twice":          {`{"mcp_settings":{"servers":{"x":{"headers":{"A":"` + canary + `"},"headers":{}}}}}`, `{"mcp_settings":{"servers":{"x":{}}}}`},
		"escaped":                {`{"mcp\u005fsettings":{"x":{"head\u0065rs":{"A":"` + canary + `"}}}}`, `{"mcp_settings":{"x":{}}}`},
		"without servers":        {`{"mcp_settings":{"x":{"env":{"A":"` + canary + `"}}}}`, `{"mcp_settings":{"x":{}}}`},
		"a list":                 {`{"mcp_settings":{"servers":[{"name":"x","headers":{"A":"` + canary + `"}}]}}`, `{"mcp_settings":{"servers":[]}}`},
		"a list without":         {`{"mcp_settings":{"servers":[{"name":"x"}]}}`, `{"mcp_settings":{"servers":[{"name":"x"}]}}`},
		"address":                {`{"mcp_settings":{"servers":{"x":{"url":"https://u:` + canary + `@h/p?key=` + canary + `#x"}}}}`, `{"mcp_settings":{"servers":{"x":{"url":"https://h/p"}}}}`},
		"no address":             {`{"mcp_settings":{"servers":{"x":{"url":"%?` + canary + `"}}}}`, `{"mcp_settings":{"servers":{"x":{"url":""}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			rest, taken := Take(json.RawMessage(c.settings))
			if string(rest) != c.rest {
				t.Errorf("left is %s, want %s", rest, c.rest)
			}
			if strings.Contains(string(rest), canary) {
				t.Errorf("the secret is still in %s", rest)
			}
			if again, more := Take(rest); string(again) != c.rest && c.settings != "" || !more.IsZero() {
				t.Errorf("a second time %s was left and something taken", again)
			}
			if has := strings.Contains(c.settings, canary) && name != "twice" && name != "headers twice"; has == taken.IsZero() {
				t.Errorf("something was taken: %v, want %v", !taken.IsZero(), has)
			}
		})
	}
}

// Whatever settings hold, nothing of a secret is left, and with what was taken they say the same as before.
func TestWhatWasTakenFitsWhatIsLeft(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "url", "servers", "x", "headers", "env", "secrets", "mcp_settings", "Headers"})
	rapid.Check(t, func(t *rapid.T) {
		var value func(depth int, secret bool) any
		value = func(depth int, hidden bool) any {
			kinds := 2
			if depth > 0 {
				kinds = 4
			}
			switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
			case 0:
				if hidden {
					return canary
				}
				return "plain"
			case 1:
				return rapid.Float64Range(0, 9).Draw(t, "number")
			default:
				m := map[string]any{}
				for range rapid.IntRange(1, 3).Draw(t, "members") {
					name := word.Draw(t, "name")
					m[name] = value(depth-1, hidden || strings.EqualFold(name, "headers") || name == "env")
				}
				return m
			}
		}
		settings := map[string]any{"other": "plain", "secrets": value(2, true), "mcp_settings": value(4, false)}
		raw, err := json.Marshal(settings)
		if err != nil {
			t.Fatal(err)
		}
		rest, taken := Take(raw)
		if bytes.Contains(rest, []byte(canary)) {
			t.Fatalf("of %s is left %s", raw, rest)
		}
		var back map[string]any
		if err := json.Unmarshal(taken.Fill(rest), &back); err != nil || !reflect.DeepEqual(back, settings) {
			t.Fatalf("%s came back as %v, %v", raw, back, err)
		}
	})
}

func FuzzTake(f *testing.F) {
	f.Add([]byte(`{"secrets":{"a":1},"mcp_settings":{"servers":{"x":{"url":"http://a@b?c","headers":{"d":"e"}}}}}`))
	f.Add([]byte(`{"mcp_settings":[[{"env":1}]]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		rest, _ := Take(raw)
		if again, more := Take(rest); !more.IsZero() {
			t.Errorf("of %q more was taken the second time, and %q left", raw, again)
		}
	})
}

func TestASecretIsFoundByItsName(t *testing.T) {
	_, v := Take(json.RawMessage(`{"secrets":{"KEY":"` + canary + `","N":7,"EMPTY":""}}`))
	for name, want := range map[string]string{"KEY": canary, "N": "7", "EMPTY": "", "key": "none", "secrets": "none"} {
		got, ok := v.Secret(name)
		if !ok {
			got = "none"
		}
		if got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if _, ok := (Values{}).Secret("KEY"); ok {
		t.Error("nothing has a secret")
	}
}

func TestOfTwoSettingsTheSecondCounts(t *testing.T) {
	first := json.RawMessage(`{"secrets":{"A":"1"},"mcp_settings":{"x":{"url":"http://one","headers":{"H":"1"}}}}`)
	second := json.RawMessage(`{"mcp_settings":{"x":{"url":"http://two"}}}`)
	_, a := Take(first)
	rest, b := Take(second)
	both := Both(a, b, second)
	if v, _ := both.Secret("A"); v != "1" {
		t.Errorf("the secret that only the first has is %q", v)
	}
	if got := string(both.Fill(rest)); strings.Contains(got, "headers") {
		t.Errorf("a header of one server is sent to the other: %s", got)
	}
}

func TestValuesShowThemselvesToNobody(t *testing.T) {
	_, v := Take(json.RawMessage(`{"secrets":{"KEY":"` + canary + `"}}`))
	type holder struct {
		V Values
		P *Values
	}
	h := holder{v, &v}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "v", v, "h", h, "p", &h)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "v", v, "h", h)
	encoded, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{
		log.String(), string(encoded), fmt.Sprint(v), fmt.Sprintf("%v %+v %#v %s %q %x %d", v, v, v, v, v, v, v), fmt.Sprintf("%v %+v %#v", h, h, h), v.String(), v.GoString(),
	} {
		if strings.Contains(shown, canary) || strings.Contains(shown, fmt.Sprintf("%x", canary)) || strings.Contains(shown, "99 97 110 97") {
			t.Errorf("shown: %s", shown)
		}
	}
}

func TestABoxOpensWhatItSealedAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	_, v := Take(json.RawMessage(`{"secrets":{"KEY":"` + canary + `"}}`))
	sealed, err := NewBox(dir).Seal("run-1", v)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := NewBox(dir).Seal("run-1", v); err != nil || bytes.Equal(again, sealed) {
		t.Errorf("sealed twice it is the same: %v", err)
	}
	if bytes.Contains(sealed, []byte(canary)) || bytes.Contains(sealed, []byte("KEY")) {
		t.Errorf("the secret can be read: %q", sealed)
	}
	got, err := NewBox(dir).Open("run-1", sealed) // by another process
	if value, _ := got.Secret("KEY"); err != nil || value != canary {
		t.Errorf("opened it is %q, %v", value, err)
	}
	if _, err := NewBox(dir).Open("run-2", sealed); err == nil {
		t.Error("another run opens it")
	}
	if _, err := NewBox(t.TempDir()).Open("run-1", sealed); err == nil {
		t.Error("a folder without a key opens it")
	}
	other := t.TempDir()
	if _, err := NewBox(other).Seal("x", v); err != nil {
		t.Fatal(err)
	}
	if _, err := NewBox(other).Open("run-1", sealed); err == nil {
		t.Error("another key opens it")
	}
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 1
		if _, err := NewBox(dir).Open("run-1", bad); err == nil {
			t.Errorf("with byte %d changed it is opened", i)
		}
		if _, err := NewBox(dir).Open("run-1", sealed[:i]); err == nil {
			t.Errorf("the first %d bytes are opened", i)
		}
	}
	info, err := os.Stat(filepath.Join(dir, KeyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file is %v, %v", info.Mode(), err)
	}
}

func TestAKeyThatIsNoneIsToldAndNotReplaced(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("z", 64), strings.Repeat("0", 66)} {
		dir := t.TempDir()
		path := filepath.Join(dir, KeyFile)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, v := Take(json.RawMessage(`{"secrets":{"KEY":"` + canary + `"}}`))
		if _, err := NewBox(dir).Seal("run", v); err == nil || !strings.Contains(err.Error(), "move it away") {
			t.Errorf("%q as a key: %v", text, err)
		}
		if now, _ := os.ReadFile(path); string(now) != text {
			t.Errorf("the file is now %q", now)
		}
	}
}
