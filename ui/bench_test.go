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
	// An answer of some length to begin with, which comes at once, then a hundred words a second into its end.
	for _, of := range []struct {
		name       string
		paragraphs int
	}{{"10kB", 100}, {"100kB", 1000}, {"1MB", 10000}} {
		p.visit(s.url() + "/#/")
		p.reload()
		p.eval(`{ window.longest = 0; window.tasks = 0; new PerformanceObserver((l) => { for (const e of l.getEntries()) { longest = Math.max(longest, e.duration); tasks++; } }).observe({ type: "longtask" }); }`, nil)
		p.ask(fmt.Sprintf("Long %d every 10ms after %d in words", of.paragraphs+400, of.paragraphs))
		p.until("it is well under way", `tributaryCounts.renders > 60`)
		first := p.counts()
		p.eval(`longest = 0; tasks = 0`, nil)
		from, began := p.metrics(), time.Now()
		time.Sleep(10 * time.Second) // what is measured is time
		to, took := p.metrics(), time.Since(began).Seconds()
		var longest, tasks float64
		p.eval(`longest`, &longest)
		p.eval(`tasks`, &tasks)
		read := p.counts()
		share := func(names ...string) (sum float64) {
			for _, n := range names {
				sum += 100 * (to[n] - from[n]) / took
			}
			return sum
		}
		figures[of.name+"_core_percent"] = share("TaskDuration")
		figures[of.name+"_script_percent"] = share("ScriptDuration")
		figures[of.name+"_layout_percent"] = share("LayoutDuration", "RecalcStyleDuration")
		figures[of.name+"_longest_ms"], figures[of.name+"_long_tasks"] = longest, tasks
		figures[of.name+"_characters"] = float64(read.Characters - first.Characters)
		figures[of.name+"_renders"] = float64(read.Renders - first.Renders)
		figures[of.name+"_heap_mb"] = to["JSHeapUsedSize"] / 1e6
		p.press("Stop")
		p.until("it has stopped", `document.querySelector(".turn:last-child[data-status=canceled]")`)
	}
	raw, err := json.Marshal(figures)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("PAGE", string(raw))
}

// TestMeasureAThreadOfThousands measures how soon a thread of 5,000 messages is shown, and how soon a letter that is typed below it:
// PAGE_BENCH=1 go test ./ui -run Thousands -v. Times are the browser's own.
func TestMeasureAThreadOfThousands(t *testing.T) {
	if os.Getenv("PAGE_BENCH") == "" {
		t.Skip("it measures for docs/benchmarks.md; PAGE_BENCH=1 runs it")
	}
	s := newStage(t)
	const id, turns = "00000000-0000-4000-8000-000000000003", 2500
	s.fill(id, turns)
	c := browse(t)
	for range 3 {
		p := c.open(s.url() + "/#/t/" + id)
		p.do("Network.setCacheDisabled", map[string]any{"cacheDisabled": true}, nil)
		p.do("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `window.slow = []; window.shownAt = 0;
			new PerformanceObserver((l) => { for (const e of l.getEntries()) slow.push(e.duration); }).observe({ type: "longtask", buffered: true });
			{ const look = () => { if (document.querySelector(".turn:last-child .message")?.textContent.includes("message ` + fmt.Sprint(turns-1) + ` of")) shownAt = performance.now(); else requestAnimationFrame(look); }; requestAnimationFrame(look); }`}, nil)
		p.reload()
		p.until("its end is shown", `shownAt > 0 && document.querySelectorAll(".foot-row").length === 20`)
		var paint, shown float64
		p.eval(`performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1`, &paint)
		p.eval(`shownAt`, &shown)
		p.eval(`document.querySelector("#composer").focus(); slow.length = 0; window.typed = [];
			document.querySelector("#composer").addEventListener("input", (e) => { const at = e.timeStamp; requestAnimationFrame(() => setTimeout(() => typed.push(performance.now() - at))); })`, nil)
		for _, r := range "a question that is typed letter by letter" {
			p.typed(string(r))
		}
		p.until("it is typed", `typed.length >= 41`)
		var typed []float64
		var slow int
		p.eval(`typed.toSorted((a, b) => a - b)`, &typed)
		p.eval(`slow.length`, &slow)
		t.Logf("first paint after %.0f ms, the last of %d messages after %.0f ms; a letter is painted within %.1f ms (median), %.1f ms (worst); %d long tasks while typing", paint, 2*turns, shown, typed[len(typed)/2], typed[len(typed)-1], slow)
	}
}

// TestMeasureAnHourOfTokens writes as many words into one answer as come in an hour at 100 a second, as fast as they are taken, and looks at the
// memory as it goes: PAGE_BENCH=1 go test ./ui -run Hour -v.
func TestMeasureAnHourOfTokens(t *testing.T) {
	if os.Getenv("PAGE_BENCH") == "" {
		t.Skip("it measures for docs/benchmarks.md; PAGE_BENCH=1 runs it")
	}
	s := newStage(t)
	p := browse(t).open(s.url())
	p.do("Performance.enable", map[string]any{}, nil)
	p.do("HeapProfiler.enable", map[string]any{}, nil)
	heap := func() float64 {
		p.do("HeapProfiler.collectGarbage", map[string]any{}, nil)
		return p.metrics()["JSHeapUsedSize"] / 1e6
	}
	// Thirty answers of 12,000 words each, in one thread: what an hour holds. What the page keeps of it must not grow with it.
	for i := range 30 {
		p.ask(fmt.Sprintf("Long 600 every 0s in pieces, part %d", i))
		p.until("it is answered", `document.querySelectorAll(".turn").length >= 1 && document.querySelector(".turn:last-child[data-status=completed] .message") && document.querySelector(".turn:last-child .bubble").innerText.includes("part `+fmt.Sprint(i)+`")`)
		if i%5 == 4 {
			t.Logf("after %d answers: heap %.1f MB, %d nodes", i+1, heap(), p.counts().Nodes)
		}
	}
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
