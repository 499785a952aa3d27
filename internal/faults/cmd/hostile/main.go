// Command hostile serves every provider of [faults.Hostiles], each under /N/ where N is its place in the list, and prints
// where. It is a process of its own, and yields to all others, because a provider is another machine: what it costs to be
// hostile must not be counted as what it costs to bear it.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/tributary-ai/tributary/internal/faults"
)

func main() {
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19); err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	srv := &http.Server{Handler: http.HandlerFunc(serve), ErrorLog: log.New(io.Discard, "", 0)}
	go func() { // who started it ends it by closing its input
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = srv.Close()
	}()
	if err := srv.Serve(listener); err != http.ErrServerClosed {
		log.Fatal(err)
	}
}

func serve(w http.ResponseWriter, r *http.Request) {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if name == "calm" { // a provider that means well
		wire := faults.Wires[0]
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, wire.Begin+wire.Text("Hello.")+wire.End)
		return
	}
	n, err := strconv.Atoi(name)
	if err != nil || n < 0 || n >= len(faults.Hostiles) {
		http.NotFound(w, r)
		return
	}
	faults.Hostiles[n].Serve(w, r, faults.Wires[0], r.Context().Done())
}
