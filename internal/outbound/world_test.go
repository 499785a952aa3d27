package outbound

import (
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

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
