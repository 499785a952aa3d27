package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// How many teams work at the same time, and how many experts each has.
const (
	teamsAtOnce   = 100
	expertsOfEach = 6
)

// expertTeams measures teams whose experts speak at the pace of a model, beside as many ordinary runs as there are experts.
func expertTeams(ctx context.Context, b *bench) ([]row, error) {
	pc := pace{N: int(20 * b.scale(10*time.Second).Seconds()), DelayMS: 50}
	n := teamsAtOnce
	if b.quick {
		n /= 10
	}
	p, err := b.start("teams")
	if err != nil {
		return nil, err
	}
	var ours outcome
	err = b.profiled(ctx, p, "teams", func() (err error) {
		ours, err = gatherTeams(ctx, p, n, pc)
		return err
	})
	if err := closed(p, err); err != nil {
		return nil, fmt.Errorf("teams: %w", err)
	}
	if p, err = b.start("tributary"); err != nil {
		return nil, err
	}
	runs, err := carry(ctx, p, onTask, load{streams: n * expertsOfEach, pace: pc, spread: time.Second, lags: true})
	if err := closed(p, err); err != nil {
		return nil, fmt.Errorf("ordinary runs: %w", err)
	}
	return []row{{
		what:  fmt.Sprintf("%d teams of %d experts, each at 20 tokens/s, followed on the team wire: %s tokens, none lost, none twice", n, expertsOfEach, thousands(ours.tokens)),
		ours:  fmt.Sprintf("%v, %s CPU per event, %s at most", ours.lags, short(ours.perFrame()), mebibytes(ours.peak)),
		limit: fmt.Sprintf("%v, %s; a team takes %s the CPU", runs.lags, short(runs.perFrame()), times(ours.perFrame(), runs.perFrame())),
		bar:   atMost(ours.lags.at(0.99).Seconds(), 50e-3, "p99 50 ms"),
	}}, nil
}

func closed(p *process, err error) error {
	if stopped := p.stop(); err == nil {
		err = stopped
	}
	return err
}

// gatherTeams follows teams from their start to their end, and counts every token of every expert.
func gatherTeams(ctx context.Context, p *process, n int, pc pace) (outcome, error) {
	var members []map[string]string
	for i := range expertsOfEach {
		members = append(members, map[string]string{"name": fmt.Sprintf("expert %d", i+1), "role": "the time"})
	}
	ask := request{method: "POST", path: "/teams", body: encoded(map[string]any{"question": string(encoded(pc)), "experts": members, "stream": true})}
	d := dialect{name: "team", mark: []byte(`"delta":"`)}
	streams, errs := make([]watched, n), make([]error, n)
	peak, before, began := p.watch(), p.cpu(), time.Now()
	var wg sync.WaitGroup
	for i := range streams {
		wg.Go(func() {
			time.Sleep(time.Second * time.Duration(i) / time.Duration(n))
			streams[i], errs[i] = watch(ctx, p.addr, d, ask, true)
		})
	}
	wg.Wait()
	o := outcome{cpu: p.cpu() - before, peak: peak()}
	for i := range streams {
		w := &streams[i]
		if errs[i] != nil {
			return o, fmt.Errorf("team %d: %w", i, errs[i])
		}
		if want := pc.N * expertsOfEach; w.tokens != want {
			return o, fmt.Errorf("team %d said %d tokens to its reader, not %d", i, w.tokens, want)
		}
		o.add(w, began, pc)
	}
	return o, nil
}

// clockModel is the clock as a model: an expert says the time, at the pace that the question gives, and the lead a word.
type clockModel struct{}

func (clockModel) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		if !strings.HasPrefix(req.System, "You are ") {
			_ = yield(model.Text{Text: "Done."}, nil) && yield(model.Finish{Reason: item.FinishStop}, nil)
			return
		}
		var pc pace
		asked, _, _ := strings.Cut(req.Messages[len(req.Messages)-1].Text(), "\n")
		if err := json.Unmarshal([]byte(asked), &pc); err != nil {
			yield(nil, err)
			return
		}
		err := tick(ctx, pc, func(stamp string) error {
			if !yield(model.Text{Text: stamp}, nil) {
				return context.Canceled
			}
			return nil
		})
		if err != nil {
			if ctx.Err() != nil {
				yield(nil, err)
			}
			return
		}
		yield(model.Finish{Reason: item.FinishStop}, nil)
	}
}

func (clockModel) Describe() model.Info { return model.Info{Provider: "bench", Model: "clock-1"} }
