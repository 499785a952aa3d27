//go:build linux && (amd64 || arm64)

package jail

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Facts are what an attacker is told of the world outside, so that he need not guess.
type Facts struct {
	Secret   string `json:"secret"` // a file that everybody may read
	TCP, UDP string // addresses at which somebody listens
	Abstract string // the name of a socket without a file
	Server   int    // our process
	Net      string // which network our process is in, as /proc tells it
	Network  bool
}

// Finding is what became of an attack.
type Finding struct {
	Attack  string `json:"attack"`
	Escaped string `json:"escaped,omitempty"` // what was got hold of; empty if the jail held
}

// attack is something that must not succeed.
type attack struct {
	name string
	try  func(Facts) error // an escape, in words
}

// attacks are made on every jail before it is used, and are the rows of the tests.
var attacks = []attack{
	{"read files outside", readOutside},
	{"write files outside", writeOutside},
	{"list what is not ours", listOutside},
	{"reach the machine over TCP", reachTCP},
	{"reach the machine over UDP", reachUDP},
	{"open sockets of other families", otherSockets},
	{"reach a socket without a file", reachAbstract},
	{"be in the machine's network", shareNetwork},
	{"see or signal other processes", otherProcesses},
	{"look into the first process", firstProcess},
	{"make namespaces", makeNamespaces},
	{"mount", refusedWith(unix.EPERM, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT,
		unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT)},
	{"use io_uring", refusedWith(unix.ENOSYS, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER)},
	{"use the server's keys", refusedWith(unix.EPERM, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY)},
	{"trace processes", refusedWith(unix.EPERM, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD)},
	{"use bpf, perf or userfaultfd", refusedWith(unix.EPERM, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD)},
	{"change the machine", refusedWith(unix.EPERM, unix.SYS_REBOOT, unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_SETTIMEOFDAY, unix.SYS_SWAPON, unix.SYS_SYSLOG)},
	{"use system calls that nobody thought about", refusedWith(unix.ENOSYS, newest+1, newest+20, 1000)},
	{"gain rights", gainRights},
	{"make set-user-id files", makeSetID},
	{"make device nodes", makeDevices},
	{"inherit environment or files", inherit},
	{"follow links out of the folder", followLinks},
	{"change uploads", changeUploads},
}

// Attacks are the names of all attacks, in the order in which they are made.
func Attacks() (names []string) {
	for _, a := range attacks {
		names = append(names, a.name)
	}
	return names
}

// attacker is the program that makes the attacks: it runs as a command in the jail.
func attacker() {
	var f Facts
	if len(os.Args) != 2 || json.Unmarshal([]byte(os.Args[1]), &f) != nil {
		leave(2)
	}
	out := json.NewEncoder(os.Stdout)
	for _, a := range attacks {
		found := Finding{Attack: a.name}
		if err := a.try(f); err != nil {
			found.Escaped = err.Error()
		}
		if out.Encode(found) != nil {
			leave(2)
		}
	}
	leave(0)
}

func readOutside(f Facts) error {
	for _, path := range []string{f.Secret, "/etc/shadow", "/proc/1/root" + f.Secret, "/proc/1/cwd" + f.Secret, "/proc/self/root/.." + f.Secret, "/../.." + f.Secret} {
		if content, err := os.ReadFile(path); err == nil {
			return fmt.Errorf("%s could be read, %d bytes", path, len(content))
		}
	}
	return nil
}

func writeOutside(f Facts) error {
	for _, dir := range []string{filepath.Dir(f.Secret), "/", "/usr", "/usr/bin", "/etc", "/dev", "/run", "/proc", "/mnt", "/mnt/user-data", Uploads} {
		path := filepath.Join(dir, "written-by-a-probe")
		if err := os.WriteFile(path, []byte("x"), 0o644); err == nil {
			return fmt.Errorf("%s could be written", path)
		}
	}
	for _, path := range []string{"/usr/bin/env", "/etc/passwd", "/etc/ld.so.cache", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/self/uid_map", "/proc/self/oom_score_adj", "/proc/sysrq-trigger"} {
		if file, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			file.Close()
			return fmt.Errorf("%s could be opened for writing", path)
		}
	}
	return nil
}

