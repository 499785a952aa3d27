package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A word of the query that has no value was not said, on whichever route: httpx writes what a Python client leaves out as
// "stream_mode=". Whatever a route answers without a query, it answers to one of empty words.
func TestAWordOfTheQueryWithoutAValueWasNotSaid(t *testing.T) {
	w := newAPI(t)
	ids := w.things()
	asked := 0
	w.each(func(route string, op *apiOperation) {
		var empty []string
		for _, p := range op.Parameters {
			if p.In == "query" {
				empty = append(empty, p.Name+"=")
			}
		}
		if len(empty) == 0 {
			return
		}
		asked++
		method, path, _ := strings.Cut(route, " ")
		path = ids.Replace(path)
		got := w.status(method, path+"?"+strings.Join(empty, "&"))
		if method == http.MethodDelete && strings.HasPrefix(got, "20") {
			return // it is gone, and the same again would be answered otherwise
		}
		if want := w.status(method, path); got != want {
			t.Errorf("%s with %q: got %s, want %s as without a query", route, empty, got, want)
		}
	})
	if asked < 15 {
		t.Errorf("only %d routes have a query", asked)
	}
}

// status is how a request is answered: its status, and the member that was at fault. A stream is not read.
func (w *apiWorld) status(method, path string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	res, err := w.client.Do(w.request(method, path, "").WithContext(ctx))
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	var problem struct{ Field string }
	if res.StatusCode >= 400 {
		_ = json.NewDecoder(res.Body).Decode(&problem) // some say nothing
	}
	return fmt.Sprint(res.StatusCode, " ", problem.Field)
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
