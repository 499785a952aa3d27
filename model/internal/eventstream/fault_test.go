package eventstream

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributary-ai/tributary/model"
)

func TestStatusIsClassified(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		body   string
		want   model.Class
		msg    string // a part of the message
	}{
		"bad request":                 {400, `{"error":{"message":"Unknown parameter: 'x'.","type":"invalid_request_error","code":null}}`, model.BadRequest, "Unknown parameter"},
		"OpenAI key":                  {401, `{"error":{"message":"Incorrect API key provided: sk-proj-abcdefgh. You can find","type":"invalid_request_error","code":"invalid_api_key"}}`, model.Auth, "provided: ***"},
		"Gemini key":                  {400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"x","reason":"API_KEY_INVALID"}]}}]`, model.Auth, "API key not valid"},
		"forbidden":                   {403, `{"type":"error","error":{"type":"permission_error","message":"no"}}`, model.Auth, "no"},
		"no such model":               {404, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`, model.NotFound, "does not exist"},
		"wrong path":                  {404, `<html><body>nginx</body></html>`, model.NotFound, "base URL"},
		"too large by status":         {413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, model.TooLarge, "exceeds"},
		"too large by code":           {400, `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`, model.TooLarge, "8192"},
		"Anthropic's too large":       {400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, model.TooLarge, "too long"},
		"Gemini's too large":          {400, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, model.TooLarge, "input token"},
		"vLLM's too large":            {400, `{"object":"error","message":"This model's maximum context length is 4096 tokens","type":"BadRequestError","code":400}`, model.TooLarge, "4096"},
		"rate limit":                  {429, `{"error":{"message":"Rate limit reached. Add a payment method at https://platform.openai.com/account/billing.","type":"requests","code":"rate_limit_exceeded"}}`, model.RateLimit, "Rate limit"},
		"Gemini's rate limit":         {429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel"}]},{"retryDelay":"37s"}]}}`, model.RateLimit, "quota"},
		"Gemini's day is over":        {429, `{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}`, model.Quota, "quota"},
		"used up":                     {429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, model.Quota, "quota"},
		"Anthropic used up":           {400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`, model.Quota, "credit"},
		"DeepSeek used up":            {402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`, model.Quota, "Balance"},
		"Azure's filter":              {400, `{"error":{"message":"The response was filtered","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, model.Refused, "filtered"},
		"DashScope's filter":          {400, `{"code":"data_inspection_failed","message":"Input data may contain inappropriate content.","request_id":"x"}`, model.Refused, "inappropriate"},
		"server error":                {500, `{"error":{"message":"The server had an error","type":"server_error"}}`, model.Server, "had an error"},
		"server error about context":  {500, `{"error":{"message":"lost the context window"}}`, model.Server, "lost"},
		"bad gateway":                 {502, ``, model.Server, "bad gateway"},
		"unavailable":                 {503, `Service Unavailable`, model.Overloaded, "Service Unavailable"},
		"Anthropic overloaded":        {529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.Overloaded, "Overloaded"},
		"gateway time-out":            {504, ``, model.Timeout, "timeout"},
		"redirect":                    {302, ``, model.BadRequest, "found"},
		"a status nobody knows":       {599, ``, model.Server, "no reason"},
		"Ollama":                      {404, `{"error":"model 'x' not found"}`, model.NotFound, "model 'x'"},
		"FastAPI":                     {422, `{"detail":[{"msg":"field required","message":"field required"}]}`, model.BadRequest, "field required"},
		"an error inside a string":    {400, `{"error":"{\"error\":{\"message\":\"inner\"}}"}`, model.BadRequest, "inner"},
		"OpenRouter, the one behind":  {429, `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"{\"error\":{\"message\":\"slow down, please\"}}"}}}`, model.RateLimit, "slow down"},
		"an unexpected type of field": {400, `{"error":{"message":"m","type":7,"status_code":"x"}}`, model.BadRequest, "m"},
	} {
		t.Run(name, func(t *testing.T) {
			e := Fault{Provider: "p"}.Status(tc.status, nil, []byte(tc.body))
			if e.Class != tc.want || e.Status != tc.status || !strings.Contains(e.Message, tc.msg) {
				t.Errorf("got %s, %d, %q; want %s and %q", e.Class, e.Status, e.Message, tc.want, tc.msg)
			}
		})
	}
}

func TestErrorInsideAStreamIsClassified(t *testing.T) {
	for name, tc := range map[string]struct {
		payload string
		want    model.Class
		after   time.Duration
	}{
		"Anthropic":           {`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.Overloaded, 0},
		"Responses":           {`{"type":"error","code":"server_error","message":"oops","param":null}`, model.Server, 0},
		"Responses, nested":   {`{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"Please try again in 6.2s."}}}`, model.RateLimit, 6200 * time.Millisecond},
		"Groq":                {`{"error":{"message":"Tool call validation failed","type":"invalid_request_error","code":"tool_use_failed","status_code":400}}`, model.Broken, 0},
		"OpenRouter":          {`{"id":"x","error":{"code":502,"message":"Upstream"},"choices":[]}`, model.Server, 0},
		"OpenRouter, a limit": {`{"id":"x","error":{"code":"429","message":"busy"},"choices":[]}`, model.RateLimit, 0},
		"Gemini":              {`{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`, model.Overloaded, 0},
		"no reason":           {`{"error":{}}`, model.Server, 0},
	} {
		t.Run(name, func(t *testing.T) {
			e := Fault{}.Payload([]byte(tc.payload))
			if e.Class != tc.want || e.After != tc.after || e.Message == "" {
				t.Errorf("got %s after %v: %q; want %s after %v", e.Class, e.After, e.Message, tc.want, tc.after)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		header, value string
		want          time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", "0.25", 250 * time.Millisecond},
		{"Retry-After", "-3", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "1e300", 24 * time.Hour},
		{"Retry-After", "soon", 0},
		{"Retry-After", "Sun, 15 Nov 2026 12:00:30 GMT", 30 * time.Second},
		{"Retry-After", "Sun, 15 Nov 2026 11:00:30 GMT", 0},
		{"Retry-After-Ms", "1500", 1500 * time.Millisecond},
		{"X", "1", 0},
	} {
		if got := retryAfter(http.Header{tc.header: {tc.value}}, now); got != tc.want {
			t.Errorf("%s: %s gives %v, want %v", tc.header, tc.value, got, tc.want)
		}
	}
	skewed := http.Header{"Retry-After": {"Sun, 15 Nov 2026 09:00:10 GMT"}, "Date": {"Sun, 15 Nov 2026 09:00:00 GMT"}}
	if got := retryAfter(skewed, now); got != 10*time.Second {
		t.Errorf("with a server's clock three hours behind: %v, want 10s", got)
	}
}

func TestErrorsOfTheNetworkAreNamed(t *testing.T) {
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	_, untrusted := http.Get(secure.URL)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	_, notTLS := http.Get(strings.Replace(plain.URL, "http:", "https:", 1))

	for name, tc := range map[string]struct {
		err  error
		want model.Class
		msg  string
	}{
		"refused":          {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, model.Network, "refused"},
		"reset":            {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, model.Network, "broke"},
		"cut":              {fmt.Errorf("read: %w", io.ErrUnexpectedEOF), model.Network, "broke"},
		"name":             {&net.DNSError{Name: "api.example.com", Err: "no such host"}, model.Network, "api.example.com"},
		"certificate":      {untrusted, model.Network, "not trusted"},
		"not TLS":          {notTLS, model.Network, "no secure connection"},
		"TLS record":       {tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, model.Network, "no secure connection"},
		"socket time-out":  {&net.OpError{Op: "read", Err: timeoutError{}}, model.Timeout, "in time"},
		"too large":        {&model.LimitError{Setting: "event_bytes", Limit: 16 << 20}, model.TooMuch, "16777216 bytes"},
		"something else":   {errors.New("x"), model.Network, "x"},
		"URL with a key":   {errors.New(`Get "https://h/?key=0123456789abc": boom`), model.Network, "key=***"},
		"silence":          {&SilenceError{First: true, Limit: time.Second}, model.Timeout, "no answer began within 1s"},
		"already a fault":  {Fault{}.Incomplete(), model.Broken, "before it was finished"},
		"wrapped deadline": {fmt.Errorf("x: %w", context.DeadlineExceeded), model.Timeout, "in time"},
	} {
		t.Run(name, func(t *testing.T) {
			var e *model.Error
			if err := (Fault{Provider: "p"}).Err(t.Context(), tc.err); !errors.As(err, &e) {
				t.Fatalf("got %T %v", err, err)
			}
			if e.Class != tc.want || !strings.Contains(e.Message, tc.msg) {
				t.Errorf("got %s, %q; want %s and %q", e.Class, e.Message, tc.want, tc.msg)
			}
		})
	}
}

type timeoutError struct{}

func (timeoutError) Error() string   { return "i/o timeout" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

func TestCancelledCallKeepsTheCallersError(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the user left")
	cancel(why)
	if err := (Fault{}).Err(ctx, errors.New("read on closed body")); err != why {
		t.Errorf("got %v, want the cause of the cancellation", err)
	}
}

const canary = "canary/+key=0815"

func TestNoKeyIsEverPrinted(t *testing.T) {
	k := NewKey(canary)
	type holder struct {
		K Key
		k Key
	}
	h := holder{k, k}
	js, err := json.Marshal(map[string]Key{"key": k})
	if err != nil {
		t.Fatal(err)
	}
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "key", k, "holder", h)
	for _, s := range []string{fmt.Sprint(k), fmt.Sprintf("%s %q %v %+v %#v %x %d", k, k, k, k, k, k, k), fmt.Sprintf("%v %+v %#v", h, h, h), fmt.Sprintf("%+v", &h), string(js), logged.String()} {
		if strings.Contains(s, "canary") {
			t.Errorf("the key is printed: %s", s)
		}
	}
	if k.Reveal() != canary || !(Key{}).IsZero() || NewKey("").Reveal() != "" {
		t.Error("a key must keep its secret, and no key is none")
	}
}

func TestKeysInAURL(t *testing.T) {
	u, err := url.Parse("https://user:hunter22@host/v1?code=" + url.QueryEscape(canary) + "&code=other")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range KeysIn(u) {
		got = append(got, k.Reveal())
	}
	if want := []string{"hunter22", canary, "other"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if got := KeysIn(&url.URL{Host: "host"}); got != nil {
		t.Errorf("found %d keys where there are none", len(got))
	}
}

func TestScrub(t *testing.T) {
	for in, want := range map[string]string{
		"bad key " + canary + "!":                             "bad key ***!",
		"https://h/v1?k=canary%2F%2Bkey%3D0815&x=1":           "https://h/v1?k=***&x=1",
		"Incorrect API key provided: sk-abc123*****wxyz.":     "Incorrect API key provided: ***",
		"Authorization: Bearer abc.def-ghi refused":           "Authorization: Bearer *** refused",
		"got AIzaSyA1234567890 there":                         "got *** there",
		`{"api_key":"0123456789"}`:                            `{"api_key":"***"}`,
		"GET /m?key=0123456789&alt=sse":                       "GET /m?key=***&alt=sse",
		"https://user:hunter22@host/v1":                       "https://***host/v1",
		"gsk_0123456789 and xai-0123456789":                   "*** and ***",
		"task-oriented desk-lamps keep working":               "task-oriented desk-lamps keep working",
		"the token limit: 4096 was hit; tokens: many, key: a": "the token limit: 4096 was hit; tokens: many, key: a",
	} {
		if got := scrub(in, canary, "", "abc"); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestMessagesAreOneScrubbedSentence(t *testing.T) {
	f := Fault{Provider: "p", Secrets: []Key{NewKey(canary)}}
	e := f.Status(400, nil, []byte(`{"error":{"message":"no\n\ngood: `+canary+strings.Repeat("é", 600)+`"}}`))
	if strings.Contains(e.Error(), "canary") || strings.Contains(e.Message, "\n") || len(e.Message) > maxMessage+len("…") || strings.Contains(e.Message, "\uFFFD") {
		t.Errorf("got %q", e.Message)
	}
}

func TestWatchEndsSilentCalls(t *testing.T) {
	silence := func(t *testing.T, ctx context.Context) *SilenceError {
		t.Helper()
		<-ctx.Done()
		var e *SilenceError
		if !errors.As(context.Cause(ctx), &e) {
			t.Fatalf("cause is %v", context.Cause(ctx))
		}
		return e
	}
	t.Run("before the first event", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			ctx, w := NewWatch(t.Context(), time.Minute, time.Second)
			defer w.Stop()
			pr, pw := io.Pipe()
			go func() { // a proxy says that it is there
				for ctx.Err() == nil {
					_, _ = pw.Write([]byte(": here\n\n"))
					time.Sleep(10 * time.Second)
				}
				pw.CloseWithError(ctx.Err())
			}()
			_, err := NewReader(w.Body(pr)).Next()
			if e := silence(t, ctx); !e.First || err == nil || time.Since(start).Round(time.Minute) != time.Minute {
				t.Errorf("got %v, %v after %v", e, err, time.Since(start))
			}
		})
	})
	t.Run("after it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, w := NewWatch(t.Context(), time.Minute, 5*time.Second)
			defer w.Stop()
			pr, pw := io.Pipe()
			go func() {
				for range 3 { // keep-alive comments count from now on
					_, _ = pw.Write([]byte("data: x\n\n: here\n\n"))
					time.Sleep(4 * time.Second)
				}
				<-ctx.Done()
				pw.CloseWithError(ctx.Err())
			}()
			r := NewReader(w.Body(pr))
			for range 3 {
				if _, err := r.Next(); err != nil {
					t.Fatal(err)
				}
				w.Event()
			}
			time.Sleep(time.Hour) // a slow reader is not the provider's fault
			if ctx.Err() != nil {
				t.Fatal("ended while nobody was waiting")
			}
			if _, err := r.Next(); err == nil {
				t.Error("no error")
			}
			if e := silence(t, ctx); e.First || e.Limit != 5*time.Second {
				t.Errorf("got %v", e)
			}
		})
	})
	t.Run("not after Stop, nor without limits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, w := NewWatch(t.Context(), time.Second, time.Second)
			w.Stop()
			w.Stop()
			free, w2 := NewWatch(t.Context(), 0, 0)
			_, _ = w2.Body(strings.NewReader("x")).Read(make([]byte, 1))
			w2.Event()
			time.Sleep(time.Hour)
			if context.Cause(ctx) != context.Canceled || free.Err() != nil {
				t.Errorf("causes %v and %v", context.Cause(ctx), context.Cause(free))
			}
			w2.Stop()
		})
	})
}

func FuzzFaults(f *testing.F) {
	f.Add(400, `{"error":{"message":"x","code":1}}`)
	f.Add(429, `[{"error":{"details":[{"retryDelay":"1s"}]}}]`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		fault := Fault{Provider: "p", Secrets: []Key{NewKey(canary)}}
		for _, e := range []*model.Error{fault.Status(status, nil, []byte(body+canary)), fault.Payload([]byte(body))} {
			if e.Class == "" || e.Message == "" || strings.Contains(e.Message, canary) {
				t.Errorf("class %q, message %q", e.Class, e.Message)
			}
		}
	})
}
