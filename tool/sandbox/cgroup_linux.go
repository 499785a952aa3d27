//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tributary-ai/tributary/tool/sandbox/internal/jail"
)

// groups are the places in which control groups can be made. Each is empty where that is not allowed.
type groups struct {
	memory, pids string
	unified      bool // the second version: one tree for both, with other names
}

const groupPrefix = "tributary-sandbox-"

// findGroups looks where this process may make control groups, by making one.
func findGroups() (g groups) {
	own, _ := os.ReadFile("/proc/self/cgroup")
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	trees := groupTrees(string(mounts))
	for line := range strings.Lines(string(own)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for _, controller := range strings.Split(parts[1], ",") {
			where := filepath.Join(trees[controller], parts[2])
			switch {
			case trees[controller] == "":
			case controller == "memory" && works(where, "memory.limit_in_bytes"):
				g.memory = where
			case controller == "pids" && works(where, "pids.max"):
				g.pids = where
			case controller == "" && g == groups{}: // the second version; a process that is in a group keeps it from having others, so the one above may do
				for _, dir := range []string{where, filepath.Dir(where)} {
					if strings.HasPrefix(dir, trees[""]) && works(dir, "memory.max", "pids.max") {
						g = groups{memory: dir, pids: dir, unified: true}
						break
					}
				}
			}
		}
	}
	return g
}

// groupTrees are the folders at which the trees of control groups are mounted, by controller; "" for the second version.
func groupTrees(mountinfo string) map[string]string {
	trees := map[string]string{}
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(strings.TrimSpace(line), " - ")
		at, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(at) < 5 || len(kind) < 3 || at[3] != "/" {
			continue
		}
		switch kind[0] {
		case "cgroup2":
			trees[""] = at[4]
		case "cgroup":
			for _, controller := range strings.Split(kind[2], ",") {
				trees[controller] = at[4]
			}
		}
	}
	return trees
}

// works tries to make a group that has these files, and takes it away again. It also takes away what a process that died
// has left.
func works(dir string, files ...string) bool {
	if filepath.Base(files[0]) == "memory.max" {
		_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+memory +pids"), 0)
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		left, ok := strings.CutPrefix(e.Name(), groupPrefix)
		pid, err := strconv.Atoi(strings.SplitN(left, "-", 2)[0])
		if ok && err == nil && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			_ = unix.Rmdir(filepath.Join(dir, e.Name()))
		}
	}
	group := filepath.Join(dir, groupName())
	if unix.Mkdir(group, 0o755) != nil {
		return false
	}
	defer func() { _ = unix.Rmdir(group) }()
	for _, f := range files {
		if unix.Access(filepath.Join(group, f), unix.W_OK) != nil {
			return false
		}
	}
	return unix.Access(filepath.Join(group, "cgroup.procs"), unix.W_OK) == nil
}

func groupName() string { return fmt.Sprintf("%s%d-%s", groupPrefix, os.Getpid(), rand.Text()[:8]) }

// group is the control group of one command, in one tree or in two.
type group struct {
	groups
	dirs []string
}

// open makes a group with limits.
func (g groups) open(memory int64, processes int) (*group, error) {
	made := &group{groups: g}
	name := groupName()
	for _, dir := range []*string{&made.memory, &made.pids} {
		if *dir == "" {
			continue
		}
		*dir = filepath.Join(*dir, name)
		if len(made.dirs) == 1 && g.unified {
			continue
		}
		if err := unix.Mkdir(*dir, 0o755); err != nil {
			return nil, errors.Join(fmt.Errorf("control group %s: %w", *dir, err), made.close())
		}
		made.dirs = append(made.dirs, *dir)
	}
	bytes := strconv.FormatInt(memory, 10)
	var err error
	switch {
	case g.memory == "":
	case g.unified:
		err = made.set(made.memory, "memory.max", bytes)
		_ = made.set(made.memory, "memory.swap.max", "0") // not there without swap
		_ = made.set(made.memory, "memory.oom.group", "0")
	default:
		err = made.set(made.memory, "memory.limit_in_bytes", bytes)
		_ = made.set(made.memory, "memory.memsw.limit_in_bytes", bytes)
	}
	if g.pids != "" {
		err = errors.Join(err, made.set(made.pids, "pids.max", strconv.Itoa(processes+jail.Spare)))
	}
	if err != nil {
		return nil, errors.Join(err, made.close())
	}
	return made, nil
}

func (g *group) set(dir, file, value string) error {
	if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0); err != nil {
		return fmt.Errorf("control group: %w", err)
	}
	return nil
}

// add puts a process into the group; what it starts later is in it too.
func (g *group) add(pid int) error {
	for _, dir := range g.dirs {
		if err := g.set(dir, "cgroup.procs", strconv.Itoa(pid)); err != nil {
			return err
		}
	}
	return nil
}

// starved says which limit somebody was killed for.
func (g *group) starved() bool {
	if g.memory == "" {
		return false
	}
	file := "memory.oom_control"
	if g.unified {
		file = "memory.events"
	}
	raw, _ := os.ReadFile(filepath.Join(g.memory, file))
	for line := range bytes.Lines(raw) {
		if n, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("oom_kill ")); ok {
			return string(n) != "0"
		}
	}
	return false
}

// close takes the group away. Its processes are dead, but the kernel may need a moment to notice.
func (g *group) close() error {
	var errs []error
	for _, dir := range g.dirs {
		var err error
		for range 100 {
			if err = unix.Rmdir(dir); !errors.Is(err, unix.EBUSY) {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("control group %s: %w", dir, err))
		}
	}
	return errors.Join(errs...)
}
