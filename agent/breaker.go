package agent

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tributary-ai/tributary/model"
)

// Breakers keeps a circuit breaker for each model, by provider and name: a model that does nothing but fail is left
// alone for a while. One Breakers should be shared by everything in a process that calls models. The zero value is ready;
// a nil one lets every call through.
//
// A breaker must not fail runs that would have succeeded, so:
//
//   - Failures that come together are one: a failure counts only if its call began a second after the one counted last.
//   - A conversation counts once: what opens a breaker is that calls of Failures different threads failed in a row. One
//     thread whose own content makes a provider fail never opens it for the others.
//   - An open breaker is waited out, as long as the policy's MaxWait allows.
type Breakers struct {
	// Failures is how many threads must fail in a row before the model is left alone; zero means 5.
	Failures int
	// Rest is how long it is left alone. Then one call may try it, and the others wait for its verdict or go
	// elsewhere. Zero means 30 seconds.
	Rest time.Duration

	mu    sync.Mutex // guards what follows, breakers' fields included
	known map[string]*breaker
}

type breaker struct {
	failed  []string      // the threads whose failures were counted since the last answer, each once
	counted time.Time     // when the last of them was
	until   time.Time     // no call before this, once there were too many
	verdict chan struct{} // closed when the call ends that is finding out whether the model is back; nil: there is none
}

// pass is the permission for one call. Exactly one of its methods is called when the call is over.
type pass struct {
	of     *Breakers
	b      *breaker
	thread string
	begun  time.Time
	probe  bool
}

// moment is how close together failures are one and the same: what befalls a provider or a network befalls all calls of
// that time, those too that begin while it lasts.
const moment = time.Second

// closed says why a model may not be called: for how long it is left alone, and, if a call is trying it just now, where
// to hear of the outcome.
type closed struct {
	rest    time.Duration
	verdict <-chan struct{}
}

// await asks until the model may be called, for as long as patience lasts. It returns a rest if that is too short. Its
// error is ctx's.
func (s *Breakers) await(ctx context.Context, info model.Info, thread string, patience time.Duration) (pass, time.Duration, error) {
	deadline := time.Now().Add(patience)
	for {
		p, not := s.enter(info, thread)
		if not == nil {
			return p, 0, nil
		}
		left := time.Until(deadline)
		if left <= 0 || not.verdict == nil && not.rest > left {
			return pass{}, not.rest, nil
		}
		if not.verdict == nil {
			left = not.rest
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-not.verdict:
		case <-ctx.Done():
			timer.Stop()
			return pass{}, 0, context.Cause(ctx)
		}
		timer.Stop()
	}
}

// enter asks whether the model may be called now.
func (s *Breakers) enter(info model.Info, thread string) (pass, *closed) {
	if s == nil || info == (model.Info{}) {
		return pass{}, nil
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
	p := pass{of: s, b: b, thread: thread, begun: time.Now()}
	if len(b.failed) < s.limit() {
		return p, nil
	}
	if left := time.Until(b.until); left > 0 {
		return pass{}, &closed{rest: left}
	}
	if b.verdict != nil {
		return pass{}, &closed{rest: s.rest(), verdict: b.verdict}
	}
	b.verdict = make(chan struct{})
	p.probe = true
	return p, nil
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
func (p pass) answered() { p.end(func(b *breaker) { b.failed = nil }) }

// undecided says that the call was given up for reasons of the caller.
func (p pass) undecided() { p.end(func(*breaker) {}) }

// failed says how the model failed. Being told that a request is wrong, or to come back later, is a sign of health.
func (p pass) failed(class model.Class) {
	switch class {
	case model.Overloaded, model.Server, model.Network, model.Timeout, model.Broken:
		p.end(p.count)
	case model.RateLimit, model.TooMuch:
		p.undecided()
	case model.Auth, model.Quota, model.BadRequest, model.NotFound, model.TooLarge, model.Refused, model.Unfit:
		p.answered()
	}
}

func (p pass) count(b *breaker) {
	now := time.Now()
	if p.probe {
		b.until = now.Add(p.of.rest())
		return
	}
	if slices.Contains(b.failed, p.thread) || len(b.failed) > 0 && p.begun.Before(b.counted.Add(moment)) {
		return
	}
	b.failed = append(b.failed, p.thread)
	b.counted, b.until = now, now.Add(p.of.rest())
}

func (p pass) end(note func(*breaker)) {
	if p.b == nil {
		return
	}
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if p.probe {
		close(p.b.verdict)
		p.b.verdict = nil
	}
	note(p.b)
}
