package run_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
)

// Whoever hits a limit is told which one, and by which setting.
func TestARunSaysWhichLimitItHit(t *testing.T) {
	forever := graph.New("g", graph.List[string]("log"))
	forever.Node("again", nothing)
	forever.Edge(graph.Start, "again")
	forever.Edge("again", "again")
	slow := oneNode(func(ctx context.Context, _ *graph.Scope) (graph.Command, error) {
		<-ctx.Done()
		return graph.Command{}, ctx.Err()
	})
	for _, c := range []struct {
		name    string
		graph   *graph.Graph
		options func(*run.Options)
		request func(*run.Request)
		status  run.Status
		code    string
		says    string
	}{
		{"time by the setting", slow, func(o *run.Options) { o.Timeout = 30 * time.Millisecond }, nil,
			run.TimedOut, graph.CodeTimeout, "30ms, which is the setting run_timeout"},
		{"time by the request", slow, func(o *run.Options) { o.Timeout = time.Hour }, func(r *run.Request) { r.Timeout = 20 * time.Millisecond },
			run.TimedOut, graph.CodeTimeout, "20ms, which is the timeout of its request"},
		{"steps by the setting", forever, func(o *run.Options) { o.RecursionLimit = 7 }, nil,
			run.Failed, graph.CodeRecursionLimit, "7 steps without coming to an end; raise recursion_limit, of the run or in the configuration"},
		{"steps by the request", forever, func(o *run.Options) { o.RecursionLimit = 7 }, func(r *run.Request) { r.Config = []byte(`{"recursion_limit":9}`) },
			run.Failed, graph.CodeRecursionLimit, "9 steps"},
		{"steps by default", forever, func(*run.Options) {}, nil, run.Failed, graph.CodeRecursionLimit, "1000 steps"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := open(t, t.TempDir(), single(c.graph), c.options)
			defer w.stop(time.Second)
			var change []func(*run.Request)
			if c.request != nil {
				change = append(change, c.request)
			}
			r := w.wait(w.start(newThread(), change...).ID)
			if r.Status != c.status || r.Error == nil || r.Error.Code != c.code || !strings.Contains(r.Error.Message, c.says) {
				t.Errorf("the run ended %s, %+v, want %s, %s: …%s", r.Status, r.Error, c.status, c.code, c.says)
			}
		})
	}
}
