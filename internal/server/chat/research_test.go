package chat_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/wire/task/tasktest"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// A client that is cut off after any frame, and comes back with that frame's id, has the frames of one that was not: in the run
// that asks, in the one that is answered, and in one that is under way.
func TestARunIsResumedAtEveryFrame(t *testing.T) {
	w := serve(t, play)
	asks := w.ask(`{"thread_id":"every",` + question + `}`)
	answered := w.ask(`{"thread_id":"every","interrupt_feedback":"accepted","messages":[]}`)
	for name, whole := range map[string][]frame{"the run that asks": asks, "the run that is answered": answered} {
		if len(whole) < 5 || whole[len(whole)-1].name != "end" {
			t.Fatalf("%s has the frames %+v", name, whole)
		}
		for at := range whole {
			rest := w.read(w.do("GET", "/api/chat/stream?thread_id=every", "", "Last-Event-ID", whole[at].id), nil)
			if !equal(rest, whole[at+1:]) {
				t.Errorf("%s: after frame %d of %d there are %d frames, or others", name, at, len(whole), len(rest))
			}
		}
	}
	// Under way: one client stays, the other is cut off after every frame.
	stays := w.do("POST", "/api/chat/stream", `{"thread_id":"live","auto_accepted_plan":true,`+question+`}`)
	one := func(frame) bool { return true }
	cut := w.read(w.do("GET", "/api/chat/stream?thread_id=live", ""), one)
	for cut[len(cut)-1].name != "end" {
		next := w.read(w.do("GET", "/api/chat/stream?thread_id=live", "", "Last-Event-ID", cut[len(cut)-1].id), one)
		if len(next) != 1 {
			t.Fatalf("after %d frames there is nothing", len(cut))
		}
		cut = append(cut, next...)
	}
	if whole := w.read(stays, nil); !equal(whole, cut) {
		t.Errorf("who stayed has %d frames, who was cut off %d, or they differ", len(whole), len(cut))
	}
}

// A step is a task of its own: it is watched by itself, and cancelled by itself, while the other goes on. Nothing of the one gets
// into the other.
func TestAStepIsWatchedAndCancelledByItself(t *testing.T) {
	goOn := make(chan struct{})
	w := serve(t, func(req model.Request) scripted.Script {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case strings.HasPrefix(req.System, "You plan research"):
			return scripted.Say(`{"title":"Rivers","steps":[{"title":"Meanders"},{"title":"Deltas"}]}`)
		case strings.HasPrefix(req.System, "You find out") && strings.Contains(req.Messages[0].Text(), "Meanders\n</question>"):
			return scripted.Pieces("I begin ", "with meanders.").Stall()
		case strings.HasPrefix(req.System, "You find out") && last.Role == item.Tool:
			return scripted.Wait(goOn).Say("The outer bank is worn away. [^1]")
		}
		return play(req)
	})
	started := w.do("POST", "/tasks", `{"input":"Why do rivers bend?","assistant":"research","stream":true,
		"configurable":{"auto_accepted_plan":true,"enable_background_investigation":false,"parallel_steps":2,"max_plan_iterations":1}}`)
	var first struct {
		Task string `json:"task_id"`
	}
	if err := json.NewDecoder(afterData(started.Body)).Decode(&first); err != nil || first.Task == "" {
		t.Fatalf("%s: %v", started.Status, err)
	}
	started.Body.Close()

	// Somebody follows the task until the step has begun, and then stops it alone.
	step := "/tasks/step-s1"
	root := "?root=" + first.Task
	var seen strings.Builder
	following := w.do("GET", "/tasks/"+first.Task+"/events", "")
	buf := make([]byte, 4096)
	for !strings.Contains(seen.String(), "with meanders.") {
		n, err := following.Body.Read(buf)
		if seen.Write(buf[:n]); err != nil {
			t.Fatalf("%v: %s", err, seen.String())
		}
	}
	if object := w.object("GET", step+root, ""); object["status"] != "working" || object["parent_task_id"] != first.Task {
		t.Errorf("the step is shown as %v", object)
	}
	res := w.do("POST", step+"/cancel"+root, `{}`)
	if res.StatusCode/100 != 2 {
		body, _ := io.ReadAll(res.Body)
		t.Fatalf("to cancel the step is answered with %s: %s", res.Status, body)
	}
	close(goOn)
	rest, err := io.ReadAll(following.Body)
	if err != nil {
		t.Fatal(err)
	}
	var fold tasktest.Fold
	for line := range strings.SplitSeq(seen.String()+string(rest), "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if err := fold.Apply([]byte(data)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for id, want := range map[string]string{first.Task: "completed", "step-s1": "canceled", "step-s2": "completed"} {
		raw, ok := fold.Task(id)
		var object struct{ Status string }
		if err := json.Unmarshal(raw, &object); !ok || err != nil || object.Status != want {
			t.Errorf("task %s ended as %q (%v, %v), want %q", id, object.Status, ok, err, want)
		}
	}
	if raw, _ := fold.Task("step-s1"); !strings.Contains(string(raw), "I begin with meanders.") || strings.Contains(string(raw), "outer bank") {
		t.Errorf("the step that was cancelled has %s", raw)
	}
}

