package outbound

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

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
				// A client that is answered before it has asked takes the answer for noise on an idle connection.
				_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
				_, _ = conn.Read(make([]byte, 64<<10))
				_, _ = conn.Write([]byte("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"))
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

// names is a DNS server. A name has answers in turn, of which the last stays; others have what is at "".
type names struct {
	mu      sync.Mutex
	answers map[string][][]string
	asked   map[string]int
}

func (n *names) answer(name string, v6 bool) []netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	turns, ok := n.answers[name]
	if !ok {
		turns = n.answers[""]
	}
	if len(turns) == 0 {
		return nil
	}
	turn := n.asked[name] / 2 // each look asks for A and for AAAA
	n.asked[name]++
	var list []netip.Addr
	for _, s := range turns[min(turn, len(turns)-1)] {
		if ip := netip.MustParseAddr(s); ip.Is6() == v6 {
			list = append(list, ip)
		}
	}
	return list
}

// resolver starts the server and returns who asks it.
func resolver(t *testing.T, answers map[string][][]string) *net.Resolver {
	t.Helper()
	n := &names{answers: answers, asked: map[string]int{}}
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		buf := make([]byte, 4096)
		for {
			k, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := n.reply(buf[:k]); reply != nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	})
	t.Cleanup(func() { _ = conn.Close(); done.Wait() })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func (n *names) reply(q []byte) []byte {
	const header = 12
	if len(q) < header {
		return nil
	}
	var labels []string
	at := header
	for at < len(q) && q[at] != 0 {
		labels = append(labels, string(q[at+1:at+1+int(q[at])]))
		at += 1 + int(q[at])
	}
	kind := binary.BigEndian.Uint16(q[at+1:])
	question := q[header : at+5]
	ips := n.answer(strings.ToLower(strings.Join(labels, ".")), kind == 28)
	if kind != 1 && kind != 28 {
		ips = nil
	}
	r := append([]byte(nil), q[:2]...)
	r = append(r, 0x81, 0x80, 0, 1, 0, byte(len(ips)), 0, 0, 0, 0)
	r = append(r, question...)
	for _, ip := range ips {
		b := ip.AsSlice()
		r = append(r, 0xc0, header, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(b)))
		r = append(r, b...)
	}
	return r
}

var errStopped = errors.New("the test lets nothing leave this machine")

// sealed stops what is found public just before it would leave this machine, and counts it.
func sealed(t *testing.T) *atomic.Int32 {
	t.Helper()
	var passed atomic.Int32
	before := ownAddresses
	ownAddresses = func() ([]net.Addr, error) {
		passed.Add(1)
		return nil, errStopped
	}
	t.Cleanup(func() { ownAddresses = before })
	return &passed
}

func client(t *testing.T, opt Options) *Client {
	t.Helper()
	if opt.Timeout == 0 {
		opt.Timeout = time.Minute
	}
	c := New(opt)
	t.Cleanup(c.Close)
	return c
}

func allow(t *testing.T, list ...string) Allow {
	t.Helper()
	a, err := ParseAllow(list)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
