// Package loglimit keeps a log readable when something goes wrong very often.
//
// # Laws
//
//   - Of records with the same level and message the first few of each window are passed on, unchanged but for a note on
//     the last of them that more are left out.
//   - What was left out is counted, and the count is logged with the first record of a later window.
//   - A limiter holds a bounded number of messages, whatever is logged.
package loglimit

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Few records of a sort pass in each window.
const (
	few    = 10
	window = 10 * time.Second
	sorts  = 1000 // more different messages than that in a window count as one sort
)

// Logger returns a logger that passes on few records of each sort. One that is limited already is returned as it is.
func Logger(l *slog.Logger) *slog.Logger {
	if _, limited := l.Handler().(*handler); limited {
		return l
	}
	return slog.New(&handler{next: l.Handler(), counts: &counts{}})
}

// handler is a limiter before another handler. Those that WithAttrs and WithGroup make share its counts: a run's id in
// the attributes does not make another sort.
type handler struct {
	next   slog.Handler
	counts *counts
}

type sort struct {
	level   slog.Level
	message string
}

type counts struct {
	mu    sync.Mutex
	until time.Time
	seen  map[sort]int
}

// count says whether a record passes, whether it is the last that does, and what was left out before.
func (c *counts) count(s sort, at time.Time) (passes, last bool, before map[sort]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !at.Before(c.until) {
		maps.DeleteFunc(c.seen, func(_ sort, n int) bool { return n <= few })
		before = c.seen
		c.seen, c.until = map[sort]int{}, at.Add(window)
	}
	if _, known := c.seen[s]; !known && len(c.seen) >= sorts {
		s = sort{level: s.level, message: "others"}
	}
	c.seen[s]++
	return c.seen[s] <= few, c.seen[s] == few, before
}

func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

// Handle passes a record on, or counts it.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	passes, last, before := h.counts.count(sort{r.Level, r.Message}, time.Now())
	for _, s := range slices.SortedFunc(maps.Keys(before), func(a, b sort) int { return strings.Compare(a.message, b.message) }) {
		told := slog.NewRecord(time.Now(), s.level, "lines were left out of the log", r.PC)
		told.AddAttrs(slog.String("line", s.message), slog.Int("times", before[s]-few))
		if err := h.next.Handle(ctx, told); err != nil {
			return err
		}
	}
	if !passes {
		return nil
	}
	if last {
		r = r.Clone()
		r.AddAttrs(slog.String("repeats", "further ones are left out for up to "+window.String()))
	}
	return h.next.Handle(ctx, r)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.next.WithAttrs(attrs), h.counts}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.next.WithGroup(name), h.counts}
}
