package openai

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/tributary-ai/tributary/internal/bench/cost"
)

// Each with its share of the request.
func TestChunkCostsNoMoreThanItDid(t *testing.T) {
	was := map[string]cost.Per{
		"openai-chat/text-long":              {Allocs: 2.4, Bytes: 150},
		"deepseek/reasoning":                 {Allocs: 2.4, Bytes: 240},
		"openai-responses/reasoning-summary": {Allocs: 3.5, Bytes: 465},
	}
	for _, r := range recordings(t) {
		per, ok := was[r.name]
		if !ok {
			continue
		}
		delete(was, r.name)
		t.Run(r.name, func(t *testing.T) {
			m := open(r.responses(), Options{Model: "m", Provider: "test", HTTPClient: &http.Client{Transport: canned(r.body)}, BaseURL: "http://test/v1"})
			cost.Hold(t, per, bytes.Count(r.body, []byte("data: {")), func() {
				for _, err := range m.Stream(t.Context(), hello) {
					if err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
	for name := range was {
		t.Errorf("there is no recording %s", name)
	}
}