func listOutside(Facts) error {
	for _, path := range []string{"/home", "/root", "/sys", "/var", "/boot", "/opt", "/srv", "/media"} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is there: %v", path, err)
		}
	}
	entries, err := os.ReadDir("/dev")
	if err != nil {
		return fmt.Errorf("/dev cannot be listed: %w", err)
	}
	usual := []string{"fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "urandom", "zero"}
	for _, e := range entries {
		if !slices.Contains(usual, e.Name()) {
			return fmt.Errorf("/dev/%s is there", e.Name())
		}
	}
	return nil
}

func reachTCP(f Facts) error {
	if f.Network {
		return nil
	}
	if conn, err := net.DialTimeout("tcp", f.TCP, time.Second); err == nil {
		conn.Close()
		return fmt.Errorf("%s answers", f.TCP)
	}
	return nil
}

func reachUDP(f Facts) error {
	if f.Network {
		return nil
	}
	if conn, err := net.Dial("udp", f.UDP); err == nil {
		_, err = conn.Write([]byte("out"))
		conn.Close()
		return fmt.Errorf("there is a socket to %s, written to: %v", f.UDP, err)
	}
	return nil
}

func otherSockets(f Facts) error {
	for family := 0; family < 64; family++ {
		if family == unix.AF_UNIX || f.Network && (family == unix.AF_INET || family == unix.AF_INET6) {
			continue
		}
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET} {
			if _, _, errno := unix.Syscall(unix.SYS_SOCKET, uintptr(family), uintptr(kind), 0); errno != unix.EAFNOSUPPORT {
				return fmt.Errorf("a socket of family %d, type %d: %v", family, kind, errno)
			}
		}
	}
	return nil
}

func reachAbstract(f Facts) error {
	if conn, err := net.DialTimeout("unix", f.Abstract, time.Second); err == nil {
		conn.Close()
		return fmt.Errorf("%s answers", f.Abstract)
	}
	return nil
}

// shareNetwork looks at the network namespace alone: whatever else keeps a command from using sockets, it must not be where the
// machine's interfaces are.
func shareNetwork(f Facts) error {
	if f.Network {
		return nil
	}
	if in, err := os.Readlink(OwnNetwork); err != nil || in == f.Net {
		return fmt.Errorf("it is in %s, %v, as the server is", in, err)
	}
	table, err := os.ReadFile("/proc/self/net/dev")
	if err != nil {
		return fmt.Errorf("the interfaces cannot be told: %w", err)
	}
	for line := range strings.Lines(string(table)) {
		if name, _, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) != "lo" {
			return fmt.Errorf("there is an interface %s", strings.TrimSpace(name))
		}
	}
	return nil
}

// OwnNetwork names the network namespace of whoever reads it.
const OwnNetwork = "/proc/self/ns/net"

func otherProcesses(f Facts) error {
	if err := unix.Kill(f.Server, 0); !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("process %d can be found: %v", f.Server, err)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return fmt.Errorf("/proc cannot be listed: %w", err)
	}
	own := fmt.Sprint(os.Getpid())
	for _, e := range entries {
		if name := e.Name(); name[0] >= '0' && name[0] <= '9' && name != "1" && name != own {
			return fmt.Errorf("process %s can be seen", name)
		}
	}
	return nil
}

func firstProcess(Facts) error {
	for _, name := range []string{"environ", "mem", "exe", "maps", "auxv", "root/etc/passwd", "fd/3", "task/1/environ"} {
		content := make([]byte, 16)
		file, err := os.Open("/proc/1/" + name)
		if err != nil {
			continue
		}
		n, err := file.Read(content)
		file.Close()
		if n > 0 || name == "exe" {
			return fmt.Errorf("/proc/1/%s could be read: %d bytes, %v", name, n, err)
		}
	}
	if to, err := os.Readlink("/proc/1/exe"); err == nil {
		return fmt.Errorf("/proc/1/exe leads to %s", to)
	}
	// As was done to runc once: hold the program, and write to it when nobody runs it any more.
	if fd, err := unix.Open("/proc/1/exe", unix.O_PATH, 0); err == nil {
		unix.Close(fd)
		return errors.New("the server's program could be held for writing later")
	}
	return nil
}

