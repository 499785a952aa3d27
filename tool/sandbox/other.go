//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"context"
	"fmt"
	"runtime"

	"github.com/tributary-ai/tributary/tool"
)

// Sandbox makes jails. There are none on this system.
type Sandbox struct{}

// Open fails: a jail needs Linux on amd64 or arm64.
func Open(context.Context, Options) (*Sandbox, error) {
	return nil, fmt.Errorf("code can be confined only on Linux (amd64, arm64), and this is %s on %s", runtime.GOOS, runtime.GOARCH)
}

// Tools are none.
func (*Sandbox) Tools() []tool.Tool { return nil }

func (*Sandbox) String() string { return "none" }

// Close does nothing.
func (*Sandbox) Close() error { return nil }
