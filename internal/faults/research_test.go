package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	runs "github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// The process that is killed is this test binary, started again: researchDir is its data folder, researchDeath where it dies,
// as in "planner/middle".
const (
	researchDir   = "TRIBUTARY_FAULTS_RESEARCH"
	researchDeath = "TRIBUTARY_FAULTS_DEATH"
)

var researchNodes = []string{
	research.NodeCoordinator, research.NodeClarify, research.NodeBackground, research.NodePlanner, research.NodeReview, research.NodeTeam,
	research.NodeResearcher, research.NodeAnalyst, research.NodeCoder, research.NodeReporter,
}

// spoken are those of them in which a model says something.
var spoken = []string{
	research.NodeCoordinator, research.NodePlanner, research.NodeResearcher, research.NodeAnalyst, research.NodeCoder, research.NodeReporter,
}

// TestResearchKilledInEveryNode kills a real process with SIGKILL in each node of a research: when its beginning is on disk, in the
// middle of what it says, and when its work is done but not kept. Another process goes on where it ended. The research is
// completed: no step is done twice, no more searches are made than are needed (one that was under way may be made again, under the
// same id), no program runs twice, and nobody is shown an answer twice.
func TestResearchKilledInEveryNode(t *testing.T) {
	whole := t.TempDir()
	if err := life(t, whole, ""); err != nil {
		t.Fatal(err)
	}
	want := legacy(t, whole)
	if len(want.tasks) != 5 || len(want.searches) != 3 || len(want.counted) != 1 || !strings.Contains(want.report, "## References") {
		t.Fatalf("the research without a death left %+v", want)
	}
	for when, nodes := range map[string][]string{"begin": researchNodes, "middle": spoken, "end": researchNodes} {
		for _, node := range nodes {
			t.Run(node+"/"+when, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				var exit *exec.ExitError
				if err := life(t, dir, node+"/"+when); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("the process did not die there: %v", err)
				}
				if err := life(t, dir, ""); err != nil {
					t.Fatal(err)
				}
				got := legacy(t, dir)
				if !slices.Equal(got.tasks, want.tasks) {
					t.Errorf("the tasks that ended well are %q, want each once: %q", got.tasks, want.tasks)
				}
				if calls := slices.Compact(slices.Sorted(slices.Values(got.searches))); len(calls) != len(want.searches) {
					t.Errorf("the searches are %q, want %d", calls, len(want.searches))
				}
				if len(got.counted) > 1 { // if it was under way, nobody knows what came of it, and it is not run again
					t.Errorf("the program ran as %q", got.counted)
				}
				if got.report != want.report || got.file != got.report {
					t.Errorf("the report is\n%q\nand its file\n%q\nwant\n%q", got.report, got.file, want.report)
				}
				if got.answers > want.answers {
					t.Errorf("%d answers were given, want at most %d", got.answers, want.answers)
				}
			})
		}
	}
}

// life is one process on a folder. It ends when the research has, or dies.
func life(t *testing.T, dir, death string) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), researchDir+"="+dir, researchDeath+"="+death)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) > 0 {
		t.Logf("%s: %s", death, out)
	}
	return err
}

// left is what a research leaves in its folder.
type left struct {
	tasks    []string // that ended well, once for each time
	searches []string
	counted  []string
	answers  int // of models, to their end
	report   string
	file     string
}

