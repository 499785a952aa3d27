// Package loadclient puts a load on any server of LangGraph's API: runs of the graph bench of the conformance servers, ours
// and LangGraph's own, each in a thread of its own and read by an ordinary HTTP client, line by line, in the mode
// messages-tuple. It is the client with which LangGraph's JS server was measured, so what it says of ours can be put beside.
//
// # Laws
//
//   - Nothing is asked of a server that LangGraph's does not have, and what a server costs is for others to look up.
//   - A load of which a token is missing has no figures.
//   - Tokens carry the time of their making, so what is measured of them includes what this client takes to read them.
package loadclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Load is a number of runs at once.
type Load struct {
	Streams, Tokens int
	DelayMS         int           // between the tokens of a run; 0 is none
	Spread          time.Duration // over how long the starts are spread
}

// Report is what the readers saw.
type Report struct {
	Events, Tokens int
	Bytes          int64
	Took           time.Duration // from the first start to the last event

	First      []time.Duration // of each stream: from the request to the first event
	FirstToken []time.Duration
	Lags       []time.Duration // of each token: from its making to its reader
	Closes     []time.Duration // of each stream: from the last event to its end
}

// Client speaks to one server.
type Client struct {
	base string
	http *http.Client
}

// New makes a client of the server at an address.
func New(base string) *Client {
	return &Client{base, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true}}}
}

// Close lets go of the connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Run puts a load on the server and returns when the last stream has ended. The threads are made before the clock runs.
func (c *Client) Run(ctx context.Context, l Load) (Report, error) {
	body, err := json.Marshal(map[string]any{
		"assistant_id": "bench",
		"input":        map[string]any{"messages": []any{map[string]any{"type": "human", "content": "go"}}, "n": l.Tokens, "delay_ms": l.DelayMS},
		"stream_mode":  []string{"messages-tuple"},
	})
	if err != nil {
		return Report{}, err
	}
	threads := make([]string, l.Streams)
	for i := range threads {
		if threads[i], err = c.thread(ctx); err != nil {
			return Report{}, err
		}
	}
	streams := make([]stream, l.Streams)
	errs := make([]error, l.Streams)
	began := time.Now()
	var wg sync.WaitGroup
	for i := range streams {
		wg.Go(func() {
			time.Sleep(l.Spread * time.Duration(i) / time.Duration(l.Streams))
			errs[i] = c.follow(ctx, &streams[i], threads[i], body)
			if errs[i] == nil && len(streams[i].lags) != l.Tokens {
				errs[i] = fmt.Errorf("stream %d has %d of %d tokens", i, len(streams[i].lags), l.Tokens)
			}
		})
	}
	wg.Wait()
	var r Report
	for i := range streams {
		r.add(&streams[i], began)
	}
	return r, errors.Join(errs...)
}

func (c *Client) thread(ctx context.Context) (string, error) {
	res, err := c.post(ctx, "/threads", []byte("{}"))
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var thread struct {
		ID string `json:"thread_id"`
	}
	err = json.NewDecoder(res.Body).Decode(&thread)
	return thread.ID, err
}

// post returns an answer that is a good one.
func (c *Client) post(ctx context.Context, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		said, _ := io.ReadAll(io.LimitReader(res.Body, 300))
		return nil, fmt.Errorf("POST %s: %s: %s", path, res.Status, said)
	}
	return res, nil
}

// stream is one run as its reader saw it.
type stream struct {
	events            int
	bytes             int64
	began             time.Time
	first, last, end  time.Time
	firstToken        time.Time
	lags              []time.Duration
	messages, partial bool // the line belongs to an event with a message; it goes on from the one before
}

func (c *Client) follow(ctx context.Context, s *stream, thread string, body []byte) error {
	s.began = time.Now()
	res, err := c.post(ctx, "/threads/"+thread+"/runs/stream", body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return s.read(res.Body)
}

// read takes a stream line by line to its end.
func (s *stream) read(r io.Reader) error {
	br := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := br.ReadSlice('\n')
		s.bytes += int64(len(line))
		if !s.partial {
			s.take(line)
		}
		s.partial = errors.Is(err, bufio.ErrBufferFull) // of a line that is longer than all this only the beginning matters
		switch {
		case err == io.EOF:
			s.end = time.Now()
			return nil
		case err != nil && !s.partial:
			return err
		}
	}
}

var (
	event   = []byte("event:")
	data    = []byte("data:")
	content = []byte(`"content":"`)
)

func (s *stream) take(line []byte) {
	if name, ok := bytes.CutPrefix(line, event); ok {
		now := time.Now()
		if s.events == 0 {
			s.first = now
		}
		s.events++
		s.last = now
		s.messages = bytes.HasPrefix(bytes.TrimSpace(name), []byte("messages"))
		return
	}
	if !s.messages || !bytes.HasPrefix(line, data) {
		return
	}
	s.messages = false
	made, ok := stamp(line)
	if !ok {
		return
	}
	now := time.Now()
	if s.firstToken.IsZero() {
		s.firstToken = now
	}
	s.lags = append(s.lags, now.Sub(made))
}

// stamp reads the time, 16 digits of microseconds, with which a token's text begins.
func stamp(line []byte) (time.Time, bool) {
	_, text, ok := bytes.Cut(line, content)
	if !ok || len(text) < 16 {
		return time.Time{}, false
	}
	us, err := strconv.ParseInt(string(text[:16]), 10, 64)
	return time.UnixMicro(us), err == nil
}

func (r *Report) add(s *stream, began time.Time) {
	r.Events += s.events
	r.Tokens += len(s.lags)
	r.Bytes += s.bytes
	r.Lags = append(r.Lags, s.lags...)
	if s.events > 0 {
		r.Took = max(r.Took, s.last.Sub(began))
		r.First = append(r.First, s.first.Sub(s.began))
		r.Closes = append(r.Closes, s.end.Sub(s.last))
	}
	if len(s.lags) > 0 {
		r.FirstToken = append(r.FirstToken, s.firstToken.Sub(s.began))
	}
}
