package edge

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

func TestErrorsHaveTheirStatuses(t *testing.T) {
	for err, want := range map[error]int{
		run.ErrNotFound: 404, run.ErrBusy: 409, run.ErrExists: 409, run.Invalidf("x", "y"): 422, journal.ErrLost: 410, journal.ErrGone: 410, run.ErrUnavailable: 503, journal.ErrCorrupt: 503, &run.DamageError{Err: errors.New("x")}: 503,
		journal.ErrClosed: 503, graph.ErrNoCheckpoint: 404, graph.ErrNotPending: 409, errors.New("x"): 500, Refuse(418, "x"): 418,
	} {
		if got, _ := StatusOf(err); got != want {
			t.Errorf("%v is a %d, want %d", err, got, want)
		}
	}
}

// Whoever asks for what is damaged learns what is lost and what to do, and the log how it was found.
func TestDamageIsToldToBoth(t *testing.T) {
	for _, c := range []struct {
		err   error
		tells []string
		hides string
	}{
		{fmt.Errorf("state: %w", &run.DamageError{Lost: `thread "t"`, Remedy: "restore it", Err: errors.New("sum of /data/file")}), []string{`thread \"t\" is damaged`, "restore it"}, "/data"},
		{fmt.Errorf("run r, events 3 to 4: secret: %w", journal.ErrCorrupt), []string{"events are damaged", "backup"}, "secret"},
	} {
		var log strings.Builder
		routes := NewRoutes(Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		w := httptest.NewRecorder()
		routes.Fail(w, httptest.NewRequest("GET", "/x", nil), c.err)
		if w.Code != 503 || w.Header().Get("Retry-After") == "" {
			t.Errorf("%v: %d %v", c.err, w.Code, w.Header())
		}
		for _, want := range c.tells {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%v is told as %s, without %q", c.err, w.Body, want)
			}
		}
		if strings.Contains(w.Body.String(), c.hides) {
			t.Errorf("%v is told as %s", c.err, w.Body)
		}
		if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), c.hides) {
			t.Errorf("the log says %s", log.String())
		}
	}
}