func legacy(t *testing.T, dir string) left {
	t.Helper()
	db, err := sqlite.Open(t.Context(), dir, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all, err := db.ThreadRuns(t.Context(), person, researchThread, "", 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	log := journal.Open(db, journal.Options{})
	defer log.Close()
	var l left
	for _, r := range slices.Backward(all) {
		var events []event.Envelope
		for env, err := range log.Read(t.Context(), r.ID, 0) {
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, env)
			if _, ok := env.Event.(event.TurnEnded); ok {
				l.answers++
			}
			if e, ok := env.Event.(event.TaskEnded); ok && e.Status == event.Success {
				l.tasks = append(l.tasks, env.Task)
			}
			if e, ok := env.Event.(event.ItemEnded); ok && env.Node == research.NodeReporter {
				if m, ok := e.Item.(item.Message); ok && e.Status == item.Completed {
					l.report = m.Text()
				}
			}
		}
		if err := transcript.Check(slices.Values(events)); err != nil {
			t.Errorf("run %s: %v", r.ID, err)
		}
	}
	slices.Sort(l.tasks)
	for i, name := range l.tasks { // the search before the plan is named after its execution
		if strings.HasPrefix(name, "background-") {
			l.tasks[i] = "background"
		}
	}
	lines := func(name string) []string {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.Fields(string(raw))
	}
	l.searches, l.counted = lines("searches"), lines("counted")
	file, err := os.ReadFile(filepath.Join(dir, "files", "outputs", "report.md"))
	if err != nil {
		t.Error(err)
	}
	l.report, l.file = undated.ReplaceAllString(l.report, "read today"), undated.ReplaceAllString(string(file), "read today")
	return l
}

var undated = regexp.MustCompile(`read [0-9]{4}-[0-9]{2}-[0-9]{2}`)

const researchThread = "0190a000-0000-7000-8000-00000000000d"

var person = runs.Identity{Owner: "person"}

// researchLife is the process: it takes the research up where it stands, and answers what is asked.
func researchLife(dir, death string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return err
	}
	store := &doomed{DB: db}
	store.node, store.when, _ = strings.Cut(death, "/")
	log := journal.Open(store, journal.Options{})
	g, err := researchGraph(dir)
	if err != nil {
		return err
	}
	eng, err := runs.Open(ctx, runs.Options{
		Store: store, Journal: log, Checkpoints: db,
		Build: func(context.Context, runs.Run) (*graph.Graph, error) { return g, nil },
		Folder: func(runs.Identity, string) (*os.Root, error) {
			files := filepath.Join(dir, "files")
			if err := os.MkdirAll(files, 0o700); err != nil {
				return nil, err
			}
			return os.OpenRoot(files)
		},
	})
	if err != nil {
		return err
	}
	req := runs.Request{Assistant: g.Name(), Graph: g.Name(), CreateThread: true}
	for {
		all, err := db.ThreadRuns(ctx, person, researchThread, "", 1, 0)
		if err != nil && !errors.Is(err, runs.ErrNotFound) {
			return err
		}
		var newest runs.Run
		if len(all) > 0 {
			if newest, err = eng.Wait(ctx, person, all[0].ID); err != nil {
				return err
			}
		}
		next := req
		switch {
		case len(all) == 0:
			next.Input = json.RawMessage(`{"messages":[{"id":"u1","type":"human","content":"Rivers?"}]}`)
		case newest.Status == runs.Interrupted:
			asked, err := eng.Asked(ctx, person, researchThread)
			if err != nil || len(asked) != 1 {
				return fmt.Errorf("%d questions: %w", len(asked), err)
			}
			next.Command = json.RawMessage(`{"resume":"How long are the Nile and the Danube?"}`)
			if asked[0].Ask == event.AskPlanReview {
				next.Command = json.RawMessage(`{"resume":"accepted"}`)
			}
		case newest.Status == runs.Success:
			err := eng.Close(ctx)
			log.Close()
			return errors.Join(err, db.Close())
		default:
			return fmt.Errorf("the run ended with %s: %v", newest.Status, newest.Error)
		}
		if _, err := eng.Start(ctx, person, researchThread, next); err != nil {
			return err
		}
	}
}

// doomed is a database whose process dies of an event: one of a node that it has written, or does not live to write.
type doomed struct {
	*sqlite.DB
	node, when string
}

func (d *doomed) Append(ctx context.Context, groups []journal.Group, sync bool) (map[string]error, error) {
	fatal := d.node != "" && d.fatal(groups)
	if fatal && d.when == "end" {
		die()
	}
	failed, err := d.DB.Append(ctx, groups, sync)
	if fatal {
		die()
	}
	return failed, err
}

func (d *doomed) fatal(groups []journal.Group) bool {
	for _, g := range groups {
		for line := range strings.Lines(string(g.Chunk.Data)) {
			var env event.Envelope
			if json.Unmarshal([]byte(line), &env) != nil {
				continue
			}
			own := env.NS == "" && env.Node == d.node
			switch e := env.Event.(type) {
			case event.NodeStarted:
				if own && d.when == "begin" {
					return true
				}
			case event.NodeEnded:
				if own && d.when == "end" && len(e.Interrupts) == 0 {
					return true
				}
			case event.TextDelta:
				if d.when == "middle" && (own || strings.HasPrefix(env.NS, d.node+":")) && env.Node != "tools" {
					return true
				}
			}
		}
	}
	return false
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // it takes the kernel a moment
}