func makeNamespaces(Facts) error {
	for name, flag := range map[string]uintptr{
		"user": unix.CLONE_NEWUSER, "mount": unix.CLONE_NEWNS, "process": unix.CLONE_NEWPID, "network": unix.CLONE_NEWNET, "IPC": unix.CLONE_NEWIPC,
		"host name": unix.CLONE_NEWUTS, "control group": unix.CLONE_NEWCGROUP, "time": unix.CLONE_NEWTIME,
	} {
		if _, _, errno := unix.Syscall(unix.SYS_UNSHARE, flag, 0, 0); errno != unix.EPERM {
			return fmt.Errorf("unshare of a %s namespace: %v", name, errno)
		}
		if flag == unix.CLONE_NEWTIME { // not of clone
			continue
		}
		pid, err := syscall.ForkExec("/proc/self/exe", []string{AsNobody}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: flag}})
		if err == nil {
			_ = unix.Kill(pid, unix.SIGKILL)
			return fmt.Errorf("a process in a %s namespace of its own", name)
		}
		if !errors.Is(err, unix.EPERM) {
			return fmt.Errorf("clone with a %s namespace: %v", name, err)
		}
	}
	var args [11]uint64 // a clone_args that asks for nothing, and fails elsewhere if it is looked at
	args[0], args[4] = unix.CLONE_NEWUSER, 1<<20
	if _, _, errno := unix.Syscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0); errno != unix.ENOSYS {
		return fmt.Errorf("clone3: %v", errno)
	}
	return refusedWith(unix.EPERM, unix.SYS_SETNS)(Facts{})
}

// refusedWith tries system calls with arguments that make no sense. The filter looks at the number first, so another error
// than its own says that the call went through.
func refusedWith(want unix.Errno, calls ...uintptr) func(Facts) error {
	return func(Facts) error {
		for _, nr := range calls {
			const none = ^uintptr(0)
			if _, _, errno := unix.Syscall6(nr, none, none, none, none, none, none); errno != want {
				return fmt.Errorf("system call %d: %v, and not %v", nr, errno, want)
			}
		}
		return nil
	}
}

func gainRights(Facts) error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	want := map[string]string{
		"CapInh": "0000000000000000", "CapPrm": "0000000000000000", "CapEff": "0000000000000000", "CapBnd": "0000000000000000", "CapAmb": "0000000000000000",
		"NoNewPrivs": "1", "Seccomp": "2", "Uid": "1000\t1000\t1000\t1000", "Gid": "1000\t1000\t1000\t1000",
	}
	for line := range bytes.Lines(status) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
		if w, ok := want[name]; ok {
			delete(want, name)
			if value = strings.TrimSpace(value); value != w {
				return fmt.Errorf("%s is %s, and not %s", name, value, w)
			}
		}
	}
	if len(want) > 0 {
		return fmt.Errorf("the process's status does not tell %v", want)
	}
	for _, id := range []int{0, 1, 65534} {
		if _, _, errno := unix.RawSyscall(unix.SYS_SETUID, uintptr(id), 0, 0); errno == 0 {
			return fmt.Errorf("the user could become %d", id)
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_SETGID, uintptr(id), 0, 0); errno == 0 {
			return fmt.Errorf("the group could become %d", id)
		}
	}
	return nil
}

