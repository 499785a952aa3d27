package tributary_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// clerk does what it is told, "tool {arguments}", and says what came of it.
func clerk() model.Models {
	return tributary.OneModel(scripted.New(func(req model.Request) scripted.Script {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == item.Tool {
			return scripted.Say(last.Text())
		}
		name, args, _ := strings.Cut(last.Text(), " ")
		return scripted.Script{}.Call(fmt.Sprintf("call_%d", len(req.Messages)), name, args)
	}))
}

func tell(t *testing.T, rt *tributary.Runtime, thread, order string) (in, answer string) {
	t.Helper()
	r := wait(t, rt, start(t, rt, tributary.Request{Thread: thread, Text: order}).ID)
	state, err := rt.State(t.Context(), "", r.Thread, tributary.Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Thread, string(state.Values["messages"]) + string(state.Values["artifacts"])
}

func folders(t *testing.T, data string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(data, "threads", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

const order = `write_file {"path":"/mnt/user-data/outputs/report.md","content":"all is well"}`

func TestFilesOfAThreadOutliveItsRunsAndGoWithIt(t *testing.T) {
	data := t.TempDir()
	rt := open(t, tributary.Options{Dir: data, Models: clerk(), Files: true, ThreadBytes: 100})
	thread, _ := tell(t, rt, "", order)
	if _, got := tell(t, rt, thread, `present_files {"filepaths":["/mnt/user-data/outputs/report.md"]}`); !strings.HasSuffix(got, `["/mnt/user-data/outputs/report.md"]`) {
		t.Errorf("the file is no artifact: %s", got)
	}
	if _, got := tell(t, rt, thread, `read_file {"path":"/mnt/user-data/outputs/report.md"}`); !strings.Contains(got, "all is well") {
		t.Errorf("the next run does not find the file: %s", got)
	}
	// The file, and the version of it that was presented.
	if _, got := tell(t, rt, thread, `write_file {"path":"more","content":"`+strings.Repeat("x", 90)+`"}`); !strings.Contains(got, "22 of 100 bytes") {
		t.Errorf("the quota is not told: %s", got)
	}
	other, _ := tell(t, rt, "", `ls {"path":"/mnt/user-data/outputs"}`)
	twin, err := rt.Threads().Copy(t.Context(), "", thread)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{other, twin.ID} {
		if _, got := tell(t, rt, id, `ls {"path":"/mnt/user-data/outputs"}`); !strings.Contains(got, "The folder is empty.") {
			t.Errorf("thread %s finds files of %s: %s", id, thread, got)
		}
	}
	if err := rt.Threads().Delete(t.Context(), "", thread); err != nil {
		t.Fatal(err)
	}
	if got := folders(t, data); len(got) != 2 || strings.Contains(strings.Join(got, " "), thread) {
		t.Errorf("after the thread was deleted there is %q, want the two others", got)
	}
}

func TestFilesOfAThreadThatIsGoneAreSweptAtTheNextStart(t *testing.T) {
	data := t.TempDir()
	rt, err := tributary.Open(t.Context(), tributary.Options{Dir: data, Models: clerk(), Files: true})
	if err != nil {
		t.Fatal(err)
	}
	gone, _ := tell(t, rt, "", order)
	stays, _ := tell(t, rt, "", order)
	if err := rt.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The process died after the thread was deleted, and before its files were.
	db, err := sqlite.Open(t.Context(), data, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.DeleteThread(t.Context(), run.Identity{Owner: tributary.DefaultOwner}, gone); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := folders(t, data); len(got) != 2 {
		t.Fatalf("got %q, want two folders", got)
	}
	open(t, tributary.Options{Dir: data, Models: clerk(), Files: true})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		got := folders(t, data)
		if len(got) == 1 && strings.Contains(got[0], stays) {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("got %q, want that of %s alone", got, stays)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestWithoutFilesThereAreNoToolsAndNoFolders(t *testing.T) {
	data := t.TempDir()
	rt := open(t, tributary.Options{Dir: data, Models: clerk()})
	if _, got := tell(t, rt, "", order); !strings.Contains(got, "there is no tool") {
		t.Errorf("got %s", got)
	}
	if _, err := os.Stat(filepath.Join(data, "threads")); err == nil {
		t.Error("there is a folder that nobody asked for")
	}
}
