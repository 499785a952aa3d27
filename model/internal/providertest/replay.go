package providertest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Cuts are the ways in which a body is written to the socket.
var Cuts = map[string]func([]byte) [][]byte{
	"whole":  func(b []byte) [][]byte { return [][]byte{b} },
	"lines":  func(b []byte) [][]byte { return bytes.SplitAfter(b, []byte("\n")) },
	"bytes":  func(b []byte) [][]byte { return every(b, 1) },
	"sevens": func(b []byte) [][]byte { return every(b, 7) },
	// Every character of more than one byte is cut after its first, and so is every line before its end.
	"inside": func(b []byte) [][]byte {
		var out [][]byte
		from := 0
		for i := 1; i < len(b); i++ {
			if b[i-1] >= 0xC0 || b[i] == '\n' {
				out = append(out, b[from:i])
				from = i
			}
		}
		return append(out, b[from:])
	},
}

func every(b []byte, n int) [][]byte {
	var out [][]byte
	for len(b) > n {
		out, b = append(out, b[:n]), b[n:]
	}
	return append(out, b)
}

// Replay serves the pieces of a body to every request, each flushed by itself.
func Replay(t testing.TB, media string, pieces [][]byte) *httptest.Server {
	srv := httptest.NewServer(replay(media, pieces))
	t.Cleanup(srv.Close)
	return srv
}

func replay(media string, pieces [][]byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", media)
		flush := http.NewResponseController(w)
		for _, p := range pieces {
			if _, err := w.Write(p); err != nil {
				return
			}
			_ = flush.Flush()
		}
	})
}

// elsewhere, in the environment, makes a test binary a server that replays what it reads from its standard input.
const elsewhere = "TRIBUTARY_REPLAY"

// ServeElsewhere turns the process into the server that [Elsewhere] started it as, and does not return then. TestMain
// calls it first.
func ServeElsewhere() {
	media := os.Getenv(elsewhere)
	if media == "" {
		return
	}
	in := bufio.NewReader(os.Stdin)
	var size int
	if _, err := fmt.Fscanf(in, "%d\n", &size); err != nil {
		panic(err)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(in, body); err != nil {
		panic(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(ln.Addr())
	srv := &http.Server{Handler: replay(media, events(body))}
	go func() {
		_, _ = in.ReadByte() // until whoever started us lets go
		_ = srv.Close()
	}()
	_ = srv.Serve(ln)
	os.Exit(0)
}

// events cuts a stream behind each of its events.
func events(body []byte) [][]byte {
	end := []byte("\n\n")
	if crlf := []byte("\r\n\r\n"); bytes.Contains(body, crlf) {
		end = crlf
	}
	return bytes.SplitAfter(body, end)
}

// Elsewhere replays a body, event by event, from a process of its own, so that what it takes to serve is not counted
// with what it takes to read. It returns the server's address.
func Elsewhere(b testing.TB, media string, body []byte) string {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), elsewhere+"="+media)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	if _, err := fmt.Fprintf(in, "%d\n%s", len(body), body); err != nil {
		b.Fatal(err)
	}
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal("the server did not start: ", err)
	}
	return "http://" + strings.TrimSpace(addr)
}
