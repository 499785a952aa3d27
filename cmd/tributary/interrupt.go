package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interrupts are the signals that ask the process to end. The first one ends the context; the second kills, as ever. A
// conversation takes Ctrl-C for itself while it lasts: there it stops an answer.
type interrupts struct {
	mu    sync.Mutex
	taken chan struct{} // nil while nobody has taken Ctrl-C
}

type interruptsKey struct{}

// heed returns a context that ends at a signal.
func heed(ctx context.Context) context.Context {
	i := &interrupts{}
	ctx, cancel := context.WithCancel(context.WithValue(ctx, interruptsKey{}, i))
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer signal.Stop(signals) // the next one kills
		defer cancel()
		for {
			select {
			case s := <-signals:
				if s == os.Interrupt && i.pass() {
					continue
				}
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx
}

// pass hands Ctrl-C to whoever has taken it, and reports whether anybody has.
func (i *interrupts) pass() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.taken == nil {
		return false
	}
	select {
	case i.taken <- struct{}{}:
	default: // one is on its way already
	}
	return true
}

// takeInterrupts makes Ctrl-C something to be read until give is called. Where nobody heeds signals, nothing ever comes.
func takeInterrupts(ctx context.Context) (pressed <-chan struct{}, give func()) {
	i, _ := ctx.Value(interruptsKey{}).(*interrupts)
	if i == nil {
		return nil, func() {}
	}
	taken := make(chan struct{}, 1)
	set := func(c chan struct{}) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.taken = c
	}
	set(taken)
	return taken, func() { set(nil) }
}
