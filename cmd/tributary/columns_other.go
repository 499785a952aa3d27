//go:build !linux

package main

import "io"

func columns(io.Writer) int { return 80 }
