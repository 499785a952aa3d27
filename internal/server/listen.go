package server

import (
	"context"
	"net"
	"syscall"
	"time"
)

// vanished is how long a client may leave what we sent unacknowledged before it is taken to be gone. A heartbeat of a stream is
// something that is sent, so that a reader whose network has vanished is let go within this and one heartbeat.
const vanished = 30 * time.Second

// Listen listens for clients, some of whom will vanish without a word: a laptop that is closed, a network that is switched off. Without
// Listen's settings the system would try to reach them for a quarter of an hour, and keep all that they hold.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	config := net.ListenConfig{
		// For connections on which nothing is on its way.
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: vanished / 2, Interval: vanished / 6, Count: 3},
		Control: func(_, _ string, c syscall.RawConn) error {
			var err error
			if outside := c.Control(func(fd uintptr) { err = giveUpAfter(fd, vanished) }); outside != nil {
				return outside
			}
			return err
		},
	}
	return config.Listen(ctx, "tcp", addr)
}
