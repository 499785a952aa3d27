//go:build linux && (amd64 || arm64)

package jail

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// bind is a folder of the thread, as the launcher is told of it.
type Bind struct {
	// FD is a mount that is not attached anywhere yet; below 0 if the launcher has to make it from Path.
	FD int `json:"fd"`
	// Path leads to the folder; Dev and Ino say which folder must be found there.
	Path string `json:"path"`
	Dev  uint64 `json:"dev"`
	Ino  uint64 `json:"ino"`

	Target   string `json:"target"`
	ReadOnly bool   `json:"read_only"`
}

const (
	PlainMount = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	FixedMount = PlainMount | unix.MOUNT_ATTR_RDONLY
)

// root is the root of the jail while it is being made. The mount namespace is ours alone.
type root struct {
	builder
	built bool // all that needs no order is there
}

// build makes what is the same for every command. It needs a folder that can be covered, because nobody else sees it, and below which
// no folder of a thread is; without one nothing is made before there is an order.
func (r *root) build(s Setup) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if info, err := os.Stat("/sys"); err != nil || !info.IsDir() {
		return nil
	}
	r.base = "/sys"
	return r.fill(s)
}

// fill makes the root and puts into it what commands need, but the folders of a thread.
func (r *root) fill(s Setup) error {
	resolv, _ := filepath.EvalSymlinks("/etc/resolv.conf")
	if err := unix.Mount("tmpfs", r.base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=4m,nr_inodes=512,mode=755"); err != nil {
		return fmt.Errorf("root in memory: %w", err)
	}
	r.system()
	r.etc(s.Network, resolv)
	r.dev()
	r.mount("tmpfs", "/tmp", 0, fmt.Sprintf("size=%d,nr_inodes=%d,mode=1777", s.Scratch, max(s.Scratch>>12, 64)))
	r.mount("tmpfs", "/dev/shm", unix.MS_NOEXEC, fmt.Sprintf("size=%d,nr_inodes=1024,mode=1777", s.Scratch))
	r.mount("proc", "/proc", unix.MS_NOEXEC, "")
	for _, area := range Folders {
		r.folder(area)
	}
	r.folder("/run")
	// Two walls against namespaces in namespaces; the other one is the filter. A system that does not let us build this one has
	// still that.
	_ = os.WriteFile(r.base+"/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	_ = os.WriteFile(r.base+"/proc/self/oom_score_adj", []byte("1000"), 0) // if memory runs out, not the server
	r.built = true
	return r.err
}

// finish adds what belongs to an order, and moves the process there.
func (r *root) finish(o *Order) error {
	// Folders of the thread may be below the folder that is about to be covered.
	var trees []int
	for _, b := range o.Binds {
		fd, err := b.tree()
		if err != nil {
			return err
		}
		trees = append(trees, fd)
	}
	if !r.built {
		var err error
		if r.base, err = someFolder(); err != nil {
			return err
		}
		if err := r.fill(o.Setup); err != nil {
			return err
		}
	}
	for i, b := range o.Binds {
		r.attach(trees[i], b.Target)
	}
	if o.Script != "" {
		r.write("/run/"+o.Name, o.Script)
	}
	if r.err != nil {
		return r.err
	}
	return enter(r.base)
}

// someFolder is one that can be covered: nobody else sees it.
func someFolder() (string, error) {
	for _, dir := range []string{"/tmp", "/var/tmp", "/mnt", "/var", "/opt"} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, nil
		}
	}
	return "", errors.New("there is no folder /tmp to build the jail on")
}

// enter makes base the root, lets go of the old one, and fixes what is not to be written.
func enter(base string) error {
	if err := os.Chdir(base); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	for _, fixed := range []string{"/", "/proc"} {
		if err := unix.MountSetattr(unix.AT_FDCWD, fixed, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fmt.Errorf("fix %s: %w", fixed, err)
		}
	}
	return nil
}

