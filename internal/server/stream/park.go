package stream

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/tributary-ai/tributary/internal/server/admission"
)

// lot is where streams are parked.
type lot struct {
	mu     sync.Mutex
	parked map[*parked]struct{}
	closed bool
	all    sync.WaitGroup // the goroutines that write for them
}

// parked is a stream whose connection was taken over from net/http.
type parked struct {
	stream
	terms *Terms
	src   Source
	conn  net.Conn
	early []byte       // what the client has sent already of its next request
	again *http.Server // who answers that; nil if the connection ends with the stream
	leave func()       // it is over, and no longer counted
	manner
}

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// Close ends what is parked, and returns when it has. Closing must be closed by then.
func (t *Terms) Close() {
	t.lot.mu.Lock()
	t.lot.closed = true
	for p := range t.lot.parked {
		_ = p.conn.SetDeadline(past) // it can but be closed already
	}
	t.lot.mu.Unlock()
	t.lot.all.Wait()
}

// start lets a stream be written by a goroutine of its own, unless the lot is closed.
func (l *lot) start(p *parked) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if l.parked == nil {
		l.parked = map[*parked]struct{}{}
	}
	l.parked[p] = struct{}{}
	l.all.Go(p.serve)
	return true
}

func (l *lot) leave(p *parked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.parked, p)
}

// takesOver reports whether a stream looks like one that can be parked: an answer in chunks, over TCP, to a client of HTTP/1.1. A
// writer that somebody has put around that of net/http is left alone: it may want to see what is written.
func takesOver(w http.ResponseWriter, r *http.Request) bool {
	_, ok := w.(http.Hijacker)
	return ok && canPeek && r.ProtoMajor == 1 && r.ProtoMinor >= 1 && r.Method != http.MethodHead && r.TLS == nil
}

// wasRead reports whether a request was read to its end, so that what comes next is another.
func wasRead(r *http.Request) bool {
	if r.Body == nil || r.Body == http.NoBody {
		return true
	}
	if r.ContentLength < 0 {
		return false // only reading could tell, which may wait
	}
	_, err := r.Body.Read(nil)
	return err == io.EOF
}

// park takes a stream's connection over, after which its handler has to return. It reports whether it did; the source
// is then its own.
func (t *Terms) park(w http.ResponseWriter, r *http.Request, out *stream, src Source, m manner) bool {
	if !wasRead(r) {
		return false
	}
	conn, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return false
	}
	p := &parked{stream: *out, terms: t, src: src, conn: conn, manner: m, leave: admission.Keep(r.Context())}
	if n := buf.Reader.Buffered(); n > 0 {
		read, _ := buf.Reader.Peek(n)
		p.early = bytes.Clone(read)
	}
	if !r.Close {
		p.again, _ = r.Context().Value(http.ServerContextKey).(*http.Server)
	}
	// Nothing of net/http's may be kept.
	p.to, p.left, p.until, p.stream.parks = &chunks{conn: conn, closing: t.Closing}, nil, time.Time{}, false
	p.request = &http.Request{
		Method: r.Method, URL: r.URL, Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor,
		Header: r.Header, Host: r.Host, RemoteAddr: r.RemoteAddr, RequestURI: r.RequestURI, Pattern: r.Pattern, Body: http.NoBody,
	}
	p.timer = time.NewTimer(time.Millisecond) // the first look, which parking came before
	if !t.lot.start(p) {
		p.timer.Stop()
		src.Close()
		p.leave()
		_ = conn.Close() // the stream breaks
	}
	return true
}

// serve writes a parked stream to its end.
func (p *parked) serve() {
	defer p.terms.lot.leave(p)
	how := p.play()
	p.leave() // before the connection's next request
	switch {
	case how == RunEnded && p.end(p.timeout) == nil && p.nextRequest():
		return
	case how == ServerEnds && !p.breaks:
		p.terms.lot.leave(p) // or Close would cut this short too
		_ = p.end(goodbye)
	}
	_ = p.conn.Close() // it may have broken
}

// goodbye is how long a stream may take to say that it ends, while somebody waits for it.
const goodbye = time.Second

