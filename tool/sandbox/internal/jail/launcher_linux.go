//go:build linux && (amd64 || arm64)

package jail

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// setup is what the launcher is told when it is started: enough to build all of the jail that is the same for every command, while it
// waits for one.
type Setup struct {
	Network bool  `json:"network"`
	Scratch int64 `json:"scratch"`
}

// order is what the launcher is told to do.
type Order struct {
	Setup `json:"-"`

	Argv   []string `json:"argv"`
	Name   string   `json:"name"`
	Script string   `json:"script"`
	Self   []string `json:"self,omitempty"` // run the own program under these arguments, in place of Argv

	Binds    []Bind `json:"binds"`
	Landlock int    `json:"landlock"`

	Memory    int64         `json:"memory"`
	Processes int           `json:"processes"`
	CPU       time.Duration `json:"cpu"`
	FileSize  int64         `json:"file_size"`
	// WatchMemory and WatchProcesses say that no control group counts, and the launcher has to.
	WatchMemory    bool `json:"watch_memory"`
	WatchProcesses bool `json:"watch_processes"`
}

// report is what the launcher says at the end.
type Report struct {
	Outcome
	Error string `json:"error,omitempty"` // why there was no jail
}

// InsideID is the user and the group that commands see themselves as.
const InsideID = 1000

// The launcher's descriptors, beside the usual three.
const (
	orderFD  = 3 // a socket: the folders, the order, then one byte for each wish that the command may end; its end is the end of all
	reportFD = 4
)

// launcher is the first process of the jail: it builds the walls, starts the command behind them, and buries the dead. It
// stays outside of the last walls itself, which is possible because they are built around one thread: the one that
// starts the command.
func launcher() {
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	if os.Getpid() != 1 || len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "this is a part of tributary that only tributary itself can start")
		leave(2)
	}
	in, out := bufio.NewReader(os.NewFile(orderFD, "order")), os.NewFile(reportFD, "report")
	var o Order
	wrong := json.Unmarshal([]byte(os.Args[1]), &o.Setup)
	if wrong == nil {
		wrong = unix.CloseRange(orderFD, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
	}
	var root root
	if wrong == nil {
		wrong = root.build(o.Setup)
	}
	folders, err := receive()
	line, gone := in.ReadBytes('\n')
	if gone != nil {
		leave(2) // the server is gone, or had nothing to do for us
	}
	if wrong != nil {
		err = wrong
	}
	var r Report
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	for i := range o.Binds {
		if b := &o.Binds[i]; b.FD >= 0 && b.FD < len(folders) {
			b.FD = folders[b.FD]
		}
	}
	if err == nil {
		r.Outcome, err = o.carryOut(in, &root)
	}
	if err != nil {
		r.Error = err.Error()
	}
	_ = json.NewEncoder(out).Encode(r)
	leave(0)
}

// receive waits for the folders, which come with the first byte.
func receive() (folders []int, err error) {
	first, with := make([]byte, 1), make([]byte, unix.CmsgSpace(4*len(Folders)))
	var n, more int
	for {
		n, more, _, _, err = unix.Recvmsg(orderFD, first, with, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil || n == 0 {
		leave(2) // the server is gone
	}
	messages, err := unix.ParseSocketControlMessage(with[:more])
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		rights, err := unix.ParseUnixRights(&m)
		if err != nil {
			return nil, err
		}
		folders = append(folders, rights...)
	}
	return folders, nil
}

func (o *Order) carryOut(in *bufio.Reader, root *root) (Outcome, error) {
	own := -1
	if o.Self != nil {
		var err error
		if own, err = unix.Open("/proc/self/exe", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return Outcome{}, fmt.Errorf("the own program: %w", err)
		}
	}
	if err := root.finish(o); err != nil {
		return Outcome{}, err
	}
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return Outcome{}, fmt.Errorf("host name: %w", err)
	}
	unix.Umask(0o022)
	keepThreads(reserved)
	if err := o.limit(); err != nil {
		return Outcome{}, err
	}
	var met atomic.Pointer[string]
	go obey(in)
	if err := o.confine(own); err != nil {
		return Outcome{}, err
	}
	pid, err := o.start(own)
	if err != nil {
		return Outcome{}, err
	}
	go o.watch(&met)
	got, err := bury(pid)
	if why := met.Load(); why != nil {
		got.Why = *why
	}
	return got, err
}

