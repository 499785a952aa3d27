// Command serve puts an agent with a tool, and a graph, on every wire of tributary, behind a mux and an authentication of its
// own. Try it:
//
//	curl -H 'Authorization: Bearer annas-key' -H 'Content-Type: application/json' -d '{"assistant_id":"shout","input":{"text":"hello"}}' 127.0.0.1:8124/agents/runs/wait
package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/tool"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	rt, err := tributary.Open(ctx, tributary.Options{
		Dir: "data", Tools: []tool.Tool{weather}, Graphs: map[string]tributary.Builder{"shout": tributary.Fixed(shout())},
	})
	if err != nil {
		log.Fatal(err)
	}
	agents, mux, err := routes(rt)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: "127.0.0.1:8124", Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		agents.Closing() // its streams would keep Shutdown waiting
		_ = server.Shutdown(context.Background())
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Print(err)
	}
	_ = rt.Close(context.Background())
}

// routes are this program's own, with tributary's below /agents/.
func routes(rt *tributary.Runtime) (*httpapi.Handler, http.Handler, error) {
	agents, err := httpapi.New(rt, httpapi.Options{Prefix: "/agents", Identify: whoAsks})
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/agents/", agents)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("the agents are at /agents/\n")) })
	return agents, mux, nil
}

// whoAsks is this program's authentication: each key is somebody's, and nobody sees what is another's.
func whoAsks(r *http.Request) (owner string, err error) {
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	owner, ok := map[string]string{"annas-key": "anna", "berts-key": "bert"}[key]
	if !ok {
		return "", errors.New("show a key of this house: Authorization: Bearer KEY")
	}
	return owner, nil
}

type place struct {
	City string `json:"city" jsonschema:"name of the city"`
}

var weather = tool.Func("weather", "Tells the weather in a city.", func(_ context.Context, in place) (string, error) {
	return "It is sunny in " + in.City + ".", nil
})

func shout() *graph.Graph {
	text := graph.LastValue[string]("text")
	return graph.New("shout", text).Node("shout", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		return graph.Update(text.Set(strings.ToUpper(text.Get(s)))), nil
	}).Chain(graph.Start, "shout", graph.End)
}
