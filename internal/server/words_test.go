package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// A word of the query that has no value was not said, on whichever route: httpx writes what a Python client leaves out as
// "stream_mode=". Whatever a route answers, it answers alike with any words of any route beside it that are empty, however that is
// spelled, and also where the word that it is told stands a second time without a value.
func TestAWordOfTheQueryWithoutAValueWasNotSaid(t *testing.T) {
	w := newAPI(t)
	ids := w.things()
	var words []string
	w.each(func(_ string, op *apiOperation) {
		for _, p := range op.Parameters {
			if p.In == "query" && !slices.Contains(words, p.Name) {
				words = append(words, p.Name)
			}
		}
	})
	slices.Sort(words)
	spelled := []string{strings.Join(words, "=&") + "=", strings.Join(words, "&"), strings.Join(words, "=&") + "=&&" + strings.Join(words, "=&") + "="}
	if len(words) < 20 {
		t.Fatalf("only %d words are known: %q", len(words), words)
	}
	routes, whole := 0, 0
	ask := func(route string, op *apiOperation) {
		method, path, _ := strings.Cut(route, " ")
		path = ids.Replace(path)
		body := w.sample(op)
		said := []string{""}
		for _, p := range op.Parameters {
			if value := sampleOf(p.Schema); p.In == "query" && value != "" {
				said = append(said, p.Name+"="+value)
			}
		}
		routes++
		for i, word := range said {
			plain := w.answer(method, path+"?"+word, body)
			if method == http.MethodDelete && strings.HasPrefix(plain, "20") {
				return // it is gone, and the same again would be answered otherwise
			}
			query := spelled[(routes+i)%len(spelled)] + "&" + word
			if i%2 == 1 {
				query = word + "&" + spelled[(routes+i)%len(spelled)]
			}
			got := w.answer(method, path+"?"+query, body)
			if got != plain {
				if again := w.answer(method, path+"?"+word, body); again != plain { // it tells of something that moves
					plain, _, _ = strings.Cut(again, "\n")
					got, _, _ = strings.Cut(got, "\n")
				}
			} else if strings.Contains(plain, "\n") {
				whole++
			}
			if got != plain {
				t.Errorf("%s?%s\n got %.300s\nwant %.300s\nas with %q alone", route, query, got, plain, word)
			}
		}
	}
	var removing []func()
	w.each(func(route string, op *apiOperation) {
		if strings.HasPrefix(route, http.MethodDelete) {
			removing = append(removing, func() { ask(route, op) })
			return
		}
		ask(route, op)
	})
	for _, remove := range removing {
		remove()
	}
	if routes < 100 || whole < 50 {
		t.Errorf("only %d routes were asked, and %d answers compared whole", routes, whole)
	}
}

// sample is the least that a route accepts for a body.
func (w *apiWorld) sample(op *apiOperation) string {
	w.t.Helper()
	if op.RequestBody == nil {
		return ""
	}
	members := map[string]any{}
	for _, name := range w.body(op).Required {
		members[name] = samples[name]
	}
	data, err := json.Marshal(members)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

// sampleOf is a value of a parameter, where its type says enough.
func sampleOf(s *jsonschema.Schema) string {
	switch {
	case s == nil:
	case len(s.Enum) > 0:
		return fmt.Sprint(s.Enum[0])
	case s.Type == "integer":
		return "1"
	case s.Type == "boolean":
		return "true"
	}
	return ""
}

// answer is how a request is answered: its status and the member that was at fault, and below what it says, if that is JSON. A
// stream is not read.
func (w *apiWorld) answer(method, path, body string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	res, err := w.client.Do(w.request(method, path, body).WithContext(ctx))
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		return fmt.Sprint(res.StatusCode)
	}
	data, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	var problem struct{ Field string }
	if res.StatusCode >= 400 {
		_ = json.Unmarshal(data, &problem) // some say nothing
		return fmt.Sprint(res.StatusCode, " ", problem.Field)
	}
	return fmt.Sprint(res.StatusCode, "\n", string(data))
}

// A thread has the name that its maker gave it, on every wire: what one wire begins the others go on with.
func TestAThreadMayHaveANameOnEveryWire(t *testing.T) {
	w := newAPI(t)
	const name = "Case_7-of-Ada"
	task := w.must(200, "POST", "/tasks", `{"input":"hi","thread_id":"`+name+`"}`).object(t)
	if got := w.must(200, "GET", "/tasks/"+task["task_id"].(string)+"/references", "").object(t)["thread_id"]; got != name {
		t.Errorf("task: the thread is %v, want %s", got, name)
	}
	team := w.must(200, "POST", "/teams", `{"question":"hi","assistant":"agent","thread_id":"`+name+`"}`).object(t)
	if got := team["thread_id"]; got != name {
		t.Errorf("team: the thread is %v, want %s", got, name)
	}
	w.must(200, "GET", "/runs/"+team["run"].(string)+"/join", "")
	w.must(200, "POST", "/threads/"+name+"/runs/wait", `{"assistant_id":"agent","input":{"messages":"hi"}}`)
	answer := w.must(200, "POST", "/threads/"+name+"/commands", `{"id":1,"method":"run.start","params":{"assistant_id":"agent","input":{"messages":"hi"}}}`).object(t)
	run := answer["result"].(map[string]any)["run_id"].(string)
	w.must(200, "GET", "/threads/"+name+"/runs/"+run+"/join", "")
	w.must(200, "POST", "/threads/"+name+"/runs/crons", `{"assistant_id":"agent","schedule":"0 0 1 1 *"}`)
	w.must(200, "POST", "/threads/"+name+"/copy", "")
	var found []map[string]any
	if err := json.Unmarshal(w.must(200, "POST", "/threads/search", `{"ids":["`+name+`"]}`).body, &found); err != nil || len(found) != 1 || found[0]["thread_id"] != name {
		t.Errorf("search: got %v (%v), want the thread", found, err)
	}
	var runs []any
	if err := json.Unmarshal(w.must(200, "GET", "/threads/"+name+"/runs", "").body, &runs); err != nil || len(runs) != 4 {
		t.Errorf("got %d runs (%v), want one from each wire", len(runs), err)
	}
	w.must(200, "POST", "/threads/prune", `{"thread_ids":["`+name+`"]}`)
}
