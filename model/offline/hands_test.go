package offline_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

func hands(req model.Request, names ...string) model.Request {
	for _, n := range names {
		req.Tools = append(req.Tools, model.Tool{Name: n, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return req
}

func (a answer) tool() string {
	if a.call == nil {
		return ""
	}
	return a.call.Name
}

func (a answer) args() string {
	if a.call == nil {
		return ""
	}
	return a.call.Arguments
}

func TestAFileIsWrittenWhenItIsAskedFor(t *testing.T) {
	for asked, want := range map[string]string{
		`write a file notes.txt that says hello there`:             `{"content":"hello there\n","path":"/mnt/user-data/outputs/notes.txt"}`,
		`Please create a file called a/b.md with the text: # Hi`:   `{"content":"# Hi\n","path":"/mnt/user-data/outputs/a/b.md"}`,
		`save "count to ten" to todo.txt`:                          `{"content":"count to ten\n","path":"/mnt/user-data/outputs/todo.txt"}`,
		`写一个文件 notes.txt，内容为 你好`:                                   `{"content":"你好\n","path":"/mnt/user-data/outputs/notes.txt"}`,
		`write a file ../../x.txt containing two ../ dots`:         ``,
		`write a file /etc/passwd.txt saying nothing`:              ``,
		`How do I write a file in Go?`:                             ``,
		`write a file please`:                                      ``,
		`write a file /mnt/user-data/outputs/n.txt containing "x"`: ``,
	} {
		a := ask(t, hands(user(asked), "write_file", "present_files"))
		if want == "" { // whatever it does, it writes nowhere else
			if strings.Contains(a.args(), `"path"`) && !strings.Contains(a.args(), `"path":"/mnt/user-data/outputs/`) || strings.Contains(a.args(), `"path":"/mnt/user-data/outputs/..`) {
				t.Errorf("%q: it writes %s", asked, a.args())
			}
			continue
		}
		if a.tool() != "write_file" || a.args() != want {
			t.Errorf("%q: got %s %s, want %s", asked, a.tool(), a.args(), want)
		}
		if a := ask(t, user(asked)); a.tool() != "" {
			t.Errorf("%q: it calls %s, which it was not offered", asked, a.tool())
		}
	}
}

func TestAFileThatWasWrittenIsShown(t *testing.T) {
	req := hands(user("write a file n.txt that says hello"), "write_file", "present_files")
	for _, want := range []string{"write_file", "present_files", ""} {
		a := ask(t, req)
		if a.tool() != want {
			t.Fatalf("it calls %q, want %q", a.tool(), want)
		}
		if want == "" && a.text != "I wrote the file /mnt/user-data/outputs/n.txt." {
			t.Errorf("it says %q", a.text)
		}
		req.Messages = append(slices.Clip(req.Messages),
			item.Message{Role: item.Assistant, ToolCalls: []item.ToolCall{{CallID: "c" + want, Name: a.tool(), Arguments: a.args()}}},
			item.Message{Role: item.Tool, CallID: "c" + want, Name: a.tool(), Content: item.Text("done")})
	}
	failed := hands(user("write a file n.txt that says hello"), "write_file", "present_files")
	failed.Messages = append(failed.Messages, item.Message{Role: item.Tool, CallID: "c", Name: "write_file", Failed: true, Content: item.Text("no room")})
	if a := ask(t, failed); a.tool() != "" || !strings.Contains(a.text, "no room") {
		t.Errorf("after a failure: %q %q", a.tool(), a.text)
	}
}

func TestLongerSumsAreComputed(t *testing.T) {
	for asked, want := range map[string]string{
		"What is (1 + 2) * 3?": `{"code":"print((1 + 2) * 3)"}`, "2^10 − 1 × 3": `{"code":"print(2**10 - 1 * 3)"}`, "计算 1+2+3": `{"code":"print(1+2+3)"}`,
	} {
		if a := ask(t, hands(user(asked), "python")); a.tool() != "python" || a.args() != want {
			t.Errorf("%q: got %s %s, want %s", asked, a.tool(), a.args(), want)
		}
		if a := ask(t, user(asked)); a.tool() != "" || !strings.Contains(a.text, "python") {
			t.Errorf("%q: without the tool it calls %q and says %q", asked, a.tool(), a.text)
		}
	}
	for _, asked := range []string{"2 + 3", "2026-11-16", "What is the sum of 1 and 2 and 3?", "import os; os.system('x') + 1 + 2", "2026-11-16 is a date"} {
		if a := ask(t, hands(user(asked), "python")); a.tool() == "python" {
			t.Errorf("%q is computed: %s", asked, a.args())
		}
	}
}

func TestWhatTheProgramSaysBesideIsNotAQuestion(t *testing.T) {
	req := user("count to three", "Yes.", "<system-reminder>\nYour todos stand as follows.\n</system-reminder>")
	if got := ask(t, req).text; got != "one\ntwo\nthree" {
		t.Errorf("got %q", got)
	}
	if got := ask(t, user("<system-reminder>Today is Monday.</system-reminder>\ncount to two")).text; got != "one\ntwo" {
		t.Errorf("got %q", got)
	}
}
