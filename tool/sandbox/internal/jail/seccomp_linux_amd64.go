package jail

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

var alsoRefused = []uintptr{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS__SYSCTL, unix.SYS_SYSFS, unix.SYS_USTAT}

// oldCalls are rules for system calls that younger architectures do not have.
func oldCalls(f *filter) {
	f.without(unix.SYS_CHMOD, 1, setID)
	f.without(unix.SYS_MKNOD, 1, setID)
	f.without(unix.SYS_CREAT, 1, setID)
	f.making(unix.SYS_OPEN, 1, 2)
}
