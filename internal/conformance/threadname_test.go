package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// aName draws what may name a thread, noName what may not and can stand in a path.
var (
	aName  = rapid.StringMatching(`[A-Za-z0-9_-]{1,64}`)
	noName = rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9_-]{65,80}`), rapid.StringMatching(`[a-z]{0,5}[ :;,~!@$()é§|]{1,3}[a-z]{0,5}`))
)

// namesIn are the members of bodies, beside paths, in which threads are named.
var namesIn = map[string]string{
	"POST /threads": `{"thread_id":"NAME"}`, "POST /tasks": `{"input":"hi","assistant":"chat","thread_id":"NAME"}`, "POST /runs/cancel": `{"thread_id":"NAME","run_ids":["11111111-2222-4333-8444-555555555555"]}`,
	"POST /teams": `{"question":"hi","assistant":"chat","thread_id":"NAME"}`, "POST /threads/prune": `{"thread_ids":["NAME"]}`,
}

// least is what routes with a thread in their path want to be told.
const least = `{"assistant_id":"chat","schedule":"0 0 1 1 *","checkpoint":{"checkpoint_id":"11111111-2222-4333-8444-555555555555"},"id":1,"method":"state.get",` +
	`"channels":["values"],"objective":"x","rating":1,"question":"hi","messages":[]}`

// On every route that speaks of a thread: 1 to 64 letters, digits, - and _ are a name, which may belong to nothing, and anything else
// is a mistake that is told as one. No route has an opinion of its own.
func TestEveryRouteKnowsTheSameNamesOfThreads(t *testing.T) {
	s := start(t, options{})
	var inPaths []string
	for _, route := range s.w.server.Routes() {
		if strings.Contains(route, "{thread_id}") {
			inPaths = append(inPaths, route)
		}
	}
	if len(inPaths) < 30 {
		t.Fatalf("only %d routes have a thread in their path", len(inPaths))
	}
	const unknown = "11111111-2222-4333-8444-555555555555"
	others := strings.NewReplacer("{run_id}", unknown, "{checkpoint_id}", unknown, "{namespace}", "none", "{run}", unknown)
	ask := func(route, path, body, name string, good bool) {
		method, _, _ := strings.Cut(route, " ")
		ctx, cancel := withCancel(s.t)
		defer cancel()
		var sent any
		if body != "" {
			sent = body
		}
		res, err := s.open(ctx, method, path, sent)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var problem struct{ Field, Detail string }
		if res.StatusCode >= 400 {
			_ = json.NewDecoder(res.Body).Decode(&problem) // some say nothing
		}
		switch told := res.StatusCode == http.StatusUnprocessableEntity && strings.HasPrefix(problem.Field, "thread_id"); {
		case good && told && strings.Contains(problem.Detail, "must be"):
			t.Errorf("%s: the name %q is refused: %d %+v", route, name, res.StatusCode, problem)
		case !good && !told:
			t.Errorf("%s: %q is no name, and is answered with %d %+v", route, name, res.StatusCode, problem)
		case res.StatusCode >= 500 && res.StatusCode != http.StatusNotImplemented:
			t.Errorf("%s: %q is answered with %d", route, name, res.StatusCode)
		}
	}
	names := []map[bool]string{{true: strings.Repeat("Z", 64), false: strings.Repeat("Z", 65)}, {true: "-", false: "!"}, {true: "a-b", false: "a.b"}} // the longest, the shortest
	for i := range 4 {
		names = append(names, map[bool]string{true: aName.Example(i), false: noName.Example(i)})
	}
	for _, pair := range names {
		for good, name := range pair {
			for _, route := range inPaths {
				method, path, _ := strings.Cut(route, " ")
				body := ""
				if method != http.MethodGet {
					body = least
				}
				ask(route, strings.ReplaceAll(others.Replace(path), "{thread_id}", url.PathEscape(name)), body, name, good)
			}
			quoted, err := json.Marshal(name)
			must(t, err)
			for route, body := range namesIn {
				_, path, _ := strings.Cut(route, " ")
				ask(route, path, strings.ReplaceAll(body, `"NAME"`, string(quoted)), name, good)
			}
		}
	}
}
