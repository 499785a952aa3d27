package server_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tributary-ai/tributary/internal/wire/task/tasktest"
)

func allGraphs() taskGraphs {
	return taskGraphs{"agent": talker(), "ask": asker(), "manager": manager()}
}

func TestTaskIsCreatedAndAnsweredWhole(t *testing.T) {
	w := newTasks(t, allGraphs())
	got := w.must(200, "POST", "/tasks", `{"input":"hi"}`)
	obj := got.object(t)
	id := obj["task_id"].(string)
	if obj["status"] != "completed" || !strings.Contains(string(got.body), "good day.") {
		t.Errorf("got %s", got.body)
	}
	if l := got.header.Get("Location"); l != "/tasks/"+id+"/events" {
		t.Errorf("Location is %q", l)
	}
	if uuid.Validate(got.header.Get("X-Thread-Id")) != nil {
		t.Errorf("X-Thread-Id is %q", got.header.Get("X-Thread-Id"))
	}
	again := w.must(200, "GET", "/tasks/"+id, "")
	if string(again.body) != string(got.body) {
		t.Errorf("POST answered\n%s\nand GET\n%s", got.body, again.body)
	}
}

func TestTaskStreamFoldsToItsObject(t *testing.T) {
	for _, assistant := range []string{"agent", "ask", "manager"} {
		t.Run(assistant, func(t *testing.T) {
			w := newTasks(t, allGraphs())
			res, r := w.open("POST", "/tasks", `{"input":"hi","stream":true,"assistant":"`+assistant+`"}`)
			defer res.Body.Close()
			frames, err := readFrames(r, -1)
			if err != nil {
				t.Fatal(err)
			}
			var fold tasktest.Fold
			for i, f := range frames {
				if f.id != fmt.Sprint(i) || !strings.Contains(f.data, fmt.Sprintf(`"sequence_number":%d`, i)) {
					t.Errorf("frame %d: id %q, data %s", i, f.id, f.data)
				}
				if err := fold.Apply([]byte(f.data)); err != nil {
					t.Fatal(err)
				}
			}
			id := fold.Root()
			if want := "/tasks/" + id + "/events"; res.Header.Get("Location") != want {
				t.Errorf("Location is %q, want %q", res.Header.Get("Location"), want)
			}
			folded, _ := fold.Task(id)
			if got := canonical(t, w.must(200, "GET", "/tasks/"+id, "").body); got != string(folded) {
				t.Errorf("GET says\n%s\nthe stream folds to\n%s", got, folded)
			}
			if assistant != "manager" {
				return
			}
			for _, call := range []string{"call_a", "call_b"} {
				child, ok := fold.Task(call)
				if !ok {
					t.Fatalf("no task %s in the stream", call)
				}
				if got := canonical(t, w.must(200, "GET", "/tasks/"+call+"?root="+id, "").body); got != string(child) {
					t.Errorf("GET of child says\n%s\nthe stream folds to\n%s", got, child)
				}
				// The child's own stream is its part of the root's.
				var part []sseFrame
				for _, f := range frames {
					if strings.Contains(f.data, `"task_id":"`+call+`"`) {
						part = append(part, f)
					}
				}
				if got := w.events(call+"?root="+id, ""); len(part) < 3 || !reflect.DeepEqual(got, part) {
					t.Errorf("the child's stream is\n%v\nand its part of the root's\n%v", got, part)
				}
				if got := w.events(call+"?root="+id, part[1].id); !reflect.DeepEqual(got, part[2:]) {
					t.Errorf("after %s the child's stream is\n%v\nand not\n%v", part[1].id, got, part[2:])
				}
			}
		})
	}
}

