package ui_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/internal/transcript/transcripttest"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/task"
)

// tasks.ts is tested by tasks.test.mjs on the golden files of the wire; here it also gets random runs.
func TestTypeScriptFoldsWhatGoFolds(t *testing.T) {
	// The go command remembers a result until a file changes that this process has read; node's reading does not count.
	for _, name := range []string{"tasks.ts", "tasks.test.mjs", "tsconfig.tasks.json", "package-lock.json"} {
		if _, err := os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			skip(t, "no "+program+" in PATH: install Node 20 or newer")
		}
	}
	if _, err := os.Stat("node_modules/.bin/tsc"); err != nil {
		install := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
		if out, err := install.CombinedOutput(); err != nil {
			skip(t, "npm ci, which needs a registry: "+err.Error()+"\n"+string(out))
		}
	}
	runs := filepath.Join(t.TempDir(), "runs.jsonl")
	writeRuns(t, runs)
	cmd := exec.CommandContext(t.Context(), "npm", "test")
	cmd.Env = append(os.Environ(), "TASKS_RUNS="+runs)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("npm test: %v\n%s", err, out)
	}
}

// skip leaves the test out on a developer's machine; in CI nothing may be left out.
func skip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// writeRuns writes one run a line: its frames, and the object of each task as the transcript has it.
func writeRuns(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriter(file)
	enc := json.NewEncoder(out)
	for seed := range uint64(60) {
		line := struct {
			Frames  []json.RawMessage          `json:"frames"`
			Objects map[string]json.RawMessage `json:"objects"`
		}{Objects: map[string]json.RawMessage{}}
		journal := transcripttest.Run(seed, transcripttest.Size{Depth: 4, Width: 6, Turns: 3, Budget: 12, Fragment: 4})
		// Some readers come in the middle of a run.
		if seed%2 == 1 {
			journal = journal[:1+len(journal)*int(seed)/60]
		}
		projector, fold := task.New(), transcript.Fold{}
		var frames []wire.Frame
		for i := range journal {
			if frames, err = projector.Project(frames[:0], &journal[i]); err != nil {
				t.Fatal(err)
			}
			for _, f := range frames {
				line.Frames = append(line.Frames, f.Data)
			}
			if err := fold.Apply(&journal[i]); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range fold.TaskIDs() {
			object, _ := fold.Task(id)
			if id == "" {
				id = fold.Run()
			}
			line.Objects[id] = task.Object(fold.Run(), object)
		}
		if err := enc.Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
