//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/sandbox/internal/jail"
)

// Sandbox makes jails. It is safe for concurrent use.
type Sandbox struct {
	opt      Options
	landlock int
	groups   groups
	// stranger is the user that commands really run as, if this process is root: one that has nothing on this machine. files
	// is a user namespace in which our files are the stranger's. Zero and nil: commands run as our own user.
	stranger int
	files    *os.File

	reserve *reserve
	burials burials
}

// strangerID is between the users that systems give out and nobody.
const strangerID = 65533

// prepare looks at what the system offers.
func prepare(opt Options) *Sandbox {
	s := &Sandbox{opt: opt.withDefaults(), landlock: jail.LandlockVersion(), groups: findGroups(), reserve: newReserve()}
	if os.Geteuid() == 0 {
		if files, err := userNamespace(strangerID); err == nil {
			s.stranger, s.files = strangerID, files
		}
	}
	return s
}

// userNamespace makes one in which our user and group are called like somebody else.
func userNamespace(id int) (*os.File, error) {
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{jail.AsNobody}, Env: []string{}, SysProcAttr: &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: id, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: id, Size: 1}},
	}}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", cmd.Process.Pid))
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	return ns, err
}

// Tools are bash and, where there is an interpreter for it, python.
func (s *Sandbox) Tools() []tool.Tool { return tools(s, s.opt) }

// String names the walls.
func (s *Sandbox) String() string {
	walls := []string{"namespaces", "seccomp"}
	if s.landlock > 0 {
		walls = append(walls, fmt.Sprintf("Landlock %d", s.landlock))
	}
	version := "1"
	if s.groups.unified {
		version = "2"
	}
	switch g := s.groups; {
	case g.memory != "" && g.pids != "":
		walls = append(walls, "control groups "+version)
	case g.memory != "":
		walls = append(walls, "control group "+version+" for memory")
	case g.pids != "":
		walls = append(walls, "control group "+version+" for processes")
	}
	if s.stranger != 0 {
		walls = append(walls, fmt.Sprintf("user %d", s.stranger))
	}
	network := "no network"
	if s.opt.Network {
		network = "the machine's network"
	}
	return strings.Join(walls, ", ") + "; " + network
}

// Close lets go of what the sandbox holds. Commands must have ended.
func (s *Sandbox) Close() error {
	err := errors.Join(s.burials.wait(), s.reserve.close())
	if s.files != nil {
		err = errors.Join(err, s.files.Close())
	}
	return err
}

// run runs a command in a jail of its own.
func (s *Sandbox) run(ctx context.Context, c command, out func([]byte)) (outcome, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.opt.Wall, errLate)
	defer cancel()
	w, err := newWarden(c.folder, s.opt)
	if err != nil {
		return outcome{}, err
	}
	inside, err := s.open(c, w.fileSize())
	if err != nil {
		return outcome{}, fmt.Errorf("make a sandbox: %w", err)
	}
	// The next launcher is made while the command runs: whoever runs one mostly runs another soon.
	s.reserve.fill(func() (*cell, error) { return s.start(inside.foreign) })
	why := w.guard(ctx, inside.stop, func() string { return pour(inside.output, out, inside.kill) })
	return inside.end(s.opt, why, s.burials.add)
}

// burials are the ends of jails whose commands have ended.
type burials struct {
	under sync.WaitGroup
	mu    sync.Mutex
	wrong []error
}

func (b *burials) add(bury func() error) {
	b.under.Go(func() {
		if err := bury(); err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.wrong = append(b.wrong, err)
		}
	})
}

// wait returns when all are done, and tells what went wrong.
func (b *burials) wait() error {
	b.under.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return errors.Join(b.wrong...)
}

// open tells a launcher what to do: the one that waits, or a new one.
func (s *Sandbox) open(c command, fileSize int64) (*cell, error) {
	binds, folders, foreign, err := s.binds(c.folder)
	defer func() {
		for _, f := range folders {
			f.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	o := jail.Order{
		Argv: c.argv, Name: c.name, Script: c.script, Self: c.self, Binds: binds, Landlock: s.landlock,
		Memory: s.opt.Memory, Processes: s.opt.Processes, CPU: s.opt.CPU, FileSize: fileSize,
		WatchMemory: s.groups.memory == "", WatchProcesses: s.groups.pids == "",
	}
	if cell := s.reserve.take(foreign); cell != nil {
		if cell.tell(o, folders) == nil {
			return cell, nil
		}
		_ = cell.discard() // it died while it waited
	}
	cell, err := s.start(foreign)
	if err != nil {
		return nil, err
	}
	if err := cell.tell(o, folders); err != nil {
		return nil, errors.Join(err, cell.discard())
	}
	return cell, nil
}

// binds opens the folders of the thread. If this process is root, they are shown to the stranger as his own, where the file
// system can do that; else commands run as our own user.
func (s *Sandbox) binds(folder *os.Root) (binds []jail.Bind, folders []*os.File, foreign bool, err error) {
	foreign = s.files != nil
	for i, area := range areas {
		dir, err := openArea(folder, area)
		if err != nil {
			return nil, folders, false, err
		}
		folders = append(folders, dir)
		var st unix.Stat_t
		if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
			return nil, folders, false, err
		}
		path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
		if err != nil {
			return nil, folders, false, err
		}
		binds = append(binds, jail.Bind{FD: -1, Path: path, Dev: uint64(st.Dev), Ino: st.Ino, Target: mountPoint(area), ReadOnly: area == uploadsArea})
		foreign = foreign && s.give(&binds[i], folders, i)
	}
	if !foreign {
		for i := range binds {
			binds[i].FD = -1
		}
	}
	return binds, folders, foreign, nil
}

// give makes a mount of a folder in which our files are the stranger's, and puts it in the folder's place.
func (s *Sandbox) give(b *jail.Bind, folders []*os.File, i int) bool {
	fd, err := unix.OpenTree(int(folders[i].Fd()), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return false
	}
	attr := uint64(jail.PlainMount)
	if b.ReadOnly {
		attr = jail.FixedMount
	}
	err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: attr | unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(s.files.Fd())})
	if err != nil {
		unix.Close(fd)
		return false
	}
	folders[i].Close()
	folders[i] = os.NewFile(uintptr(fd), b.Target)
	b.FD = i
	return true
}

// where is an interpreter in the folders that commands see.
func (*Sandbox) where(interpreter string) string {
	for _, dir := range []string{"/usr/local/bin/", "/usr/bin/", "/bin/"} {
		if unix.Access(dir+interpreter, unix.X_OK) == nil {
			return dir + interpreter
		}
	}
	return ""
}
