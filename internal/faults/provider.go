package faults

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// WebhookSecret signs what the server under test tells of its runs.
const WebhookSecret = "known to both sides"

// Provider is a model provider that does what the [Order] in the last message of the user says. It speaks Chat Completions at
// /v1/chat/completions and Anthropic's Messages at /v1/messages.
type Provider struct {
	srv    *http.Server
	addr   string
	done   chan struct{} // closed when Serve has returned
	closed chan struct{} // ends stalls

	mu    sync.Mutex
	tries map[string]int
	calls []Call
	seen  []http.Header
}

// Call is one request that the provider got.
type Call struct {
	Key   string
	Model string
	Try   int // 0 for the turn that calls the tool
	At    time.Time
	End   time.Time // when the provider had done what it was told to; zero before
	Fault Fault
}

// StartProvider listens on a free port of this machine. Close it.
func StartProvider() (*Provider, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Provider{addr: l.Addr().String(), done: make(chan struct{}), closed: make(chan struct{}), tries: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /", p.serve)
	p.srv = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	go func() {
		defer close(p.done)
		_ = p.srv.Serve(l) // ends with Close
	}()
	return p, nil
}

// Close ends all answers.
func (p *Provider) Close() {
	close(p.closed)
	_ = p.srv.Close()
	<-p.done
}

// URL is the address without a path.
func (p *Provider) URL() string { return "http://" + p.addr }

// Host is the address without a scheme.
func (p *Provider) Host() string { return p.addr }

// Calls are the requests for a key so far, in order.
func (p *Provider) Calls(key string) []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Call
	for _, c := range p.calls {
		if c.Key == key {
			out = append(out, c)
		}
	}
	return out
}

// Total is the number of requests so far.
func (p *Provider) Total() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.calls)
}

// Headers are those of all requests so far.
func (p *Provider) Headers() []http.Header {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]http.Header(nil), p.seen...)
}

// conversation is what a request of either wire has in common.
type conversation struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

// read finds the order, and whether the tool has answered since.
func (c *conversation) read() (o Order, answered, ok bool) {
	for i := len(c.Messages) - 1; i >= 0; i-- {
		m := c.Messages[i]
		if m.Role == "tool" {
			answered = true
		}
		var text string
		var blocks []struct {
			Type, Text string
		}
		if json.Unmarshal(m.Content, &text) != nil {
			_ = json.Unmarshal(m.Content, &blocks) // neither: not ours
		}
		for _, b := range blocks {
			answered = answered || b.Type == "tool_result"
			if _, ok := readOrder(b.Text); ok || text == "" {
				text = b.Text
			}
		}
		if m.Role != "user" {
			continue
		}
		if o, ok := readOrder(text); ok {
			return o, answered, true
		}
	}
	return Order{}, false, false
}

func (p *Provider) serve(w http.ResponseWriter, r *http.Request) {
	var c conversation
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &c)
	}
	order, answered, ok := c.read()
	if err != nil || !ok {
		http.Error(w, `{"error":{"message":"the last message of the user is no order","type":"invalid_request_error"}}`, http.StatusBadRequest)
		return
	}
	a := &reply{w: w, rc: http.NewResponseController(w), r: r, p: p, order: order, model: c.Model, wire: chat}
	if r.URL.Path == "/v1/messages" {
		a.wire = messages
	}
	id := p.begin(r, c.Model, order, answered)
	defer p.end(id.no)
	a.try = id.try
	if order.Effect && !answered {
		a.callTool()
		return
	}
	a.answer(order.fault(id.try))
}

type callID struct{ no, try int }

// begin counts a request.
func (p *Provider) begin(r *http.Request, model string, o Order, answered bool) callID {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, r.Header.Clone())
	c := Call{Key: o.Key, Model: model, At: time.Now()}
	count := o.Key + " tool" // the turns of one run are counted apart
	if !o.Effect || answered {
		count = o.Key
	}
	p.tries[count]++
	try := p.tries[count]
	if count == o.Key {
		c.Try, c.Fault = try, o.fault(try)
	}
	p.calls = append(p.calls, c)
	return callID{len(p.calls) - 1, try}
}

func (p *Provider) end(no int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[no].End = time.Now()
}

// reply is one answer while it is given.
type reply struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	r     *http.Request
	p     *Provider
	order Order
	model string
	try   int
	wire  *wire
	begun bool
}

// callTool says a few words and calls the tool.
func (a *reply) callTool() {
	for i := range preamble {
		if !a.say(a.wire.word(a.model, word(a.order.Key+"pre", a.try, i)), a.order.gap()) {
			return
		}
	}
	a.say(a.wire.call(a.model, fmt.Sprintf("call_%s_%d", a.order.Key, a.try), fmt.Sprintf(`{"what":%q}`, a.order.Key), preamble), 0)
}

// answer says the words of the order, and does what the fault says in between.
func (a *reply) answer(f Fault) {
	gap := a.order.gap()
	if f.Kind == Slow {
		gap *= 10
	}
	if f.Kind == Status {
		a.status(f)
		return
	}
	for i := range a.order.Words {
		if i == f.After && f.Kind != None && f.Kind != Slow {
			a.fail(f)
			return
		}
		if !a.say(a.wire.word(a.model, word(a.order.Key, a.try, i)), gap) {
			return
		}
	}
	a.say(a.wire.end(a.order.Words), 0)
}

// say writes a piece after a pause. It reports whether somebody is still there.
func (a *reply) say(piece string, gap time.Duration) bool {
	if gap > 0 {
		timer := time.NewTimer(gap)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-a.r.Context().Done():
			return false
		case <-a.p.closed:
			return false
		}
	}
	if !a.begun {
		a.begun = true
		a.w.Header().Set("Content-Type", "text/event-stream")
		piece = a.wire.start(a.model) + piece
	}
	if _, err := io.WriteString(a.w, piece); err != nil {
		return false
	}
	return a.rc.Flush() == nil
}

func (a *reply) status(f Fault) {
	if f.RetryAfter != "" {
		a.w.Header().Set("Retry-After", f.RetryAfter)
	}
	a.w.Header().Set("Content-Type", "application/json")
	a.w.WriteHeader(f.Code)
	_, _ = fmt.Fprintf(a.w, `{"type":"error","error":{"type":"mock_error","message":%s}}`, strconv.Quote("the mock fails as told: "+undisguise(f.Text))) // whoever has gone needs no answer
}

func (a *reply) fail(f Fault) {
	switch f.Kind {
	case Stall:
		select {
		case <-a.r.Context().Done():
		case <-a.p.closed:
		}
	case Reset:
		conn, _, err := a.rc.Hijack()
		if err != nil {
			return
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // close with a reset
		}
		_ = conn.Close()
	case Garbage:
		a.say("data: {\"choices\":[{\"del\x00\xff<html>\n\ndata: nonsense\n\n", 0)
	case Cut:
		// The handler returns, and with it the answer ends in good order.
	case Inside:
		a.say(a.wire.failure("the mock fails as told: "+undisguise(f.Text)), 0)
	case None, Status, Slow: // none of them happens in the middle
	}
}
