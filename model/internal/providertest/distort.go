package providertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/model"
)

// distortions are ways of saying the same on the wire. Servers and proxies differ in all of them.
var distortions = map[string]func(body string) string{
	"CRLF":            func(b string) string { return strings.ReplaceAll(unix(b), "\n", "\r\n") },
	"CR":              func(b string) string { return strings.ReplaceAll(unix(b), "\n", "\r") },
	"byte-order mark": func(b string) string { return "\xef\xbb\xbf" + b },
	"no space": eachLine(func(l string) string {
		return strings.Replace(strings.Replace(l, "data: ", "data:", 1), "event: ", "event:", 1)
	}),
	"no event names":   eachLine(func(l string) string { return drop(l, "event:") }),
	"comments":         eachLine(func(l string) string { return ": PROCESSING\n" + l }),
	"ids and retries":  eachLine(func(l string) string { return strings.Replace(l, "data:", "id: 7\nretry: 3000\ndata:", 1) }),
	"blank lines":      func(b string) string { return "\n\n\n" + strings.ReplaceAll(unix(b), "\n\n", "\n\n\n\n") },
	"no last line end": func(b string) string { return strings.TrimRight(b, "\r\n") },
	"no [DONE]":        eachLine(func(l string) string { return drop(l, "data: [DONE]") }),
	"JSON on many lines": eachPayload(func(p []byte) []byte {
		var b bytes.Buffer
		if json.Indent(&b, p, "", "\t") != nil {
			return p
		}
		return bytes.ReplaceAll(b.Bytes(), []byte("\n"), []byte("\ndata: "))
	}),
	"members in another order": eachPayload(func(p []byte) []byte {
		d := json.NewDecoder(bytes.NewReader(p))
		d.UseNumber()
		var v any
		if d.Decode(&v) != nil {
			return p
		}
		out, err := json.Marshal(v) // by name
		if err != nil {
			return p
		}
		return out
	}),
	"members that nobody knows": eachPayload(func(p []byte) []byte {
		if len(p) < 3 || p[0] != '{' {
			return p
		}
		return append([]byte(`{"obfuscation":"xY9","zz":[{"a":"}\"]"},null,1e9],"nothing":null,`), p[1:]...)
	}),
}

func unix(b string) string { return strings.ReplaceAll(b, "\r\n", "\n") }

func drop(line, prefix string) string {
	if strings.HasPrefix(line, prefix) {
		return ""
	}
	return line
}

// eachLine changes the lines of a stream that are not blank. What becomes blank is left out.
func eachLine(change func(string) string) func(string) string {
	return func(body string) string {
		var out []string
		for _, line := range strings.Split(unix(body), "\n") {
			if line == "" {
				out = append(out, "")
			} else if line = change(line); line != "" {
				out = append(out, line)
			}
		}
		return strings.Join(out, "\n")
	}
}

func eachPayload(change func([]byte) []byte) func(string) string {
	return eachLine(func(line string) string {
		payload, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			return line
		}
		return "data: " + string(change([]byte(payload)))
	})
}

// Undistorted holds a provider to reading a recorded event stream the same, however it is distorted.
func (s Subject) Undistorted(t *testing.T, media string, body []byte) {
	t.Helper()
	want, wantErr := s.parts(t, media, body)
	for name, distort := range distortions {
		t.Run(name, func(t *testing.T) {
			got, err := s.parts(t, media, []byte(distort(string(body))))
			if fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("error %v, undistorted %v", err, wantErr)
			}
			if len(got) != len(want) {
				t.Fatalf("%d parts, undistorted %d", len(got), len(want))
			}
			for i := range got {
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Fatalf("part %d is\n%.500v, undistorted\n%.500v", i, got[i], want[i])
				}
			}
		})
	}
}

// parts are those of an answer in a form in which JSON inside them has no spelling.
func (s Subject) parts(t *testing.T, media string, body []byte) (out []any, err error) {
	srv := Replay(t, media, [][]byte{body})
	defer srv.Close()
	for p, err := range s.at(t, srv).Stream(context.Background(), Hello) {
		if err != nil {
			return out, err
		}
		switch q := p.(type) {
		case model.Opaque:
			out = append(out, meaning(t, q.Raw))
		case model.Reasoning:
			if sealed := q.Encrypted; strings.HasPrefix(sealed, "{") {
				q.Encrypted = ""
				out = append(out, q, meaning(t, []byte(sealed)))
				continue
			}
			out = append(out, q)
		default:
			out = append(out, p)
		}
	}
	return out, nil
}

func meaning(t *testing.T, raw []byte) (v any) {
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Errorf("%.200q is not JSON: %v", raw, err)
	}
	return v
}
