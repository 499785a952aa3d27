package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"
)

// Every mistake is a 4xx with JSON that names the field, and nothing is changed by it.
func TestBadTaskRequestsChangeNothing(t *testing.T) {
	w := newTasks(t, allGraphs())
	done := w.must(200, "POST", "/tasks", `{"input":"hi"}`)
	id := done.object(t)["task_id"].(string)
	newest := len(w.events(id, "")) - 1
	asking := w.must(200, "POST", "/tasks", `{"input":"hi","assistant":"ask"}`).object(t)
	ask := asking["task_id"].(string)
	question := asking["interrupts"].([]any)[0].(map[string]any)["id"].(string)
	team := w.create(`{"input":"hi","assistant":"manager"}`)
	w.user = "you"
	foreign := w.must(200, "POST", "/tasks", `{"input":"hi","assistant":"ask"}`)
	theirs := foreign.object(t)["task_id"].(string)
	thread := foreign.header.Get("X-Thread-Id")
	w.user = "me"
	nobody := uuid.NewString()

	type bad struct {
		method, path, body string
		status             int
		field              string
		header             []string
	}
	cases := []bad{
		{"POST", "/tasks", ``, 422, "input", nil},
		{"POST", "/tasks", `{}`, 422, "input", nil},
		{"POST", "/tasks", `{"input":null}`, 422, "input", nil},
		{"POST", "/tasks", `{"input":null,"thread_id":"` + nobody + `"}`, 404, "", nil},
		{"POST", "/tasks", `{"input":""}`, 422, "input", nil},
		{"POST", "/tasks", `{"input":" \n"}`, 422, "input", nil},
		{"POST", "/tasks", `{"input":7}`, 422, "input", nil},
		{"POST", "/tasks", `{"input":[]}`, 422, "input", nil},
		{"POST", "/tasks", `{"input":["x"]}`, 422, "input[0]", nil},
		{"POST", "/tasks", `{"input":[{"text":"x"}]}`, 422, "input[0]", nil},
		{"POST", "/tasks", `{"input":[{"type":"text","text":"x"},{"type":"text"}]}`, 422, "input[1]", nil},
		{"POST", "/tasks", `{"input":[{"type":"text","text":5}]}`, 422, "input[0]", nil},
		{"POST", "/tasks", `{"input":[{"type":"image"}]}`, 422, "input[0]", nil},
		{"POST", "/tasks", `{"input":[{"type":"file"}]}`, 422, "input[0]", nil},
		{"POST", "/tasks", `{"input":[{"type":"video","url":"x"}]}`, 422, "input[0]", nil},
		{"POST", "/tasks", `{"input":[{"role":"user","content":"a"},{"content":"b"}]}`, 422, "input[1].role", nil},
		{"POST", "/tasks", `{"input":[{"role":"king","content":"a"}]}`, 422, "input[0].role", nil},
		{"POST", "/tasks", `{"input":[{"role":"user","content":{}}]}`, 422, "input[0]", nil},
		{"POST", "/tasks", `{"input":[{"role":"user"}]}`, 422, "input[0].content", nil},
		{"POST", "/tasks", `{"input":{"role":"tool","content":"a"}}`, 422, "input.tool_call_id", nil},
		{"POST", "/tasks", `{"input":{"colour":"red"}}`, 422, "input.colour", nil},
		{"POST", "/tasks", `{"input":"hi","inptu":"hi"}`, 422, "inptu", nil},
		{"POST", "/tasks", `{"input":"hi","stream":"yes"}`, 422, "stream", nil},
		{"POST", "/tasks", `{"input":"hi","model":{}}`, 422, "model", nil},
		{"POST", "/tasks", `{"input":"hi","model":"a","configurable":{"model":"b"}}`, 422, "model", nil},
		{"POST", "/tasks", `{"input":"hi","model":"unheard-of"}`, 422, "model", nil},
		{"POST", "/tasks", `{"input":"hi","configurable":{"model_name":"unheard-of"}}`, 422, "configurable.model_name", nil},
		{"POST", "/tasks", `{"input":"hi","configurable":[]}`, 422, "configurable", nil},
		{"POST", "/tasks", `{"input":"hi","context":1}`, 422, "context", nil},
		{"POST", "/tasks", `{"input":"hi","metadata":"x"}`, 422, "metadata", nil},
		{"POST", "/tasks", `{"input":"hi","timeout_seconds":-1}`, 422, "timeout_seconds", nil},
		{"POST", "/tasks", `{"input":"hi","multitask_strategy":"hope"}`, 422, "multitask_strategy", nil},
		{"POST", "/tasks", `{"input":"hi","on_disconnect":"panic"}`, 422, "on_disconnect", nil},
		{"POST", "/tasks", `{"input":"hi","assistant":"nobody"}`, 404, "assistant", nil},
		{"POST", "/tasks", `{"input":"hi","assistant":"` + nobody + `"}`, 404, "assistant", nil},
		{"POST", "/tasks", `{"input":"hi","thread_id":"x y"}`, 422, "thread_id", nil},
		{"POST", "/tasks", `{"input":"hi","thread_id":"` + thread + `"}`, 404, "", nil},
		{"POST", "/tasks", `{"input":"hi","previous_task_id":"` + nobody + `"}`, 404, "previous_task_id", nil},
		{"POST", "/tasks", `{"input":"hi","previous_task_id":"` + theirs + `"}`, 404, "previous_task_id", nil},
		{"POST", "/tasks", `{"input":"hi","previous_task_id":"` + id + `","thread_id":"` + nobody + `"}`, 422, "thread_id", nil},
		{"POST", "/tasks", `{"input":"hi"`, 400, "body", nil},
		{"POST", "/tasks", `[]`, 422, "body", nil},
		{"POST", "/tasks", `"hi"`, 422, "body", nil},
		{"POST", "/tasks", `{"input":"\u0000"}`, 400, "body", nil},
		{"POST", "/tasks", `{"input":"` + "\xff" + `"}`, 400, "body", nil},
		{"POST", "/tasks", `{"input":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, 400, "body", nil},

		{"GET", "/tasks/" + id + "/events?after=x", "", 422, "after", nil},
		{"GET", "/tasks/" + id + "/events?after=-2", "", 422, "after", nil},
		{"GET", "/tasks/" + id + "/events?after=1.5", "", 422, "after", nil},
		{"GET", "/tasks/" + id + "/events?after=99999999999999999999", "", 422, "after", nil},
		{"GET", "/tasks/" + id + "/events", "", 422, "Last-Event-ID", []string{"Last-Event-ID", "1-7"}},
		{"GET", "/tasks/" + id + "/events?after=" + fmt.Sprint(newest+1), "", 410, "after", nil},
		{"GET", "/tasks/" + id + "/events", "", 410, "after", []string{"Last-Event-ID", "100000"}},
		{"GET", "/tasks/" + id + "/ws?after=x", "", 422, "after", nil},
		{"GET", "/tasks/" + id + "/ws?after=100000", "", 410, "after", nil},
		{"GET", "/tasks/call_x/events?root=" + team, "", 404, "id", nil},
		{"GET", "/tasks/call_x?root=" + team, "", 404, "id", nil},
		{"GET", "/tasks/call_x/model-view?root=" + team, "", 404, "id", nil},
		{"GET", "/tasks/call_a?root=" + nobody, "", 404, "root", nil},
		{"GET", "/tasks/call_a", "", 404, "id", nil},
		{"DELETE", "/tasks/call_a?root=" + team, "", 422, "root", nil},

		{"POST", "/tasks/" + id + "/cancel", `{}`, 409, "id", nil},
		{"POST", "/tasks/" + id + "/cancel", `{"now":true}`, 422, "now", nil},
		{"POST", "/tasks/" + ask + "/cancel", ``, 409, "id", nil},

		{"POST", "/tasks/" + ask + "/input", ``, 422, "interrupt_id", nil},
		{"POST", "/tasks/" + ask + "/input", `{"interrupt_id":"` + question + `"}`, 422, "value", nil},
		{"POST", "/tasks/" + ask + "/input", `{"interrupt_id":"x","value":1}`, 409, "interrupt_id", nil},
		{"POST", "/tasks/" + ask + "/input", `{"answers":{"` + question + `":1,"x":2}}`, 409, "interrupt_id", nil},
		{"POST", "/tasks/" + ask + "/input", `{"answers":{"` + question + `":1},"value":2}`, 422, "answers", nil},
		{"POST", "/tasks/" + ask + "/input", `{"interrupt_id":"` + question + `","value":1,"metadata":[]}`, 422, "metadata", nil},
		{"POST", "/tasks/" + ask + "/input", `{"interrupt_id":"` + question + `","value":1,"on_disconnect":"x"}`, 422, "on_disconnect", nil},
		{"POST", "/tasks/" + id + "/input", `{"interrupt_id":"` + question + `","value":1}`, 409, "id", nil},

		{"GET", "/tasks?status=done", "", 422, "status", nil},
		{"GET", "/tasks?statsu=working", "", 422, "statsu", nil},
		{"GET", "/tasks?limit=x", "", 422, "limit", nil},
		{"GET", "/tasks?limit=1001", "", 422, "limit", nil},
		{"GET", "/tasks?offset=-1", "", 422, "offset", nil},
		{"GET", "/tasks?order=up", "", 422, "order", nil},
		{"GET", "/tasks?metadata=7", "", 422, "metadata", nil},
		{"GET", "/tasks?metadata=null", "", 422, "metadata", nil},
		{"GET", "/tasks?metadata=%7B", "", 422, "metadata", nil},
		{"GET", "/tasks?assistant=nobody", "", 404, "assistant", nil},
		{"GET", "/tasks?a=%zz", "", 422, "query", nil},
	}
	for _, who := range []string{nobody, theirs, "%20", "..%2f"} { // what is somebody else's is answered like what does not exist
		cases = append(cases,
			bad{"GET", "/tasks/" + who, "", 404, "id", nil},
			bad{"DELETE", "/tasks/" + who, "", 404, "id", nil},
			bad{"GET", "/tasks/" + who + "/events", "", 404, "id", nil},
			bad{"GET", "/tasks/" + who + "/ws", "", 404, "id", nil},
			bad{"GET", "/tasks/" + who + "/model-view", "", 404, "id", nil},
			bad{"POST", "/tasks/" + who + "/cancel", "", 404, "id", nil},
			bad{"POST", "/tasks/" + who + "/input", `{"interrupt_id":"x","value":1}`, 404, "id", nil},
		)
	}
	picture := func() string {
		out := string(w.must(200, "GET", "/tasks", "").body) + string(w.must(200, "GET", "/tasks/"+ask, "").body)
		w.user = "you"
		defer func() { w.user = "me" }()
		return out + string(w.must(200, "GET", "/tasks", "").body)
	}
	before := picture()
	for _, c := range cases {
		got := w.do(c.method, c.path, c.body, c.header...)
		name := fmt.Sprintf("%s %s %.80s", c.method, c.path, c.body)
		if got.status != c.status {
			t.Errorf("%s: got status %d, want %d: %s", name, got.status, c.status, got.body)
			continue
		}
		obj := got.object(t)
		field, _ := obj["field"].(string)
		detail, _ := obj["detail"].(string)
		if field != c.field || detail == "" || !strings.Contains(detail, field) {
			t.Errorf("%s: got field %q, want %q, in %s", name, field, c.field, got.body)
		}
		if c.status == http.StatusGone && obj["newest"] != float64(newest) {
			t.Errorf("%s: the newest is %v, want %d", name, obj["newest"], newest)
		}
	}
	if after := picture(); after != before {
		t.Errorf("the requests changed\n%s\ninto\n%s", before, after)
	}
	if got := w.do("GET", "/tasks", "", "X-User", ""); got.status != 401 {
		t.Errorf("without an identity: got %d", got.status)
	}
	// A socket from a page of another site.
	_, res, err := websocket.Dial(t.Context(), w.http.URL+"/tasks/"+id+"/ws", &websocket.DialOptions{
		HTTPClient: w.client, HTTPHeader: http.Header{"X-User": {"me"}, "Origin": {"https://evil.example"}},
	})
	if err == nil || res.StatusCode != 403 {
		t.Errorf("a foreign origin got %v %v", res, err)
	}
}