// researchGraph asks back once, searches before it plans, and has four steps, two of which are worked on at once.
func researchGraph(dir string) (*graph.Graph, error) {
	var mu sync.Mutex
	note := func(file, line string) {
		mu.Lock()
		defer mu.Unlock()
		f, err := os.OpenFile(filepath.Join(dir, file), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = fmt.Fprintln(f, line)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			panic(err)
		}
	}
	search := tool.Repeatable(tool.FuncOfCall("search", "Searches.", func(_ context.Context, c tool.Call, in struct {
		Query string `json:"query"`
	}) (item.ToolResult, error) {
		note("searches", c.ID)
		b := item.Block{Type: item.TextBlock, Ref: 1, Name: "Nile", URL: "nile.md", Text: "The Nile is 6650 km long."}
		if strings.Contains(in.Query, "Danube\n") || strings.HasSuffix(in.Query, "Danube") {
			b.Ref, b.Name, b.URL, b.Text = 2, "Danube", "danube.md", "The Danube is 2850 km long."
		}
		return item.ToolResult{Blocks: []item.Block{b}, Content: []item.Block{b}}, nil
	}))
	count := grouped{tool.FuncOfCall("count", "Counts.", func(_ context.Context, c tool.Call, _ struct{}) (string, error) {
		note("counted", c.ID)
		return "3800", nil
	}), "code"}
	set, err := tool.NewSet(search, count)
	if err != nil {
		return nil, err
	}
	plan, err := json.Marshal(research.Plan{Title: "Rivers", Steps: []research.Step{
		{ID: "a", Title: "The Nile", Type: research.Research}, {ID: "b", Title: "The Danube", Type: research.Research},
		{ID: "c", Title: "The difference", Type: research.Processing, DependsOn: []string{"a", "b"}},
		{ID: "d", Title: "What follows", Type: research.Analysis, DependsOn: []string{"c"}},
	}})
	if err != nil {
		return nil, err
	}
	play := func(req model.Request) scripted.Script {
		last := req.Messages[len(req.Messages)-1]
		text, used := last.Text(), last.Role == item.Tool
		switch system := req.System; {
		case strings.HasPrefix(system, "You are the first"):
			if len(req.Messages) == 1 {
				return scripted.Say("Which rivers, and what about them?")
			}
			return scripted.Call("h1", "handoff_to_planner", `{"research_topic":"How long are the Nile and the Danube?"}`)
		case strings.HasPrefix(system, "You plan research"):
			if strings.Contains(text, "<finding") {
				return scripted.Say(`{"title":"Rivers","has_enough_context":true,"steps":[]}`)
			}
			return scripted.Say(string(plan))
		case strings.HasPrefix(system, "You find out"):
			river := "Nile"
			if strings.Contains(req.Messages[0].Text(), "The Danube\n</question>") {
				river = "Danube"
			}
			if used {
				return scripted.Say("The length of the " + river + " was found.")
			}
			return scripted.Call("c-"+river, "search", `{"query":"`+river+`"}`)
		case strings.HasPrefix(system, "You calculate"):
			if used {
				return scripted.Say("The difference is " + text + " km.")
			}
			return scripted.Call("c-count", "count", `{}`)
		case strings.HasPrefix(system, "You draw conclusions"):
			return scripted.Say("The Nile is longer.")
		case strings.HasPrefix(system, "You write the report"):
			return scripted.Say("# Rivers\n\nThe Nile is 6650 km long[^1]. It is the longer one.\n")
		}
		return scripted.Fail(&model.Error{Class: model.BadRequest, Message: "nobody plays this role"})
	}
	return research.New(research.Options{
		Model: scripted.New(play), Tools: set,
		Settings: research.Settings{Clarify: true, MaxClarifications: 2, MaxSteps: 4, MaxPlanIterations: 2, Parallel: 2},
	})
}

// grouped is a tool of a group.
type grouped struct {
	tool.Tool
	group string
}

func (g grouped) Spec() tool.Spec {
	s := g.Tool.Spec()
	s.Group = g.group
	return s
}