func makeSetID(Facts) error {
	path := Workspace + "/set-id"
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		return fmt.Errorf("the workspace cannot be written: %w", err)
	}
	defer os.Remove(path)
	fd, err := unix.Open(path, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for _, bit := range []uint32{unix.S_ISUID, unix.S_ISGID} {
		for how, err := range map[string]error{
			"chmod": unix.Chmod(path, 0o755|bit), "fchmod": unix.Fchmod(fd, 0o755|bit), "fchmodat": unix.Fchmodat(unix.AT_FDCWD, path, 0o755|bit, 0),
			"mknod": unix.Mknod(path+"-2", unix.S_IFREG|0o755|bit, 0), "open": made(unix.Open(path+"-3", unix.O_CREAT|unix.O_RDWR, 0o755|bit)),
			"tmpfile": made(unix.Open(Workspace, unix.O_TMPFILE|unix.O_RDWR, 0o755|bit)),
		} {
			if !errors.Is(err, unix.EPERM) {
				return fmt.Errorf("%s with bit %o: %v", how, bit, err)
			}
		}
		if _, _, errno := unix.Syscall6(unix.SYS_FCHMODAT2, ^uintptr(99), uintptr(unsafe.Pointer(&[]byte(path + "\x00")[0])), uintptr(0o755|bit), 0, 0, 0); errno != unix.EPERM {
			return fmt.Errorf("fchmodat2 with bit %o: %v", bit, errno)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		return fmt.Errorf("there is a set-id file: %v, %v", info, err)
	}
	return nil
}

func made(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func makeDevices(Facts) error {
	for _, dir := range []string{Workspace, "/tmp", "/dev/shm"} {
		for name, mode := range map[string]uint32{"null": unix.S_IFCHR, "disk": unix.S_IFBLK} {
			path := filepath.Join(dir, name)
			if err := unix.Mknod(path, mode|0o666, int(unix.Mkdev(1, 3))); err == nil {
				os.Remove(path)
				return fmt.Errorf("%s is a device now", path)
			}
		}
	}
	return nil
}

func inherit(Facts) error {
	known := []string{"HOME", "LANG", "PATH", "PWD", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONUNBUFFERED", "TMPDIR", "USER"}
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); !slices.Contains(known, name) {
			return fmt.Errorf("the environment has %s", name)
		}
	}
	for fd := 3; fd < 256; fd++ {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil {
			continue
		}
		// Go's own are neither files nor folders.
		if kind := st.Mode & unix.S_IFMT; kind == unix.S_IFREG || kind == unix.S_IFDIR || kind == unix.S_IFSOCK || kind == unix.S_IFBLK {
			return fmt.Errorf("descriptor %d is open, mode %o", fd, st.Mode)
		}
	}
	return nil
}

func followLinks(f Facts) error {
	dir := Workspace
	soft, hard := dir+"/soft", dir+"/hard"
	defer os.Remove(soft)
	defer os.Remove(hard)
	if err := os.Symlink(f.Secret, soft); err != nil {
		return fmt.Errorf("no link can be made: %w", err)
	}
	if _, err := os.ReadFile(soft); err == nil {
		return errors.New("a link led to the secret")
	}
	for _, from := range []string{"/usr/bin/env", "/etc/passwd", "/proc/1/exe", Uploads + "/given"} {
		if err := os.Link(from, hard); err == nil {
			return fmt.Errorf("%s has another name in the workspace now", from)
		}
		if err := os.Rename(from, hard); err == nil {
			return fmt.Errorf("%s is in the workspace now", from)
		}
	}
	return nil
}

func changeUploads(Facts) error {
	path := Uploads + "/given"
	if _, err := os.ReadFile(path); err != nil {
		return fmt.Errorf("uploads cannot be read: %w", err)
	}
	for how, err := range map[string]error{
		"write": os.WriteFile(path, nil, 0o644), "remove": os.Remove(path), "truncate": os.Truncate(path, 0), "chmod": os.Chmod(path, 0o777),
		"rename": os.Rename(path, path+"2"), "make": os.Mkdir(path+"3", 0o755),
	} {
		if err == nil {
			return fmt.Errorf("%s in uploads went well", how)
		}
	}
	return nil
}