// limit sets what a process may have. The launcher has it too, and needs little.
func (o *Order) limit() error {
	cpu := uint64(max(o.CPU/time.Second, 1))
	limits := []struct {
		which     int
		soft, top uint64
	}{
		{unix.RLIMIT_CORE, 0, 0},
		{unix.RLIMIT_CPU, cpu, cpu + 1},
		{unix.RLIMIT_NOFILE, 1024, 1024},
		{unix.RLIMIT_NPROC, uint64(o.Processes + Spare), uint64(o.Processes + Spare)},
		{unix.RLIMIT_MEMLOCK, 64 << 10, 64 << 10},
		{unix.RLIMIT_MSGQUEUE, 0, 0},
		{unix.RLIMIT_SIGPENDING, 1024, 1024},
		{unix.RLIMIT_RTPRIO, 0, 0},
	}
	if o.FileSize >= 0 {
		limits = append(limits, struct {
			which     int
			soft, top uint64
		}{unix.RLIMIT_FSIZE, uint64(o.FileSize), uint64(o.FileSize)})
	}
	for _, l := range limits {
		var now unix.Rlimit
		if err := unix.Getrlimit(l.which, &now); err != nil {
			return fmt.Errorf("limit %d: %w", l.which, err)
		}
		// The server may have a lower limit itself, which cannot be raised.
		if err := unix.Setrlimit(l.which, &unix.Rlimit{Cur: min(l.soft, now.Max), Max: min(l.top, now.Max)}); err != nil {
			return fmt.Errorf("limit %d: %w", l.which, err)
		}
	}
	return nil
}

// Spare are the threads of the launcher, which count too.
const Spare = 24

// reserved are those that it has at hand when the command begins.
const reserved = 8

// keepThreads makes threads that the runtime then has at hand. A command that has taken all processes that it may have leaves no room
// for another thread, and the runtime does not survive that.
func keepThreads(n int) {
	var made, left sync.WaitGroup
	made.Add(n)
	leave := make(chan struct{})
	for range n {
		left.Go(func() {
			runtime.LockOSThread() // each on a thread of its own
			defer runtime.UnlockOSThread()
			made.Done()
			<-leave
		})
	}
	made.Wait()
	close(leave)
	left.Wait()
}

// confine builds the last walls around the calling thread. What it starts has them as well.
func (o *Order) confine(own int) error {
	// Nobody in the jail can look into the launcher, nor get hold of the program that it is: not even of a descriptor that
	// could be opened for writing once the program has ended.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("undumpable: %w", err)
	}
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 5) // the server goes first
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if err := landlock(o.Landlock, o.Network, own); err != nil {
		return err
	}
	families := []uint32{unix.AF_UNIX}
	if o.Network {
		families = []uint32{unix.AF_INET, unix.AF_INET6}
		if o.Landlock >= landlockScope { // or sockets of the machine that have no file could be reached
			families = append(families, unix.AF_UNIX)
		}
	}
	return program(families, !o.WatchMemory).install()
}

func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("ambient capabilities: %w", err)
	}
	for c := uintptr(0); ; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); errors.Is(err, unix.EINVAL) && c > unix.CAP_AUDIT_READ {
			break // the kernel has no more
		} else if err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	const locked = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<6 | 1<<7 // NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE, each with its lock
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, locked, 0, 0, 0); err != nil {
		return fmt.Errorf("secure bits: %w", err)
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&head, &none[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	return nil
}

// start starts the command behind the walls.
func (o *Order) start(own int) (pid int, err error) {
	null, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	// One process that wants too much memory is told so, and can say it in its own words; what bounds all of them together is the
	// control group or the watch. A shell sets this limit, because the launcher must not have it, not even for a moment: Go's
	// runtime needs room, and the race detector's more.
	argv := append([]string{"/bin/sh", "-c", `ulimit -d "$0"; exec "$@"`, strconv.FormatInt(o.Memory>>10, 10)}, append(o.Argv, "/run/"+o.Name)...)
	path := argv[0]
	if o.Self != nil {
		argv, path = o.Self, fmt.Sprintf("/proc/self/fd/%d", own)
	}
	pid, err = syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Dir: Workspace, Files: []uintptr{uintptr(null), 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
		Env: []string{
			"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", "HOME=/tmp", "TMPDIR=/tmp", "USER=sandbox", "LANG=C.UTF-8",
			"PWD=" + Workspace, "PYTHONPATH=" + Workspace, "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1",
		},
	})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", argv[0], err)
	}
	return pid, nil
}

// bury waits for the command, and for all that were left to us meanwhile. When it returns, nobody is left.
func bury(command int) (got Outcome, err error) {
	got, err = await(command)
	for err == nil {
		_ = unix.Kill(-1, unix.SIGKILL) // nobody may be there
		var status unix.WaitStatus
		if _, gone := unix.Wait4(-1, &status, 0, nil); errors.Is(gone, unix.ECHILD) {
			return got, nil
		}
	}
	return got, err
}

func await(command int) (Outcome, error) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return Outcome{}, fmt.Errorf("wait: %w", err)
		case pid != command:
		case status.Signaled():
			return Outcome{Code: 128 + int(status.Signal()), Signal: unix.SignalName(status.Signal())}, nil
		default:
			return Outcome{Code: status.ExitStatus()}, nil
		}
	}
}

// obey does what the server wishes later on.
func obey(in *bufio.Reader) {
	for {
		if _, err := in.ReadByte(); err != nil {
			leave(2) // the server is gone, and so are we all
		}
		_ = unix.Kill(-1, unix.SIGTERM)
	}
}
