package server_test

import (
	"net"
	"syscall"
	"testing"

	"github.com/tributary-ai/tributary/internal/server"
)

// A connection gives a client up who acknowledges nothing for 30 seconds, whether something is on its way or nothing.
func TestConnectionsGiveUpClientsThatVanish(t *testing.T) {
	l, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []struct {
		name          string
		level, option int
		want          int
	}{
		{"TCP_USER_TIMEOUT", syscall.IPPROTO_TCP, 0x12, 30_000},
		{"SO_KEEPALIVE", syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
		{"TCP_KEEPIDLE", syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, 15},
		{"TCP_KEEPINTVL", syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, 5},
		{"TCP_KEEPCNT", syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, 3},
	} {
		got := -1
		if outside := raw.Control(func(fd uintptr) { got, err = syscall.GetsockoptInt(int(fd), o.level, o.option) }); outside != nil || err != nil {
			t.Fatal(outside, err)
		}
		if got != o.want {
			t.Errorf("%s is %d, want %d", o.name, got, o.want)
		}
	}
}
