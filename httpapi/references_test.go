package httpapi_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// A follow-up that cites what the task before it found says where that is, and items can be had as the model reads them.
func TestCitationsReachAcrossTasks(t *testing.T) {
	look := tool.Repeatable(tool.Func("look", "Looks.", func(context.Context, struct{}) (item.ToolResult, error) {
		return item.ToolResult{Content: []item.Block{{Type: item.TextBlock, Text: "Otters hold hands.", Name: "Otters", URL: "otters.md", Ref: 1}}}, nil
	}))
	w := serve(t, tributary.Options{Tools: []tool.Tool{look}, Models: tributary.OneModel(scripted.Sequence(
		scripted.Call("c1", "look", `{}`), scripted.Words("They hold hands [^1]."), scripted.Words("As I said [^1]."), scripted.Words("I cite nothing."),
	))}, httpapi.Options{})

	type references struct {
		References []struct {
			ID     int
			CallID string `json:"call_id"`
			Name   string
			Blocks []struct{ Text, Name, URL string } `json:"block_list"`
		}
	}
	previous := ""
	for turn, want := range []int{1, 1, 0} {
		res, body := w.call("POST", "/tasks", `{"input":"and?"`+previous+`}`)
		var task struct {
			ID string `json:"task_id"`
		}
		if err := json.Unmarshal([]byte(body), &task); err != nil || res.StatusCode != 200 {
			t.Fatalf("%s: %s", res.Status, body)
		}
		previous = `,"previous_task_id":"` + task.ID + `"`
		_, body = w.call("GET", "/tasks/"+task.ID+"/references", "")
		var got references
		if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.References) != want {
			t.Fatalf("task %d has references %s, want %d", turn, body, want)
		}
		if want == 1 {
			r := got.References[0]
			if r.ID != 1 || r.CallID != "c1" || r.Name != "look" || len(r.Blocks) != 1 || r.Blocks[0].Text != "Otters hold hands." || r.Blocks[0].URL != "otters.md" {
				t.Errorf("task %d cites %s", turn, body)
			}
		}
		if turn == 0 {
			_, whole := w.call("GET", "/tasks/"+task.ID+"?include=content", "")
			for _, part := range []string{
				`"block_list":[{"type":"text","text":"Otters hold hands."`,
				`"content":[{"type":"text","text":"<referencable-item>\nID: 1","id":1,"tags":["added_by_reference_manager"]},{"type":"text","text":"Otters hold hands."`,
			} {
				if !strings.Contains(whole, part) {
					t.Errorf("the task lacks %s:\n%s", part, whole)
				}
			}
			if _, plain := w.call("GET", "/tasks/"+task.ID, ""); strings.Contains(plain, `"content"`) {
				t.Errorf("nobody asked for content: %s", plain)
			}
			if res, body := w.call("GET", "/tasks/"+task.ID+"?include=all", ""); res.StatusCode != 422 || !strings.Contains(body, "include") {
				t.Errorf("include=all is answered with %s: %s", res.Status, body)
			}
		}
	}
}
