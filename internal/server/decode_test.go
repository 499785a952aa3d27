package server

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// oneConn is a listener that gives one connection.
type oneConn struct{ conns chan net.Conn }

func (l oneConn) Accept() (net.Conn, error) {
	if c, ok := <-l.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (l oneConn) Close() error   { close(l.conns); return nil }
func (l oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// A client that sends half a body and then nothing is answered and let go; a stream that lasts longer than a body may
// take is not.
func TestBodyMustArriveInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, served := net.Pipe()
		l := oneConn{make(chan net.Conn, 1)}
		l.conns <- served
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var v map[string]any
			if err := decode(w, r, &v); err != nil {
				status, _ := statusOf(err)
				w.WriteHeader(status)
				return
			}
			select { // a stream
			case <-time.After(10 * bodyTimeout):
			case <-r.Context().Done():
				t.Error("the connection of a stream was given up")
			}
		})}
		go func() { _ = srv.Serve(l) }()
		defer srv.Close()
		answers := bufio.NewReader(client)
		for _, c := range []struct {
			body   string
			status int
		}{{`{"a": 1}`, http.StatusOK}, {`{"a":`, http.StatusRequestTimeout}} {
			if _, err := io.WriteString(client, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n"+c.body); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != c.status {
				t.Errorf("%q is answered with %d, want %d", c.body, resp.StatusCode, c.status)
			}
		}
	})
}
