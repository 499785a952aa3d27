package server

import (
	"bufio"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

// record is a writer that notes what the log of requests tells. It tells no query and no header: they may hold secrets.
type record struct {
	http.ResponseWriter
	request *http.Request
	began   time.Time
	owner   string
	status  int
	bytes   int64
	taken   bool // the connection was taken over: a socket, or a stream that goes on without its handler
}

func newRecord(w http.ResponseWriter, r *http.Request) *record {
	return &record{ResponseWriter: w, request: r, began: time.Now()}
}

// Asked notes who asks.
func (rec *record) Asked(who run.Identity) { rec.owner = who.Owner }

func (rec *record) WriteHeader(status int) {
	if rec.status == 0 {
		rec.status = status
	}
	rec.ResponseWriter.WriteHeader(status)
}

func (rec *record) Write(p []byte) (int, error) {
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	n, err := rec.ResponseWriter.Write(p)
	rec.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach what is below.
func (rec *record) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

// Flush sends what there is.
func (rec *record) Flush() {
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	_ = http.NewResponseController(rec.ResponseWriter).Flush() // who cannot flush sends at the end
}

// Hijack hands the connection over. What is written to it then is not counted.
func (rec *record) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := http.NewResponseController(rec.ResponseWriter).Hijack()
	rec.taken = rec.taken || err == nil
	return conn, buf, err
}

// write tells of the request, when its handler is done.
func (rec *record) write(log *slog.Logger) {
	r := rec.request
	attrs := []any{
		"method", r.Method, "path", r.URL.Path, "status", rec.status, "bytes", rec.bytes, "took", time.Since(rec.began).Round(time.Microsecond),
		"remote", r.RemoteAddr, "owner", rec.owner,
	}
	if rec.taken {
		attrs = append(attrs, "goes_on", true)
	}
	log.InfoContext(r.Context(), "request", attrs...)
}
