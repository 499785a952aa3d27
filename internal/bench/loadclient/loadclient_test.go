package loadclient

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// Lines may come in pieces and be longer than any buffer; an event is counted once, a token with the time that it carries.
func TestStreamIsReadLineByLine(t *testing.T) {
	made := time.Now().Add(-time.Hour)
	text := ": a heartbeat\n" +
		"event: metadata\ndata: {\"run_id\":\"1\"}\nid: 0\n\n" +
		fmt.Sprintf("event: messages\ndata: [{\"content\":\"%d \"},{}]\nid: 1\n\n", made.UnixMicro()) +
		"event: messages\ndata: [{\"content\":\"\"},{}]\nid: 2\n\n" +
		fmt.Sprintf("event: values\ndata: {\"content\":\"%d \"}\nid: 3\n\n", made.UnixMicro()) +
		"event: messages|sub\ndata: [{\"content\":\"" + fmt.Sprint(made.UnixMicro()) + strings.Repeat("data: ", 1<<16) + "\"},{}]\nid: 4\n\n"
	for what, r := range map[string]io.Reader{"at once": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text))} {
		var s stream
		if err := s.read(r); err != nil {
			t.Fatal(err)
		}
		if s.events != 5 || len(s.lags) != 2 || s.bytes != int64(len(text)) {
			t.Errorf("%s: %d events, %d tokens, %d of %d bytes", what, s.events, len(s.lags), s.bytes, len(text))
		}
		for _, lag := range s.lags {
			if lag.Truncate(time.Minute) != time.Hour {
				t.Errorf("%s: a token of an hour ago is %v old", what, lag)
			}
		}
		if s.first.Before(s.began) || s.firstToken.Before(s.first) || s.last.Before(s.firstToken) || s.end.Before(s.last) {
			t.Errorf("%s: first %v, token %v, last %v, end %v", what, s.first, s.firstToken, s.last, s.end)
		}
	}
}

func TestLoadWithAMissingTokenHasNoFigures(t *testing.T) {
	for what, answer := range map[string]string{
		"a token too few": "event: messages\ndata: [{\"content\":\"1794713665915000 \"},{}]\n\n",
		"no stream":       "",
	} {
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/threads" {
				_, _ = io.WriteString(w, `{"thread_id":"t"}`)
				return
			}
			if answer == "" {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			_, _ = io.WriteString(w, answer)
		}))
		c := New(h.URL)
		if _, err := c.Run(t.Context(), Load{Streams: 2, Tokens: 2}); err == nil {
			t.Errorf("%s: no error", what)
		}
		c.Close()
		h.Close()
	}
}
