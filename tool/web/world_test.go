package web

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/outbound"
	"github.com/tributary-ai/tributary/internal/outbound/outboundtest"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// harmless checks what must hold for all text that comes from outside.
func harmless(t testing.TB, p Page) {
	t.Helper()
	for _, s := range []string{p.Title, p.Text, p.URL} {
		if !utf8.ValidString(s) {
			t.Errorf("invalid UTF-8 in %.200q", s)
		}
		if strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && (unicode.IsControl(r) || unseen(r)) }) {
			t.Errorf("characters that nobody sees in %.200q", s)
		}
		if forged.MatchString(s) {
			t.Errorf("a forged tag in %.200q", s)
		}
	}
	if strings.ContainsAny(p.Title+p.URL, "\n\t") {
		t.Errorf("title %q or address %q has lines", p.Title, p.URL)
	}
}

// call calls a tool as an agent does.
func call(t testing.TB, of tool.Tool, arguments string) item.ToolResult {
	t.Helper()
	res, err := tool.Invoke(t.Context(), of, tool.Call{Arguments: json.RawMessage(arguments)})
	if err != nil || res.Error {
		t.Fatalf("%s with %s: %+v, %v", of.Spec().Name, arguments, res, err)
	}
	return res
}

// fails calls a tool that must fail, and returns what the model is told.
func fails(t testing.TB, of tool.Tool, arguments string) string {
	t.Helper()
	res, err := tool.Invoke(t.Context(), of, tool.Call{Arguments: json.RawMessage(arguments)})
	if err != nil || !res.Error {
		t.Fatalf("%s with %s: %+v, %v, want it to fail", of.Spec().Name, arguments, res, err)
	}
	return item.JoinText(res.Content)
}

// guarded is the client that everything goes through, with names that lead to this machine. It may reach what is allowed.
func guarded(t *testing.T, setting string, allowed ...string) *outbound.Client {
	t.Helper()
	allow, err := outbound.ParseAllow(allowed)
	if err != nil {
		t.Fatal(err)
	}
	c := outbound.New(outbound.Options{Resolver: outboundtest.Insider(t), Setting: setting, Allow: allow, Timeout: time.Minute})
	t.Cleanup(c.Close)
	return c
}
