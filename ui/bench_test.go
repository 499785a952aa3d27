package ui_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"
)

// TestMeasureThePage measures what the page costs a browser: PAGE_BENCH=1 go test ./ui -run Measure -v. `make bench` runs it and puts the
// figures into docs/benchmarks.md. It is no test of the page: a busy machine must not fail anybody's change.
func TestMeasureThePage(t *testing.T) {
	if os.Getenv("PAGE_BENCH") == "" {
		t.Skip("it measures for `make bench`; PAGE_BENCH=1 runs it")
	}
	s := newStage(t)
	p := browse(t).open(s.url())
	p.do("Performance.enable", map[string]any{"timeDomain": "threadTicks"}, nil) // the thread's own time, whoever else wants the core
	figures := map[string]float64{}
	// A long answer to begin with, then a hundred words a second into its end.
	p.ask("Long 2000 every 0s in pieces")
	p.until("the long answer is there", complete)
	for name, question := range map[string]string{"short": "Long 300 every 10ms in words", "long": "Long 6000 every 10ms after 5200 in words"} {
		p.visit(s.url() + "/#/")
		p.reload()
		p.eval(`{ window.longest = 0; window.tasks = 0; new PerformanceObserver((l) => { for (const e of l.getEntries()) { longest = Math.max(longest, e.duration); tasks++; } }).observe({ type: "longtask" }); }`, nil)
		p.ask(question)
		p.until("it is well under way", `tributaryCounts.renders > 30`)
		first := p.counts()
		p.eval(`longest = 0; tasks = 0`, nil)
		from, began := p.metrics(), time.Now()
		time.Sleep(10 * time.Second) // what is measured is time
		to, took := p.metrics(), time.Since(began).Seconds()
		var longest, tasks float64
		p.eval(`longest`, &longest)
		p.eval(`tasks`, &tasks)
		read := p.counts()
		figures[name+"_core_percent"] = 100 * (to["TaskDuration"] - from["TaskDuration"]) / took
		figures[name+"_script_percent"] = 100 * (to["ScriptDuration"] - from["ScriptDuration"]) / took
		figures[name+"_layout_percent"] = 100 * (to["LayoutDuration"] + to["RecalcStyleDuration"] - from["LayoutDuration"] - from["RecalcStyleDuration"]) / took
		figures[name+"_longest_ms"], figures[name+"_long_tasks"] = longest, tasks
		figures[name+"_characters"] = float64(read.Characters - first.Characters)
		figures[name+"_heap_mb"] = to["JSHeapUsedSize"] / 1e6
		p.press("Stop")
		p.until("it has stopped", `document.querySelector(".turn:last-child[data-status=canceled]")`)
	}
	raw, err := json.Marshal(figures)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("PAGE", string(raw))
}

// metrics are what the browser counts of a page's work, in seconds.
func (p *tab) metrics() map[string]float64 {
	p.t.Helper()
	var r struct {
		Metrics []struct {
			Name  string
			Value float64
		}
	}
	p.do("Performance.getMetrics", map[string]any{}, &r)
	out := map[string]float64{}
	for _, m := range r.Metrics {
		out[m.Name] = m.Value
	}
	return out
}
