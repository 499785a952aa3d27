//go:build !unix

package sandbox

import (
	"errors"

	"github.com/tributary-ai/tributary/tool"
)

// Plain makes the tools without any jail, where there are a shell and process groups.
func Plain(Options) ([]tool.Tool, error) {
	return nil, errors.New("there is no way to run code on this system")
}
