package edge

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
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
			if err := Decode(w, r, &v); err != nil {
				status, _ := StatusOf(err)
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

// A body that says it is too large or something else than JSON is refused before anything of it is read.
func TestBodiesThatSayTheyAreWrongAreNotRead(t *testing.T) {
	for _, c := range []struct {
		media  string
		length int64
		status int
	}{
		{"", 2, 200}, {"application/json", 2, 200}, {"application/json; charset=utf-8", 2, 200}, {"application/merge-patch+json", 2, 200}, {"text/plain", 2, 200},
		{"application/x-www-form-urlencoded", 2, 200}, {"text/html", 2, 415}, {"multipart/form-data; boundary=x", 2, 415}, {"nonsense", 2, 415}, {";", 2, 415},
		{"text/html", 0, 200}, {"application/json", MaxBody + 1, 413},
	} {
		body := &counted{Reader: strings.NewReader("{}")}
		if c.length == 0 {
			body.Reader = strings.NewReader("")
		}
		r := httptest.NewRequest(http.MethodPost, "/", body)
		r.ContentLength = c.length
		r.Header.Set("Content-Type", c.media)
		var v map[string]any
		status := http.StatusOK
		if err := Decode(httptest.NewRecorder(), r, &v); err != nil {
			status, _ = StatusOf(err)
		}
		if status != c.status || status != http.StatusOK && body.read > 0 {
			t.Errorf("%d bytes as %q: got %d after %d bytes, want %d", c.length, c.media, status, body.read, c.status)
		}
	}
}

// counted counts what is read.
type counted struct {
	io.Reader
	read int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += n
	return n, err
}

// What is wrong is named as the client wrote it, however our structs are put together.
func TestAFieldOfAnEmbeddedStructIsNamedAsItWasSent(t *testing.T) {
	type deep struct {
		Limit int `json:"limit"`
	}
	type body struct {
		Criteria
		Inner struct {
			deep
			List []deep `json:"list"`
		} `json:"inner"`
	}
	for text, want := range map[string]string{
		`{"limit":"x"}`:                     "limit",
		`{"sort_by":7}`:                     "sort_by",
		`{"inner":{"limit":"x"}}`:           "inner.limit",
		`{"inner":{"list":[{"limit":{}}]}}`: "inner.list.limit",
		`[]`:                                "body",
	} {
		var v body
		if _, field := StatusOf(Unmarshal([]byte(text), &v)); field != want {
			t.Errorf("%s: the field is %q, want %q", text, field, want)
		}
	}
}
