package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-ai/tributary/internal/wire/sse"
)

// bareServer is the limit that tributary is held against: a server of events that does nothing but tell them. It keeps
// nothing, knows nothing of runs, and its frames are ready but for the time and the number in them. A reader
// writes all that is there at once and flushes once for each time that it is woken.
//
//	POST /run        takes a request and answers as if it had stored it
//	POST /stream     one publisher, one reader
//	POST /publish    one publisher; GET /publish/{id} are its readers
//	GET  /history/N  N frames that are ready
type bareServer struct {
	mu   sync.Mutex
	open map[string]*publisher
}

func newBareServer(mux *http.ServeMux) {
	b := &bareServer{open: map[string]*publisher{}}
	mux.HandleFunc("GET /ok", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	mux.HandleFunc("POST /run", b.create)
	mux.HandleFunc("POST /stream", b.stream)
	mux.HandleFunc("POST /publish", b.publish)
	mux.HandleFunc("GET /publish/{id}", b.follow)
	mux.HandleFunc("GET /history/{n}", b.history)
}

// bareRequest says what to tell, and in frames of which wire's shape.
type bareRequest struct {
	pace
	Wire string `json:"wire"`
}

func (b *bareServer) create(w http.ResponseWriter, r *http.Request) {
	var req bareRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"run_id": uuid.NewString(), "status": "pending", "input": req})
}

func (b *bareServer) stream(w http.ResponseWriter, r *http.Request) {
	p, run, ok := newPublisher(w, r)
	if !ok {
		return
	}
	go run(r.Context())
	p.ServeHTTP(w, r)
}

func (b *bareServer) publish(w http.ResponseWriter, r *http.Request) {
	p, run, ok := newPublisher(w, r)
	if !ok {
		return
	}
	id := uuid.NewString()
	b.mu.Lock()
	b.open[id] = p
	b.mu.Unlock()
	go run(context.WithoutCancel(r.Context()))
	_, _ = w.Write([]byte(id))
}

func (b *bareServer) follow(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	p := b.open[r.PathValue("id")]
	b.mu.Unlock()
	if p == nil {
		http.NotFound(w, r)
		return
	}
	p.ServeHTTP(w, r)
}

func (b *bareServer) history(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	shape := shapes[r.URL.Query().Get("wire")]
	stamp := strconv.FormatInt(time.Now().UnixMicro(), 10)
	p := &publisher{}
	for i := range n {
		p.buf = shape.append(p.buf, stamp, i)
	}
	w.Header().Set("Content-Type", sse.ContentType)
	_, _ = w.Write(p.buf)
}

// publisher is the frames of one run.
type publisher struct {
	mu   sync.Mutex
	buf  []byte
	bell chan struct{} // closed when there is more; nil if nobody waits
	done bool
}

func newPublisher(w http.ResponseWriter, r *http.Request) (p *publisher, run func(context.Context), ok bool) {
	var req bareRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil, nil, false
	}
	p = &publisher{}
	shape, i := shapes[req.Wire], 0
	return p, func(ctx context.Context) {
		_ = tick(ctx, req.pace, func(stamp string) error {
			i++
			p.add(func(buf []byte) []byte { return shape.append(buf, stamp, i) }, false)
			return nil
		})
		p.add(func(buf []byte) []byte { return buf }, true)
	}, true
}

func (p *publisher) add(more func([]byte) []byte, done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.buf, p.done = more(p.buf), done
	if p.bell != nil {
		close(p.bell)
		p.bell = nil
	}
}

func (p *publisher) after(at int) (data []byte, bell <-chan struct{}, done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at == len(p.buf) && !p.done {
		if p.bell == nil {
			p.bell = make(chan struct{})
		}
		return nil, p.bell, false
	}
	return p.buf[at:], nil, p.done
}

func (p *publisher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", sse.ContentType)
	rc := http.NewResponseController(w)
	for at := 0; ; {
		data, bell, done := p.after(at)
		if len(data) > 0 {
			at += len(data)
			if _, err := w.Write(data); err != nil {
				return
			}
			if !done {
				continue // what came meanwhile goes out with the same flush
			}
		}
		if rc.Flush() != nil || done {
			return
		}
		select {
		case <-bell:
		case <-r.Context().Done():
			return
		}
	}
}

// shape is a wire's frame with holes for the time and the number.
type shape struct {
	name         string // of the event
	before, tail []byte
}

func (s shape) append(dst []byte, stamp string, i int) []byte {
	if s.name != "" {
		dst = append(append(append(dst, "event: "...), s.name...), '\n')
	}
	dst = append(append(append(append(dst, "data: "...), s.before...), stamp...), s.tail...)
	dst = strconv.AppendInt(append(dst, "\nid: "...), int64(i), 10)
	return append(dst, "\n\n"...)
}

// shapes are frames as the wires write them, so that both servers move as many bytes.
var shapes = map[string]shape{
	"task": {
		before: []byte(`{"type":"task.text.delta","task_id":"0192f0c1-6d5e-7b6a-b0f0-2a3b4c5d6e7f","sequence_number":1234,"item_id":"msg_01a1dd19-0ded-7493-8076-ea3af2d49fd2","output_index":0,"block_index":0,"delta":"`),
		tail:   []byte(`"}`),
	},
	"langgraph": {
		name:   "messages",
		before: []byte(`[{"id":"msg_01a1dd19-0ded-7493-8076-ea3af2d49fd2","content":"`),
		tail: bytes.ReplaceAll([]byte(`","tool_calls":[],"invalid_tool_calls":[],"tool_call_chunks":[],"additional_kwargs":{},"response_metadata":{},"type":"ai"},
{"tags":[],"created_by":"system","graph_id":"bench","assistant_id":"25226edc-db8e-5a6e-9ca6-12d3466bf3a1","run_attempt":1,
"thread_id":"01a1dd45-4175-7914-b516-8fcd95c92dba","run_id":"01a1dd45-4176-724a-8719-5c9b3a29433b","langgraph_step":1,
"langgraph_node":"agent","langgraph_triggers":["branch:to:agent"],"langgraph_path":["__pregel_pull","agent"],
"langgraph_checkpoint_ns":"agent:c6d1bfe6-b96e-5352-bfae-81ee4273ca68","checkpoint_ns":"agent:c6d1bfe6-b96e-5352-bfae-81ee4273ca68",
"ls_provider":"bench","ls_model_name":"clock-1","ls_model_type":"chat"}]`), []byte("\n"), nil),
	},
}
