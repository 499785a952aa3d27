package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// dialect is how a server is asked for a run, and how its frames are read.
type dialect struct {
	name string
	mark []byte // what stands before the time in a token's frame
	// create asks for a run and its stream.
	create func(p pace) request
	// accept asks for a run that nobody reads yet, and takes from the answer the path of its stream and the cursor with
	// which it is shown from the beginning.
	accept func(p pace) request
	joined func(res *http.Response, body []byte) (request, error)
}

type request struct {
	method, path, cursor string
	body                 []byte
}

func encoded(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own values
	}
	return raw
}

// onTask is the native wire. It has no way to accept a run without waiting for it, so such runs are made on the other.
var onTask = dialect{
	name: "task", mark: []byte(`"delta":"`),
	create: func(p pace) request {
		return request{method: "POST", path: "/tasks", body: encoded(map[string]any{"assistant": "bench", "input": p, "stream": true})}
	},
	accept: accept,
	joined: func(_ *http.Response, body []byte) (request, error) {
		var run struct {
			ID string `json:"run_id"`
		}
		err := json.Unmarshal(body, &run)
		return request{method: "GET", path: "/tasks/" + run.ID + "/events"}, err
	},
}

// onLangGraph is LangGraph's wire in the mode that front ends use for tokens.
var onLangGraph = dialect{
	name: "langgraph", mark: []byte(`"content":"`),
	create: func(p pace) request {
		r := accept(p)
		r.path += "/stream"
		return r
	},
	accept: accept,
	joined: func(res *http.Response, _ []byte) (request, error) {
		return request{method: "GET", path: res.Header.Get("Location"), cursor: "-1"}, nil
	},
}

func accept(p pace) request {
	return request{method: "POST", path: "/threads/" + newThread() + "/runs", body: encoded(map[string]any{
		"assistant_id": "bench", "input": p, "stream_mode": []string{"messages-tuple"}, "if_not_exists": "create",
	})}
}

// onBare speaks to the bare server, which writes frames of the other wire's shape.
func onBare(like dialect) dialect {
	body := func(p pace) []byte { return encoded(bareRequest{p, like.name}) }
	return dialect{
		name: "bare " + like.name, mark: like.mark,
		create: func(p pace) request { return request{method: "POST", path: "/stream", body: body(p)} },
		accept: func(p pace) request { return request{method: "POST", path: "/publish", body: body(p)} },
		joined: func(_ *http.Response, body []byte) (request, error) {
			return request{method: "GET", path: "/publish/" + string(body)}, nil
		},
	}
}

// connect dials and sends a request; the answer's headers have not been waited for.
func connect(ctx context.Context, addr string, r request, keep bool) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if err := send(conn, addr, r, keep); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

func send(conn net.Conn, addr string, r request, keep bool) error {
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nAccept: */*\r\n", r.method, r.path, addr)
	if !keep {
		head += "Connection: close\r\n"
	}
	if r.cursor != "" {
		head += "Last-Event-ID: " + r.cursor + "\r\n"
	}
	if r.body != nil {
		head += "Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(r.body)) + "\r\n"
	}
	_, err := conn.Write(append([]byte(head+"\r\n"), r.body...))
	return err
}

// watched is one stream as its reader saw it.
type watched struct {
	frames, tokens int
	bytes          int64
	began          time.Time // before the request was sent
	first          time.Time // the first frame
	firstToken     time.Time
	last           time.Time // the last frame
	end            time.Time // the end of the stream
	lags           samples   // of each token, from its making to us; only if asked for
	from, to       int64     // when the first and the last token were made, µs
}

// watch reads a stream to its end.
func watch(ctx context.Context, addr string, d dialect, r request, lags bool) (w watched, err error) {
	w.began = time.Now()
	conn, err := connect(ctx, addr, r, false)
	if err != nil {
		return w, err
	}
	defer conn.Close()
	err = w.read(conn, d, lags)
	return w, err
}

func (w *watched) read(conn net.Conn, d dialect, lags bool) error {
	res, err := http.ReadResponse(bufio.NewReaderSize(conn, 32<<10), nil)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		raw, _ := io.ReadAll(io.LimitReader(res.Body, 300))
		return fmt.Errorf("%s: %s", res.Status, raw)
	}
	buf := make([]byte, 64<<10)
	kept := 0 // bytes of a frame that is not whole
	for {
		n, err := res.Body.Read(buf[kept:])
		now := time.Now()
		w.bytes += int64(n)
		whole := buf[:kept+n]
		if at := bytes.LastIndex(whole, []byte("\n\n")); at >= 0 {
			w.take(whole[:at+2], d.mark, now, lags)
			kept = copy(buf, whole[at+2:])
		} else if kept = len(whole); kept == len(buf) {
			kept = copy(buf, buf[len(buf)-1:]) // one frame that is longer than all this: only its end matters
		}
		if err == io.EOF {
			w.end = now
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// take counts whole frames that arrived together.
func (w *watched) take(frames, mark []byte, now time.Time, lags bool) {
	if w.frames == 0 {
		w.first = now
	}
	w.last = now
	w.frames += bytes.Count(frames, []byte("\n\n"))
	if !lags {
		return
	}
	for {
		_, rest, ok := bytes.Cut(frames, mark)
		if !ok {
			return
		}
		frames = rest
		if len(rest) < 16 {
			return
		}
		stamp, err := strconv.ParseInt(string(rest[:16]), 10, 64)
		if err != nil {
			continue // a frame without a token
		}
		if w.tokens == 0 {
			w.firstToken, w.from = now, stamp
		}
		w.tokens++
		w.to = stamp
		w.lags = append(w.lags, now.Sub(time.UnixMicro(stamp)))
	}
}
