package main

import (
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// heapShare is the part of the memory that the process may have which Go's heap may take; the rest is for SQLite, for stacks, and for
// the moment between a limit that is reached and memory that is given back.
const heapShare = 0.8

// limitMemory tells the garbage collector how much memory the process may have where the system says so, so that it works harder
// before the system kills the process. Who sets GOMEMLIMIT knows better.
func limitMemory(system fs.FS, log *slog.Logger) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	limit, ok := memoryLimit(system)
	if !ok {
		return
	}
	heap := int64(float64(limit) * heapShare)
	debug.SetMemoryLimit(heap)
	log.Info("memory is limited by the control group", "limit", limit, "heap", heap)
}

// memoryLimit is the smallest limit of the control groups that the process is in, of either version; false if there is none.
func memoryLimit(system fs.FS) (limit int64, ok bool) {
	groups, err := fs.ReadFile(system, "proc/self/cgroup")
	if err != nil {
		return 0, false // not Linux, or no control groups
	}
	limit = math.MaxInt64
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		root, file := "sys/fs/cgroup", "memory.max"
		switch {
		case fields[1] == "":
		case strings.Contains(","+fields[1]+",", ",memory,"):
			root, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		// In a container the path is the host's, while the files are those of the container's own group at the root.
		for dir := path.Clean("/" + fields[2]); ; dir = path.Dir(dir) {
			if n, ok := readLimit(system, path.Join(root, dir, file)); ok {
				limit = min(limit, n)
			}
			if dir == "/" {
				break
			}
		}
	}
	return limit, limit != math.MaxInt64
}

// readLimit reads a file of a limit. The first version says a number that no machine has where there is none.
func readLimit(system fs.FS, name string) (int64, bool) {
	const none = 1 << 50
	raw, err := fs.ReadFile(system, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64) // "max" is no number
	return n, err == nil && n > 0 && n < none
}
