package main

import (
	"io"
	"os"
	"syscall"
	"unsafe"
)

// columns is how wide a terminal is; 80 for what is none.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 80
	}
	var size struct{ rows, columns, x, y uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	if errno != 0 || size.columns == 0 {
		return 80
	}
	return int(size.columns)
}
