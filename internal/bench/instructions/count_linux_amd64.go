package instructions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"
)

const (
	wall     = 0x40000000 // __WALL: threads too
	mine     = 0x20000000 // __WNOTHREAD: children of this thread only, so that nobody else's are reaped
	exitKill = 0x00100000 // PTRACE_O_EXITKILL: no tracee outlives its tracer
)

// Count runs a program and returns how many instructions it executed between Begin and End. The program is ended there.
func Count(ctx context.Context, path string, args ...string) (int, error) {
	// A process is traced by the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer oneCPU()()

	var stderr bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stderr = &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, syscall.EPERM) {
			return 0, fmt.Errorf("%w: tracing a child is forbidden: %w", ErrUnsupported, err)
		}
		return 0, err
	}
	t := &tracee{pid: cmd.Process.Pid, threads: map[int]bool{cmd.Process.Pid: true}}
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(t.pid, syscall.SIGKILL) }) // wakes whoever waits for it
	n, err := t.count()
	stop()
	_ = syscall.Kill(t.pid, syscall.SIGKILL) // it may have ended
	for !t.gone {
		if _, _, waitErr := t.wait(-1); waitErr != nil {
			break
		}
	}
	_ = cmd.Wait() // reaps it if we did not, and ends the copying of what it said
	switch {
	case ctx.Err() != nil:
		return 0, fmt.Errorf("%s %v: %w", path, args, ctx.Err())
	case err != nil:
		return 0, fmt.Errorf("%s %v: %w: %s", path, args, err, stderr.Bytes())
	}
	return n, nil
}

// oneCPU keeps this thread, and what it starts, on one CPU: a step is two changes from one process to the other, and those
// are far cheaper within a CPU. The returned function undoes it.
func oneCPU() func() {
	var had, one [16]uint64 // 1024 CPUs
	size := unsafe.Sizeof(had)
	if _, _, err := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, size, uintptr(unsafe.Pointer(&had))); err != 0 {
		return func() {}
	}
	for i, word := range had {
		if word != 0 {
			one[i] = word & -word
			break
		}
	}
	set := func(mask *[16]uint64) {
		// Where it is not allowed, counting is slower and no less right.
		_, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, size, uintptr(unsafe.Pointer(mask)))
	}
	set(&one)
	return func() { set(&had) }
}

// tracee is a process that is traced.
type tracee struct {
	pid     int
	threads map[int]bool // alive
	gone    bool
}

var errEnded = errors.New("it ended before it reached the end of what is counted")

// wait waits for a thread to stop; -1 for any.
func (t *tracee) wait(which int) (tid int, status syscall.WaitStatus, err error) {
	for {
		tid, err = syscall.Wait4(which, &status, wall|mine, nil)
		if err == syscall.EINTR {
			continue
		}
		if err == nil && (status.Exited() || status.Signaled()) {
			delete(t.threads, tid)
			t.gone = t.gone || tid == t.pid
		}
		return tid, status, err
	}
}

func (t *tracee) count() (int, error) {
	// It stands at its first instruction.
	if err := t.first(); err != nil {
		return 0, err
	}
	tid, err := t.begin()
	if err != nil {
		return 0, err
	}
	if err := t.freeze(tid); err != nil {
		return 0, err
	}
	return t.steps(tid)
}

func (t *tracee) first() error {
	_, status, err := t.wait(t.pid)
	if err != nil {
		return fmt.Errorf("wait: %w", err)
	}
	if !status.Stopped() {
		return errEnded
	}
	if err := syscall.PtraceSetOptions(t.pid, syscall.PTRACE_O_TRACECLONE|exitKill); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return syscall.PtraceCont(t.pid, 0)
}

// begin lets the process run until a thread reaches Begin.
func (t *tracee) begin() (int, error) {
	for {
		tid, status, err := t.wait(-1)
		switch {
		case err != nil:
			return 0, fmt.Errorf("wait: %w", err)
		case t.gone:
			return 0, errEnded
		case !status.Stopped():
			continue
		}
		t.threads[tid] = true
		if status.StopSignal() == syscall.SIGTRAP && status.TrapCause() == 0 {
			return tid, nil
		}
		if err := syscall.PtraceCont(tid, passedOn(status)); err != nil && err != syscall.ESRCH {
			return 0, err
		}
	}
}

// passedOn is the signal that a thread gets when it goes on: not those that only stop it for us.
func passedOn(status syscall.WaitStatus) int {
	switch sig := status.StopSignal(); sig {
	case syscall.SIGTRAP, syscall.SIGSTOP, endSignal:
		return 0
	default:
		return int(sig)
	}
}

// freeze stops all other threads for good.
func (t *tracee) freeze(but int) error {
	frozen := map[int]bool{but: true}
	for {
		var running []int
		for tid := range t.threads {
			if !frozen[tid] {
				running = append(running, tid)
			}
		}
		if len(running) == 0 {
			return nil
		}
		for _, tid := range running {
			if _, _, errno := syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(t.pid), uintptr(tid), uintptr(syscall.SIGSTOP)); errno == syscall.ESRCH {
				delete(t.threads, tid)
				continue
			}
			// Whatever stops it, it is not told to go on. A thread that it was just making stands at its first instruction.
			_, status, err := t.wait(tid)
			if err != nil && err != syscall.ECHILD {
				return fmt.Errorf("wait: %w", err)
			}
			if err == nil && status.Stopped() && status.TrapCause() == syscall.PTRACE_EVENT_CLONE {
				if child, err := syscall.PtraceGetEventMsg(tid); err == nil {
					t.threads[int(child)] = true
				}
			}
			frozen[tid] = true
		}
	}
}

// steps counts until the thread reaches End.
func (t *tracee) steps(tid int) (int, error) {
	for n := 0; ; n++ {
		if err := syscall.PtraceSingleStep(tid); err != nil {
			return 0, fmt.Errorf("step: %w", err)
		}
		_, status, err := t.wait(tid)
		switch {
		case err != nil:
			return 0, fmt.Errorf("wait: %w", err)
		case !status.Stopped():
			return 0, errEnded
		case status.StopSignal() == endSignal:
			return n, nil
		case status.StopSignal() != syscall.SIGTRAP:
			return 0, fmt.Errorf("it was stopped by %v", status.StopSignal())
		}
	}
}
