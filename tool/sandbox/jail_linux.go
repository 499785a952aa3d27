//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tributary-ai/tributary/tool"
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
}

// strangerID is between the users that systems give out and nobody.
const strangerID = 65533

// prepare looks at what the system offers.
func prepare(opt Options) *Sandbox {
	s := &Sandbox{opt: opt.withDefaults(), landlock: landlockVersion(), groups: findGroups()}
	if os.Geteuid() == 0 {
		if files, err := userNamespace(strangerID); err == nil {
			s.stranger, s.files = strangerID, files
		}
	}
	return s
}

// userNamespace makes one in which our user and group are called like somebody else.
func userNamespace(id int) (*os.File, error) {
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{asNobody}, Env: []string{}, SysProcAttr: &syscall.SysProcAttr{
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
	if s.files != nil {
		return s.files.Close()
	}
	return nil
}

// cell is one jail while it is used.
type cell struct {
	cmd     *exec.Cmd
	order   *os.File // the launcher's orders; closing it ends everything
	report  *os.File
	output  *os.File
	group   *group
	foreign bool // it runs as the stranger
}

func (s *Sandbox) run(ctx context.Context, c command, out func([]byte)) (outcome, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.opt.Wall, errLate)
	defer cancel()
	w, err := newWarden(c.folder, s.opt)
	if err != nil {
		return outcome{}, err
	}
	cell, err := s.open(c, w.fileSize())
	if err != nil {
		return outcome{}, fmt.Errorf("make a sandbox: %w", err)
	}
	why := w.guard(ctx, cell.stop, func() string { return pour(cell.output, out, cell.kill) })
	return cell.end(s.opt, why)
}

// open starts a launcher and tells it what to do.
func (s *Sandbox) open(c command, fileSize int64) (_ *cell, err error) {
	var opened []*os.File
	defer func() {
		for _, f := range opened {
			f.Close()
		}
	}()
	keep := func(f *os.File) *os.File { opened = append(opened, f); return f }

	binds, folders, foreign, err := s.binds(c.folder)
	for _, f := range folders {
		keep(f)
	}
	if err != nil {
		return nil, err
	}
	orderR, orderW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	keep(orderR)
	reportR, reportW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, orderW.Close())
	}
	keep(reportW)
	outputR, outputW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, orderW.Close(), reportR.Close())
	}
	keep(outputW)

	cell := &cell{order: orderW, report: reportR, output: outputR, foreign: foreign}
	cell.cmd = &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{asLauncher}, Env: []string{}, Dir: "/", Stdout: outputW, Stderr: outputW,
		ExtraFiles: append([]*os.File{orderR, reportW}, folders...), SysProcAttr: s.attributes(foreign),
	}
	if cell.group, err = s.groups.open(s.opt.Memory, s.opt.Processes); err != nil {
		return nil, errors.Join(err, cell.close())
	}
	if err := cell.cmd.Start(); err != nil {
		return nil, errors.Join(explainStart(err, foreign), cell.group.close(), cell.close())
	}
	err = cell.group.add(cell.cmd.Process.Pid)
	if err == nil {
		err = json.NewEncoder(orderW).Encode(order{
			Argv: c.argv, Name: c.name, Script: c.script, Self: c.self, Binds: binds, Network: s.opt.Network, Landlock: s.landlock,
			Memory: s.opt.Memory, Processes: s.opt.Processes, CPU: s.opt.CPU, Scratch: s.opt.Scratch, FileSize: fileSize,
			WatchMemory: s.groups.memory == "", WatchProcesses: s.groups.pids == "",
		})
	}
	if err != nil {
		cell.kill()
		_, end := cell.end(s.opt, "")
		return nil, errors.Join(err, end)
	}
	return cell, nil
}

