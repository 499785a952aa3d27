// Package sandbox lets a model run code: the tools bash and python, in a jail of our own making.
//
// Each command gets a new jail, which is gone with all that ran in it when the command ends. The jail is made by this
// program itself, started once more: Linux namespaces (user, processes, network, mounts, IPC, host name, control groups), a
// small root file system in memory, an empty environment, no capabilities, resource limits, a seccomp filter, and Landlock
// and control groups where the system has them. Nothing needs to be installed, and it works as root and as anybody else.
//
// Laws:
//
//   - A command sees /usr and what it takes to run it, read-only; its own /tmp; and the three folders of its thread, under
//     the names of package files: workspace and outputs to write, uploads to read. Nothing else of the machine is there.
//   - There is no network, unless [Options.Network] says so.
//   - When a call returns, nothing of its command runs any more, whatever it started. The same holds if this process dies.
//   - Memory, processes, processor time, time, output and what is left in the folder are bounded; a command that goes beyond
//     ends, and the result says why.
//   - No set-user-id or set-group-id file can be made.
//   - Code runs in a jail that was tried first: [Open] attacks it from inside, and fails if an attack succeeds. There is no
//     way from a failed Open to running code. [Plain], which has no jail, is something that a program must ask for by name.
//   - The result has what was written to standard output and standard error in the order in which it was written: the
//     beginning and the end of it, if it is long, and the exit code. People see it grow while the command runs.
//   - Files that a command leaves in outputs, or changes there, become artifacts.
//
// What the jail does not hide: the processor and the kernel's version, the names of mounted file systems and where on them
// the thread's folder is (/proc/self/mountinfo), and how busy the machine is. What it cannot withstand: a hole in the kernel.
package sandbox

import (
	"context"
	"os"
	"time"
)

// Group is the group of the tools.
const Group = "code"

// Options are the limits of each command. Zero is the default.
type Options struct {
	// Network gives commands the network of this machine, its loopback and the private networks around it included.
	Network bool
	// Memory bounds what all processes of a command hold together, in bytes; default 512 MiB.
	Memory int64
	// Processes bounds how many there may be at a time, threads included; default 128.
	Processes int
	// CPU bounds the processor time of each process; default 5 minutes.
	CPU time.Duration
	// Wall bounds the time that a command takes; default 10 minutes.
	Wall time.Duration
	// Scratch is the size of /tmp, in bytes; default 64 MiB. It is held in memory.
	Scratch int64
	// Bytes and Files bound what the thread's folder may hold. A command that goes beyond is ended. Zero or less: no limit.
	Bytes int64
	Files int
}

func (o Options) withDefaults() Options {
	if o.Memory <= 0 {
		o.Memory = 512 << 20
	}
	if o.Processes <= 0 {
		o.Processes = 128
	}
	if o.CPU <= 0 {
		o.CPU = 5 * time.Minute
	}
	if o.Wall <= 0 {
		o.Wall = 10 * time.Minute
	}
	if o.Scratch <= 0 {
		o.Scratch = 64 << 20
	}
	return o
}

// Grace is how long a command has to end by itself once it was told to.
const Grace = 2 * time.Second

// runner runs commands: a jail, or none.
type runner interface {
	// run runs a script and hands on what it writes. The error is about the jail; what becomes of the command is the outcome.
	run(ctx context.Context, c command, out func([]byte)) (outcome, error)
	// where is an interpreter, as commands know it; empty if there is none.
	where(interpreter string) string
}

// command is one script in one folder.
type command struct {
	folder *os.Root
	argv   []string // of the interpreter; the script comes after it
	name   string   // of the script's file
	script string
	self   []string // in place of all this: the own program under another name, for attacks
}

// outcome is how a command ended.
type outcome struct {
	Code   int
	Signal string // that ended it
	Why    string // which limit it met, in words for the model
}
