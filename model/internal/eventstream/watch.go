package eventstream

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// SilenceError is the cause with which a [Watch] cancels a call.
type SilenceError struct {
	First bool          // nothing has come yet
	Limit time.Duration // that was exceeded
}

func (e *SilenceError) Error() string {
	if e.First {
		return fmt.Sprintf("no answer began within %v", e.Limit)
	}
	return fmt.Sprintf("the answer stopped arriving for %v", e.Limit)
}

// Timeout lets net.Error checks recognise it.
func (e *SilenceError) Timeout() bool { return true }

// Watch ends a call that has gone silent, by cancelling its context. It starts no goroutine.
//
// Until the first event the limit is "first", and bytes that are no event (comments by which a proxy says
// that it is still there) do not move it. From then on any byte counts, and the limit is "idle" for one wait:
// a provider that thinks for long may send nothing but such signs of life.
type Watch struct {
	ctx         context.Context // of the call
	cancel      context.CancelCauseFunc
	first, idle time.Duration

	mu    sync.Mutex // guards the rest
	timer *time.Timer
	begun bool
	over  bool
}

// NewWatch starts watching. The call must be made with the returned context, and Stop called when it is over.
// A limit of zero or less is none.
func NewWatch(ctx context.Context, first, idle time.Duration) (context.Context, *Watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &Watch{ctx: ctx, cancel: cancel, first: first, idle: idle}
	if first > 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.timer = time.AfterFunc(first, w.expire)
	}
	return ctx, w
}

func (w *Watch) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	w.over = true
	e := &SilenceError{First: !w.begun, Limit: w.idle}
	if e.First {
		e.Limit = w.first
	}
	w.cancel(e)
}

// Event says that an event has arrived. Providers call it after each one.
func (w *Watch) Event() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.begun {
		w.begun = true
		w.disarm()
	}
}

// waiting says that somebody waits for bytes. Time spent by the reader of the answer is not the provider's:
// the idle limit counts only while we wait.
func (w *Watch) waiting() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.begun || w.over || w.idle <= 0:
	case w.timer == nil:
		w.timer = time.AfterFunc(w.idle, w.expire)
	default:
		w.timer.Reset(w.idle)
	}
}

// came says that the wait is over.
func (w *Watch) came() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun {
		w.disarm()
	}
}

func (w *Watch) disarm() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// Stop ends the watch and releases its context, and with it the connection of a call that is still open.
// It may be called more than once.
func (w *Watch) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.disarm()
	w.cancel(nil)
}

// Body returns a reader of body whose bytes count as signs of life, and that reads them at a pace; the time for which it lets
// the provider wait is not the provider's.
func (w *Watch) Body(body io.Reader) io.Reader { return &watched{Reader: body, watch: w} }

type watched struct {
	io.Reader
	watch *Watch
	pace  pace
}

// maxRead is as much as is read at once, so that no pause is long.
const maxRead = 64 << 10

func (b *watched) Read(p []byte) (int, error) {
	b.pace.wait(b.watch.ctx)
	b.watch.waiting()
	n, err := b.Reader.Read(p[:min(len(p), maxRead)])
	b.watch.came()
	b.pace.take(p[:n])
	return n, err
}
