package main

import (
	"io"
	"os"
	"syscall"
	"unsafe"
)

type windowSize struct{ rows, columns, x, y uint16 }

// window asks a terminal how large it is. What is none does not know.
func window(f *os.File) (size windowSize, ok bool) {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	return size, errno == 0
}

func terminal(f *os.File) bool { _, ok := window(f); return ok }

// columns is how wide a terminal is; 80 for what is none.
func columns(w io.Writer) int {
	f, ok := fileOf(w)
	if !ok {
		return 80
	}
	if size, ok := window(f); ok && size.columns > 0 {
		return int(size.columns)
	}
	return 80
}
