package providertest

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// Canary is the key of every call in these tests, and gateway a secret in a header of the caller's; no error may show
// them.
const (
	Canary  = "canary-Zx81-secret-9f3b"
	gateway = "parakeet-of-the-gateway"
)

// At says where a model is, and how long it may be silent.
type At struct {
	URL         string
	Client      *http.Client
	First, Idle time.Duration
	Headers     map[string]string
}

// Subject is a provider's package under test.
type Subject struct {
	// Open returns a model with the key Canary.
	Open func(t testing.TB, at At) model.Model
	// Begun is the first piece of an answer, which makes Parts parts.
	Begun string
	Parts int
	// KeyHeader is the header that carries the key.
	KeyHeader string
}

// Serve starts a server that keeps its complaints to itself.
func Serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Start()
	t.Cleanup(srv.Close)
	return srv
}

// SSE writes the beginning of an event stream.
func SSE(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, body)
	_ = http.NewResponseController(w).Flush()
}

// Check holds an error to the class, and to what no error may show.
func Check(t testing.TB, err error, class model.Class, status int) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %v, want a model.Error", err)
	}
	if e.Class != class || e.Status != status {
		t.Errorf("class %s, status %d (%v), want %s, %d", e.Class, e.Status, e, class, status)
	}
	for _, text := range []string{e.Error(), fmt.Sprintf("%+v", *e), fmt.Sprint(e.Err)} {
		if strings.Contains(text, Canary) || strings.Contains(text, gateway) {
			t.Errorf("a secret is in %q", text)
		}
	}
	return e
}

// Status is an answer that is none. It has no name of its own, so that tables need not name its fields.
type Status = struct {
	Status     int
	Body       string
	RetryAfter string
	Class      model.Class
	After      time.Duration
	Says       string
}

// Statuses holds the provider to what it must make of each status.
func (s Subject) Statuses(t *testing.T, all []Status) {
	for _, c := range all {
		t.Run(fmt.Sprint(c.Status, c.Class), func(t *testing.T) {
			tries := 0
			srv := Serve(t, func(w http.ResponseWriter, r *http.Request) {
				tries++
				if c.RetryAfter != "" {
					w.Header().Set("Retry-After", c.RetryAfter)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.Status)
				_, _ = io.WriteString(w, c.Body)
			})
			_, parts, err := Collect(t, s.at(t, srv), Hello)
			e := Check(t, err, c.Class, c.Status)
			if e.After != c.After || !strings.Contains(e.Message, c.Says) || len(parts) != 0 {
				t.Errorf("after %v, message %q, %d parts", e.After, e.Message, len(parts))
			}
			if tries != 1 {
				t.Errorf("tried %d times; retrying is the caller's business", tries)
			}
		})
	}
}

func (s Subject) at(t testing.TB, srv *httptest.Server) model.Model {
	return s.Open(t, At{URL: srv.URL, Client: srv.Client()})
}

// Broken is an answer that goes wrong after a good status, and how many parts precede the error.
type Broken = struct {
	Body  string
	Class model.Class
	Parts int
}

// BrokenAnswers holds the provider to what it must make of each answer.
func (s Subject) BrokenAnswers(t *testing.T, all map[string]Broken) {
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			srv := Serve(t, func(w http.ResponseWriter, r *http.Request) { SSE(w, c.Body) })
			_, parts, err := Collect(t, s.at(t, srv), Hello)
			Check(t, err, c.Class, 0)
			if len(parts) != c.Parts {
				t.Errorf("%d parts before the error, want %d: %v", len(parts), c.Parts, parts)
			}
		})
	}
}

// Faults is what all providers must make of connections that fail, of callers that go away, and of keys.
func (s Subject) Faults(t *testing.T) {
	t.Run("refused", s.refused)
	t.Run("certificate", s.certificate)
	t.Run("reset in the middle", s.reset)
	t.Run("silence", s.silence)
	t.Run("cancelled", s.cancelled)
	t.Run("breaking out", s.breakingOut)
	t.Run("the key", s.key)
	t.Run("led elsewhere", s.Redirected)
	t.Run("what is sent is told", s.told)
}

// told: what a provider gets is what model.Request.Sent was told, to the byte, and before it gets it.
func (s Subject) told(t *testing.T) {
	var told, got []byte
	var early bool
	srv := Serve(t, func(w http.ResponseWriter, r *http.Request) {
		early = told != nil
		got, _ = io.ReadAll(r.Body)
		http.Error(w, `{"error":{"message":"no"}}`, http.StatusBadRequest)
	})
	req := model.Request{
		System: "Be brief.", Messages: []item.Message{item.UserText("u", "Grüße & <tags>")},
		Tools: []model.Tool{{Name: "look", Description: "Looks.", Schema: json.RawMessage(`{"type":"object","properties":{"s":{"type":"string"}}}`)}},
		Sent:  func(body []byte) { told = bytes.Clone(body) },
	}
	for _, err := range s.at(t, srv).Stream(t.Context(), req) {
		if err == nil {
			t.Fatal("a part came with status 400")
		}
	}
	if !early || len(got) == 0 || !bytes.Equal(told, got) {
		t.Errorf("told %q (before it was sent: %v), sent %q", told, early, got)
	}
}

