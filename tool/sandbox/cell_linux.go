//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tributary-ai/tributary/tool/sandbox/internal/jail"
)

// cell is one jail, from the start of its launcher until nothing of it is left.
type cell struct {
	cmd     *exec.Cmd
	order   *os.File // a socket for the launcher's orders; closing it ends everything
	report  *os.File
	output  *os.File
	group   *group
	foreign bool // it runs as the stranger
}

// start starts a launcher, which then waits to be told what to do.
func (s *Sandbox) start(foreign bool) (_ *cell, err error) {
	var theirs, ours []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
		if err != nil {
			for _, f := range ours {
				f.Close()
			}
		}
	}()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs = append(ours, os.NewFile(uintptr(pair[0]), "order")), append(theirs, os.NewFile(uintptr(pair[1]), "order"))
	for range 2 { // report and output
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		ours, theirs = append(ours, r), append(theirs, w)
	}
	c := &cell{order: ours[0], report: ours[1], output: ours[2], foreign: foreign}
	told, err := json.Marshal(jail.Setup{Network: s.opt.Network, Scratch: s.opt.Scratch})
	if err != nil {
		return nil, err
	}
	c.cmd = &exec.Cmd{
		// For Go's runtime: the launcher needs little, and a runtime that prepares for less starts sooner. Commands get an environment
		// of their own.
		Path: "/proc/self/exe", Args: []string{jail.AsLauncher, string(told)}, Env: []string{"GOGC=off", "GOMAXPROCS=1"}, Dir: "/", Stdout: theirs[2], Stderr: theirs[2],
		ExtraFiles: theirs[:2], SysProcAttr: s.attributes(foreign),
	}
	if c.group, err = s.groups.open(s.opt.Memory, s.opt.Processes); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, errors.Join(explainStart(err, foreign), c.group.close())
	}
	if err := c.group.add(c.cmd.Process.Pid); err != nil {
		c.kill()
		return nil, errors.Join(err, c.cmd.Wait(), c.group.close())
	}
	return c, nil
}

// tell gives the launcher its order, with the folders that it names.
func (c *cell) tell(o jail.Order, folders []*os.File) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	var rights []int
	for i, b := range o.Binds {
		if b.FD >= 0 {
			rights = append(rights, int(folders[i].Fd()))
		}
	}
	var with []byte
	if rights != nil {
		with = unix.UnixRights(rights...)
	}
	if err := unix.Sendmsg(int(c.order.Fd()), []byte{'\n'}, with, nil, unix.MSG_NOSIGNAL); err != nil {
		return err
	}
	_, err = c.order.Write(append(text, '\n'))
	return err
}

// discard ends a jail that has nothing to say.
func (c *cell) discard() error {
	c.kill()
	_ = c.cmd.Wait() // it was killed
	return errors.Join(c.group.close(), c.close())
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
		UidMappings: []syscall.SysProcIDMap{{ContainerID: jail.InsideID, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: jail.InsideID, HostID: os.Getegid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_PTRACE, unix.CAP_SYS_RESOURCE},
		Setsid:      true,
	}
	if s.opt.Network {
		attr.Cloneflags &^= syscall.CLONE_NEWNET
	}
	if foreign {
		attr.UidMappings[0].HostID, attr.GidMappings[0].HostID = s.stranger, s.stranger
		attr.GidMappingsEnableSetgroups = true // to have none
		attr.Credential = &syscall.Credential{Uid: jail.InsideID, Gid: jail.InsideID}
	}
	return attr
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

// end waits until nothing of the command is left, and tells what became of it. The launcher says so itself when it has buried everybody;
// then later does what remains: the launcher's own end, on which the kernel takes its jail apart, and the control group.
func (c *cell) end(opt Options, why string, later func(bury func() error)) (outcome, error) {
	text, err := io.ReadAll(io.LimitReader(c.report, 1<<20))
	silent := len(bytes.TrimSpace(text)) == 0
	if silent {
		_ = c.cmd.Wait() // nobody has said that the others are dead; with it they are
	}
	starved := c.group.starved()
	if silent {
		err = errors.Join(err, c.group.close(), c.close())
	} else {
		later(func() error {
			_ = c.cmd.Wait() // what it had to say is in the report
			return errors.Join(c.group.close(), c.close())
		})
	}
	var r jail.Report
	switch {
	case silent && (why != "" || starved): // we ended it, or the system did, and it had no time to report
		r.Outcome = jail.Outcome{Code: 137, Signal: "SIGKILL"}
	case silent:
		return outcome{}, errors.Join(err, errors.New("the sandbox broke down before the command had ended"))
	default:
		if bad := json.Unmarshal(text, &r); bad != nil {
			return outcome{}, errors.Join(err, fmt.Errorf("what the sandbox reported: %w", bad))
		}
	}
	if r.Error != "" {
		return outcome{}, errors.Join(err, errors.New(r.Error))
	}
	if why != "" {
		r.Why = why
	}
	if starved && r.Why == "" {
		r.Why = jail.TooMuch(opt.Memory)
	}
	return outcome(r.Outcome), err
}
