package web

import (
	"context"
	"encoding/json"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/tributary-ai/tributary/internal/outbound"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// harmless checks what must hold for all text that comes from outside.
func harmless(t testing.TB, p Page) {
	t.Helper()
	for _, s := range []string{p.Title, p.Text, p.URL} {
		if !utf8.ValidString(s) {
			t.Errorf("invalid UTF-8 in %.200q", s)
		}
		if strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && (unicode.IsControl(r) || unseen(r)) }) {
			t.Errorf("characters that nobody sees in %.200q", s)
		}
		if forged.MatchString(s) {
			t.Errorf("a forged tag in %.200q", s)
		}
	}
	if strings.ContainsAny(p.Title+p.URL, "\n\t") {
		t.Errorf("title %q or address %q has lines", p.Title, p.URL)
	}
}

// call calls a tool as an agent does.
func call(t testing.TB, of tool.Tool, arguments string) item.ToolResult {
	t.Helper()
	res, err := tool.Invoke(t.Context(), of, tool.Call{Arguments: json.RawMessage(arguments)})
	if err != nil || res.Error {
		t.Fatalf("%s with %s: %+v, %v", of.Spec().Name, arguments, res, err)
	}
	return res
}

// fails calls a tool that must fail, and returns what the model is told.
func fails(t testing.TB, of tool.Tool, arguments string) string {
	t.Helper()
	res, err := tool.Invoke(t.Context(), of, tool.Call{Arguments: json.RawMessage(arguments)})
	if err != nil || !res.Error {
		t.Fatalf("%s with %s: %+v, %v, want it to fail", of.Spec().Name, arguments, res, err)
	}
	return item.JoinText(res.Content)
}

// trap listens on this machine and counts who comes.
type trap struct {
	port string
	hits atomic.Int32
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	tr := &trap{}
	l4, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, tr.port, _ = net.SplitHostPort(l4.Addr().String())
	listeners := []net.Listener{l4}
	if l6, err := net.Listen("tcp6", "[::1]:"+tr.port); err == nil { // not every machine has one
		listeners = append(listeners, l6)
	}
	var done sync.WaitGroup
	for _, l := range listeners {
		done.Go(func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				tr.hits.Add(1)
				_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
				_, _ = conn.Read(make([]byte, 64<<10))
				_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nsecret"))
				_ = conn.Close()
			}
		})
	}
	t.Cleanup(func() {
		for _, l := range listeners {
			_ = l.Close()
		}
		done.Wait()
	})
	return tr
}

// insider is a resolver for which all names stand for this machine.
func insider(t *testing.T) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Additionals = true, nil
			q := m.Questions[0]
			h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
			switch q.Type {
			case dnsmessage.TypeA:
				m.Answers = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}}}
			case dnsmessage.TypeAAAA:
				m.Answers = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.AAAAResource{AAAA: netip.IPv6Loopback().As16()}}}
			}
			if raw, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(raw, from)
			}
		}
	})
	t.Cleanup(func() { _ = conn.Close(); done.Wait() })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// guarded is the client that everything goes through, with names that lead to this machine. It may reach what is allowed.
func guarded(t *testing.T, setting string, allowed ...string) *outbound.Client {
	t.Helper()
	allow, err := outbound.ParseAllow(allowed)
	if err != nil {
		t.Fatal(err)
	}
	c := outbound.New(outbound.Options{Resolver: insider(t), Setting: setting, Allow: allow, Timeout: time.Minute})
	t.Cleanup(c.Close)
	return c
}