// end says that there is no more.
func (p *parked) end(within time.Duration) error {
	if err := p.conn.SetWriteDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	_, err := p.conn.Write(lastChunk)
	return err
}

// play writes until the stream is over, and lets the source go. A panic is this stream's trouble and nobody else's, as in
// a handler.
func (p *parked) play() (how Ending) {
	defer func() {
		if fault := recover(); fault != nil {
			p.terms.Log.Error("a parked stream panicked", "path", p.request.URL.Path, "panic", fault, "stack", string(debug.Stack()))
			how = broken
		}
		p.timer.Stop()
		p.src.Close()
		p.src = nil // the connection may wait long for its next request
	}()
	how, _ = p.terms.write(context.Background(), &p.stream, p.src) // it has begun: there is no error to answer with
	return how
}

// keepFor is how long a connection waits for its next request where the server does not say.
const keepFor = 2 * time.Minute

// nextRequest gives the connection back to net/http when the client sends its next request on it. A connection that was closed
// instead could get a request that is then lost, which clients do not repeat if it wants to change something. It reports
// whether the connection was given back.
func (p *parked) nextRequest() bool {
	if p.again == nil {
		return false
	}
	if len(p.early) == 0 {
		wait := p.again.IdleTimeout
		if wait <= 0 {
			wait = keepFor
		}
		if p.conn.SetReadDeadline(time.Now().Add(wait)) != nil {
			return false
		}
		select {
		case <-p.terms.Closing: // Close may have set its deadline before we set ours
			return false
		default:
		}
		if !awaitBytes(p.conn) {
			return false
		}
	}
	p.terms.lot.leave(p) // from here on the connection is net/http's, and its deadlines
	if p.conn.SetDeadline(time.Time{}) != nil {
		return false
	}
	l := &handover{conn: p.conn}
	if len(p.early) > 0 {
		l.conn = &readAhead{p.conn, io.MultiReader(bytes.NewReader(p.early), p.conn)}
	}
	_ = p.again.Serve(l) // io.EOF, or that the server is closed
	return l.conn == nil
}

// handover is a listener that accepts one connection, which is there already.
type handover struct{ conn net.Conn }

func (h *handover) Accept() (net.Conn, error) {
	conn := h.conn
	if h.conn = nil; conn == nil {
		return nil, io.EOF
	}
	return conn, nil
}

func (h *handover) Close() error   { return nil }
func (h *handover) Addr() net.Addr { return noAddr{} }

type noAddr struct{}

func (noAddr) Network() string { return "tcp" }
func (noAddr) String() string  { return "parked" }

// readAhead is a connection of which something was read already.
type readAhead struct {
	net.Conn
	from io.Reader
}

func (r *readAhead) Read(p []byte) (int, error) { return r.from.Read(p) }

// chunks is the sink of a parked stream: the body of an answer with Transfer-Encoding chunked.
type chunks struct {
	conn    net.Conn
	closing <-chan struct{}
	size    [18]byte // of the chunk that is being written: 16 digits and a line break
	parts   [3][]byte
}

var (
	lineBreak = []byte("\r\n")
	lastChunk = []byte("0\r\n\r\n")
)

func (c *chunks) Write(data []byte) (int, error) {
	if len(data) == 0 {
		return 0, nil // as a chunk it would be the last
	}
	head := append(strconv.AppendUint(c.size[:0], uint64(len(data)), 16), lineBreak...)
	c.parts = [3][]byte{head, data, lineBreak}
	buffers := net.Buffers(c.parts[:])
	if _, err := buffers.WriteTo(c.conn); err != nil {
		return 0, fmt.Errorf("write a chunk: %w", err)
	}
	c.parts = [3][]byte{} // the data belongs to a feed, which may let it go
	return len(data), nil
}

func (c *chunks) SetWriteDeadline(t time.Time) error {
	if err := c.conn.SetWriteDeadline(t); err != nil {
		return err
	}
	select {
	case <-c.closing: // Close may have set its deadline before we set ours
		return net.ErrClosed
	default:
		return nil
	}
}

func (c *chunks) Flush() error { return nil }

func (c *chunks) Left() bool { return hungUp(c.conn) }
