package edge

import (
	"testing"

	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

func TestErrorsHaveTheirStatuses(t *testing.T) {
	for err, want := range map[error]int{
		run.ErrNotFound: 404, run.ErrBusy: 409, run.ErrExists: 409, run.Invalidf("x", "y"): 422, journal.ErrLost: 410, run.ErrUnavailable: 503,
	} {
		if got, _ := StatusOf(err); got != want {
			t.Errorf("%v is a %d, want %d", err, got, want)
		}
	}
}
