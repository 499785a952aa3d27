package graph_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Each check tells a story as often as it has crash points; fewer stories than rapid's default are enough.
	// -rapid.checks on the command line says otherwise.
	if err := flag.Set("rapid.checks", "60"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
