package faults_test

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
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/tributary-ai/tributary/internal/faults"
)

// reader follows a run to its end, over as many connections as that takes.
type reader struct {
	host    *host
	dialect faults.Dialect
	who     string
	thread  string
	run     string
	// leave is asked after each frame whether to hang up; nil: never.
	leave func() bool

	got      faults.Reading
	terminal bool // a task's last event has come
}

// errLost is a position that the server no longer has, or a run that it does not know: a promise that was broken.
var errLost = errors.New("the server does not know what it had promised")

// read returns when the server has said that there is no more.
func (r *reader) read(ctx context.Context) (faults.Reading, error) {
	r.got = faults.Reading{Who: r.who, Dialect: r.dialect}
	for {
		had := len(r.got.Frames)
		done, err := r.connection(ctx)
		if done {
			r.got.Ended = true
			return r.got, nil
		}
		if errors.Is(err, errLost) || ctx.Err() != nil {
			return r.got, errors.Join(err, ctx.Err())
		}
		if len(r.got.Frames) > had || had == 0 {
			r.got.Cuts = append(r.got.Cuts, len(r.got.Frames))
		}
		select { // the server is down, or has hung up: a moment later it may be there
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (r *reader) last() string {
	if n := len(r.got.Frames); n > 0 {
		return r.got.Frames[n-1].ID
	}
	return "-1"
}

// add notes a frame, and reports whether to go on.
func (r *reader) add(f faults.Frame) bool {
	f.At = time.Now()
	r.got.Frames = append(r.got.Frames, f)
	if r.dialect != faults.LangGraph && isTerminal(f.Data) {
		r.terminal = true
	}
	return r.leave == nil || r.terminal || !r.leave()
}

// isTerminal looks for the end of a task without a sub-agent, cheaply.
func isTerminal(data []byte) bool {
	rest, ok := bytes.CutPrefix(data, []byte(`{"type":"task.`))
	if !ok {
		return false
	}
	word, _, _ := bytes.Cut(rest, []byte(`"`))
	switch string(word) {
	case "completed", "failed", "canceled", "expired", "input_required":
		return true
	}
	return false
}

// connection reads until the connection ends. done says that the run has, too.
func (r *reader) connection(ctx context.Context) (done bool, err error) {
	if r.dialect == faults.TaskSocket {
		return r.socket(ctx)
	}
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	path := "/tasks/" + r.run + "/events"
	if r.dialect == faults.LangGraph {
		path = "/threads/" + r.thread + "/runs/" + r.run + "/stream?stream_mode=messages-tuple,values,custom"
	}
	req, err := http.NewRequestWithContext(ctx, "GET", r.host.base()+path, nil)
	if err != nil {
		return false, err
	}
	req.Header.Set("Last-Event-ID", r.last())
	res, err := r.host.client.Do(req)
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(res.Body)
		if res.StatusCode < 500 {
			return false, fmt.Errorf("%w: after %q: %s %s", errLost, r.last(), res.Status, body)
		}
		return false, fmt.Errorf("%s %s", res.Status, body)
	}
	had := len(r.got.Frames)
	err = readSSE(res.Body, r.add)
	switch {
	case err != io.EOF:
		return r.terminal, err
	case r.dialect != faults.LangGraph:
		return r.terminal, nil
	case len(r.got.Frames) > had:
		return false, nil // whether that was all is known only if nothing more comes
	}
	return r.ended(ctx), nil
}

// ended asks whether a LangGraph run is over: its stream does not say.
func (r *reader) ended(ctx context.Context) bool {
	code, data, _, err := r.host.call(ctx, "GET", "/threads/"+r.thread+"/runs/"+r.run, "")
	if err != nil || code != http.StatusOK {
		return false
	}
	var run struct{ Status string }
	return json.Unmarshal(data, &run) == nil && run.Status != "pending" && run.Status != "running"
}

var errLeft = errors.New("the reader hung up")

// readSSE gives the frames of a stream to add until it says no, or the stream ends: in good order with io.EOF. A frame that did not
// come whole did not come.
func readSSE(body io.Reader, add func(faults.Frame) bool) error {
	in := bufio.NewReaderSize(body, 16<<10)
	var f faults.Frame
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		switch name, value, _ := bytes.Cut(line, []byte(": ")); string(name) {
		case "":
			if len(line) == 0 && f.Data != nil {
				if !add(f) {
					return errLeft
				}
				f = faults.Frame{}
			}
		case "event":
			f.Name = string(value)
		case "data":
			f.Data = value // ReadBytes gives a slice of its own
		case "id":
			f.ID = string(value)
		}
	}
}

func (r *reader) socket(ctx context.Context) (done bool, err error) {
	url := "ws" + strings.TrimPrefix(r.host.base(), "http") + "/tasks/" + r.run + "/ws?after=" + r.last()
	conn, res, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: r.host.client})
	if err != nil {
		if res != nil && res.StatusCode >= 400 && res.StatusCode < 500 {
			return false, fmt.Errorf("%w: after %q: %s", errLost, r.last(), res.Status)
		}
		return false, err
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 24)
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
				return r.terminal, nil
			}
			return false, err
		}
		var f struct {
			N int `json:"sequence_number"`
		}
		if err := json.Unmarshal(data, &f); err != nil {
			return false, fmt.Errorf("%w: %q", err, data)
		}
		if !r.add(faults.Frame{ID: strconv.Itoa(f.N), Data: data}) {
			return false, errLeft
		}
	}
}
