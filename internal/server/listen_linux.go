package server

import (
	"os"
	"syscall"
	"time"
)

// userTimeout is TCP_USER_TIMEOUT, for which package syscall has no name.
const userTimeout = 0x12

// giveUpAfter sets how long data may be unacknowledged. Connections inherit it from the socket that listens.
func giveUpAfter(fd uintptr, d time.Duration) error {
	return os.NewSyscallError("setsockopt", syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, userTimeout, int(d.Milliseconds())))
}