func TestNextTaskContinuesTheThread(t *testing.T) {
	w := newTasks(t, allGraphs())
	first := w.must(200, "POST", "/tasks", `{"input":[{"type":"text","text":"look"},{"type":"image","image_url":{"url":"data:image/png;base64,AA=="}}]}`)
	id := first.object(t)["task_id"].(string)
	second := w.must(200, "POST", "/tasks", `{"input":[{"role":"user","content":"and now?"}],"previous_task_id":"`+id+`"}`)
	if a, b := first.header.Get("X-Thread-Id"), second.header.Get("X-Thread-Id"); a != b {
		t.Errorf("the first is in thread %s, the second in %s", a, b)
	}
	var view struct {
		Messages []struct {
			Role    string
			Content []map[string]any
		}
	}
	body := w.must(200, "GET", "/tasks/"+second.object(t)["task_id"].(string)+"/model-view", "").body
	if err := json.Unmarshal(body, &view); err != nil {
		t.Fatal(err)
	}
	var roles []string
	for _, m := range view.Messages {
		roles = append(roles, m.Role)
	}
	if got := strings.Join(roles, " "); got != "user assistant user assistant" {
		t.Fatalf("the model was shown %s: %s", got, body)
	}
	if c := view.Messages[0].Content; len(c) != 2 || c[1]["type"] != "image_url" {
		t.Errorf("the first message has content %v", c)
	}
	// The first task's view ends where the first task did.
	body = w.must(200, "GET", "/tasks/"+id+"/model-view", "").body
	if err := json.Unmarshal(body, &view); err != nil || len(view.Messages) != 2 {
		t.Errorf("the first task's model was shown %d messages, want 2: %s", len(view.Messages), body)
	}
}

