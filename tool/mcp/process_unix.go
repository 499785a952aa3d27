//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

// apart puts a process into a group of its own: it does not get the signals of our terminal, and can be ended with its children.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func askToEnd(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// killAll ends whatever is left of the group.
func killAll(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
