package openai

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/providertest"
)

func checkClass(t *testing.T, what string, err error, want model.Class) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) || e.Class != want {
		t.Errorf("%s: got %v (%T), want class %s", what, err, err, want)
		return &model.Error{}
	}
	for _, s := range []string{e.Error(), e.Message, fmt.Sprintf("%+v", e.Err)} {
		if strings.Contains(s, "canary") {
			t.Errorf("%s: the key shows in %q", what, s)
		}
	}
	return e
}

// wires runs a test for both.
func wires(t *testing.T, test func(t *testing.T, responses bool)) {
	t.Helper()
	t.Run("chat", func(t *testing.T) { test(t, false) })
	t.Run("responses", func(t *testing.T) { test(t, true) })
}

func TestStatusesHaveTheirClass(t *testing.T) {
	message := `{"error":{"message":"no, ` + canary + `, no","type":"%s","code":"%s"}}`
	for _, tc := range []struct {
		status int
		header string // Retry-After
		body   string
		want   model.Class
		after  time.Duration
	}{
		{400, "", fmt.Sprintf(message, "invalid_request_error", ""), model.BadRequest, 0},
		{400, "", fmt.Sprintf(message, "invalid_request_error", "context_length_exceeded"), model.TooLarge, 0},
		{401, "", fmt.Sprintf(message, "invalid_request_error", "invalid_api_key"), model.Auth, 0},
		{403, "", fmt.Sprintf(message, "", ""), model.Auth, 0},
		{404, "", fmt.Sprintf(message, "invalid_request_error", "model_not_found"), model.NotFound, 0},
		{404, "", "<html>" + canary + "</html>", model.NotFound, 0},
		{413, "", "", model.TooLarge, 0},
		{429, "", fmt.Sprintf(message, "requests", "rate_limit_exceeded"), model.RateLimit, 0},
		{429, "7", fmt.Sprintf(message, "requests", "rate_limit_exceeded"), model.RateLimit, 7 * time.Second},
		{429, time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), "", model.RateLimit, time.Hour},
		{429, "7", fmt.Sprintf(message, "insufficient_quota", "insufficient_quota"), model.Quota, 7 * time.Second},
		{500, "", fmt.Sprintf(message, "server_error", ""), model.Server, 0},
		{503, "2", "overloaded, key " + canary, model.Overloaded, 2 * time.Second},
		{529, "", "", model.Overloaded, 0},
	} {
		wires(t, func(t *testing.T, responses bool) {
			calls := 0
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls++
				if tc.header != "" {
					w.Header().Set("Retry-After", tc.header)
				}
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body)
			}))
			defer srv.Close()
			a := collect(t, t.Context(), open(responses, options(t, srv)), hello)
			e := checkClass(t, fmt.Sprint(tc.status, " ", tc.body), a.Err, tc.want)
			if e.Status != tc.status || e.After.Round(time.Second) != tc.after.Round(time.Second) && (e.After-tc.after).Abs() > 5*time.Second || e.Provider != "test" {
				t.Errorf("got status %d, wait %v, provider %q; want %d, %v", e.Status, e.After, e.Provider, tc.status, tc.after)
			}
			if calls != 1 {
				t.Errorf("%d calls: retrying is the caller's business", calls)
			}
		})
	}
}

func TestErrorsInsideAGoodAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		responses bool
		body      string
		want      model.Class
	}{
		"an error object":             {false, `data: {"error":{"message":"x","type":"server_error"}}`, model.Server},
		"a named error":               {false, "event: error\ndata: {\"error\":{\"message\":\"x\",\"code\":429}}", model.RateLimit},
		"finished by an error":        {false, `data: {"error":{"code":502,"message":"x"},"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`, model.Server},
		"an error of Groq":            {false, `data: {"x_groq":{"error":"over capacity","id":"r"},"choices":[]}`, model.Server},
		"an error as a string":        {false, `data: {"error":"model is overloaded"}`, model.Overloaded},
		"JSON instead of a stream":    {false, `{"error":{"message":"x","code":"invalid_api_key"}}`, model.Auth},
		"DeepSeek gives up":           {false, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"insufficient_system_resource"}]}` + "\n\ndata: [DONE]", model.Overloaded},
		"a call without a name":       {false, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, model.Broken},
		"garbage":                     {false, "data: {\"choices\":[{\"ind", model.Broken},
		"noise":                       {false, "\x00\xff\xfe\n\n<html>", model.Broken},
		"an end without a reason":     {false, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]", model.Broken},
		"an error event":              {true, `data: {"type":"error","code":"rate_limit_exceeded","message":"x"}`, model.RateLimit},
		"a failed response":           {true, `data: {"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"x"}}}`, model.Server},
		"completed, and yet failed":   {true, `data: {"type":"response.completed","response":{"status":"failed","error":{"code":"server_error","message":"x"}}}`, model.Server},
		"cancelled":                   {true, `data: {"type":"response.cancelled","response":{"status":"cancelled"}}`, model.Server},
		"a chat error on Responses":   {true, `data: {"error":{"message":"x","type":"invalid_request_error"}}`, model.BadRequest},
		"JSON instead of events":      {true, `{"error":{"message":"x","code":"invalid_api_key"}}`, model.Auth},
		"garbage on Responses":        {true, "data: {\"type\":", model.Broken},
		"an end that says nothing":    {true, `data: {"type":"response.completed"}`, model.Broken},
		"done without being complete": {true, "data: [DONE]", model.Broken},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, "text/event-stream", [][]byte{[]byte(tc.body + "\n\n")})
			checkClass(t, name, collect(t, t.Context(), open(tc.responses, options(t, srv)), hello).Err, tc.want)
		})
	}
}

