package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/door"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// researchKind is the other process that does a research and tells what it took; see serve.
const researchKind = "research"

// researchSteps are those of the plan. Each asks its model twice and searches once.
const researchSteps = 40

// researched is what the other process tells.
type researched struct {
	One, Five taken
	Peak      int64         // of the memory, with five at once, before anything else is measured
	Sync      time.Duration // what the disk takes for a page that must be on it, in the middle of a row of them
}

// taken is what a research took, all of it: from the request until its end is known.
type taken struct {
	Wall    time.Duration // without Own
	Own     time.Duration // what the model and the tool took themselves
	CPU     time.Duration // with all of Own
	Commits int           // transactions; nearly all are waited for by the disk
	Events  int
	State   int64 // bytes of checkpoints and what they refer to
	Allocs  int
	Bytes   int // allocated
}

// per says how much of it a step took.
func (t taken) per() string {
	n := float64(researchSteps)
	return fmt.Sprintf("in all %s, of which %s of model and tool are left out; counted: %s CPU with theirs, %.1f commits, %.0f events, %.1f kB of state, %s allocations of %.0f kB",
		short((t.Wall+t.Own)/researchSteps), short(t.Own/researchSteps), short(t.CPU/researchSteps), float64(t.Commits)/n, float64(t.Events)/n, float64(t.State)/n/1e3, thousands(t.Allocs/researchSteps), float64(t.Bytes)/n/1e3)
}

// researching measures what the workflow of a research costs, with a model and a search that take no time.
func researching(_ context.Context, b *bench) ([]row, error) {
	var one, five, sync samples
	var last researched
	var peak int64
	for range b.count(10) {
		p, err := b.start(researchKind)
		if err != nil {
			return nil, err
		}
		var r researched
		if err := errors.Join(json.Unmarshal([]byte(p.addr), &r), p.stop()); err != nil {
			return nil, err
		}
		one, five, sync, peak = append(one, r.One.Wall/researchSteps), append(five, r.Five.Wall/researchSteps), append(sync, r.Sync), max(peak, r.Peak)
		last = r
	}
	each := fmt.Sprintf("a research of %d steps, divided by them: ", researchSteps)
	bare := func(t taken) string {
		n := float64(t.Commits) / researchSteps
		return fmt.Sprintf("%s: %.1f pages that are waited for, %s each", short(time.Duration(n*float64(sync.at(0.5)))), n, short(sync.at(0.5)))
	}
	return []row{
		{each + "one after the other", one.wide(), bare(last.One), atMost(one.at(0.5).Seconds(), 0.005, "5 ms")},
		{"of it, in the last measurement", last.One.per(), "–", "–"},
		{each + "five at once", five.wide(), bare(last.Five), atMost(five.at(0.5).Seconds(), 0.005, "5 ms")},
		{"of it, in the last measurement", last.Five.per(), "–", "–"},
		{fmt.Sprintf("memory of the process at most, %d steps, five at once", researchSteps), mebibytes(peak), "–", atMost(float64(peak), 150e6, "150 MB")},
	}, nil
}

// researchProcess is the other process.
func researchProcess(dir, profiles string) error {
	ctx := context.Background()
	var own ownTime
	builder, err := tributary.Research(tributary.ResearchOptions{
		Models: tributary.OneModel(timedModel{researchModel(), &own}), Tools: []tool.Tool{researchSearch(&own)},
		Settings: research.Settings{AutoAccept: true, MaxSteps: researchSteps, MaxPlanIterations: 1},
	})
	if err != nil {
		return err
	}
	rt, err := tributary.Open(ctx, tributary.Options{Dir: dir, Graphs: map[string]tributary.Builder{"research": builder}})
	if err != nil {
		return err
	}
	if profiles != "" {
		stop, err := profileInto(profiles)
		if err != nil {
			return errors.Join(err, rt.Close(ctx))
		}
		defer stop()
	}
	var r researched
	if r.Five, err = researchOnce(ctx, rt, &own, 5); err != nil {
		return errors.Join(err, rt.Close(ctx))
	}
	r.Peak = peakOf()
	if r.One, err = researchOnce(ctx, rt, &own, 1); err != nil {
		return errors.Join(err, rt.Close(ctx))
	}
	if r.Sync, err = syncOf(dir); err != nil {
		return errors.Join(err, rt.Close(ctx))
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return errors.Join(err, rt.Close(ctx))
	}
	fmt.Println(string(raw))
	_, _ = io.Copy(io.Discard, os.Stdin) // it ends with who started it
	return rt.Close(ctx)
}

// profileInto keeps what this process does until stop is called, in files of a folder.
func profileInto(dir string) (stop func(), err error) {
	runtime.MemProfileRate = 16 << 10
	var files [2]*os.File
	for i, kind := range []string{"cpu", "allocs"} {
		if files[i], err = os.Create(filepath.Join(dir, researchKind+"."+kind+".pprof")); err != nil {
			return nil, err
		}
	}
	if err := pprof.StartCPUProfile(files[0]); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = pprof.Lookup("allocs").WriteTo(files[1], 0)
		_, _ = files[0].Close(), files[1].Close()
	}, nil
}

