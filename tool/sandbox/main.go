package sandbox

import "os"

// The names under which the program is started again.
const (
	asLauncher = "tributary-sandbox"       // to make a jail around itself, and then run a command
	asAttacker = "tributary-sandbox-probe" // within a jail, to try what it holds
	asNobody   = "tributary-sandbox-user"  // to have a user namespace, and nothing else
)

// Main must be the first call of a program that opens a sandbox, and of the TestMain of tests that do. It returns at once,
// except in processes that a sandbox has started, which it never leaves.
func Main() {
	entered.Store(true)
	if len(os.Args) > 0 {
		switch os.Args[0] {
		case asLauncher, asAttacker, asNobody:
			become(os.Args[0])
			os.Exit(2)
		}
	}
}