// What holds of every provider holds of both wires.
func TestFaults(t *testing.T) {
	wires(t, func(t *testing.T, responses bool) {
		subject := providertest.Subject{
			Begun: firstEvent(responses), Parts: 1, KeyHeader: "Authorization",
			Open: func(t testing.TB, at providertest.At) model.Model {
				return open(responses, Options{
					Model: "m", Provider: "test", Key: NewKey(providertest.Canary), BaseURL: at.URL, HTTPClient: at.Client,
					Headers: at.Headers, FirstTimeout: at.First, IdleTimeout: at.Idle,
				})
			},
		}
		subject.Faults(t)
	})
}

// firstEvent is the first token of an answer.
func firstEvent(responses bool) string {
	if responses {
		return `data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"hi"}` + "\n\n"
	}
	return `data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}` + "\n\n"
}

// stalled serves the beginning of an answer and then nothing, until the client goes away.
func stalled(t *testing.T, beginning string) (*httptest.Server, <-chan struct{}) {
	t.Helper()
	gone := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if beginning != "" {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, beginning)
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
		close(gone)
	}))
	t.Cleanup(srv.Close)
	return srv, gone
}

// Once the provider has said that the answer is complete, nothing that happens to the connection changes it.
func TestBreakingAfterTheFinishIsNoFailure(t *testing.T) {
	srv, _ := stalled(t, firstEvent(false)+`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n")
	o := options(t, srv)
	o.IdleTimeout = 30 * time.Millisecond
	a := collect(t, t.Context(), Chat(o), hello)
	if a.Err != nil || a.Finish == nil || a.text() != "hi" {
		t.Errorf("got %v and finish %v", a.Err, a.Finish)
	}
}

// Whoever prints a model, its options or an error must not see a key, wherever it was put.
func TestNoKeyIsPrinted(t *testing.T) {
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized) // a proxy that quotes everything
		_, _ = fmt.Fprintf(w, `{"error":{"message":"bad request %s %q %q"}}`, r.URL, r.Header.Get("Authorization"), r.Header.Get("X-Extra"))
	}))
	defer echo.Close()
	o := options(t, echo)
	o.Headers = map[string]string{"X-Extra": "canary-in-header"}
	o.BaseURL += "?key=canary-in-url"
	wires(t, func(t *testing.T, responses bool) {
		m := open(responses, o)
		a := collect(t, t.Context(), m, hello)
		e := checkClass(t, "echo", a.Err, model.Auth)
		for _, s := range []string{fmt.Sprintf("%v %+v %#v", m, m, m), fmt.Sprintf("%v", o.Key), e.Message} {
			if strings.Contains(s, "canary") {
				t.Errorf("a key is printed: %s", s)
			}
		}
	})
	o.BaseURL = "http://127.0.0.1:1/?key=canary-in-url"
	checkClass(t, "refused", collect(t, t.Context(), Chat(o), hello).Err, model.Network)
}

func TestAzureIsNotLedElsewhere(t *testing.T) {
	wires(t, func(t *testing.T, responses bool) {
		subject := providertest.Subject{
			Begun: firstEvent(responses), Parts: 1, KeyHeader: "Api-Key",
			Open: func(t testing.TB, at providertest.At) model.Model {
				return open(responses, Options{
					Model: "m", Key: NewKey(providertest.Canary), BaseURL: at.URL, AzureVersion: "2024-10-21", HTTPClient: at.Client, Headers: at.Headers,
				})
			},
		}
		subject.Redirected(t)
	})
}