// explainStart says what a person can do about a launcher that does not start.
func explainStart(err error, foreign bool) error {
	switch {
	case errors.Is(err, unix.EACCES) && foreign:
		return fmt.Errorf("user %d cannot start this program (%w); make its file readable and executable for everybody", strangerID, err)
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EINVAL), errors.Is(err, unix.EACCES):
		return fmt.Errorf("the system does not let us make namespaces (%w); see sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns, or the container's seccomp profile", err)
	}
	return err
}

// attributes are those of the launcher: in namespaces of its own, with what it needs to build the rest.
func (s *Sandbox) attributes(foreign bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS |
			syscall.CLONE_NEWNET | unix.CLONE_NEWCGROUP,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: insideID, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: insideID, HostID: os.Getegid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_PTRACE, unix.CAP_SYS_RESOURCE},
		Setsid:      true,
	}
	if s.opt.Network {
		attr.Cloneflags &^= syscall.CLONE_NEWNET
	}
	if foreign {
		attr.UidMappings[0].HostID, attr.GidMappings[0].HostID = s.stranger, s.stranger
		attr.GidMappingsEnableSetgroups = true // to have none
		attr.Credential = &syscall.Credential{Uid: insideID, Gid: insideID}
	}
	return attr
}

// binds opens the folders of the thread. If this process is root, they are shown to the stranger as his own, where the file
// system can do that; else commands run as our own user.
func (s *Sandbox) binds(folder *os.Root) (binds []bind, folders []*os.File, foreign bool, err error) {
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
		binds = append(binds, bind{FD: -1, Path: path, Dev: uint64(st.Dev), Ino: st.Ino, Target: mountPoint(area), ReadOnly: area == uploadsArea})
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
func (s *Sandbox) give(b *bind, folders []*os.File, i int) bool {
	fd, err := unix.OpenTree(int(folders[i].Fd()), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return false
	}
	attr := uint64(plainMount)
	if b.ReadOnly {
		attr = fixedMount
	}
	err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: attr | unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(s.files.Fd())})
	if err != nil {
		unix.Close(fd)
		return false
	}
	folders[i].Close()
	folders[i] = os.NewFile(uintptr(fd), b.Target)
	b.FD = firstFD + i
	return true
}

// stop asks all processes of the jail to end; those that are still there after [Grace] are killed.
func (c *cell) stop() (kill *time.Timer) {
	_, _ = c.order.Write([]byte{'.'}) // it may be gone already
	return time.AfterFunc(Grace, c.kill)
}

// kill ends all processes of the jail, with the first of them.
func (c *cell) kill() { _ = c.cmd.Process.Kill() }

func (c *cell) close() error {
	return errors.Join(c.order.Close(), c.report.Close(), c.output.Close())
}

// end waits until nothing of the jail is left, and tells what became of the command.
func (c *cell) end(opt Options, why string) (outcome, error) {
	text, readErr := io.ReadAll(io.LimitReader(c.report, 1<<20))
	_ = c.cmd.Wait() // what it has to say is in the report
	starved := c.group.starved()
	err := errors.Join(readErr, c.group.close(), c.close())
	var r report
	switch {
	case why != "": // we ended it
		r = report{outcome: outcome{Code: 137, Signal: "SIGKILL"}}
		_ = json.NewDecoder(bytes.NewReader(text)).Decode(&r) // the report may have been cut short
		r.Why = why
	case len(bytes.TrimSpace(text)) == 0 && starved:
		r = report{outcome: outcome{Code: 137, Signal: "SIGKILL"}}
	case len(bytes.TrimSpace(text)) == 0:
		return outcome{}, errors.Join(err, errors.New("the sandbox broke down before the command had ended"))
	default:
		if bad := json.Unmarshal(text, &r); bad != nil {
			return outcome{}, errors.Join(err, fmt.Errorf("what the sandbox reported: %w", bad))
		}
	}
	if r.Error != "" {
		return outcome{}, errors.Join(err, errors.New(r.Error))
	}
	if starved && r.Why == "" {
		r.Why = tooMuch(opt.Memory)
	}
	return r.outcome, err
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
