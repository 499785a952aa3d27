package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/item"
)

// Whatever a client gives as input, it is refused by name or becomes an object that the graph can read.
func FuzzTaskInput(f *testing.F) {
	for _, s := range []string{
		`"hi"`, `null`, `[]`, `[{"type":"text","text":"a"},{"type":"image","image_url":{"url":"u"}}]`,
		`[{"type":"image","url":"u"},{"type":"file","url":"u","name":"n"}]`, `[{"role":"user","content":[{"type":"text","text":"x"}]}]`,
		`{"role":"assistant","content":"","tool_calls":[{"id":"c","name":"f","args":{}}]}`, `{"messages":[]}`, `{"other":1}`,
		`[{"role":"tool","content":"x","tool_call_id":"c"}]`, `[{"role":7}]`, `[[]]`, `{"role":null}`,
	} {
		f.Add(s)
	}
	g := graph.New("g", graph.Messages(messagesField))
	g.Node("n", func(context.Context, *graph.Scope) (graph.Command, error) { return graph.Command{}, nil })
	g.Edge(graph.Start, "n")
	f.Fuzz(func(t *testing.T, s string) {
		if edge.CheckJSON([]byte(s)) != nil {
			return // never gets here
		}
		out, err := inputOf(g, json.RawMessage(s))
		var invalid *run.InvalidError
		switch {
		case errors.As(err, &invalid):
			if !strings.HasPrefix(invalid.Field, "input") {
				t.Errorf("%s: the field is %q", s, invalid.Field)
			}
		case err != nil:
			t.Errorf("%s: %v is no mistake of the client", s, err)
		case out != nil:
			var state map[string]json.RawMessage
			if err := json.Unmarshal(out, &state); err != nil {
				t.Errorf("%s became %s: %v", s, out, err)
			}
			if strings.HasPrefix(strings.TrimSpace(s), "{") && !hasRole(json.RawMessage(s)) {
				return // the graph's own fields, which it reads for itself
			}
			var messages []item.Message
			if err := json.Unmarshal(state[messagesField], &messages); err != nil || len(messages) == 0 {
				t.Errorf("%s became %s: %v", s, out, err)
			}
		}
	})
}

// A cursor is a number from -1 on, or refused; a query is understood whole, or refused.
func FuzzTaskCursorAndQuery(f *testing.F) {
	for _, s := range []string{"0", "-1", "17", "007", "+3", "1e3", " 1", "9223372036854775807", "status=working", "limit=5&offset=2", "metadata=%7B%7D"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := httptest.NewRequest("GET", "/tasks/x/events", nil)
		r.URL.RawQuery = url.Values{"after": {s}}.Encode()
		if at, err := cursorOf(r); err == nil && at != "" {
			n, perr := strconv.ParseInt(s, 10, 64)
			if perr != nil || n < 0 || strconv.FormatInt(n, 10) != at {
				t.Errorf("%q was read as %q", s, at)
			}
		}
		q, err := queryOf(&url.URL{RawQuery: s})
		if err == nil && (q.Limit < 0 || q.Limit > largestPage || q.Offset < 0) {
			t.Errorf("%q gives limit %d, offset %d", s, q.Limit, q.Offset)
		}
		var invalid *run.InvalidError
		if err != nil && !errors.As(err, &invalid) {
			t.Errorf("%q: %v", s, err)
		}
	})
}