// tree is the bind as a mount that is not attached yet.
func (b Bind) tree() (int, error) {
	if b.FD >= 0 {
		return b.FD, nil
	}
	fd, err := unix.Open(b.Path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("folder of the thread: %w", err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return -1, err
	}
	if uint64(st.Dev) != b.Dev || st.Ino != b.Ino {
		return -1, errors.New("folder of the thread: another folder is in its place")
	}
	attr := uint64(PlainMount)
	if b.ReadOnly {
		attr = FixedMount
	}
	return cloneTree(fd, "", unix.AT_EMPTY_PATH, attr)
}

// cloneTree copies a mount, with attributes added.
func cloneTree(dir int, path string, flags uint, attr uint64) (int, error) {
	fd, err := unix.OpenTree(dir, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|flags)
	if err != nil {
		return -1, fmt.Errorf("open_tree %s: %w", path, err)
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attr}); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("mount_setattr %s: %w", path, err)
	}
	return fd, nil
}

// builder fills the new root. After an error it does nothing more.
type builder struct {
	base string
	err  error
}

func (b *builder) note(err error) {
	if b.err == nil && err != nil {
		b.err = err
	}
}

func (b *builder) folder(path string) {
	if b.err == nil {
		b.note(os.MkdirAll(b.base+path, 0o755))
	}
}

func (b *builder) write(path, content string) {
	b.folder(filepath.Dir(path))
	if b.err == nil {
		b.note(os.WriteFile(b.base+path, []byte(content), 0o644))
	}
}

func (b *builder) link(to, path string) {
	if b.err == nil {
		b.note(os.Symlink(to, b.base+path))
	}
}

func (b *builder) mount(kind, path string, flags uintptr, data string) {
	b.folder(path)
	if b.err != nil {
		return
	}
	if err := unix.Mount(kind, b.base+path, kind, unix.MS_NOSUID|unix.MS_NODEV|flags, data); err != nil {
		b.note(fmt.Errorf("mount %s: %w", path, err))
	}
}

// attach puts a mount on a path that is there.
func (b *builder) attach(fd int, path string) {
	if b.err != nil {
		return
	}
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, b.base+path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		b.note(fmt.Errorf("attach %s: %w", path, err))
	}
	b.note(unix.Close(fd))
}

// show makes a file or a folder of the machine visible under the same name, if there is one.
func (b *builder) show(path string, attr uint64) {
	if b.err != nil {
		return
	}
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	if info.IsDir() {
		b.folder(path)
	} else {
		b.write(path, "")
	}
	fd, err := cloneTree(unix.AT_FDCWD, path, 0, attr)
	if err != nil {
		b.note(err)
		return
	}
	b.attach(fd, path)
}

// system is what programs are made of.
func (b *builder) system() {
	b.show("/usr", FixedMount)
	for _, path := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		info, err := os.Lstat(path)
		switch {
		case err != nil:
		case info.Mode()&os.ModeSymlink != 0:
			to, err := os.Readlink(path)
			b.note(err)
			b.link(to, path)
		default:
			b.show(path, FixedMount)
		}
	}
}

// etc is as little as programs can do with.
func (b *builder) etc(network bool, resolv string) {
	b.write("/etc/passwd", fmt.Sprintf("sandbox:x:%d:%d:sandbox:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n", InsideID, InsideID))
	b.write("/etc/group", fmt.Sprintf("sandbox:x:%d:\nnogroup:x:65534:\n", InsideID))
	b.write("/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n")
	b.write("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n")
	b.show("/etc/ld.so.cache", FixedMount)
	b.show("/etc/alternatives", FixedMount)
	if !network {
		return
	}
	b.show("/etc/ssl/certs", FixedMount)
	b.show("/etc/pki/tls/certs", FixedMount)
	b.show("/etc/ca-certificates", FixedMount)
	if text, err := os.ReadFile(resolv); err == nil {
		b.write("/etc/resolv.conf", string(text))
	}
}

// dev has the devices that hold nothing.
func (b *builder) dev() {
	for _, name := range []string{"null", "zero", "full", "random", "urandom"} {
		b.show("/dev/"+name, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC)
	}
	b.link("/proc/self/fd", "/dev/fd")
	for i, name := range strings.Fields("stdin stdout stderr") {
		b.link(fmt.Sprintf("/proc/self/fd/%d", i), "/dev/"+name)
	}
}
