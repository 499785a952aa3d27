package sandbox

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[0] == "hostile" { // see hostile_linux_test.go
		hostile(os.Args[1:])
	}
	goleak.VerifyTestMain(m)
}
