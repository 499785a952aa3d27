package faults_test

import (
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	library "github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/faults"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/anthropic"
	"github.com/tributary-ai/tributary/model/gemini"
	"github.com/tributary-ai/tributary/model/openai"
)

// maxHeap is what a hostile provider may make the process hold.
const maxHeap = 300 << 20

// Whatever a provider sends: the run ends, with a clear error or a lawful answer, and the process stays small. The three wires
// are met at once, and the heap is that of all three.
func TestAHostileProviderEndsInAClearErrorOrALawfulAnswer(t *testing.T) {
	for _, wire := range faults.Wires {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			for _, h := range faults.Hostiles {
				t.Run(h.Name, func(t *testing.T) { meet(t, wire, h) })
			}
		})
	}
}

func meet(t *testing.T, wire faults.Wire, h faults.Hostile) {
	stop := make(chan struct{})
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.Serve(w, r, wire, stop) }))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Start()
	defer srv.Close()
	defer close(stop)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()

	rt, err := library.Open(t.Context(), library.Options{Models: library.OneModel(hostileModel(t, h, wire.Name, srv.URL, client)), Retry: library.Retry{Tries: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close(t.Context())
	runtime.GC()
	var end event.RunEnded
	peak := watchHeap()
	for env, err := range rt.Stream(t.Context(), library.Request{Text: "hello"}) {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := env.Event.(event.RunEnded); ok {
			end = e
		}
	}
	heap := peak()
	got, says := "", ""
	if end.Error != nil {
		got, says = end.Error.Code, end.Error.Message
	}
	if end.Status == "" || (end.Status == event.Success) != (got == "") || !slices.Contains(h.Ends, got) {
		t.Errorf("the run ended as %q with %q (%s), want one of %q", end.Status, got, says, h.Ends)
	}
	if got == "model_too_much" && !strings.Contains(says, "answers.") {
		t.Errorf("the error does not name the setting: %s", says)
	}
	if len(says) > 1000 {
		t.Errorf("the error has %d bytes", len(says))
	}
	if u := end.Usage; u.InputTokens < 0 || u.OutputTokens < 0 || u.Total() > math.MaxInt/1000 {
		t.Errorf("usage %+v was believed", u)
	}
	t.Logf("the heap grew to %d MB", heap>>20)
	if heap > maxHeap {
		t.Errorf("the heap grew to %d MB, want at most %d", heap>>20, maxHeap>>20)
	}
}

// watchHeap measures the heap, the provider's share included, until it is asked for the most that there was.
func watchHeap() (peak func() uint64) {
	stop, most := make(chan struct{}), make(chan uint64)
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		var seen uint64
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			seen = max(seen, m.HeapInuse)
			select {
			case <-tick.C:
			case <-stop:
				most <- seen
				return
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return <-most
	}
}

func hostileModel(t *testing.T, h faults.Hostile, wire, url string, client *http.Client) model.Model {
	t.Helper()
	// The limit on bytes is less than the shipped one only to save time: nothing of them is kept.
	limits := model.Limits{WireBytes: 32 << 20}
	// Only who is to be waited for in vain is waited for briefly: the machine may be slow.
	first, idle := time.Minute, 10*time.Second
	if slices.Contains(h.Ends, "model_timeout") {
		first = time.Second
	}
	var m model.Model
	var err error
	switch wire {
	case "openai":
		m = openai.Chat(openai.Options{Model: "m", BaseURL: url, HTTPClient: client, Limits: limits, FirstTimeout: first, IdleTimeout: idle})
	case "anthropic":
		m, err = anthropic.New(anthropic.Options{Model: "m", BaseURL: url, HTTPClient: client, Limits: limits, FirstTimeout: first, IdleTimeout: idle})
	case "gemini":
		m, err = gemini.New(gemini.Options{Model: "m", BaseURL: url, HTTPClient: client, Limits: limits, FirstTimeout: first, IdleTimeout: idle})
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}
