//go:build !linux

package main

import (
	"io"
	"os"
)

func columns(io.Writer) int { return 80 }

// terminal tells the device that a device is most often mistaken for.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	null, nullErr := os.Stat(os.DevNull)
	return err == nil && (nullErr != nil || !os.SameFile(info, null))
}
