package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

const (
	probeFresh = 2 * time.Second // how old a result may be: everybody may ask, and each write goes to the disk
	probeWait  = 3 * time.Second // how long a write may take before we say that we are not ready
)

// prober is a store that can tell whether it can be written to.
type prober interface {
	Probe(ctx context.Context) error
}

// health knows whether work can be taken on. There is one probe at a time, however many ask.
type health struct {
	probe   func(context.Context) error
	closing <-chan struct{}
	log     *slog.Logger

	mu      sync.Mutex
	at      time.Time     // of the last result
	err     error         // the last result
	running chan struct{} // closed with the next result; nil while nobody asks
}

// ready returns nil, or why not.
func (h *health) ready(ctx context.Context) error {
	select {
	case <-h.closing:
		return errors.New("the server is shutting down")
	default:
	}
	if h.probe == nil {
		return nil
	}
	h.mu.Lock()
	if h.running == nil {
		if !h.at.IsZero() && time.Since(h.at) < probeFresh {
			defer h.mu.Unlock()
			return h.err
		}
		h.running = make(chan struct{})
		go h.look(h.running)
	}
	running := h.running
	h.mu.Unlock()
	late := time.NewTimer(probeWait)
	defer late.Stop()
	select {
	case <-running:
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.err
	case <-late.C:
		return errors.New("a small write to the database has not ended within " + probeWait.String())
	case <-ctx.Done():
		return ctx.Err()
	}
}

// look probes once. It ends with the probe, which ends with the store at the latest.
func (h *health) look(done chan struct{}) {
	err := h.probe(context.Background())
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err != nil && h.err == nil:
		h.log.Error("not ready: what is stored cannot be written to", "err", err)
	case err == nil && h.err != nil:
		h.log.Info("ready again")
	}
	h.err, h.at, h.running = err, time.Now(), nil
	close(done)
}

// wellbeing is the answer of the routes about health.
type wellbeing struct {
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty" doc:"why not"`
}

// mountHealth adds the routes that balancers and supervisors ask. One that does not live should be started anew; one that is
// not ready should be given no work for a while, and starting it anew does not help.
func (s *Server) mountHealth() {
	s.health = &health{probe: s.opt.Probe, closing: s.closing, log: s.opt.Log}
	ready := func(w http.ResponseWriter, r *http.Request) error {
		err := s.health.ready(r.Context())
		if err == nil {
			return edge.Answer(w, http.StatusOK, wellbeing{OK: true})
		}
		w.Header().Set("Retry-After", "5")
		return edge.Answer(w, http.StatusServiceUnavailable, wellbeing{Reason: reasonOf(err)})
	}
	well := jsonvalue.Object{{"ok", true}}
	s.routes.Open("GET /livez", func(w http.ResponseWriter, _ *http.Request) error {
		return edge.Answer(w, http.StatusOK, wellbeing{OK: true})
	}, edge.Doc{Summary: "Whether the process lives", Answer: well})
	s.routes.Open("GET /readyz", ready, edge.Doc{Summary: "Whether it takes work: 503 with the reason if not, found out by a small write", Answer: well})
	s.routes.Open("GET /ok", ready, edge.Doc{Summary: "The same, under LangGraph's name", Answer: well})
}

// reasonOf is the part of an error that everybody may know.
func reasonOf(err error) string {
	var damage *run.DamageError
	if errors.As(err, &damage) {
		return damage.Lost + " is damaged; " + damage.Remedy
	}
	return err.Error()
}
