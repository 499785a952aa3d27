//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// hostile is what the test's own program does in a jail. Each of these tries to take more than it may have, and prints how
// far it got.
func hostile(args []string) {
	number := func(i int) int {
		n, err := strconv.Atoi(args[i])
		if err != nil {
			panic(err)
		}
		return n
	}
	switch args[0] {
	case "fork":
		fork(number(1))
	case "hold-and-stay":
		hold(number(1))
		fmt.Println("held")
		select {}
	case "hold-many":
		holdMany(number(1), args[2])
	case "share":
		share(number(1))
	case "connect":
		conn, err := net.Dial("tcp", args[1])
		if err != nil {
			panic(err)
		}
		conn.Close()
		fmt.Println("connected")
	case "daemon":
		daemon(args[1])
	case "stay":
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Hour)
	}
	syscall.Exit(0) // and not os.Exit, in which the race detector sleeps for a second
}

func fork(want int) {
	n := 0
	for ; n < want; n++ {
		if _, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "1000"}, &syscall.ProcAttr{}); err != nil {
			fmt.Println("forked", n)
			return
		}
	}
	time.Sleep(time.Hour) // somebody must notice
}

var held []byte

func hold(bytes int) {
	held = make([]byte, bytes)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
}

// holdMany has several processes hold something, and waits until each has it or is dead.
func holdMany(n int, bytes string) {
	var alive atomic.Int32
	said := make(chan string)
	for range n {
		cmd := exec.Command("/proc/self/exe")
		cmd.Args = []string{"hostile", "hold-and-stay", bytes}
		out, err := cmd.StdoutPipe()
		if err != nil {
			panic(err)
		}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		alive.Add(1)
		go func() {
			line, _ := bufio.NewReader(out).ReadString('\n')
			said <- line // who has said it may still be killed for another
			_ = cmd.Wait()
			alive.Add(-1)
		}()
	}
	for range n {
		<-said
	}
	for alive.Load() > 2 { // somebody must notice
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println("held by", alive.Load())
}

// share holds memory that no process is seen to hold: files that have no name.
func share(bytes int) {
	total := 0
	for range 100 {
		fd, err := unix.MemfdCreate("x", 0)
		if err != nil {
			fmt.Println("stopped:", err)
			break
		}
		n, err := io.CopyN(os.NewFile(uintptr(fd), "x"), zero{}, int64(bytes))
		total += int(n)
		if err != nil {
			fmt.Println("stopped:", err)
			break
		}
	}
	fmt.Println("shared", total)
}

type zero struct{}

func (zero) Read(p []byte) (int, error) { return len(p), nil }

// daemon leaves a process behind that has nothing to do with this one any more.
func daemon(mark string) {
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"hostile", "stay", mark}, &syscall.ProcAttr{
		Files: []uintptr{0, openNull(), openNull()}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		panic(err)
	}
	for { // until it is another program
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || strings.Contains(string(line), mark) {
			fmt.Println("left behind:", err == nil)
			return
		}
	}
}

func openNull() uintptr {
	f, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	return f.Fd()
}
