package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tributary-ai/tributary/internal/checkup"
)

const (
	megabyte = 1 << 20
	// Below these the doctor speaks. A write-ahead log may become 64 megabytes long, and a backup needs as much as the database.
	littleDisk, noDisk = 1024 * megabyte, 100 * megabyte
	littleMemory       = 256 * megabyte
	fewFiles           = 4096
)

func lookAtDisk(c Config, free func(dir string) (bytes, inodes uint64, err error)) []checkup.Finding {
	dir := c.Data
	for { // the first part of the path that is there
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	bytes, inodes, err := free(dir)
	const do = "free some space, or put the data folder on a larger disk"
	switch {
	case err != nil:
		return []checkup.Finding{checkup.Warn("look at the disk by hand", "how much is free cannot be told: %v", err)}
	case bytes < noDisk || inodes < 100:
		return []checkup.Finding{checkup.Bad(do, "the disk of %s is full: %d MB and %d files are free", dir, bytes/megabyte, inodes)}
	case bytes < littleDisk:
		return []checkup.Finding{checkup.Warn(do, "the disk of %s has only %d MB left", dir, bytes/megabyte)}
	}
	return []checkup.Finding{checkup.Well("%d MB are free", bytes/megabyte)}
}

// lookAtClock finds a clock that was set back: what was written then is in the future, and leases and schedules wait for it.
func lookAtClock(ctx context.Context, c Config, now time.Time) []checkup.Finding {
	const do = "set the clock, and have it kept right (NTP)"
	if now.Year() < 2026 {
		return []checkup.Finding{checkup.Bad(do, "the clock says %s, which is before this program was written", now.Format(time.DateTime))}
	}
	h, err := examine(ctx, c)
	if err != nil || h.Newest.IsZero() { // the database has a check of its own
		return []checkup.Finding{checkup.Well("the clock says %s", now.UTC().Format(time.DateOnly))}
	}
	if ahead := h.Newest.Sub(now); ahead > time.Minute {
		return []checkup.Finding{checkup.Bad(do+"; if it is right now, it was wrong before, and what was written then stays in front until its time has come",
			"the newest row of the database is from %s, %v in the future", h.Newest.UTC().Format(time.DateTime), ahead.Round(time.Second))}
	}
	return []checkup.Finding{checkup.Well("the clock says %s, and nothing in the database is from the future", now.UTC().Format(time.DateOnly))}
}

// lookAtMemory tells what the system lets the process have; root is where the system's own files begin.
func lookAtMemory(root string) []checkup.Finding {
	limit, where := memoryLimit(root)
	own := debug.SetMemoryLimit(-1)
	switch {
	case where == "":
		return []checkup.Finding{checkup.Well("no limit is set for this process")}
	case limit < littleMemory:
		return []checkup.Finding{checkup.Warn("give it "+strconv.Itoa(littleMemory/megabyte)+" MB or more", "%s allows %d MB", where, limit/megabyte)}
	case own != math.MaxInt64 && own > limit:
		return []checkup.Finding{checkup.Warn("set GOMEMLIMIT below it, or not at all", "%s allows %d MB, and GOMEMLIMIT is %d MB", where, limit/megabyte, own/megabyte)}
	}
	return []checkup.Finding{checkup.Well("%s allows %d MB", where, limit/megabyte)}
}

// memoryLimit is the least that the process's control groups allow, in either version of them.
func memoryLimit(root string) (limit int64, where string) {
	groups, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return 0, ""
	}
	limit = math.MaxInt64
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		if len(parts) != 3 {
			continue
		}
		base, file := "sys/fs/cgroup", "memory.max"
		switch parts[1] {
		case "":
		case "memory":
			base, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for group := filepath.Clean("/" + parts[2]); ; group = filepath.Dir(group) {
			text, err := os.ReadFile(filepath.Join(root, base, group, file))
			n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" is no number
			if err == nil && bad == nil && n > 0 && n < limit && n < 1<<60 {    // version 1 says "none" with a huge number
				limit, where = n, "the control group"
			}
			if group == "/" {
				break
			}
		}
	}
	return limit, where
}

func lookAtOpenFiles() []checkup.Finding {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return []checkup.Finding{checkup.Warn("look at ulimit -n by hand", "how many files may be open cannot be told: %v", err)}
	}
	if r.Max < fewFiles { // Go raises the lower limit to this one
		return []checkup.Finding{checkup.Warn("raise it (ulimit -Hn, or LimitNOFILE of systemd)", "only %d files may be open at a time, and every reader needs one", r.Max)}
	}
	return []checkup.Finding{checkup.Well("%d files may be open at a time", r.Max)}
}
