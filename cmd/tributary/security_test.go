package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// described is what this test reads of /openapi.json.
type described struct {
	Paths map[string]map[string]struct {
		Security *[]map[string][]string
	}
	Security   []map[string][]string
	Components struct {
		Schemes map[string]struct{ Type, Scheme, In, Name string } `json:"securitySchemes"`
	}
}

// The description tells how to come in, of every route: nobody is let in who says nothing, everybody who says the key in one of the ways that it
// declares; and where it says that a route is open, it is.
func TestEveryRouteIsOpenedByWhatItsDescriptionDeclares(t *testing.T) {
	const key = "0123456789abcdef"
	t.Setenv("TRIBUTARY_API_KEY", key)
	s := serveOn(t, t.TempDir(), "--config", writeConfig(t, "sandbox: off\n"))
	status, text := get(t, s.url+"/openapi.json")
	var doc described
	if err := json.Unmarshal([]byte(text), &doc); err != nil || status != 200 {
		t.Fatalf("%d %v: %s", status, err, text)
	}
	if len(doc.Components.Schemes) != 2 || len(doc.Security) == 0 {
		t.Fatalf("the schemes are %v, what is wanted is %v", doc.Components.Schemes, doc.Security)
	}
	// show makes a header of a scheme; a word of HTTP may be written in any case.
	show := func(scheme string, loud bool) (name, value string) {
		d := doc.Components.Schemes[scheme]
		if d.Type == "apiKey" && d.In == "header" {
			return d.Name, key
		}
		word := d.Scheme
		if loud {
			word = strings.ToUpper(word)
		}
		return "Authorization", word + " " + key
	}
	ask := func(method, path, header, value string) int {
		req, err := http.NewRequestWithContext(t.Context(), strings.ToUpper(method), s.url+path, strings.NewReader("{"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if header != "" {
			req.Header.Set(header, value)
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
			_, _ = io.Copy(io.Discard, res.Body)
		}
		return res.StatusCode
	}
	open, closed := 0, 0
	for path, methods := range doc.Paths {
		at := strings.NewReplacer("{", "", "}", "").Replace(path) // nothing has such a name
		for method, op := range methods {
			nobody := ask(method, at, "", "")
			if op.Security != nil && len(*op.Security) == 0 {
				if open++; nobody == http.StatusUnauthorized {
					t.Errorf("%s %s is said to be open, and is not", method, path)
				}
				continue
			}
			if closed++; nobody != http.StatusUnauthorized {
				t.Errorf("%s %s: nobody gets %d, want 401", method, path, nobody)
			}
			for scheme := range doc.Components.Schemes {
				header, value := show(scheme, closed%2 == 0)
				if got := ask(method, at, header, value); got == http.StatusUnauthorized {
					t.Errorf("%s %s: with %s: %q it is a 401", method, path, header, value)
				}
			}
		}
	}
	if open < 3 || closed < 100 {
		t.Errorf("only %d open and %d closed routes were asked", open, closed)
	}
}

// The word before the key may be written in any case, and nothing else may.
func TestBearerMayBeWrittenInAnyCase(t *testing.T) {
	const key = "0123456789abcdefghij"
	identify, err := identity("0.0.0.0:1", key)
	if err != nil {
		t.Fatal(err)
	}
	mixed := func(t *rapid.T, word string) string {
		return strings.Map(func(c rune) rune {
			if rapid.Bool().Draw(t, "upper") {
				return unicode.ToUpper(c)
			}
			return c
		}, word)
	}
	rapid.Check(t, func(t *rapid.T) {
		word, shown := mixed(t, "bearer"), mixed(t, key)
		_, err := identify(&http.Request{Header: http.Header{"Authorization": {word + " " + shown}}})
		if (err == nil) != (shown == key) {
			t.Fatalf("%s %s: %v", word, shown, err)
		}
	})
}
