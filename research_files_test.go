package tributary_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// roles plays a research, each role as it is told, else in the usual way.
type roles map[string]func(model.Request) scripted.Script

const (
	riversPlan = `{"title":"Rivers","steps":[{"id":"a","title":"Look","step_type":"research"},{"id":"b","title":"Count","step_type":"processing"},{"id":"c","title":"Think","step_type":"analysis"}]}`
	riversFact = "The Nile is 6650 km long."
)

func (r roles) model() *scripted.Model {
	usual := map[string]struct {
		begins string
		plays  func(model.Request) scripted.Script
	}{
		"coordinator": {"You are the first", func(model.Request) scripted.Script {
			return scripted.Call("h1", "handoff_to_planner", `{"research_topic":"How long is the Nile?"}`)
		}},
		"planner": {"You plan research", func(req model.Request) scripted.Script {
			if strings.Contains(req.Messages[0].Text(), "<finding") {
				return scripted.Say(`{"title":"Rivers","has_enough_context":true,"steps":[]}`)
			}
			return scripted.Say(riversPlan)
		}},
		"researcher": {"You find out", func(req model.Request) scripted.Script {
			if req.Messages[len(req.Messages)-1].Role == item.Tool {
				return scripted.Say(riversFact + " [^1]")
			}
			return scripted.Call("c1", "search", `{"query":"Nile"}`)
		}},
		"coder":    {"You calculate", func(model.Request) scripted.Script { return scripted.Say("That is 6650.") }},
		"analyst":  {"You draw conclusions", func(model.Request) scripted.Script { return scripted.Say("It is long.") }},
		"reporter": {"You write the report", func(model.Request) scripted.Script { return scripted.Say("# Rivers\n\n" + riversFact + "[^1]\n") }},
	}
	return scripted.New(func(req model.Request) scripted.Script {
		for name, u := range usual {
			if !strings.HasPrefix(req.System, u.begins) {
				continue
			}
			if own := r[name]; own != nil {
				return own(req)
			}
			return u.plays(req)
		}
		return scripted.Fail(&model.Error{Class: model.BadRequest, Message: "nobody plays this role"})
	})
}

func nileSearch(during func(context.Context) error) tool.Tool {
	return tool.FuncOfCall("search", "Searches.", func(ctx context.Context, _ tool.Call, _ struct {
		Query string `json:"query"`
	}) (item.ToolResult, error) {
		if during != nil {
			if err := during(ctx); err != nil {
				return item.ToolResult{}, err
			}
		}
		b := item.Block{Type: item.TextBlock, Ref: 1, Text: riversFact, Name: "Nile", URL: "nile.md"}
		return item.ToolResult{Blocks: []item.Block{b}, Content: []item.Block{b}}, nil
	})
}