func TestModelViewShowsWhatWasWrapped(t *testing.T) {
	w := newTasks(t, allGraphs())
	id := w.create(`{"input":"hi","assistant":"manager"}`)
	body := string(w.must(200, "GET", "/tasks/"+id+"/model-view", "").body)
	for _, want := range []string{
		`"text":"\u003creferencable-item\u003e\nID: 1","id":1,"tags":["added_by_reference_manager"]`,
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="},"id":1}`,
		`"call_id":"call_a"`, `"arguments":"{\"prompt\":\"help\"}"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the model view lacks %s:\n%s", want, body)
		}
	}
	if strings.Contains(body, "helped") {
		t.Errorf("the model view has what only people see: %s", body)
	}
	child := string(w.must(200, "GET", "/tasks/call_b/model-view?root="+id, "").body)
	if !strings.Contains(child, `"task_id":"call_b"`) || !strings.Contains(child, "help call_b") || strings.Contains(child, "call_a") {
		t.Errorf("the child's model view is %s", child)
	}
}

func TestQuestionsAreAnsweredByID(t *testing.T) {
	w := newTasks(t, allGraphs())
	first := w.must(200, "POST", "/tasks", `{"input":"hi","assistant":"ask"}`).object(t)
	if first["status"] != "input_required" {
		t.Fatalf("got %v", first)
	}
	ask := func(task map[string]any) (id, interrupt string) {
		t.Helper()
		list := task["interrupts"].([]any)
		if len(list) != 1 {
			t.Fatalf("%d interrupts in %v", len(list), task)
		}
		return task["task_id"].(string), list[0].(map[string]any)["id"].(string)
	}
	id, q1 := ask(first)
	refused := func(id, body, field string) {
		t.Helper()
		before := canonical(t, w.must(200, "GET", "/tasks", "").body)
		got := w.must(409, "POST", "/tasks/"+id+"/input", body)
		if got.object(t)["field"] != field {
			t.Errorf("%s: the field is %v, want %q: %s", body, got.object(t)["field"], field, got.body)
		}
		if after := canonical(t, w.must(200, "GET", "/tasks", "").body); after != before {
			t.Errorf("%s: a refused answer changed\n%s\ninto\n%s", body, before, after)
		}
	}
	refused(id, `{"interrupt_id":"0123456789abcdef0123456789abcdef","value":"x"}`, "interrupt_id")
	second := w.must(200, "POST", "/tasks/"+id+"/input", `{"interrupt_id":"`+q1+`","value":"Ada"}`).object(t)
	refused(id, `{"interrupt_id":"`+q1+`","value":"Bob"}`, "interrupt_id")
	id2, q2 := ask(second)
	if q1 == q2 || id2 == id {
		t.Fatalf("the second question is %s of task %s, the first was %s of %s", q2, id2, q1, id)
	}
	res, r := w.open("POST", "/tasks/"+id2+"/input", `{"interrupt_id":"`+q2+`","value":36,"stream":true}`)
	defer res.Body.Close()
	frames, err := readFrames(r, -1)
	if err != nil || !strings.Contains(textOf(frames), "Ada is 36") {
		t.Errorf("got %v, %s", err, textOf(frames))
	}
	refused(id2, `{"interrupt_id":"`+q2+`","value":37}`, "interrupt_id")
	last := strings.Split(res.Header.Get("Location"), "/")[2]
	refused(last, `{"interrupt_id":"`+q2+`","value":37}`, "id")

	rows := w.must(200, "GET", "/tasks", "").object(t)["tasks"].([]any)
	if prev := rows[0].(map[string]any)["previous_task_id"]; prev != id2 {
		t.Errorf("the last task names %v as the one before, want %s", prev, id2)
	}
}

func TestOfTwoAnswersOneCounts(t *testing.T) {
	w := newTasks(t, allGraphs())
	task := w.must(200, "POST", "/tasks", `{"input":"hi","assistant":"ask"}`).object(t)
	q := task["interrupts"].([]any)[0].(map[string]any)["id"].(string)
	status := make(chan int, 8)
	for i := range cap(status) {
		go func() {
			status <- w.do("POST", "/tasks/"+task["task_id"].(string)+"/input", fmt.Sprintf(`{"interrupt_id":%q,"value":"%d"}`, q, i)).status
		}()
	}
	count := map[int]int{}
	for range cap(status) {
		count[<-status]++
	}
	if count[200] != 1 || count[409] != cap(status)-1 {
		t.Errorf("got statuses %v, want one 200 and 409 for the rest", count)
	}
	if total := w.must(200, "GET", "/tasks", "").object(t)["total"]; total != 2.0 {
		t.Errorf("there are %v tasks, want 2", total)
	}
}

func TestCancelAndDelete(t *testing.T) {
	v := newValve()
	w := newTasks(t, taskGraphs{"agent": talker(), "valve": v.graph("valve")})
	res, r := w.open("POST", "/tasks", `{"input":"hi","stream":true,"assistant":"valve"}`)
	defer res.Body.Close()
	id := strings.Split(res.Header.Get("Location"), "/")[2]
	v.words <- "one "
	if got := w.must(409, "DELETE", "/tasks/"+id, "").object(t)["field"]; got != "id" {
		t.Errorf("the field is %v", got)
	}
	if got := w.must(200, "GET", "/tasks/"+id, "").object(t)["status"]; got != "working" {
		t.Errorf("status is %v", got)
	}
	queued := w.must(200, "GET", "/tasks?status=working,queued", "").object(t)
	if queued["total"] != 1.0 {
		t.Errorf("got %v", queued)
	}
	if got := w.must(200, "POST", "/tasks/"+id+"/cancel", `{"wait":true}`).object(t); got["status"] != "canceled" {
		t.Errorf("got %v", got)
	}
	frames, err := readFrames(r, -1)
	if err != nil || !strings.Contains(frames[len(frames)-1].data, `"type":"task.canceled"`) {
		t.Errorf("the stream ended with %v %v", err, frames[len(frames)-1])
	}
	w.must(200, "POST", "/tasks/"+id+"/cancel", "") // again: no mistake
	done := w.create(`{"input":"hi","assistant":"agent"}`)
	if got := w.must(409, "POST", "/tasks/"+done+"/cancel", "").object(t); got["field"] != "id" {
		t.Errorf("got %v", got)
	}
	next := w.create(`{"input":"hi","previous_task_id":"` + done + `"}`)
	w.must(409, "DELETE", "/tasks/"+done, "") // the next one builds on it
	w.must(204, "DELETE", "/tasks/"+next, "")
	w.must(404, "GET", "/tasks/"+next, "")
	w.must(404, "GET", "/tasks/"+next+"/events", "")
	w.must(204, "DELETE", "/tasks/"+done, "")
}

func TestQueuedTaskSaysSo(t *testing.T) {
	v := newValve()
	w := newTasks(t, taskGraphs{"agent": v.graph("agent")})
	res, _ := w.open("POST", "/tasks", `{"input":"hi","stream":true}`)
	defer res.Body.Close()
	thread := res.Header.Get("X-Thread-Id")
	second, r := w.open("POST", "/tasks", `{"input":"hi","stream":true,"thread_id":"`+thread+`"}`)
	defer second.Body.Close()
	id := strings.Split(second.Header.Get("Location"), "/")[2]
	if got := w.must(200, "GET", "/tasks/"+id, "").object(t); got["task_id"] != id || got["status"] != "queued" || got["created_at"] == nil {
		t.Errorf("got %v", got)
	}
	// Its reader is told at once, and not when it starts.
	if told, err := readFrames(r, 2); err != nil || len(told) != 2 || !strings.Contains(told[1].data, `"task.queued"`) {
		t.Errorf("got %v %v", told, err)
	}
	w.must(409, "POST", "/tasks", `{"input":"hi","multitask_strategy":"reject","thread_id":"`+thread+`"}`)
	w.must(202, "POST", "/tasks/"+id+"/cancel", "")
	frames, err := readFrames(r, -1)
	if err != nil || !strings.Contains(frames[len(frames)-1].data, "task.canceled") {
		t.Errorf("got %v %v", frames, err)
	}
	v.close()
}

func TestTasksAreListedInPages(t *testing.T) {
	w := newTasks(t, allGraphs())
	var ids []string
	for i := range 5 {
		ids = append(ids, w.create(fmt.Sprintf(`{"input":"hi","metadata":{"n":%d,"even":%t}}`, i, i%2 == 0)))
	}
	waiting := w.create(`{"input":"hi","assistant":"ask"}`)
	thread := w.must(200, "GET", "/tasks/"+waiting, "").header.Get("X-Thread-Id")
	w.user = "you"
	foreign := w.create(`{"input":"hi"}`)
	w.user = "me"
	for query, want := range map[string][]string{
		"":                                  {waiting, ids[4], ids[3], ids[2], ids[1], ids[0]},
		"order=asc&limit=2":                 {ids[0], ids[1]},
		"order=asc&limit=2&offset=4":        {ids[4], waiting},
		"offset=6":                          {},
		"limit=0":                           {},
		"status=input_required":             {waiting},
		"status=completed&limit=1":          {ids[4]},
		"status=failed":                     {},
		"thread_id=" + thread:               {waiting},
		"assistant=ask":                     {waiting},
		"metadata=" + `%7B%22even%22:true}`: {ids[4], ids[2], ids[0]},
		"metadata=" + `%7B%22n%22:3}`:       {ids[3]},
	} {
		got := w.must(200, "GET", "/tasks?"+query, "")
		var page struct {
			Tasks []struct {
				TaskID string `json:"task_id"`
			}
			Total int
		}
		if err := json.Unmarshal(got.body, &page); err != nil {
			t.Fatal(err)
		}
		list := []string{}
		for _, row := range page.Tasks {
			list = append(list, row.TaskID)
			if row.TaskID == foreign {
				t.Errorf("%s: the list has somebody else's task", query)
			}
		}
		if fmt.Sprint(list) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", query, list, want)
		}
		if got.header.Get("X-Pagination-Total") != fmt.Sprint(page.Total) || !strings.Contains(query, "limit") && !strings.Contains(query, "offset") && page.Total != len(want) {
			t.Errorf("%s: the total is %d", query, page.Total)
		}
	}
}

// Whoever waits for the end of a task is let go when the server closes, and can come back; the run goes on.
func TestWaitersAreLetGoWhenTheServerCloses(t *testing.T) {
	v := newValve()
	w := newTasks(t, taskGraphs{"agent": v.graph("agent")})
	answer := make(chan reply, 1)
	go func() { answer <- w.do("POST", "/tasks", `{"input":"hi"}`) }()
	v.words <- "begun" // so the request is under way
	w.srv.Closing()
	if got := <-answer; got.status != 503 || got.header.Get("Retry-After") == "" {
		t.Errorf("%d %v %s", got.status, got.header, got.body)
	}
}