// afterData skips to the first data of a stream.
func afterData(r io.Reader) io.Reader {
	var last [6]byte
	one := make([]byte, 1)
	for string(last[:]) != "data: " {
		if _, err := io.ReadFull(r, one); err != nil {
			return r
		}
		copy(last[:], last[1:])
		last[5] = one[0]
	}
	return r
}

func (w *world) object(method, path, body string) map[string]any {
	w.Helper()
	res := w.do(method, path, body)
	raw, err := io.ReadAll(res.Body)
	var o map[string]any
	if err != nil || res.StatusCode != http.StatusOK || json.Unmarshal(raw, &o) != nil {
		w.Fatalf("%s %s: %s %s (%v)", method, path, res.Status, raw, err)
	}
	return o
}

// An answer names its question. One to a question that another answer changed is refused with a sentence, on each wire, and the
// plan that stands is not touched.
func TestAnOutdatedAnswerIsRefused(t *testing.T) {
	w := serve(t, play)
	interruptOf := func(frames []frame) string {
		all := named(frames, "interrupt")
		if len(all) != 1 {
			t.Fatalf("%d questions among %+v", len(all), frames)
		}
		id, _ := all[0].said["id"].(string)
		return id
	}
	first := interruptOf(w.ask(`{"thread_id":"old",` + question + `}`))
	second := interruptOf(w.ask(`{"thread_id":"old","interrupt_feedback":"edit_plan","interrupt_id":"` + first + `","messages":[{"role":"user","content":"shorter"}]}`))
	if first == second {
		t.Fatalf("both questions have the id %q", first)
	}
	for path, c := range map[string]struct{ body, says string }{
		"/api/chat/stream": {`{"thread_id":"old","interrupt_feedback":"accepted","interrupt_id":"` + first + `"}`, "nothing is asked on this thread, or not any more"},
		// LangGraph's wait has no other place for it.
		"/threads/old/runs/wait": {`{"assistant_id":"research","command":{"resume":{"` + first + `":"accepted"}}}`, "no such interrupt is pending"},
	} {
		res := w.do("POST", path, c.body)
		raw, err := io.ReadAll(res.Body)
		if err != nil || !strings.Contains(string(raw), c.says) {
			t.Errorf("%s: an answer to the first question is answered with %s: %s (%v)", path, res.Status, raw, err)
		}
	}
	end := w.ask(`{"thread_id":"old","interrupt_feedback":"accepted","interrupt_id":"` + second + `"}`)
	if last := end[len(end)-1]; last.said["status"] != "success" {
		t.Errorf("the answer to the second question ends with %s", last.data)
	}
}