func (s Subject) refused(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_ = ln.Close()
	_, _, err = Collect(t, s.Open(t, At{URL: "http://user:" + Canary + "@" + addr + "/?key=" + Canary}), Hello)
	Check(t, err, model.Network, 0)
}

func (s Subject) certificate(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	strict := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{}}}
	_, _, err := Collect(t, s.Open(t, At{URL: srv.URL, Client: strict}), Hello)
	Check(t, err, model.Network, 0)
}

func (s Subject) reset(t *testing.T) {
	srv := Serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		SSE(w, s.Begun)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	})
	_, parts, err := Collect(t, s.at(t, srv), Hello)
	Check(t, err, model.Network, 0)
	if len(parts) != s.Parts {
		t.Errorf("%d parts", len(parts))
	}
}

func (s Subject) silence(t *testing.T) {
	const short = 50 * time.Millisecond
	for name, c := range map[string]struct {
		body, says  string
		first, idle time.Duration
	}{
		"before the first event": {"", "no answer began within 50ms", short, time.Hour},
		"comments are no event":  {": still here\n\n", "no answer began within 50ms", short, time.Hour},
		"after it":               {s.Begun, "stopped arriving for 50ms", 5 * time.Second, short},
		"in the middle of one":   {s.Begun + "data: {\"", "stopped arriving for 50ms", 5 * time.Second, short},
	} {
		t.Run(name, func(t *testing.T) {
			srv := Serve(t, func(w http.ResponseWriter, r *http.Request) {
				SSE(w, c.body)
				<-r.Context().Done()
			})
			_, _, err := Collect(t, s.Open(t, At{URL: srv.URL, Client: srv.Client(), First: c.first, Idle: c.idle}), Hello)
			if e := Check(t, err, model.Timeout, 0); !strings.Contains(e.Message, c.says) {
				t.Errorf("says %q", e.Message)
			}
		})
	}
	t.Run("before the status", func(t *testing.T) {
		srv := Serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
		_, _, err := Collect(t, s.Open(t, At{URL: srv.URL, Client: srv.Client(), First: short}), Hello)
		Check(t, err, model.Timeout, 0)
	})
}

// A caller that cancels gets its own error.
func (s Subject) cancelled(t *testing.T) {
	srv := Serve(t, func(w http.ResponseWriter, r *http.Request) {
		SSE(w, s.Begun)
		<-r.Context().Done()
	})
	why := errors.New("the user pressed stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	var last error
	for p, err := range s.at(t, srv).Stream(ctx, Hello) {
		if _, ok := p.(model.Text); ok {
			cancel(why)
		}
		last = err
	}
	if !errors.Is(last, why) && !errors.Is(last, context.Canceled) {
		t.Errorf("got %v", last)
	}
	var e *model.Error
	if errors.As(last, &e) {
		t.Errorf("a cancelled call is blamed on the provider: %v", e)
	}
}

// A caller that breaks out of the loop releases the connection.
func (s Subject) breakingOut(t *testing.T) {
	released := make(chan struct{})
	srv := Serve(t, func(w http.ResponseWriter, r *http.Request) {
		SSE(w, s.Begun)
		<-r.Context().Done()
		close(released)
	})
	for range s.at(t, srv).Stream(context.Background(), Hello) {
		break
	}
	<-released
}

// The key is sent, and a server that quotes it does not get it shown.
func (s Subject) key(t *testing.T) {
	got := make(chan http.Header, 1)
	srv := Serve(t, func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"error":{"message":"header was %s and %s"}}`, r.Header.Get(s.KeyHeader), r.Header.Get("X-Gateway"))
	})
	m := s.Open(t, At{URL: srv.URL, Client: srv.Client(), Headers: map[string]string{"X-Gateway": gateway}})
	_, _, err := Collect(t, m, Hello)
	Check(t, err, model.BadRequest, http.StatusBadRequest)
	if h := <-got; !strings.HasSuffix(h.Get(s.KeyHeader), Canary) || h.Get("X-Gateway") != gateway {
		t.Errorf("the server saw %v", h)
	}
	if printed := fmt.Sprintf("%v %+v", m, m); strings.Contains(printed, Canary) {
		t.Error("the key prints")
	}
}

// Redirected: a server that redirects gets neither the key nor the conversation taken to another host. On its own host it may.
func (s Subject) Redirected(t *testing.T) {
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			reached := false
			other := Serve(t, func(w http.ResponseWriter, r *http.Request) {
				reached = true
				SSE(w, s.Begun)
			})
			srv := Serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, status) })
			_, _, err := Collect(t, s.Open(t, At{URL: srv.URL, Headers: map[string]string{"X-Gateway": gateway}}), Hello)
			e := Check(t, err, model.BadRequest, 0)
			if reached || !strings.Contains(e.Message, "redirects to "+other.URL) {
				t.Errorf("the other host was reached: %v; the error says %q", reached, e.Message)
			}
		})
	}
	t.Run("on its own host", func(t *testing.T) {
		srv := Serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/moved" {
				http.Redirect(w, r, "/moved", http.StatusTemporaryRedirect)
				return
			}
			SSE(w, s.Begun)
		})
		_, parts, _ := Collect(t, s.at(t, srv), Hello)
		if len(parts) != s.Parts {
			t.Errorf("%d parts, want the %d of the answer", len(parts), s.Parts)
		}
	})
}
