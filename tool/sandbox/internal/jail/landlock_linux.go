//go:build linux && (amd64 || arm64)

package jail

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// LandlockVersion is the version of the kernel's Landlock; 0 if there is none.
func LandlockVersion() int {
	v, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

const (
	landlockRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	landlockFile  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	landlockScope = 6 // the version that keeps sockets without a file, and signals, among those who are in
)

// landlockAll are the rights that a version knows.
func landlockAll(version int) (all uint64) {
	all = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1
	for _, later := range []struct {
		version int
		right   uint64
	}{{2, unix.LANDLOCK_ACCESS_FS_REFER}, {3, unix.LANDLOCK_ACCESS_FS_TRUNCATE}, {5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV}} {
		if version >= later.version {
			all |= later.right
		}
	}
	return all
}

// landlock is the second wall: whatever leads a command out of its root, it cannot open what it finds there. It holds for
// the calling thread and all that it will start. own is a file outside that may be run all the same; below 0: none.
func landlock(version int, network bool, own int) error {
	if version == 0 {
		return nil
	}
	all := landlockAll(version)
	attr := unix.LandlockRulesetAttr{Access_fs: all}
	if version >= 4 && !network {
		attr.Access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= landlockScope {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	set, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	defer unix.Close(int(set))
	write := all &^ unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	for path, rights := range map[string]uint64{
		"/": landlockRead, "/dev": landlockRead | all&(unix.LANDLOCK_ACCESS_FS_WRITE_FILE|unix.LANDLOCK_ACCESS_FS_TRUNCATE), "/tmp": write, "/dev/shm": write,
		Workspace: write, Outputs: write,
	} {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("landlock: %s: %w", path, err)
		}
		err = errors.Join(allowBeneath(int(set), fd, rights), unix.Close(fd))
		if err != nil {
			return fmt.Errorf("landlock: %s: %w", path, err)
		}
	}
	if own >= 0 {
		if err := allowBeneath(int(set), own, landlockFile); err != nil {
			return fmt.Errorf("landlock: the own program: %w", err)
		}
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	return nil
}

func allowBeneath(set, fd int, rights uint64) error {
	// The kernel's struct is packed: the descriptor follows the rights without a gap, in Go's as well.
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
