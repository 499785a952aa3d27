package middleware_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/files"
)

func TestOutputsPutsLargeResultsIntoAFile(t *testing.T) {
	whole := "BEGIN\n" + strings.Repeat("zeile ü\n", 5000) + "END"
	log := tool.Func("log", "Tells the log.", func(context.Context, text) (string, error) { return whole, nil })
	m := scripted.Sequence(
		scripted.Call("c1", "log", `{"s":""}`),
		scripted.Call("c2", "read_file", `{"path":"/mnt/user-data/workspace/.tool-results/c1.txt"}`),
		scripted.Say("ok"),
	)
	th := newThread(t)
	msgs := th.say(agent.Options{Model: m, Tools: toolset(t, append(files.Tools(files.Options{}), log)...), Middleware: chain(middleware.Outputs(middleware.OutputOptions{}))}, "go")
	res := msgs[2].Text()
	if len(res) > 12_000 || !strings.HasPrefix(res, "BEGIN\n") || !strings.HasSuffix(res, "END") || !strings.Contains(res, "/mnt/user-data/workspace/.tool-results/c1.txt") {
		t.Errorf("the result became %d bytes: %.100q … %.60q", len(res), res, res[len(res)-60:])
	}
	if got, err := os.ReadFile(filepath.Join(th.dir, "workspace/.tool-results/c1.txt")); err != nil || string(got) != whole {
		t.Errorf("the file has %d bytes, %v; want %d", len(got), err, len(whole))
	}
	// What is read from the file is in pages of its own, and not put into a file again.
	if read := msgs[4]; read.Failed || len(read.Text()) < 12_000 || strings.Contains(read.Text(), ".tool-results/c2") {
		t.Errorf("reading the file gave %d bytes: %.200q", len(read.Text()), read.Text())
	}
}

func TestOutputsLeavesSmallResultsAndCutsWhereThereIsNoRoom(t *testing.T) {
	for _, c := range []struct {
		size, most int
		whole      bool
	}{{11_000, 11_000, true}, {20_000, 20_000, true}, {50_000, 30_000, false}} {
		log := tool.Func("log", "Tells the log.", func(context.Context, text) (string, error) { return strings.Repeat("x", c.size), nil })
		o := middleware.OutputOptions{Room: func(*os.Root, int64, int) error { return errors.New("the folder is full") }}
		m := scripted.Sequence(scripted.Call("c1", "log", `{"s":""}`), scripted.Say("ok"))
		msgs := newThread(t).say(agent.Options{Model: m, Tools: toolset(t, log), Middleware: chain(middleware.Outputs(o))}, "go")
		got := msgs[2].Text()
		if c.whole != (len(got) == c.size) || len(got) > c.most || !c.whole && !strings.Contains(got, "not kept") {
			t.Errorf("%d bytes became %d: %.60q", c.size, len(got), got)
		}
	}
}

// Passages that can be cited are shown whole or not at all.
func TestOutputsKeepsPassagesWhole(t *testing.T) {
	find := tool.Func("find", "Finds passages.", func(context.Context, text) (item.ToolResult, error) {
		var res item.ToolResult
		for i := range 10 {
			res.Content = append(res.Content, item.Block{Type: item.TextBlock, Text: strings.Repeat(string(rune('a'+i)), 3000), Ref: i + 1})
		}
		res.Content = append(res.Content, item.Text("That is all there is.")...)
		return res, nil
	})
	m := scripted.Sequence(scripted.Call("c1", "find", `{"s":""}`), scripted.Say("As it says.[^2]"))
	msgs := newThread(t).say(agent.Options{Model: m, Tools: toolset(t, find), Middleware: chain(middleware.Outputs(middleware.OutputOptions{}))}, "go")
	passages := 0
	for _, b := range msgs[2].Content {
		if b.Ref > 0 && len(b.Text) > 100 {
			passages++
			if len(b.Text) != 3000 {
				t.Errorf("a passage has %d bytes", len(b.Text))
			}
		}
	}
	if passages != 3 || len(msgs[3].Content[0].Annotations) != 1 || !strings.Contains(msgs[2].Text(), "That is all there is.\n[21000 bytes are left out") {
		t.Errorf("%d passages are shown, the answer has %+v", passages, msgs[3].Content)
	}
}

// A link in the place of the file leads nowhere.
func TestOutputsDoesNotFollowLinks(t *testing.T) {
	th := newThread(t)
	th.put("trap.txt", "untouched")
	th.put("workspace/.tool-results/x", "")
	if err := os.Symlink(filepath.Join(th.dir, "trap.txt"), filepath.Join(th.dir, "workspace/.tool-results/c1.txt")); err != nil {
		t.Fatal(err)
	}
	log := tool.Func("log", "Tells the log.", func(context.Context, text) (string, error) { return strings.Repeat("x", 20_000), nil })
	m := scripted.Sequence(scripted.Call("c1", "log", `{"s":""}`), scripted.Say("ok"))
	th.say(agent.Options{Model: m, Tools: toolset(t, log), Middleware: chain(middleware.Outputs(middleware.OutputOptions{}))}, "go")
	if got, err := os.ReadFile(filepath.Join(th.dir, "trap.txt")); err != nil || string(got) != "untouched" {
		t.Errorf("the file outside has %d bytes, %v", len(got), err)
	}
}
