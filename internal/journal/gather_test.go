package journal_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
)

// crowd is many runs that are written.
func crowd(j *journal.Journal, n int) []*journal.Log {
	logs := make([]*journal.Log, n)
	for i := range logs {
		run := fmt.Sprint("run_", i)
		logs[i] = j.Log(lease(run, 1), "t", 0)
	}
	return logs
}

func (m *memory) writeCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.writes)
}

func TestATokenNowAndThenIsWrittenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		j := journal.Open(m, journal.Options{})
		defer j.Close()
		l := j.Log(lease("r", 1), "t", 0)
		defer l.Close()
		for n := range 100 { // time stands still until all sleep, so what is written now was not held up
			must(t, l.Append(t.Context(), batch(event.TextDelta{Item: "msg_1", Text: "x"})))
			synctest.Wait()
			if got := m.writeCount(); got != n+1 {
				t.Fatalf("after %d tokens there were %d writes", n+1, got)
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
}

func TestManyStreamsShareWritesAndNoTokenWaitsLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		j := journal.Open(m, journal.Options{})
		defer j.Close()
		logs := crowd(j, 200)
		const rounds = 20
		done := make(chan time.Duration)
		for _, l := range logs {
			defer l.Close()
		}
		go func() {
			var late time.Duration
			n := 0
			for env, err := range j.Follow(t.Context(), "run_0", journal.Position{}) {
				if err != nil {
					t.Error(err)
					break
				}
				late = max(late, time.Since(env.At))
				if n++; n == rounds {
					break
				}
			}
			done <- late
		}()
		for range rounds { // each says 20 tokens a second, and none at the time of another
			for _, l := range logs {
				must(t, l.Append(t.Context(), batch(event.TextDelta{Item: "msg_1", Text: "x"})))
				time.Sleep(50 * time.Millisecond / 200)
			}
		}
		worst := <-done
		if got, most := m.writeCount(), 20*rounds; got > most {
			t.Errorf("%d tokens took %d writes, want at most %d", rounds*len(logs), got, most)
		}
		if most := 5 * time.Millisecond; worst > most {
			t.Errorf("a token was seen after %v, want at most %v", worst, most)
		}
	})
}

func TestNobodyWhoWaitsIsGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		j := journal.Open(m, journal.Options{QueueBytes: 2000})
		defer j.Close()
		logs := crowd(j, 3)
		for _, l := range logs {
			defer l.Close()
		}
		stop := make(chan struct{})
		stopped := make(chan struct{})
		go func() { // keeps the writer busy
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Microsecond):
					if err := logs[0].Append(t.Context(), batch(event.TextDelta{Item: "msg_1", Text: "x"})); err != nil {
						t.Error(err)
						return
					}
				}
			}
		}()
		defer func() { close(stop); <-stopped }()
		time.Sleep(100 * time.Millisecond)
		for range 50 {
			time.Sleep(730 * time.Microsecond)
			began := time.Now()
			b := batch(event.TextDelta{Item: "msg_1", Text: "x"})
			b.Promise = true
			must(t, logs[1].Append(t.Context(), b))
			if took := time.Since(began); took > 0 {
				t.Fatalf("a promise waited for %v", took)
			}
		}
		began := time.Now()
		for range 500 { // far more than a queue holds
			must(t, logs[2].Append(t.Context(), batch(event.TextDelta{Item: "msg_1", Text: "a text of some length"})))
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("who had to wait for room waited for %v", took)
		}
	})
}

// Bytes cost the same however many share a write, and a promise that comes behind them would wait for all of them.
func TestWhatIsCostlyIsNotGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		j := journal.Open(m, journal.Options{})
		defer j.Close()
		logs := crowd(j, 3)
		for _, l := range logs {
			defer l.Close()
		}
		say := func(l *journal.Log, text string) int { // at one moment: time stands still
			must(t, l.Append(t.Context(), batch(event.TextDelta{Item: "msg_1", Text: text})))
			synctest.Wait()
			return m.writeCount()
		}
		before := -1
		for now := 0; now > before; { // until the writes that need not gather are spent
			before, now = now, say(logs[0], "x")
		}
		if now := say(logs[1], "x"); now != before {
			t.Fatalf("a token made write %d at once, want it gathered with the one before", now)
		}
		if now := say(logs[2], strings.Repeat("x", 50<<10)); now != before+1 {
			t.Errorf("after 50 kB there were %d writes, want %d", now, before+1)
		}
	})
}
