//go:build unix

package stream

import (
	"net"
	"syscall"
)

// canPeek says that this system can tell whether a client has left without reading what it sent.
const canPeek = true

// hungUp reports whether a client has closed its connection, and does not wait. One that cannot be asked has not: writing will tell.
func hungUp(conn net.Conn) bool {
	n, err := peek(conn, false)
	return n == 0 && err == nil || err == syscall.ECONNRESET || err == syscall.ETIMEDOUT
}

// awaitBytes waits for bytes to be read, until the connection's deadline. It reports whether there are some.
func awaitBytes(conn net.Conn) bool {
	n, err := peek(conn, true)
	return n > 0 && err == nil
}

// peek looks for bytes and leaves them where they are. None and no error are the end.
func peek(conn net.Conn, wait bool) (n int, err error) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return 0, syscall.ENOTSUP
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var b [1]byte
	outside := raw.Read(func(fd uintptr) (done bool) {
		n, _, err = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
		return !wait || err != syscall.EAGAIN && err != syscall.EINTR
	})
	if outside != nil {
		return 0, outside
	}
	return n, err
}
