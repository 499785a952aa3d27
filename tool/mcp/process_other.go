//go:build !unix

package mcp

import "os/exec"

func apart(*exec.Cmd) {}

func askToEnd(*exec.Cmd) {}

func killAll(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
