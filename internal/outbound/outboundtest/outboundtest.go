// Package outboundtest is what every door is tried with through which strangers make us send requests: addresses that want to get
// inside, a trap that counts who came, and a resolver for which every name stands for this machine.
package outboundtest

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Hostile are addresses that try to reach this machine or its network, when every name stands for this machine. PORT is the trap's.
var Hostile = []string{
	// plainly
	"http://127.0.0.1:PORT/", "http://127.0.0.1:PORT", "https://127.0.0.1:PORT/", "http://localhost:PORT/", "http://LOCALHOST:PORT/",
	"http://localhost.:PORT/", "http://a.localhost:PORT/", "http://127.1.2.3:PORT/", "http://127.255.255.254:PORT/", "http://[::1]:PORT/",
	"http://0.0.0.0:PORT/", "http://[::]:PORT/", "http://0.1.2.3:PORT/",
	// other spellings of 127.0.0.1
	"http://2130706433:PORT/", "http://0x7f000001:PORT/", "http://0X7F000001:PORT/", "http://017700000001:PORT/", "http://127.1:PORT/",
	"http://127.0.1:PORT/", "http://0x7f.1:PORT/", "http://0x7f.0.0.1:PORT/", "http://0177.0.0.1:PORT/", "http://0177.0.0.01:PORT/",
	"http://127.0.0x0.1:PORT/", "http://0x7f.0x0.0x0.0x1:PORT/", "http://00000177.0.0.1:PORT/", "http://127.000.000.001:PORT/",
	"http://0:PORT/", "http://0x0:PORT/", "http://00:PORT/", "http://1:PORT/", "http://127.0.0.1.:PORT/", "http://6425673729:PORT/",
	"http://0x17f000001:PORT/", "http://383.0.0.1:PORT/", "http://0.0x7f000001:PORT/", "http://%31%32%37.0.0.1:PORT/",
	"http://127%2e0%2e0%2e1:PORT/", "http://①②⑦.⓪.⓪.①:PORT/", "http://１２７.0.0.1:PORT/", "http://127。0。0。1:PORT/",
	// v4 in v6
	"http://[::ffff:127.0.0.1]:PORT/", "http://[::ffff:7f00:1]:PORT/", "http://[0:0:0:0:0:ffff:127.0.0.1]:PORT/", "http://[::127.0.0.1]:PORT/",
	"http://[::7f00:1]:PORT/", "http://[64:ff9b::127.0.0.1]:PORT/", "http://[64:ff9b::a00:1]:PORT/", "http://[64:ff9b:1::7f00:1]:PORT/",
	"http://[2002:7f00:1::]:PORT/", "http://[2002:a00:1::1]:PORT/", "http://[2001:0:7f00:1::1]:PORT/", "http://[0:0:0:0:0:0:0:1]:PORT/",
	"http://[::ffff:0:127.0.0.1]:PORT/", "http://[::1%25lo]:PORT/", "http://[fe80::1%25lo]:PORT/", "http://[::ffff:169.254.169.254]:PORT/",
	// neighbours
	"http://10.0.0.1:PORT/", "http://172.16.0.1:PORT/", "http://172.31.255.255:PORT/", "http://192.168.1.1:PORT/", "http://169.254.169.254/latest/meta-data/",
	"http://[fd00:ec2::254]/latest/meta-data/", "http://100.100.100.200/latest/meta-data/", "http://192.0.0.192/opc/v2/", "http://168.63.129.16/machine",
	"http://100.64.0.1:PORT/", "http://198.18.0.1:PORT/", "http://198.19.255.255:PORT/", "http://192.0.2.1:PORT/", "http://198.51.100.1:PORT/",
	"http://203.0.113.1:PORT/", "http://192.88.99.1:PORT/", "http://224.0.0.1:PORT/", "http://239.255.255.250:1900/", "http://240.0.0.1:PORT/",
	"http://255.255.255.255:PORT/", "http://[fc00::1]:PORT/", "http://[fd12::1]:PORT/", "http://[fec0::1]:PORT/", "http://[fe80::1]:PORT/",
	"http://[ff02::1]:PORT/", "http://[2001:db8::1]:PORT/", "http://[3fff::1]:PORT/", "http://[100::1]:PORT/", "http://[2001:10::1]:PORT/", "http://[5f00::1]:PORT/",
	// a name and a port that are not what they look like
	"http://example.com@127.0.0.1:PORT/", "http://example.com:80@127.0.0.1:PORT/", "http://example.com%40127.0.0.1:PORT/", "http://user:pass@localhost:PORT/",
	"http://127.0.0.1:PORT#@example.com/", "http://127.0.0.1:PORT?@example.com/", "http://127.0.0.1:PORT\\@example.com/", "http://example.com\\@127.0.0.1:PORT/",
	"http:127.0.0.1:PORT/", "http:/127.0.0.1:PORT/", "http:///127.0.0.1:PORT/", "//127.0.0.1:PORT/", "127.0.0.1:PORT", "http://:PORT/", "http://@:PORT/",
	"http://127.0.0.1:PORT\r\nHost: example.com/", " http://127.0.0.1:PORT/", "http://127.0.0.1 :PORT/", "HTTP://127.0.0.1:PORT/", "hTtP://[::1]:PORT/",
	// names that stand for this machine or its network: the resolver says so
	"http://inside.test:PORT/", "http://inside6.test:PORT/", "http://mapped.test:PORT/", "http://both.test:PORT/", "http://private.test:PORT/",
	"http://metadata.google.internal/computeMetadata/v1/", "http://127.0.0.1.nip.test:PORT/", "http://0x7f000001.test:PORT/", "http://translated.test:PORT/",
	// other tongues
	"file:///etc/passwd", "file://localhost/etc/passwd", "gopher://127.0.0.1:PORT/_GET%20/", "ftp://127.0.0.1:PORT/", "dict://127.0.0.1:PORT/info",
	"ldap://127.0.0.1:PORT/", "ws://127.0.0.1:PORT/", "wss://127.0.0.1:PORT/", "unix:///var/run/docker.sock", "http+unix://%2Fvar%2Frun%2Fdocker.sock/", "jar:http://127.0.0.1:PORT!/",
	"data:text/plain,hello", "javascript:alert(1)", "netdoc:///etc/passwd", "tftp://127.0.0.1:PORT/x", "socks5://127.0.0.1:PORT/",
}

