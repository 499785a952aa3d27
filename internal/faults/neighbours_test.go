package faults_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/faults"
)

// clock is a provider whose every word is the time at which it was said, 20 times a second for a while.
func clock(t *testing.T, seconds int) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		wire := faults.Wires[0]
		for range 20 * seconds {
			<-tick.C
			if _, err := io.WriteString(w, wire.Text(fmt.Sprintf("%d ", time.Now().UnixNano()))); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush() // who hangs up is found at the next word
		}
		_, _ = io.WriteString(w, wire.End)
	}))
	t.Cleanup(srv.Close)
	return srv
}

// lateness reads a run of the clock and returns how long each of its words was under way.
func (w *world) lateness(ctx context.Context, model string) ([]time.Duration, error) {
	body := fmt.Sprintf(`{"input":"hello","stream":true,"configurable":{"model_name":%q}}`, model)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.host.base()+"/tasks", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := w.host.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(res.Body)
		return nil, fmt.Errorf("%s: %s", res.Status, said)
	}
	var all []time.Duration
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var frame struct{ Type, Delta string }
		if json.Unmarshal([]byte(data), &frame) != nil || !strings.HasSuffix(frame.Type, ".delta") {
			continue
		}
		now := time.Now()
		for _, word := range strings.Fields(frame.Delta) {
			if at, err := strconv.ParseInt(word, 10, 64); err == nil {
				all = append(all, now.Sub(time.Unix(0, at)))
			}
		}
	}
	return all, lines.Err()
}

// neighbours reads 20 runs of the clock at once.
func (w *world) neighbours(ctx context.Context) []time.Duration {
	var mu sync.Mutex
	var all []time.Duration
	var readers sync.WaitGroup
	for range 20 {
		readers.Go(func() {
			late, err := w.lateness(ctx, "clock")
			if err != nil {
				w.t.Errorf("a neighbour: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, late...)
		})
	}
	readers.Wait()
	slices.Sort(all)
	return all
}

// rank is the value at a part of a sorted list.
func rank(all []time.Duration, part float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return all[int(part*float64(len(all)-1))]
}

// hostiles starts the hostile providers, and returns where they are.
func hostiles(t *testing.T) string {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, "hostile"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address)
}

// Runs of other models are read about as fast beside a hostile provider as beside one that means well. Runs of either are
// asked for one after the other, ten a second at most, as a page would that tries again.
func TestSoakHostileNeighbours(t *testing.T) {
	ctx := soak(t)
	const seconds = 3
	c := clock(t, seconds)
	at := hostiles(t)
	const short = ", first_timeout: 1s, idle_timeout: 1s"
	models := []modelEntry{{"clock", "openai", c.URL + "/v1", ""}, {"calm", "openai", at + "/calm/v1", short}}
	for i := range faults.Hostiles {
		models = append(models, modelEntry{fmt.Sprintf("hostile%d", i), "openai", fmt.Sprintf("%s/%d/v1", at, i), short})
	}
	w := newReal(t, nil, models, "retry: {tries: 1}\n")
	beside := func(model string) (runs int, words []time.Duration) {
		other, cancel := context.WithCancel(ctx)
		var asking sync.WaitGroup
		asking.Go(func() {
			pace := time.NewTicker(100 * time.Millisecond)
			defer pace.Stop()
			for other.Err() == nil {
				_, _ = w.lateness(other, model) // how it ends is another test's business
				runs++
				select {
				case <-pace.C:
				case <-other.Done():
				}
			}
		})
		words = w.neighbours(ctx)
		cancel()
		asking.Wait()
		return runs, words
	}
	w.neighbours(ctx)        // warm
	var calm []time.Duration // three times, since a single p99 is a matter of luck
	for range 3 {
		_, words := beside("calm")
		calm = append(calm, words...)
	}
	slices.Sort(calm)
	p99 := rank(calm, 0.99)
	t.Logf("beside one that means well: %d words, p50 %v, p99 %v", len(calm), rank(calm, 0.5), p99)
	worst := 0.0
	for i, h := range faults.Hostiles {
		runs, words := beside(fmt.Sprintf("hostile%d", i))
		use, err := w.host.holding(ctx)
		if err != nil {
			t.Fatal(err)
		}
		ratio := float64(rank(words, 0.99)) / float64(p99)
		worst = max(worst, ratio)
		t.Logf("%-42s %3d runs; others: %d words, p50 %v, p99 %v (%.1f ×); %.0f MiB", h.Name, runs, len(words), rank(words, 0.5), rank(words, 0.99), ratio, float64(use.rss)/(1<<20))
		if 3*len(words) != len(calm) {
			t.Errorf("%s: the neighbours read %d words, want %d", h.Name, len(words), len(calm)/3)
		}
		if use.rss > maxHeap {
			t.Errorf("%s: the server holds %d MiB", h.Name, use.rss>>20)
		}
	}
	t.Logf("worst p99: %.1f × of beside one that means well", worst)
}

// Twenty inputs of 9.9 MB at once: each is answered, those of others go on, and memory stays bounded.
func TestSoakLargeInputs(t *testing.T) {
	ctx := soak(t)
	c := clock(t, 3)
	w := newReal(t, nil, []modelEntry{{"clock", "openai", c.URL + "/v1", ""}}, "")
	w.neighbours(ctx)
	before := w.neighbours(ctx)
	t.Logf("alone: p50 %v, p99 %v", rank(before, 0.5), rank(before, 0.99))

	body := `{"input":"` + strings.Repeat("all work and no play makes ", 9_900_000/27) + `","stream":false,"configurable":{"model_name":"clock"}}`
	var large sync.WaitGroup
	var mu sync.Mutex
	codes := map[int]int{}
	var last time.Duration
	began := time.Now()
	for range 20 {
		large.Go(func() {
			for {
				code, said, header, err := w.host.call(ctx, http.MethodPost, "/tasks", body)
				if err != nil {
					t.Errorf("a large input: %v", err)
					return
				}
				mu.Lock()
				codes[code]++
				last = time.Since(began)
				mu.Unlock()
				if code != http.StatusTooManyRequests && code != http.StatusServiceUnavailable {
					if code >= 300 {
						t.Errorf("a large input: %d %s", code, tail(string(said), 200))
					}
					return
				}
				wait, _ := strconv.Atoi(header.Get("Retry-After"))
				time.Sleep(time.Duration(max(wait, 1)) * time.Second)
			}
		})
	}
	peak := 0
	ended := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			if use, err := w.host.holding(ctx); err == nil {
				peak = max(peak, use.rss)
			}
			select {
			case <-ended:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	beside := w.neighbours(ctx)
	large.Wait()
	close(ended)
	watch.Wait()
	t.Logf("beside: %d words, p50 %v, p99 %v, worst %v; answers %v, the last after %v; the server held at most %d MiB", len(beside), rank(beside, 0.5), rank(beside, 0.99), rank(beside, 1), codes, last.Round(time.Millisecond), peak>>20)
	if len(beside) != len(before) {
		t.Errorf("the neighbours read %d words, alone %d", len(beside), len(before))
	}
	if codes[http.StatusOK] != 20 {
		t.Errorf("answers: %v, want 20 of 200", codes)
	}
}
