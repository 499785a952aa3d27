package task_test

import (
	"testing"

	"github.com/tributary-ai/tributary/internal/bench/cost"
	"github.com/tributary-ai/tributary/internal/wire"
)

func TestDeltaCostsNoMoreThanItDid(t *testing.T) {
	p, env := inMessage(t)
	dst := make([]wire.Frame, 0, 1)
	cost.Hold(t, cost.Per{Allocs: 2, Bytes: 170}, 1000, func() {
		for range 1000 {
			env.Seq++
			if _, err := p.Project(dst, env); err != nil {
				t.Fatal(err)
			}
		}
	})
	p.Reuse() // as the server has it
	cost.Hold(t, cost.Per{Allocs: 1, Bytes: 16}, 1000, func() {
		for range 1000 {
			env.Seq++
			if _, err := p.Project(dst, env); err != nil {
				t.Fatal(err)
			}
		}
	})
}
