//go:build !linux || !amd64

package instructions

import (
	"context"
	"fmt"
	"runtime"
)

// Count is for Linux on amd64.
func Count(context.Context, string, ...string) (int, error) {
	return 0, fmt.Errorf("%w: they are counted on linux/amd64, and this is %s/%s", ErrUnsupported, runtime.GOOS, runtime.GOARCH)
}
