package gemini

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

const begun = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hal\"}],\"role\":\"model\"},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":3}}\r\n\r\n"

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
	object := func(code int, status, msg string) string {
		return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"status":%q}}`, code, msg, status)
	}
	quota := func(id string) string {
		return `[{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[
			{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"` + id + `"}]},
			{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}]`
	}
	for _, c := range []struct {
		status int
		body   string
		header string // Retry-After
		class  model.Class
		after  time.Duration
		says   string
	}{
		{400, object(400, "INVALID_ARGUMENT", "contents is not specified"), "", model.BadRequest, 0, "contents is not"},
		{400, object(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key: "+canary), "", model.Auth, 0, "API key not valid"},
		{400, object(400, "INVALID_ARGUMENT", "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576)."), "", model.TooLarge, 0, "token count"},
		{401, object(401, "UNAUTHENTICATED", "Request had invalid authentication credentials."), "", model.Auth, 0, "credentials"},
		{403, object(403, "PERMISSION_DENIED", "no access"), "", model.Auth, 0, "no access"},
		{404, object(404, "NOT_FOUND", "models/gemini-nine is not found"), "", model.NotFound, 0, "gemini-nine"},
		{413, "", "", model.TooLarge, 0, "too large"},
		{429, object(429, "RESOURCE_EXHAUSTED", "slow down"), "", model.RateLimit, 0, "slow down"},
		{429, object(429, "RESOURCE_EXHAUSTED", "slow down"), "7", model.RateLimit, 7 * time.Second, "slow down"},
		{429, quota("GenerateRequestsPerMinutePerProjectPerModel"), "", model.RateLimit, 34 * time.Second, "quota"},
		{429, quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), "", model.Quota, 34 * time.Second, "quota"},
		{500, object(500, "INTERNAL", "An internal error has occurred"), "", model.Server, 0, "internal error"},
		{502, "<html>bad gateway " + canary, "", model.Server, 0, "HTML"},
		{503, object(503, "UNAVAILABLE", "The model is overloaded."), "2", model.Overloaded, 2 * time.Second, "overloaded"},
		{529, "", "", model.Overloaded, 0, ""},
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
		"early end of an array":     {"[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hal\"}]}}]}\n,\n", model.Broken, 1},
		"end inside an event":       {begun + "data: {\"candidates\":[{\"con", model.Broken, 2},
		"garbage":                   {"data: \x00\xff<nonsense>\n\n", model.Broken, 0},
		"garbage after the start":   {begun + "data: {]\n\n", model.Broken, 2},
		"garbage in an array":       {"[{}} oops", model.Broken, 0},
		"a page":                    {"<html>sign in</html>", model.Broken, 0},
		"JSON that is no object":    {"data: [1,2]\n\n", model.Broken, 0},
		"event larger than allowed": {begun + "data: " + strings.Repeat("x", 17<<20) + "\n\n", model.Broken, 2},
		"overloaded":                {begun + "data: {\"error\":{\"code\":503,\"message\":\"busy " + canary + "\",\"status\":\"UNAVAILABLE\"}}\n\n", model.Overloaded, 2},
		"error object alone":        {"{\"error\":{\"code\":500,\"message\":\"oops\",\"status\":\"INTERNAL\"}}", model.Server, 0},
		"blocked prompt":            {"data: {\"promptFeedback\":{\"blockReason\":\"PROHIBITED_CONTENT\"},\"usageMetadata\":{\"promptTokenCount\":4}}\n\n", model.Refused, 1},
		"malformed call":            {begun + "data: {\"candidates\":[{\"finishReason\":\"MALFORMED_FUNCTION_CALL\",\"finishMessage\":\"f(x\"}]}\n\n", model.Broken, 2},
		"arguments in no order": {"data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"f\",\"willContinue\":true,\"partialArgs\":[" +
			"{\"jsonPath\":\"$.a.b\",\"numberValue\":1},{\"jsonPath\":\"$.c\",\"numberValue\":1},{\"jsonPath\":\"$.a.d\",\"numberValue\":1}]}}]}}]}\n\n", model.Broken, 0},
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
		_, _ = fmt.Fprintf(w, `{"error":{"message":"header was %s and %s"}}`, r.Header.Get("X-Goog-Api-Key"), r.Header.Get("X-Gateway"))
	})
	o := Options{Model: "m", Key: NewKey(canary), BaseURL: srv.URL, HTTPClient: srv.Client(), Headers: map[string]string{"X-Gateway": gateway}}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = collect(t, m, hello)
	check(t, err, model.BadRequest, 400)
	if h := <-got; h.Get("X-Goog-Api-Key") != canary || h.Get("X-Gateway") != gateway {
		t.Errorf("the server saw %v", h)
	}
	printed, err := json.Marshal(o.Key)
	if err != nil || strings.Contains(fmt.Sprintf("%v %+v %#v %s", o.Key, o.Key, o.Key, printed), canary) {
		t.Errorf("the key prints")
	}
}
