//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The kinds of jails.
const (
	asFound    = "as found"
	noGroups   = "without control groups"
	noLandlock = "without Landlock"
	ownUser    = "as our own user, without control groups"
)

// kinds are the jails that this machine can make: the one it would make, and those of machines that offer less.
func kinds(t *testing.T, opt Options, test func(t *testing.T, s *Sandbox), only ...string) {
	t.Helper()
	for _, kind := range []struct {
		name string
		less func(*Sandbox) (why string) // why it cannot be tried; empty if it can
	}{
		{asFound, func(*Sandbox) string { return "" }},
		{noGroups, func(s *Sandbox) string {
			if s.groups == (groups{}) {
				return "there are none on this machine, or not for us: the jail as found has none"
			}
			s.groups = groups{}
			return ""
		}},
		{noLandlock, func(s *Sandbox) string {
			if s.landlock == 0 {
				return "this kernel has none: the jail as found has none"
			}
			s.landlock = 0
			return ""
		}},
		{ownUser, func(s *Sandbox) string {
			if s.files == nil {
				return "commands run as our own user anyway"
			}
			_ = s.files.Close()
			s.files, s.stranger, s.groups = nil, 0, groups{}
			return ""
		}},
	} {
		if only != nil && !slices.Contains(only, kind.name) {
			continue
		}
		t.Run(kind.name, func(t *testing.T) {
			s := prepare(opt)
			if why := kind.less(s); why != "" {
				t.Skip(why)
			}
			jails(t, s)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			test(t, s)
		})
	}
}

// noJails is said where nothing can be tried.
const noJails = "this system makes no jails"

// jails sees to it that there is something to try.
func jails(t *testing.T, s *Sandbox) {
	t.Helper()
	cell, err := s.start(s.files != nil)
	if err == nil {
		err = cell.discard()
	}
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("%s: %v", noJails, err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// thread is a folder as threads have it.
func thread(t *testing.T) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for _, area := range areas {
		if err := os.Mkdir(filepath.Join(dir, area), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// attackWith runs the test's own program in a jail.
func (s *Sandbox) attackWith(t *testing.T, folder *os.Root, args ...string) (outcome, string) {
	t.Helper()
	return s.do(t, t.Context(), command{folder: folder, self: append([]string{"hostile"}, args...)})
}

// sh runs a script in a jail.
func (s *Sandbox) sh(t *testing.T, folder *os.Root, script string) (outcome, string) {
	t.Helper()
	return s.do(t, t.Context(), command{folder: folder, argv: []string{"/bin/sh"}, name: "command", script: script})
}

func (s *Sandbox) do(t *testing.T, ctx context.Context, c command) (outcome, string) {
	t.Helper()
	var out bytes.Buffer
	got, err := s.run(ctx, c, func(p []byte) { out.Write(p) })
	if err != nil {
		t.Fatalf("the jail: %v (output: %s)", err, out.String())
	}
	return got, out.String()
}
