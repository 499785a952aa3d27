package instructions

import (
	"runtime"
	"syscall"
)

// endSignal stops the process at the end of what is counted. It is never delivered.
const endSignal = syscall.SIGUSR1

// Begin marks where counting begins. A process that nobody traces dies of it.
func Begin() { runtime.Breakpoint() }

// End marks where it ends.
func End() {
	tid, _, _ := syscall.RawSyscall(syscall.SYS_GETTID, 0, 0, 0)
	syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(syscall.Getpid()), tid, uintptr(endSignal))
}
