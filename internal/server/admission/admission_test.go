package admission

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

const limit = 10 << 20

func TestNoMoreIsHeldThanTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(limit, time.Hour)
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				size := rand.Int64N(2 * limit)
				ctx, release, err := g.Enter(t.Context(), size)
				if err != nil {
					t.Error(err)
					return
				}
				defer release()
				if held := g.Held(); held > limit {
					t.Errorf("%d bytes are held, want at most %d", held, limit)
				}
				time.Sleep(time.Second)
				if size%2 == 0 {
					Release(ctx) // and once more at the end
				}
				time.Sleep(time.Second)
			})
		}
		all.Wait()
		if g.Held() != 0 {
			t.Errorf("%d bytes are held by nobody", g.Held())
		}
		if _, release, err := g.Enter(t.Context(), limit); err != nil {
			t.Errorf("the whole room is not free: %v", err)
		} else {
			release()
		}
	})
}

func TestSmallRequestsNeverWait(t *testing.T) {
	g := New(limit, time.Hour)
	_, release, err := g.Enter(t.Context(), limit)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if n := testing.AllocsPerRun(100, func() {
		if _, _, err := g.Enter(t.Context(), Small); err != nil {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("a small request costs %v allocations", n)
	}
}

func TestWhoWaitsTooLongIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(limit, 10*time.Second)
		_, release, _ := g.Enter(t.Context(), limit)
		began := time.Now()
		if _, _, err := g.Enter(t.Context(), limit); !errors.Is(err, run.ErrUnavailable) || time.Since(began) != 10*time.Second {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, _, err := g.Enter(gone, limit); !errors.Is(err, context.Canceled) {
			t.Errorf("a client that left: %v", err)
		}
		release()
		if _, release, err := g.Enter(t.Context(), limit); err != nil {
			t.Errorf("there is room: %v", err)
		} else {
			release()
		}
	})
}
