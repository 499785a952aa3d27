package subject

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/openai"
)

const steps = 3

// step is a graph of one node that runs a few times, with everything recorded.
func step() (func() error, error) {
	n := graph.LastValue[int]("n")
	g := graph.New("loop", n).Node("up", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		return graph.Update(n.Set(n.Get(s) + 1)), nil
	}).Edge(graph.Start, "up")
	g.Branch("up", func(_ context.Context, s *graph.Scope) ([]graph.Target, error) {
		if n.Get(s) == steps {
			return nil, nil
		}
		return graph.To("up"), nil
	}, "up", graph.End)
	return func() error {
		mem := graph.NewMemory()
		_, err := g.Run(context.Background(), graph.Execution{
			Thread: "t", Run: "r", Input: json.RawMessage(`{"n":0}`), RecursionLimit: steps + 1, Checkpoints: mem, Recorder: mem,
		})
		return err
	}, nil
}

// canned answers every request with the same bytes.
type canned string

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(string(c))),
	}, nil
}

// chunk reads tokens in the middle of a provider's answer.
func chunk() (func() error, error) {
	line := []byte(`data: {"id":"chatcmpl-D5NiQ","object":"chat.completion.chunk","created":1794701862,"model":"m","choices":[{"index":0,"delta":{"content":" tallest"},"finish_reason":null}]}` + "\n\n")
	m := openai.Chat(openai.Options{
		Model: "m", Provider: "test", BaseURL: "http://test/v1", HTTPClient: &http.Client{Transport: canned(bytes.Repeat(line, 10*repeats))},
	})
	next, _ := iter.Pull2(m.Stream(context.Background(), model.Request{Messages: []item.Message{item.UserText("1", "hello")}}))
	return func() error {
		for range few {
			if _, err, ok := next(); err != nil || !ok {
				return io.ErrUnexpectedEOF
			}
		}
		return nil
	}, nil
}
