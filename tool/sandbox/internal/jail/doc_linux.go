//go:build linux && (amd64 || arm64)

// Package jail is what the program is when a sandbox has started it again: the first process of a jail, which builds the walls
// around itself, starts the command behind them and buries the dead; and the attacker that tries what they hold.
//
// It takes the process over while it is being initialised, before any package that is not needed here: a program of fifty
// megabytes initialises itself for longer than a jail takes to build. For that it imports nothing but the standard library and
// golang.org/x/sys/unix, and nothing of ours; TestNothingElseIsInitialisedFirst holds it to that.
package jail

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// The names under which the program is started again.
const (
	AsLauncher = "tributary-sandbox"       // to make a jail around itself, and then run a command
	AsAttacker = "tributary-sandbox-probe" // within a jail, to try what it holds
	AsNobody   = "tributary-sandbox-user"  // to have a user namespace, and nothing else
)

// The folders of a thread, as commands see them.
const (
	Workspace = "/mnt/user-data/workspace"
	Uploads   = "/mnt/user-data/uploads"
	Outputs   = "/mnt/user-data/outputs"
)

// Folders are all of them, in the order in which they are handed over.
var Folders = []string{Workspace, Uploads, Outputs}

// Outcome is how a command ended.
type Outcome struct {
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"` // that ended it
	Why    string `json:"why,omitempty"`    // which limit it met, in words for the model
}

// A process that a sandbox has started never gets beyond this.
func init() {
	if len(os.Args) == 0 {
		return
	}
	switch os.Args[0] {
	case AsLauncher:
		launcher()
	case AsAttacker:
		attacker()
	case AsNobody: // whoever started it has what it wanted, and ends it
		for {
			_ = unix.Pause()
		}
	default:
		return
	}
	leave(2)
}

// leave ends this process at once. Nothing here waits for the end of a process, as os.Exit lets others do: the race detector, for
// one, sleeps a second then, and every start of the program waits for such ends. Its exit status for races is lost with that; its
// report is not.
func leave(code int) { syscall.Exit(code) }