// playing opens a runtime with a research that is played, and returns its folder too.
func playing(t *testing.T, r roles, tools ...tool.Tool) (*tributary.Runtime, string) {
	t.Helper()
	builder, err := tributary.Research(tributary.ResearchOptions{Models: tributary.OneModel(r.model()), Tools: tools, Retry: tributary.Retry{Backoff: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	rt, err := tributary.Open(t.Context(), tributary.Options{Dir: dir, Graphs: map[string]tributary.Builder{tributary.ResearchGraph: builder}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return rt, dir
}

var carriedOut = json.RawMessage(`{"auto_accepted_plan":true,"enable_background_investigation":false}`)

// outputs finds a file of the only thread's outputs.
func outputs(t *testing.T, dir, name string) string {
	t.Helper()
	var found []byte
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Base(filepath.Dir(path)) == "outputs" && filepath.Base(path) == name {
			found, err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(found)
}

func fieldOf[T any](t *testing.T, rt *tributary.Runtime, thread, name string) (v T) {
	t.Helper()
	st, err := rt.State(t.Context(), "", thread, tributary.Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	if raw := st.Values[name]; len(raw) > 0 {
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// The report is a file of the thread from its first word on: what a reader has seen is in it. The next report of the thread is
// another file.
func TestAReportGrowsInAFile(t *testing.T) {
	goOn := make(chan struct{})
	rt, dir := playing(t, roles{"reporter": func(model.Request) scripted.Script {
		return scripted.Pieces("# Rivers\n\n", "The Nile is ", "6650 km ").Wait(goOn).Pieces("long[^1].\n", "\nIt is a river.\n")
	}}, nileSearch(nil))
	run, err := rt.Start(t.Context(), tributary.Request{Assistant: "research", Thread: "t", Text: "Nile?", Configurable: carriedOut})
	if err != nil {
		t.Fatal(err)
	}
	shown, looked := "", false
	for env, err := range rt.Follow(t.Context(), "", run.ID, tributary.Position{}) {
		if err != nil {
			t.Fatal(err)
		}
		d, ok := env.Event.(event.TextDelta)
		if !ok || env.Node != research.NodeReporter {
			continue
		}
		shown += d.Text
		if file := outputs(t, dir, "report.md"); !strings.HasPrefix(file, shown) {
			t.Errorf("a reader has seen %q, the file has %q", shown, file)
		}
		if !looked && strings.HasSuffix(shown, "6650 km ") {
			looked = true
			if list := fieldOf[[]string](t, rt, "t", "artifacts"); !slices.Equal(list, []string{"/mnt/user-data/outputs/report.md"}) {
				t.Errorf("while it is written the artifacts are %q", list)
			}
			if strings.Contains(outputs(t, dir, "report.md"), "It is a river") {
				t.Error("the file has what nobody said yet")
			}
			close(goOn)
		}
	}
	if !looked {
		t.Fatalf("the report was shown as %q", shown)
	}
	final := fieldOf[string](t, rt, "t", "final_report")
	if file := outputs(t, dir, "report.md"); file != final || !strings.Contains(final, "## References") {
		t.Errorf("the file has %q, the state %q", file, final)
	}
	if run, err = rt.Start(t.Context(), tributary.Request{Assistant: "research", Thread: "t", Text: "Once more?", Configurable: carriedOut}); err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Wait(t.Context(), "", run.ID); err != nil {
		t.Fatal(err)
	}
	if list := fieldOf[[]string](t, rt, "t", "artifacts"); len(list) != 2 || list[1] != "/mnt/user-data/outputs/report-2.md" {
		t.Errorf("after a second report the artifacts are %q", list)
	}
	if outputs(t, dir, "report.md") != final || outputs(t, dir, "report-2.md") == "" {
		t.Error("the second report took the first one's place")
	}
}

// What the reporter said before it failed is in the file until the next try says something; then only that is.
func TestAnotherTryTakesThePlaceOfTheFirstInTheFile(t *testing.T) {
	tries := 0
	rt, dir := playing(t, roles{"reporter": func(model.Request) scripted.Script {
		if tries++; tries == 1 {
			return scripted.Pieces("# Half").Fail(&model.Error{Class: model.Overloaded, Message: "busy"})
		}
		return scripted.Pieces("# Whole\n\n", riversFact, "[^1]\n")
	}}, nileSearch(nil))
	run, err := rt.Start(t.Context(), tributary.Request{Assistant: "research", Thread: "t", Text: "Nile?", Configurable: carriedOut})
	if err != nil {
		t.Fatal(err)
	}
	if run, err = rt.Wait(t.Context(), "", run.ID); err != nil || run.Status != event.Success {
		t.Fatalf("%v, %+v", err, run)
	}
	if file := outputs(t, dir, "report.md"); tries != 2 || !strings.HasPrefix(file, "# Whole") || strings.Contains(file, "Half") {
		t.Errorf("after %d tries the file has %q", tries, file)
	}
}

// A run is cancelled in each node. It ends as cancelled, what was said until then stays in the thread, marked as incomplete, and
// what the reporter wrote stays in the file.
func TestCancelInAnyNodeKeepsWhatWasSaid(t *testing.T) {
	const half = "This much was "
	stalls := func(model.Request) scripted.Script { return scripted.Pieces("This ", "much ", "was ").Stall() }
	for _, node := range []string{
		research.NodeCoordinator, research.NodeBackground, research.NodePlanner, research.NodeReview, research.NodeTeam, research.NodeResearcher, research.NodeAnalyst,
		research.NodeCoder, research.NodeReporter,
	} {
		t.Run(node, func(t *testing.T) {
			speaks := slices.Contains([]string{"coordinator", "planner", "researcher", "analyst", "coder", "reporter"}, node)
			during := func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
			if node != research.NodeBackground {
				during = nil
			}
			play := roles{}
			if speaks {
				play[node] = stalls
			} else { // these are over in no time: that the run is cancelled exactly there is seen in package agent/research
				play[research.NodeResearcher] = stalls
			}
			rt, dir := playing(t, play, nileSearch(during))
			run, err := rt.Start(t.Context(), tributary.Request{Assistant: "research", Thread: "t", Text: "Nile?",
				Configurable: json.RawMessage(`{"auto_accepted_plan":true}`)})
			if err != nil {
				t.Fatal(err)
			}
			said, ns, id := "", "", ""
			var end event.RunEnded
			var kept item.Message
			for env, err := range rt.Follow(t.Context(), "", run.ID, tributary.Position{}) {
				if err != nil {
					t.Fatal(err)
				}
				stop := false
				switch e := env.Event.(type) {
				case event.NodeStarted:
					stop = !speaks && env.NS == "" && env.Node == node
				case event.TextDelta:
					if speaks && env.Node != "tools" && (env.Node == node || strings.HasPrefix(env.NS, node+":")) {
						said, ns, id = said+e.Text, env.NS, e.Item
						stop = said == half
					}
				case event.ItemEnded:
					if m, ok := e.Item.(item.Message); ok && m.ID == id && id != "" {
						kept = m
						if e.Status != item.Incomplete {
							t.Errorf("what was cut off is marked as %q", e.Status)
						}
					}
				case event.RunEnded:
					end = e
				}
				if stop {
					if _, err := rt.Cancel(t.Context(), "", run.ID); err != nil {
						t.Fatal(err)
					}
				}
			}
			if end.Status != event.Cancelled {
				t.Fatalf("the run ended with %s (%v)", end.Status, end.Error)
			}
			if !speaks {
				return
			}
			if said != half || kept.Text() != half {
				t.Errorf("shown %q, kept %q", said, kept.Text())
			}
			st, err := rt.State(t.Context(), "", "t", tributary.Checkpoint{NS: ns})
			if err != nil || !strings.Contains(string(st.Values["messages"]), half) {
				t.Errorf("the state of %q has %s (%v)", ns, st.Values["messages"], err)
			}
			if file := outputs(t, dir, "report.md"); node == research.NodeReporter && file != half {
				t.Errorf("the file has %q", file)
			}
		})
	}
}
