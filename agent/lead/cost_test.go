package lead_test

import (
	"encoding/json"
	"testing"

	"github.com/tributary-ai/tributary/agent/lead"
)

// What a run pays for being assembled.
func BenchmarkAssemble(b *testing.B) {
	for name, settings := range map[string]string{"plain": `{}`, "all": `{"is_plan_mode":true,"subagent_enabled":true}`} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, nil, "", lead.Options{}, testTools()...)
			w.base.Models = testShelf()
			w.run.Configurable = json.RawMessage(settings)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.factory.Graph(b.Context(), w.run, w.base); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
