package server_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if kind := os.Getenv("TRIBUTARY_BENCH_SERVER"); kind != "" {
		benchServer(kind) // this process serves a benchmark of another
		return
	}
	goleak.VerifyTestMain(m)
}
