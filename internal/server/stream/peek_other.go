//go:build !unix

package stream

import "net"

// canPeek keeps streams with net/http where a client's leaving could not be noticed without it.
const canPeek = false

func hungUp(net.Conn) bool { return false }

func awaitBytes(net.Conn) bool { return false }
