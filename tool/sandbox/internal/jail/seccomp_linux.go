//go:build linux && (amd64 || arm64)

package jail

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// newest is the last system call that this filter was written for. Later ones do not exist in the jail: nobody has thought
// about what they could do.
const newest = unix.SYS_FILE_SETATTR

// refused are system calls that no command needs, and that reach into the kernel deeper than the rest.
var refused = []uintptr{
	// other views of the system
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE,
	unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_MOUNT_SETATTR, unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT,
	// other processes
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_PROCESS_MADVISE,
	unix.SYS_PROCESS_MRELEASE, unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES,
	// keys of the server's session
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	// large parts of the kernel with a history of holes
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT, unix.SYS_MEMFD_SECRET,
	// the machine itself
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_REBOOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG, unix.SYS_SETTIMEOFDAY,
	unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP,
	unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL, unix.SYS_FILE_SETATTR,
}

// absent are system calls for which programs have another way if the kernel does not know them. The arguments of clone3 and
// openat2 are behind pointers, where a filter cannot see them.
var absent = []uintptr{
	unix.SYS_CLONE3, unix.SYS_OPENAT2, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
}

// uncounted are system calls that get memory which no process is seen to hold.
var uncounted = []uintptr{unix.SYS_MEMFD_CREATE, unix.SYS_SHMGET}

const (
	newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	setID         = unix.S_ISUID | unix.S_ISGID
	noRandom      = 0x0040000 // a personality: addresses that do not change
)

// filter builds a seccomp program.
type filter []unix.SockFilter

func (f *filter) stmt(code uint16, k uint32) {
	*f = append(*f, unix.SockFilter{Code: code, K: k})
}

func (f *filter) jump(code uint16, k uint32, yes, no int) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | code | unix.BPF_K, K: k, Jt: uint8(yes), Jf: uint8(no)})
}

const (
	offsetNumber = 0
	offsetArch   = 4
)

func (f *filter) load(offset uint32) { f.stmt(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset) }

// argument loads the lower half of an argument; both of our architectures put it first.
func (f *filter) argument(n int) { f.load(uint32(16 + 8*n)) }

func (f *filter) ret(action uint32)     { f.stmt(unix.BPF_RET|unix.BPF_K, action) }
func (f *filter) fail(errno unix.Errno) { f.ret(unix.SECCOMP_RET_ERRNO | uint32(errno)) }
func (f *filter) allow()                { f.ret(unix.SECCOMP_RET_ALLOW) }
func (f *filter) deny(nr uintptr, errno unix.Errno) {
	f.jump(unix.BPF_JEQ, uint32(nr), 0, 1)
	f.fail(errno)
}

// on puts a block of rules behind a system call. The block must end in a return.
func (f *filter) on(nr uintptr, rules func(*filter)) {
	var block filter
	rules(&block)
	f.jump(unix.BPF_JEQ, uint32(nr), 0, len(block))
	*f = append(*f, block...)
}

// without refuses a system call that has any of the bits in an argument.
func (f *filter) without(nr uintptr, arg int, bits uint32) {
	f.on(nr, func(b *filter) {
		b.argument(arg)
		b.jump(unix.BPF_JSET, bits, 0, 1)
		b.fail(unix.EPERM)
		b.allow()
	})
}

// only refuses a system call whose argument is none of the values.
func (f *filter) only(nr uintptr, arg int, errno unix.Errno, values ...uint32) {
	f.on(nr, func(b *filter) {
		b.argument(arg)
		for i, v := range values {
			b.jump(unix.BPF_JEQ, v, len(values)-i, 0)
		}
		b.fail(errno)
		b.allow()
	})
}

// making refuses to make a file with a set-id bit.
func (f *filter) making(nr uintptr, flags, mode int) {
	f.on(nr, func(b *filter) {
		b.argument(flags)
		b.jump(unix.BPF_JSET, unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY, 0, 3)
		b.argument(mode)
		b.jump(unix.BPF_JSET, setID, 0, 1)
		b.fail(unix.EPERM)
		b.allow()
	})
}

// program is the filter of a command. families are the sockets that it may have; counted says that somebody bounds the
// memory of all processes together, whoever is seen to hold it.
func program(families []uint32, counted bool) filter {
	var f filter
	f.load(offsetArch)
	f.jump(unix.BPF_JEQ, auditArch, 1, 0)
	f.ret(unix.SECCOMP_RET_KILL_PROCESS)
	f.load(offsetNumber)
	f.jump(unix.BPF_JGT, newest, 0, 1) // the numbers of amd64's x32 are far above it
	f.fail(unix.ENOSYS)
	for _, nr := range append(refused, alsoRefused...) {
		f.deny(nr, unix.EPERM)
	}
	for _, nr := range absent {
		f.deny(nr, unix.ENOSYS)
	}
	if !counted {
		for _, nr := range uncounted {
			f.deny(nr, unix.ENOSYS)
		}
	}
	f.without(unix.SYS_CLONE, 0, newNamespaces)
	f.only(unix.SYS_SOCKET, 0, unix.EAFNOSUPPORT, families...)
	f.only(unix.SYS_SOCKETPAIR, 0, unix.EAFNOSUPPORT, unix.AF_UNIX)
	f.only(unix.SYS_PERSONALITY, 0, unix.EPERM, 0, noRandom, 0xffffffff)
	f.on(unix.SYS_IOCTL, func(b *filter) { // writing into a terminal's input
		b.argument(1)
		b.jump(unix.BPF_JEQ, unix.TIOCSTI, 1, 0)
		b.jump(unix.BPF_JEQ, unix.TIOCLINUX, 0, 1)
		b.fail(unix.EPERM)
		b.allow()
	})
	f.without(unix.SYS_FCHMOD, 1, setID)
	f.without(unix.SYS_FCHMODAT, 2, setID)
	f.without(unix.SYS_FCHMODAT2, 2, setID)
	f.without(unix.SYS_MKNODAT, 2, setID)
	f.making(unix.SYS_OPENAT, 2, 3)
	oldCalls(&f)
	f.allow()
	return f
}

// install puts the filter around the calling thread and all that it will start.
func (f filter) install() error {
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	if _, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return fmt.Errorf("seccomp filter: %w", errno)
	}
	return nil
}
