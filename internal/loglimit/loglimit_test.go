package loglimit_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributary-ai/tributary/internal/loglimit"
)

func TestOfManyRecordsOfASortFewAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := loglimit.Logger(slog.New(slog.NewTextHandler(&out, nil)))
		for i := range 100_000 {
			log.With("run", i).Warn("given back") // another run is no other sort
		}
		log.Error("given back")
		log.Warn("something else")
		if got := strings.Count(out.String(), `level=WARN msg="given back"`); got != 10 {
			t.Errorf("%d lines of a sort, want 10", got)
		}
		for _, want := range []string{`level=ERROR msg="given back"`, `msg="something else"`, "repeats="} {
			if strings.Count(out.String(), want) != 1 {
				t.Errorf("the log has not one %q:\n%s", want, out.String())
			}
		}
		time.Sleep(11 * time.Second)
		out.Reset()
		log.Info("later")
		if !strings.Contains(out.String(), `line="given back" times=99990`) || !strings.Contains(out.String(), "msg=later") {
			t.Errorf("what was left out is not told:\n%s", out.String())
		}
		out.Reset()
		log.Warn("given back")
		if strings.Count(out.String(), "\n") != 1 || strings.Contains(out.String(), "left out") {
			t.Errorf("a new window begins with %q", out.String())
		}
	})
}

func TestDifferentMessagesWithoutEndAreLimitedToo(t *testing.T) {
	var out bytes.Buffer
	log := loglimit.Logger(slog.New(slog.NewTextHandler(&out, nil)))
	for i := range 50_000 {
		log.Warn(fmt.Sprint("http: bad request from port ", i))
	}
	if got := strings.Count(out.String(), "\n"); got > 2000 {
		t.Errorf("%d lines", got)
	}
	if loglimit.Logger(log) != log {
		t.Error("a limited logger is limited again")
	}
}
