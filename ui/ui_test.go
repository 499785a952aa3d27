package ui_test

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/internal/transcript/transcripttest"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/task"
	"github.com/tributary-ai/tributary/ui"
)

// tasks.ts is tested by tasks.test.mjs on the golden files of the wire; here it also gets random runs.
func TestTypeScriptFoldsWhatGoFolds(t *testing.T) {
	install(t)
	runs := filepath.Join(t.TempDir(), "runs.jsonl")
	writeRuns(t, runs)
	cmd := exec.CommandContext(t.Context(), "npm", "test")
	cmd.Env = append(os.Environ(), "TASKS_RUNS="+runs)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("npm test: %v\n%s", err, out)
	}
}

// TestTheCommittedPageIsWhatItsSourceGives builds the page and compares every byte with dist.
func TestTheCommittedPageIsWhatItsSourceGives(t *testing.T) {
	install(t)
	out := filepath.Join(t.TempDir(), "dist")
	for _, args := range [][]string{{"tsc", "-p", "tsconfig.json"}, {"vite", "build", "--logLevel", "warn", "--outDir", out}} {
		cmd := exec.CommandContext(t.Context(), filepath.Join("node_modules", ".bin", args[0]), args[1:]...)
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, said)
		}
	}
	want, got := contents(t, os.DirFS(out)), contents(t, ui.Files())
	for name, data := range want {
		if got[name] != data {
			t.Errorf("dist/%s is not what the source gives: run npm run build in ui, and commit dist", name)
		}
		if strings.HasSuffix(name, ".map") || len(data) > 300_000 {
			t.Errorf("dist/%s of %d bytes does not belong into the repository", name, len(data))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("dist/%s is left over from an earlier build: run npm run build in ui, and commit dist", name)
		}
	}
}

func contents(t *testing.T, files fs.FS) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		all[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// install sees to it that the packages are there that the page is built and tested with.
func install(t *testing.T) {
	t.Helper()
	// The go command remembers a result until a file changes that this process has read; node's reading does not count.
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "build" || d.Name() == "dist"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		_, err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			skip(t, "no "+program+" in PATH: install Node 20 or newer")
		}
	}
	if _, err := os.Stat("node_modules/.bin/vite"); err != nil {
		install := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
		if out, err := install.CombinedOutput(); err != nil {
			skip(t, "npm ci, which needs a registry: "+err.Error()+"\n"+string(out))
		}
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
