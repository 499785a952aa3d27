package agent

import (
	"sync"
	"time"

	"github.com/tributary-ai/tributary/model"
)

// Breakers keeps a circuit breaker for each model, by provider and name: while a model does nothing but fail, nobody
// waits for it. One Breakers should be shared by everything in a process that calls models. The zero value is ready;
// a nil one lets every call through.
type Breakers struct {
	// Failures is how many calls must fail in a row before the model is left alone; zero means 5.
	Failures int
	// Rest is how long it is left alone. Then one call may try it, and the others wait for its verdict or go
	// elsewhere. Zero means 30 seconds.
	Rest time.Duration

	mu    sync.Mutex // guards what follows, breakers' fields included
	known map[string]*breaker
}

type breaker struct {
	failures int       // in a row
	until    time.Time // no call before this, once there were too many
	probing  bool      // a call is finding out whether the model is back
}

// pass is the permission for one call. Exactly one of its methods is called when the call is over.
type pass struct {
	of    *Breakers
	b     *breaker
	probe bool
}

// enter asks whether the model may be called. If not, it says for how long it will be left alone.
func (s *Breakers) enter(info model.Info) (p pass, rest time.Duration, ok bool) {
	if s == nil || info == (model.Info{}) {
		return pass{}, 0, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := info.Provider + "/" + info.Model
	b := s.known[key]
	if b == nil {
		if s.known == nil {
			s.known = map[string]*breaker{}
		}
		b = &breaker{}
		s.known[key] = b
	}
	if b.failures < s.limit() {
		return pass{of: s, b: b}, 0, true
	}
	if left := time.Until(b.until); left > 0 {
		return pass{}, left, false
	}
	if b.probing {
		return pass{}, s.rest(), false
	}
	b.probing = true
	return pass{of: s, b: b, probe: true}, 0, true
}

func (s *Breakers) limit() int {
	if s.Failures <= 0 {
		return 5
	}
	return s.Failures
}

func (s *Breakers) rest() time.Duration {
	if s.Rest <= 0 {
		return 30 * time.Second
	}
	return s.Rest
}

// answered says that the model works.
func (p pass) answered() { p.end(func() { p.b.failures = 0 }) }

// undecided says that the call was given up for reasons of the caller.
func (p pass) undecided() { p.end(func() {}) }

// failed says how the model failed. Being told that a request is wrong, or to come back later, is a sign of health.
func (p pass) failed(class model.Class) {
	switch class {
	case model.Overloaded, model.Server, model.Network, model.Timeout, model.Broken:
		p.end(func() {
			p.b.failures++
			p.b.until = time.Now().Add(p.of.rest())
		})
	case model.RateLimit:
		p.undecided()
	case model.Auth, model.Quota, model.BadRequest, model.NotFound, model.TooLarge, model.Refused:
		p.answered()
	}
}

func (p pass) end(note func()) {
	if p.b == nil {
		return
	}
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if p.probe {
		p.b.probing = false
	}
	note()
}
