package eventstream

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// endlessly repeats a text.
type endlessly struct {
	text string
	at   int
	read int
}

func (e *endlessly) Read(p []byte) (n int, err error) {
	for n < len(p) {
		c := copy(p[n:], e.text[e.at:])
		n, e.at = n+c, (e.at+c)%len(e.text)
	}
	e.read += n
	return n, nil
}

func TestAnAnswerWithoutEndIsReadAtAPace(t *testing.T) {
	token := `data: {"choices":[{"index":0,"delta":{"content":" word"}}]}` + "\n\n"
	for name, c := range map[string]struct {
		text        string
		least, most int // bytes in ten seconds
	}{
		"tokens":      {token, 10 * 10_000 * len(token), 10 * 20_000 * len(token)},
		"kilobytes":   {strings.Repeat("x", 1<<10) + "\n", 40 << 20, 64 << 20},
		"empty lines": {"\n", 8 << 20, 10 << 20},
		"a picture":   {strings.Repeat("x", 1<<20), 10 * 8 << 20, 10*8<<20 + 3<<20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, watch := NewWatch(t.Context(), time.Second, time.Second)
				defer watch.Stop()
				watch.Event()
				src := &endlessly{text: c.text}
				body := watch.Body(src)
				began, buf := time.Now(), make([]byte, 1<<20)
				for time.Since(began) < 10*time.Second {
					if _, err := body.Read(buf); err != nil {
						t.Fatal(err)
					}
				}
				if src.read < c.least || src.read > c.most {
					t.Errorf("read %d bytes in ten seconds, want %d to %d", src.read, c.least, c.most)
				}
				if ctx.Err() != nil {
					t.Errorf("the provider is said to be silent while it waits for us: %v", context.Cause(ctx))
				}
			})
		})
	}
}

func TestWhatModelsSendIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, watch := NewWatch(t.Context(), 0, 0)
		defer watch.Stop()
		for _, text := range []string{strings.Repeat("data: {}\n\n", 1000), strings.Repeat("x", 1<<20)} {
			began := time.Now()
			if _, err := io.Copy(io.Discard, watch.Body(strings.NewReader(text))); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took != 0 {
				t.Errorf("%d bytes took %v", len(text), took)
			}
		}
	})
}

func TestWhoStopsDoesNotWaitForThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		ctx, watch := NewWatch(ctx, 0, 0)
		defer watch.Stop()
		body := watch.Body(readerFunc(func(p []byte) (int, error) {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			for i := range p {
				p[i] = '\n'
			}
			return len(p), nil
		}))
		began := time.Now()
		time.AfterFunc(time.Millisecond, stop)
		if _, err := io.Copy(io.Discard, body); !errors.Is(err, context.Canceled) {
			t.Errorf("reading ended with %v", err)
		}
		if took := time.Since(began); took != time.Millisecond {
			t.Errorf("it ended %v after it began, want 1 ms", took)
		}
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