// researchOnce makes one research.
func researchOnce(ctx context.Context, rt *tributary.Runtime, own *ownTime, parallel int) (t taken, err error) {
	store := door.Open(rt).Store.Backend.(*sqlite.DB)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	own.take()
	began, worked, commits := time.Now(), cpu(), store.Commits()
	run, err := rt.Start(ctx, tributary.Request{Assistant: "research", Text: "What is known of rivers?", Configurable: json.RawMessage(`{"parallel_steps":` + strconv.Itoa(parallel) + `}`)})
	if err == nil {
		run, err = rt.Wait(ctx, "", run.ID)
	}
	t.Wall, t.Own = time.Since(began), own.take()/time.Duration(parallel)
	t.Wall -= t.Own
	t.CPU, t.Commits = cpu()-worked, int(store.Commits()-commits)
	runtime.ReadMemStats(&after)
	t.Allocs, t.Bytes = int(after.Mallocs-before.Mallocs), int(after.TotalAlloc-before.TotalAlloc)
	if err == nil && run.Status != event.Success {
		err = fmt.Errorf("the research ended with %s: %v", run.Status, run.Error)
	}
	if err != nil {
		return t, err
	}
	for _, err := range rt.Follow(ctx, "", run.ID, tributary.Position{}) {
		if err != nil {
			return t, err
		}
		t.Events++
	}
	t.State, err = store.StateBytes(ctx, run.Thread)
	return t, err
}

// syncOf is what the disk takes for the least that a commit can be: a page at the end of a file, and waiting until it is there.
func syncOf(dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, "sync")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	var all samples
	page := make([]byte, 4096)
	for range 100 {
		began := time.Now()
		_, err := f.Write(page)
		if err = errors.Join(err, f.Sync()); err != nil {
			return 0, errors.Join(err, f.Close())
		}
		all = append(all, time.Since(began))
	}
	return all.at(0.5), f.Close()
}

// ownTime is what the model and the tool of the measurement take themselves. Where several work at once, each is counted with its
// share: more may have passed on the clock, but never less.
type ownTime struct{ spent atomic.Int64 }

func (o *ownTime) since(began time.Time) { o.spent.Add(int64(time.Since(began))) }
func (o *ownTime) take() time.Duration   { return time.Duration(o.spent.Swap(0)) }

// timedModel hands in what it was asked as providers do, and notes how long it takes until it has something to say. What
// others do with a part of its answer is theirs.
type timedModel struct {
	model.Model
	own *ownTime
}

func (m timedModel) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		began := time.Now()
		body, err := json.Marshal(req)
		m.own.since(began)
		if err == nil && req.Sent != nil {
			req.Sent(body) // and what is done with that is not the model's
		}
		began = time.Now()
		for part, err := range m.Model.Stream(ctx, req) {
			m.own.since(began)
			if !yield(part, err) {
				return
			}
			began = time.Now()
		}
		m.own.since(began)
	}
}

// peakOf is the most memory that this process had.
func peakOf() int64 {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kb, _ := strconv.ParseInt(fields[0], 10, 64) // what cannot be read is nothing
	return kb << 10
}

func researchModel() model.Model {
	plan := research.Plan{Title: "Rivers"}
	for i := range researchSteps {
		plan.Steps = append(plan.Steps, research.Step{Title: fmt.Sprintf("River %d", i+1), Type: research.Research})
	}
	raw, err := json.Marshal(plan)
	if err != nil {
		panic(err) // a plan always encodes
	}
	// A model's time is not measured here, nor what each of its tokens costs, so it says what it says in two pieces.
	finding := []string{strings.Repeat("The river is long and ends in a sea. ", 30), strings.Repeat("It begins in the mountains. ", 30)}
	return scripted.New(func(req model.Request) scripted.Script {
		switch {
		case strings.HasPrefix(req.System, "You are the first"):
			return scripted.Call("h1", "handoff_to_planner", `{"research_topic":"rivers"}`)
		case strings.HasPrefix(req.System, "You plan research"):
			return scripted.Pieces(string(raw))
		case strings.HasPrefix(req.System, "You write the report"):
			return scripted.Pieces("# Rivers\n\n").Pieces(finding...)
		case req.Messages[len(req.Messages)-1].Role == item.Tool:
			return scripted.Pieces(finding...)
		}
		return scripted.Call("c1", "search", `{"query":"rivers"}`)
	})
}

// researchSearch finds six passages of a kilobyte, which others do not find.
func researchSearch(own *ownTime) tool.Tool {
	text := strings.Repeat("The river is long and ends in a sea. ", 27)
	return tool.FuncOfCall("search", "Searches.", func(_ context.Context, c tool.Call, _ struct {
		Query string `json:"query"`
	}) (item.ToolResult, error) {
		defer own.since(time.Now())
		var res item.ToolResult
		for i := range 6 {
			b := item.Block{Type: item.TextBlock, Ref: i + 1, Text: text, Name: "River " + c.ID, URL: fmt.Sprintf("%s-%d.md", c.ID, i)}
			res.Blocks, res.Content = append(res.Blocks, b), append(res.Content, b)
		}
		return res, nil
	})
}
