package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/sandbox"
)

// sandboxed measures what a jail costs: a command that does nothing, beside the interpreter alone.
func sandboxed(ctx context.Context, b *bench) ([]row, error) {
	began := time.Now()
	s, err := sandbox.Open(ctx, sandbox.Options{Bytes: 1 << 30, Files: 20_000})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	rows := []row{{"opening the sandbox, with all attacks on it", short(time.Since(began)), "–", atMost(time.Since(began).Seconds(), 0.1, "100 ms")}}
	dir, err := os.MkdirTemp(b.dir, "thread")
	if err != nil {
		return nil, err
	}
	folder, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	set, err := tool.NewSet(s.Tools()...)
	if err != nil {
		return nil, err
	}
	for _, c := range []struct {
		tool, argument, code string
		bare                 []string
	}{
		{"bash", "command", "exit 0", []string{"bash", "-c", "exit 0"}},
		{"python", "code", "pass", []string{"python3", "-c", "pass"}},
	} {
		path, err := exec.LookPath("/usr/bin/" + c.bare[0])
		if errors.Is(err, exec.ErrNotFound) {
			continue
		}
		arguments, err := json.Marshal(map[string]string{c.argument: c.code})
		if err != nil {
			return nil, err
		}
		var ours, bare samples
		for range b.count(100) {
			began := time.Now()
			if err := exec.CommandContext(ctx, path, c.bare[1:]...).Run(); err != nil {
				return nil, err
			}
			bare = append(bare, time.Since(began))
			began = time.Now()
			res, err := set.Invoke(ctx, c.tool, tool.Call{ID: "call", Arguments: arguments, Scope: inFolder{folder: folder}})
			if text := item.JoinText(res.Content); err != nil || !strings.HasSuffix(text, "[exit code 0]") {
				return nil, fmt.Errorf("%s: %q, %w", c.tool, text, err)
			}
			ours = append(ours, time.Since(began))
		}
		more := ours.at(0.5) - bare.at(0.5)
		rows = append(rows, row{
			fmt.Sprintf("%s, a command that does nothing; %s more than the interpreter", c.tool, short(more)), ours.String(), bare.String(),
			atMost(more.Seconds(), 0.01, "10 ms more"),
		})
	}
	return rows, nil
}

// inFolder is the scope of a call that needs nothing but files.
type inFolder struct {
	tool.Scope
	folder *os.Root
}

func (s inFolder) Folder() (*os.Root, error) { return s.folder, nil }
func (inFolder) Show(int, item.Block)        {}
func (inFolder) Update(string, any) error    { return nil }
