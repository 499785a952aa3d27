package subject_test

import (
	"os"
	"testing"
	"testing/synctest"

	"github.com/tributary-ai/tributary/internal/bench/instructions/subject"
)

// TestSubject does the work of the subject that somebody counts. Time stands still meanwhile: counting makes seconds of
// milliseconds, and what happens every second is not to be counted with them.
func TestSubject(t *testing.T) {
	name := os.Getenv(subject.NameVariable)
	if name == "" {
		t.Skip("is run by package instructions, which counts it")
	}
	synctest.Test(t, func(t *testing.T) {
		if err := subject.Run(name); err != nil {
			t.Error(err)
		}
	})
}
