package faults_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/faults"
)

// TestSoakHalfOpen lets readers vanish without a word: their packets are no longer delivered, and nobody says so. The server must have
// let go of all of them within 45 seconds, whatever they were doing, and go on for others.
func TestSoakHalfOpen(t *testing.T) {
	ctx := soak(t)
	far := newNetwork(t)
	w := newWorld(t, "-addr", far.here+":0")
	w.warm(ctx)
	thread := "00000000-0000-4000-8000-000000000003"
	run, err := w.createRun(ctx, thread, faults.Order{Key: "silent", Words: 3, Faults: thrice(faults.Fault{Kind: faults.Stall, After: 2})}, "")
	if err != nil {
		t.Fatal(err)
	}
	w.busy(ctx)
	w.host.client.CloseIdleConnections()
	before := w.mustHold(ctx)
	const each = 10
	get := "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n"
	upgrade := "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	kinds := []struct{ name, says string }{
		{"follows a task", fmt.Sprintf(get, "/tasks/"+run+"/events", "")},
		{"follows a run", fmt.Sprintf(get, "/threads/"+thread+"/runs/"+run+"/stream", "")},
		{"follows over a socket", fmt.Sprintf(get, "/tasks/"+run+"/ws", upgrade)},
		{"follows a thread", fmt.Sprintf(get, "/threads/"+thread+"/stream/events", upgrade)},
		{"waits for the result", fmt.Sprintf(get, "/threads/"+thread+"/runs/"+run+"/join", "")},
		{"has asked and been answered", fmt.Sprintf(get, "/ok", "")},
		{"has sent half a request", "POST /tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"},
	}
	var conns []net.Conn
	for _, k := range kinds {
		for range each {
			conn, err := far.dial(strings.TrimPrefix(w.host.base(), "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write([]byte(k.says)); err != nil {
				t.Fatal(err)
			}
			conns = append(conns, conn)
		}
	}
	for w.mustHold(ctx).files < before.files+len(conns) { // until all are connected
		if !wait(ctx, 50*time.Millisecond) {
			t.Fatal("the readers do not get through")
		}
	}
	t.Logf("before: %v; with %d readers: %v", before, len(conns), w.mustHold(ctx))
	far.vanish(t)
	began := time.Now()
	for {
		now := w.mustHold(ctx)
		if now.files <= before.files+1 && now.goroutines <= before.goroutines+4 {
			t.Logf("all were let go within %v: %v", time.Since(began).Round(time.Second), now)
			break
		}
		if time.Since(began) > 45*time.Second {
			t.Errorf("after 45 seconds %d of %d that vanished are still connected: %v", now.files-before.files, len(conns), now)
			break
		}
		wait(ctx, time.Second)
	}
	if code, body, _, err := w.host.call(ctx, "POST", "/tasks/"+run+"/cancel", `{"wait":true}`); err != nil || code != 200 {
		t.Errorf("the server does not go on: %d %v %s", code, err, body)
	}
}

// setns is the number of a system call that package syscall does not have everywhere.
var setns = map[string]uintptr{"amd64": 308, "arm64": 268}[runtime.GOARCH]

// network is another machine, as far as TCP can tell: a network namespace behind a cable of its own.
type network struct{ name, here, there string }

func newNetwork(t *testing.T) *network {
	t.Helper()
	if setns == 0 {
		t.Skipf("does not know how to enter a network namespace on %s", runtime.GOARCH)
	}
	n := &network{name: fmt.Sprintf("faults%d", os.Getpid()), here: "10.213.7.1", there: "10.213.7.2"}
	near, far := "fa"+fmt.Sprint(os.Getpid()), "fb"+fmt.Sprint(os.Getpid())
	ip := func(args ...string) error {
		out, err := exec.Command("ip", args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
		}
		return nil
	}
	t.Cleanup(func() {
		_ = ip("link", "del", near) // goes with the namespace, if that was made
		_ = ip("netns", "del", n.name)
	})
	for _, args := range []string{
		"netns add " + n.name,
		"link add " + near + " type veth peer name " + far + " netns " + n.name,
		"addr add " + n.here + "/24 dev " + near,
		"link set " + near + " up",
		"-n " + n.name + " addr add " + n.there + "/24 dev " + far,
		"-n " + n.name + " link set " + far + " up",
		"-n " + n.name + " link set lo up",
	} {
		if err := ip(strings.Fields(args)...); err != nil {
			t.Skipf("needs root and a network namespace: %v", err)
		}
	}
	return n
}

// dial connects from the other side. The thread that makes the socket comes back afterwards: if it ended, so would the processes that it
// has started.
func (n *network) dial(addr string) (net.Conn, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", syscall.Gettid()))
	if err != nil {
		return nil, err
	}
	defer home.Close()
	away, err := os.Open("/var/run/netns/" + n.name)
	if err != nil {
		return nil, err
	}
	defer away.Close()
	if err := enter(away); err != nil {
		return nil, err
	}
	defer func() {
		if err := enter(home); err != nil {
			panic(err) // a thread that is somewhere else makes nonsense of everything
		}
	}()
	return net.DialTimeout("tcp4", addr, 5*time.Second)
}

func enter(ns *os.File) error {
	if _, _, errno := syscall.RawSyscall(setns, ns.Fd(), syscall.CLONE_NEWNET, 0); errno != 0 {
		return os.NewSyscallError("setns", errno)
	}
	return nil
}

// vanish lets nothing through any more from the other side, not even that nothing is let through.
func (n *network) vanish(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("ip", "-n", n.name, "route", "add", "blackhole", n.here+"/32").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