// At are the addresses with the port of a trap.
func (tr *Trap) At() []string {
	list := make([]string, len(Hostile))
	for i, address := range Hostile {
		list[i] = strings.ReplaceAll(address, "PORT", tr.Port)
	}
	return list
}

// Trap listens on this machine and counts who comes.
type Trap struct {
	Port string
	Hits atomic.Int32
}

// NewTrap sets a trap, which is gone when the test ends. It answers everybody with the text "secret".
func NewTrap(t testing.TB) *Trap {
	t.Helper()
	tr := &Trap{}
	l4, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, tr.Port, _ = net.SplitHostPort(l4.Addr().String())
	listeners := []net.Listener{l4}
	if l6, err := net.Listen("tcp6", "[::1]:"+tr.Port); err == nil { // not every machine has one
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
				tr.Hits.Add(1)
				// A client that is answered before it has asked takes the answer for noise on an idle connection.
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

// Insider is a resolver for which all names stand for this machine.
func Insider(t testing.TB) *net.Resolver {
	t.Helper()
	return Resolver(t, map[string][][]string{"": {{"127.0.0.1", "::1"}}})
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

// Resolver asks a DNS server of its own, in which each name has answers in turn; the last of them stays, and other names have what is
// at "".
func Resolver(t testing.TB, answers map[string][][]string) *net.Resolver {
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
