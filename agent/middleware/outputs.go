package middleware

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/files"
)

// OutputOptions are settings of [Outputs].
type OutputOptions struct {
	// Most is how many bytes of text a result may have; zero means 12,000. Head and Tail are how many of a longer one are shown;
	// zero means two thirds and one sixth of Most.
	Most, Head, Tail int
	// Fallback is the limit where there is no folder to put the whole into; zero means 30,000.
	Fallback int
	// Except says whose results are left alone. Nil: those of the tools for files, which have pages of their own, and with which
	// the model reads what was put into a file.
	Except func(tool.Spec) bool
	// Room returns an error if the thread's folder may not grow by so much. Nil: there always is room.
	Room func(folder *os.Root, bytes int64, files int) error
}

// resultsFolder is below the workspace.
const resultsFolder = ".tool-results"

// Outputs keeps large results out of the conversation: the whole text goes into a file of the thread's folder, and the model is told
// its beginning, its end and the name of the file. People see what the tool made for them; where that is the same
// text, they see what the model does.
func Outputs(o OutputOptions) agent.Middleware {
	if o.Most <= 0 {
		o.Most = 12_000
	}
	if o.Head <= 0 {
		o.Head = o.Most * 2 / 3
	}
	if o.Tail <= 0 {
		o.Tail = o.Most / 6
	}
	if o.Fallback <= 0 {
		o.Fallback = 30_000
	}
	if o.Except == nil {
		o.Except = func(s tool.Spec) bool { return s.Group == files.Group }
	}
	if o.Room == nil {
		o.Room = func(*os.Root, int64, int) error { return nil }
	}
	return agent.Middleware{Name: "outputs", Tool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
			out, err := next(ctx, c)
			if err == nil && !o.Except(c.Spec) {
				out.Result = o.bound(c, out.Result)
			}
			return out, err
		}
	}}
}

func (o OutputOptions) bound(c *agent.ToolCall, res item.ToolResult) item.ToolResult {
	size := 0
	for _, b := range res.Content {
		size += len(b.Text)
	}
	if size <= o.Most {
		return res
	}
	whole := item.JoinText(res.Content)
	head, tail := o.Head, o.Tail
	where, err := o.put(c, whole)
	if err != nil {
		c.Step.Log().Warn("a large result is cut, since it cannot be put into a file", "tool", c.Spec.Name, "call", c.Call.CallID, "err", err)
		if size <= o.Fallback {
			return res
		}
		head, tail = o.Fallback*2/3, o.Fallback/6
		where = "The rest was not kept. Call the tool in a way that returns less."
	}
	same := res.Blocks == nil || reflect.DeepEqual(res.Content, res.Blocks)
	res.Content = preview(res.Content, head, tail, where)
	if same {
		res.Blocks = nil
	}
	return res
}

// put writes the whole text down and tells where it is.
func (o OutputOptions) put(c *agent.ToolCall, whole string) (string, error) {
	folder, err := c.Step.Folder()
	if err != nil {
		return "", err
	}
	if err := o.Room(folder, int64(len(whole)), 2); err != nil {
		return "", err
	}
	root, err := area(folder, files.Workspace)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if err := root.MkdirAll(resultsFolder, 0o700); err != nil {
		return "", err
	}
	name := resultsFolder + "/" + fileName(c.Call.CallID) + ".txt"
	// What is there is from before a crash, or a link that somebody put there.
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(whole)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	return fmt.Sprintf("The whole, %d bytes, is in %s/%s/%s; read_file and grep read it.", len(whole), files.Top, files.Workspace, name), nil
}

// preview is the beginning and the end of a result, with a word on what is between.
func preview(content []item.Block, head, tail int, where string) []item.Block {
	if slices.ContainsFunc(content, func(b item.Block) bool { return b.Ref > 0 }) {
		return passages(content, head+tail, where)
	}
	whole := item.JoinText(content)
	first, last := strings.ToValidUTF8(whole[:min(head, len(whole))], ""), strings.ToValidUTF8(whole[max(len(whole)-tail, 0):], "")
	out := item.Text(fmt.Sprintf("%s\n\n… [%d bytes are left out here. %s] …\n\n%s", first, len(whole)-len(first)-len(last), where, last))
	for _, b := range content {
		if b.Type != item.TextBlock {
			out = append(out, b)
		}
	}
	return out
}

// passages keeps what a tool says itself, and then as many of the passages that can be cited as fit, from the first on. Each is kept
// whole or not at all: half of one must not be cited for all of it.
func passages(content []item.Block, most int, where string) []item.Block {
	plain := 0
	size := map[int]int{} // of passages, by number
	for _, b := range content {
		if b.Ref > 0 {
			size[b.Ref] += len(b.Text)
		} else {
			plain += len(b.Text)
		}
	}
	room, full := max(most-plain, 0), false
	keep := map[int]bool{}
	left := 0
	var out []item.Block
	for _, b := range content {
		switch {
		case b.Ref == 0:
			if plain > most {
				was := len(b.Text)
				b.Text = short(b.Text, most*was/plain)
				left += max(was-len(b.Text), 0)
			}
		case keep[b.Ref]:
		case full || size[b.Ref] > room:
			full = true
			left += len(b.Text)
			continue
		default:
			keep[b.Ref] = true
			room -= size[b.Ref]
		}
		out = append(out, b)
	}
	return append(out, item.Text(fmt.Sprintf("\n[%d bytes are left out here. %s]", left, where))...)
}
