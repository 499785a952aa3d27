package anthropic

import (
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

	"github.com/tributary-ai/tributary/model"
)

// canary is the key of every call in these tests; no error may show it.
const canary = "canary-Zx81-secret-9f3b"

// gateway is a secret in a header of the caller's.
const gateway = "parakeet-of-the-gateway"

const begun = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m\",\"usage\":{\"input_tokens\":3}}}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hal\"}}\n\n"

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Start()
	t.Cleanup(srv.Close)
	return srv
}

func sse(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, body)
	_ = http.NewResponseController(w).Flush()
}

// check holds an error to the class, and to what no error may show.
func check(t *testing.T, err error, class model.Class, status int) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %v, want a model.Error", err)
	}
	if e.Class != class || e.Status != status {
		t.Errorf("class %s, status %d (%v), want %s, %d", e.Class, e.Status, e, class, status)
	}
	for _, text := range []string{e.Error(), fmt.Sprintf("%+v", *e), fmt.Sprint(e.Err)} {
		if strings.Contains(text, canary) || strings.Contains(text, gateway) {
			t.Errorf("a secret is in %q", text)
		}
	}
	return e
}

func TestStatusesAreNamed(t *testing.T) {
	object := func(typ, msg string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, typ, msg)
	}
	for _, c := range []struct {
		status int
		body   string
		header string // Retry-After
		class  model.Class
		after  time.Duration
		says   string
	}{
		{400, object("invalid_request_error", "messages: at least one message is required"), "", model.BadRequest, 0, "at least one message"},
		{400, object("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), "", model.TooLarge, 0, "too long"},
		{400, object("invalid_request_error", "Your credit balance is too low to access the API"), "", model.Quota, 0, "credit balance"},
		{401, object("authentication_error", "invalid x-api-key: "+canary), "", model.Auth, 0, "invalid x-api-key"},
		{403, object("permission_error", "no access"), "", model.Auth, 0, "no access"},
		{404, object("not_found_error", "model: claude-nine"), "", model.NotFound, 0, "claude-nine"},
		{413, object("request_too_large", "Request exceeds the maximum size"), "", model.TooLarge, 0, "maximum size"},
		{429, object("rate_limit_error", "slow down"), "", model.RateLimit, 0, "slow down"},
		{429, object("rate_limit_error", "slow down"), "7", model.RateLimit, 7 * time.Second, "slow down"},
		{500, object("api_error", "Internal server error"), "", model.Server, 0, "Internal server error"},
		{502, "<html>bad gateway " + canary, "", model.Server, 0, "HTML"},
		{503, "", "2", model.Overloaded, 2 * time.Second, "unavailable"},
		{529, object("overloaded_error", "Overloaded"), "", model.Overloaded, 0, "Overloaded"},
	} {
		t.Run(fmt.Sprint(c.status, c.class), func(t *testing.T) {
			tries := 0
			srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
				tries++
				if c.header != "" {
					w.Header().Set("Retry-After", c.header)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			_, parts, err := collect(t, client(t, srv), hello)
			e := check(t, err, c.class, c.status)
			if e.After != c.after || !strings.Contains(e.Message, c.says) || len(parts) != 0 {
				t.Errorf("after %v, message %q, %d parts", e.After, e.Message, len(parts))
			}
			if tries != 1 {
				t.Errorf("tried %d times; retrying is the caller's business", tries)
			}
		})
	}
}

func TestBrokenAnswersAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		body  string
		class model.Class
		parts int
	}{
		"nothing at all":            {"", model.Broken, 0},
		"early end":                 {begun, model.Broken, 2},
		"stop reason, but no stop":  {begun + "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n", model.Broken, 2},
		"end inside an event":       {begun + "event: content_block_delta\ndata: {\"type\":\"conte", model.Broken, 2},
		"garbage":                   {"data: \x00\xff<nonsense>\n\n", model.Broken, 0},
		"garbage after the start":   {begun + "data: {]\n\n", model.Broken, 2},
		"JSON that is no object":    {"data: [1,2]\n\n", model.Broken, 0},
		"overloaded":                {begun + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", model.Overloaded, 2},
		"overloaded at once":        {"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", model.Overloaded, 0},
		"server error":              {begun + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"oops " + canary + "\"}}\n\n", model.Server, 2},
		"rate limit in the middle":  {begun + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow\"}}\n\n", model.RateLimit, 2},
		"event larger than allowed": {begun + "data: " + strings.Repeat("x", 17<<20) + "\n\n", model.Broken, 2},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, func(w http.ResponseWriter, r *http.Request) { sse(w, c.body) })
			_, parts, err := collect(t, client(t, srv), hello)
			check(t, err, c.class, 0)
			if len(parts) != c.parts {
				t.Errorf("%d parts before the error, want %d: %v", len(parts), c.parts, parts)
			}
		})
	}
}

func TestAnAnswerThatIsNoStreamIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		media, body string
		class       model.Class
	}{
		"error with status 200": {"application/json", `{"type":"error","error":{"type":"authentication_error","message":"bad key"}}`, model.Auth},
		"a whole message":       {"application/json", `{"type":"message","content":[]}`, model.Broken},
		"a page":                {"text/html", `<html>`, model.Broken},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", c.media)
				_, _ = io.WriteString(w, c.body)
			})
			_, _, err := collect(t, client(t, srv), hello)
			check(t, err, c.class, 0)
		})
	}
}

func TestConnectionsThatFailAreNamed(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := ln.Addr().String()
		_ = ln.Close()
		m, err := New(Options{Model: "m", Key: NewKey(canary), BaseURL: "http://user:" + canary + "@" + addr + "/?key=" + canary})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = collect(t, m, hello)
		check(t, err, model.Network, 0)
	})
	t.Run("certificate", func(t *testing.T) {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.StartTLS()
		defer srv.Close()
		strict := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{}}}
		_, _, err := collect(t, client(t, srv, func(o *Options) { o.HTTPClient = strict }), hello)
		check(t, err, model.Network, 0)
	})
	t.Run("reset in the middle", func(t *testing.T) {
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
			sse(w, begun)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		})
		_, parts, err := collect(t, client(t, srv), hello)
		check(t, err, model.Network, 0)
		if len(parts) != 2 {
			t.Errorf("%d parts", len(parts))
		}
	})
	for name, c := range map[string]struct {
		body, says  string
		first, idle time.Duration
	}{
		"stall before the first event": {"", "no answer began within 50ms", 50 * time.Millisecond, time.Hour},
		"comments are no event":        {": still here\n\n", "no answer began within 50ms", 50 * time.Millisecond, time.Hour},
		"stall after it":               {begun, "stopped arriving for 50ms", 5 * time.Second, 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
				sse(w, c.body)
				<-r.Context().Done()
			})
			_, _, err := collect(t, client(t, srv, func(o *Options) { o.FirstTimeout, o.IdleTimeout = c.first, c.idle }), hello)
			if e := check(t, err, model.Timeout, 0); !strings.Contains(e.Message, c.says) {
				t.Errorf("says %q", e.Message)
			}
		})
	}
	t.Run("stall before the status", func(t *testing.T) {
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
		_, _, err := collect(t, client(t, srv, func(o *Options) { o.FirstTimeout = 50 * time.Millisecond }), hello)
		check(t, err, model.Timeout, 0)
	})
}

func TestCancellingEndsWithTheContextsError(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sse(w, begun)
		<-r.Context().Done()
	})
	why := errors.New("the user pressed stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	var last error
	for p, err := range client(t, srv).Stream(ctx, hello) {
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

func TestBreakingOutReleasesTheConnection(t *testing.T) {
	released := make(chan struct{})
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sse(w, begun)
		<-r.Context().Done()
		close(released)
	})
	for range client(t, srv).Stream(context.Background(), hello) {
		break
	}
	<-released
}

func TestTheKeyIsSentAndNeverPrinted(t *testing.T) {
	got := make(chan http.Header, 1)
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"error":{"message":"header was %s and %s"}}`, r.Header.Get("X-Api-Key"), r.Header.Get("X-Gateway"))
	})
	o := Options{Model: "m", Key: NewKey(canary), BaseURL: srv.URL, HTTPClient: srv.Client(), Headers: map[string]string{"X-Gateway": gateway}}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = collect(t, m, hello)
	check(t, err, model.BadRequest, 400)
	if h := <-got; h.Get("X-Api-Key") != canary || h.Get("X-Gateway") != gateway {
		t.Errorf("the server saw %v", h)
	}
	printed, err := json.Marshal(o.Key)
	if err != nil || strings.Contains(fmt.Sprintf("%v %+v %#v %s", o.Key, o.Key, o.Key, printed), canary) {
		t.Errorf("the key prints")
	}
}
