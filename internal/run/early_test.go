package run_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

func TestWhatWaitsForItsTimeIsDoneBeforeAStopWhereThatIsWanted(t *testing.T) {
	var out receiver
	var tries atomic.Int32
	handlers := map[string]run.Handler{
		"early": {Early: true, Do: out.do},
		"late":  {Do: out.do},
		// It is due, and finds that it is not: that is no failure, and does not count.
		"later": {Early: true, Do: func(ctx context.Context, f run.FollowUp) error {
			if tries.Add(1) == 1 {
				return run.NotYet{Until: time.Now().Add(time.Hour)}
			}
			return out.do(ctx, f)
		}},
	}
	w := open(t, t.TempDir(), single(oneNode(nothing)), func(o *run.Options) {
		o.Handlers = handlers
		o.FollowUps = func(r run.Run) []run.FollowUp {
			soon := r.EndedAt.Add(time.Hour)
			return []run.FollowUp{{Kind: "early", NextAt: soon}, {Kind: "late", NextAt: soon}, {Kind: "later"}}
		}
	})
	r, err := w.e.Start(context.Background(), me, newThread(), request())
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		list := w.left(run.FollowUpQuery{Kind: "later"})
		return ended(w, r.ID) && len(list) == 1 && list[0].NextAt.After(time.Now().Add(time.Minute)) && list[0].Worker == ""
	})
	if f := w.left(run.FollowUpQuery{Kind: "later"})[0]; f.Attempts != 0 || f.Error != "" || f.Parked {
		t.Errorf("what was not yet due counts as tried: %+v", f)
	}
	if n := out.keys(); n != 0 {
		t.Errorf("%d were done before their time", n)
	}
	if err := w.e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if out.count("early_"+r.ID) != 1 || out.count("later_"+r.ID) != 1 || out.count("late_"+r.ID) != 0 {
		t.Errorf("told %v, want early and later", out.told)
	}
	defer w.stop(0) // closes what is below
	if list := w.left(run.FollowUpQuery{}); len(list) != 1 || list[0].Kind != "late" {
		t.Errorf("left are %+v, want late", list)
	}
}

// One that is looked at while the engine is told to stop, and finds that it is too early, is done before the stop all the same.
func TestWhatIsPutOffDuringAStopIsDoneBeforeIt(t *testing.T) {
	var out receiver
	var tries atomic.Int32
	looking, goOn := make(chan struct{}), make(chan struct{})
	w := open(t, t.TempDir(), single(oneNode(nothing)), func(o *run.Options) {
		o.Handlers = map[string]run.Handler{"later": {Early: true, Do: func(ctx context.Context, f run.FollowUp) error {
			if tries.Add(1) > 1 {
				return out.do(ctx, f)
			}
			close(looking)
			<-goOn
			return run.NotYet{Until: time.Now().Add(time.Hour)}
		}}}
		o.FollowUps = func(run.Run) []run.FollowUp { return []run.FollowUp{{Kind: "later"}} }
	})
	r, err := w.e.Start(context.Background(), me, newThread(), request())
	if err != nil {
		t.Fatal(err)
	}
	<-looking
	time.AfterFunc(20*time.Millisecond, func() { close(goOn) }) // by then the engine is stopping; where it is not, nothing is tested
	if err := w.e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer w.stop(0)
	if n := out.count("later_" + r.ID); n != 1 {
		t.Errorf("it was done %d times, want once; left are %+v", n, w.left(run.FollowUpQuery{}))
	}
}
