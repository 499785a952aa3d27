package faults_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/faults"
	runs "github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server"
	"github.com/tributary-ai/tributary/internal/server/webhook"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
)

// TestKilledEvery300Milliseconds kills the real program, with the settings that it ships with, every 300 ms until all runs have
// ended. All must succeed: none of them is why the process ends. No run can end within that time, and while none does the next
// process lives longer: so there are several kills on any machine.
func TestKilledEvery300Milliseconds(t *testing.T) { killedEvery(t, 30, 6, 1.5, 5*time.Minute) }

// TestSoakKilledEvery300Milliseconds does so with 200 that can, and gives no more.
func TestSoakKilledEvery300Milliseconds(t *testing.T) {
	soak(t)
	killedEvery(t, 200, 1, 1, 15*time.Minute)
}

func killedEvery(t *testing.T, count, gap int, patience float64, limit time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	p := startProvider(t)
	w := newReal(t, p, []modelEntry{{name: "mock", provider: "openai", baseURL: p.URL() + "/v1"}}, "")
	created := make(chan struct{})
	go func() {
		defer close(created)
		var wg sync.WaitGroup
		for i := range count {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(w.seed, uint64(i)))
				l := load{order: func(_ int, key string) faults.Order { return faults.Order{Key: key, Words: 150, GapMS: gap} }}
				if e := w.create(ctx, i, l, rng); e.err != nil {
					t.Error(e.err)
				}
			})
		}
		wg.Wait()
	}()
	lifetime := 300 * time.Millisecond // of each process, once it listens
	began, kills, ended, done := time.Now(), 0, 0, false
	for !done {
		if ctx.Err() != nil {
			t.Fatalf("after %d kills runs are still under way: %v", kills, statuses(t, w.data))
		}
		wait(ctx, lifetime)
		w.host.kill()
		kills++
		s := statuses(t, w.data)
		if s[runs.Success] == ended {
			lifetime = time.Duration(float64(lifetime) * patience)
		}
		ended = s[runs.Success]
		select {
		case <-created:
			done = s[runs.Pending]+s[runs.Running] == 0
		default:
		}
		if err := w.host.start(); err != nil {
			t.Fatal(err)
		}
	}
	all := statuses(t, w.data)
	t.Logf("%d kills in %v, at last after %v: %v", kills, time.Since(began).Round(time.Millisecond), lifetime, all)
	if len(all) != 1 || all[runs.Success] < count {
		t.Errorf("the runs ended %v, want all of %d to succeed", all, count)
	}
	if kills < 3 {
		t.Errorf("the process was killed only %d times: the test is too kind", kills)
	}
}

// statuses counts runs, as the file has them.
func statuses(t *testing.T, data string) map[runs.Status]int {
	t.Helper()
	db, err := sqlite.Open(t.Context(), data, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	list, _, err := db.SearchRuns(t.Context(), server.Local, runs.RunQuery{Limit: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	out := map[runs.Status]int{}
	for _, r := range list {
		out[r.Status]++
	}
	return out
}

// receiver gets webhooks, and refuses every third.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	calls   int
	taken   map[string]int // by run
	strange []string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{taken: map[string]int{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		id := req.Header.Get("webhook-id")
		r.mu.Lock()
		defer r.mu.Unlock()
		signed := "v1," + webhook.Sign([]byte(faults.WebhookSecret), id, req.Header.Get("webhook-timestamp"), body)
		name, ok := strings.CutPrefix(id, "run_")
		if !ok || req.Header.Get("webhook-signature") != signed || !strings.Contains(string(body), name) {
			r.strange = append(r.strange, fmt.Sprintf("%s: %s", id, body))
		}
		if r.calls++; r.calls%3 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		r.taken[name]++
	}))
	t.Cleanup(r.Close)
	return r
}

// TestWebhooksArriveWhateverHappensToTheServer kills and stops a server in turns while its runs end. Whoever asked to be told of a
// run is told: once or more, under the same id, and never not at all.
func TestWebhooksArriveWhateverHappensToTheServer(t *testing.T) {
	const count, ends = 40, 6
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	w := newWorld(t)
	to := newReceiver(t)
	accepted := make([]string, count)
	var wg sync.WaitGroup
	for i := range count {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(w.seed, uint64(i)))
			for ctx.Err() == nil && accepted[i] == "" {
				wait(ctx, time.Duration(rng.IntN(1500))*time.Millisecond)
				o := faults.Order{Key: fmt.Sprintf("k%dx%d", i, rng.IntN(1<<30)), Words: 20}
				accepted[i], _ = w.createRun(ctx, uuid(rng), o, "", to.URL+"/told") // one that got no answer is asked for again
			}
		})
	}
	rng := rand.New(rand.NewPCG(w.seed, 1<<40))
	for i := range ends {
		wait(ctx, time.Duration(100+rng.IntN(400))*time.Millisecond)
		if i%2 == 0 {
			w.host.kill()
		} else if err := w.host.stop(time.Minute); err != nil {
			t.Errorf("an orderly stop: %v", err)
		}
		w.host.mustStart(t)
	}
	wg.Wait()
	missing := func() (n int) {
		to.mu.Lock()
		defer to.mu.Unlock()
		for _, id := range accepted {
			if to.taken[id] == 0 {
				n++
			}
		}
		return n
	}
	for missing() > 0 && wait(ctx, 50*time.Millisecond) {
	}
	if n := missing(); n > 0 {
		t.Errorf("of %d runs %d were never told", count, n)
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	again := 0
	for _, n := range to.taken {
		if n > 1 {
			again++
		}
	}
	t.Logf("%d calls for %d runs, %d were told more than once", to.calls, len(to.taken), again)
	if len(to.strange) > 0 {
		t.Errorf("the receiver does not know what to make of %v", to.strange)
	}
}
