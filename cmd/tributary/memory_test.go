package main

import (
	"log/slog"
	"math"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

func TestTheMemoryLimitIsThatOfTheControlGroup(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  int64
	}{
		"none":              {fstest.MapFS{}, 0},
		"not limited":       {fstest.MapFS{"proc/self/cgroup": file("0::/a\n"), "sys/fs/cgroup/a/memory.max": file("max\n")}, 0},
		"version 2":         {fstest.MapFS{"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/memory.max": file("1000\n")}, 1000},
		"a group above":     {fstest.MapFS{"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/memory.max": file("1000\n"), "sys/fs/cgroup/a/memory.max": file("500\n")}, 500},
		"a container":       {fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("700")}, 700},
		"the host's path":   {fstest.MapFS{"proc/self/cgroup": file("0::/kubepods/x\n"), "sys/fs/cgroup/memory.max": file("700")}, 700},
		"version 1":         {fstest.MapFS{"proc/self/cgroup": file("5:cpu:/\n4:memory:/docker/x\n"), "sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes": file("2000\n")}, 2000},
		"version 1 without": {fstest.MapFS{"proc/self/cgroup": file("4:memory:/\n"), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n")}, 0},
		"nonsense":          {fstest.MapFS{"proc/self/cgroup": file("x\n0::/../..\n"), "sys/fs/cgroup/memory.max": file("-5")}, 0},
	} {
		if got, ok := memoryLimit(c.files); ok != (c.want > 0) || ok && got != c.want {
			t.Errorf("%s: got %d %v, want %d", name, got, ok, c.want)
		}
	}
	was := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(was)
	small := fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("1000000000000")}
	t.Setenv("GOMEMLIMIT", "1GiB")
	limitMemory(small, slog.New(slog.DiscardHandler))
	if got := debug.SetMemoryLimit(-1); got != was {
		t.Errorf("GOMEMLIMIT is set, but the limit is %d", got)
	}
	t.Setenv("GOMEMLIMIT", "")
	limitMemory(small, slog.New(slog.DiscardHandler))
	if got := debug.SetMemoryLimit(math.MaxInt64); got != 800000000000 {
		t.Errorf("the limit is %d", got)
	}
}
