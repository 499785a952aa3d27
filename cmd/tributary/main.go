// Command tributary runs the server, and talks to the engine from the terminal.
//
// Reading main from top to bottom is reading the wiring: parse the command line, read the configuration, do the
// one thing that was asked. Whatever goes wrong is told in one sentence, with exit code 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/internal/trial"
)

// version is set by the build; see the Makefile.
var version = ""

// cli is the command line. Flags that a configuration file can set too have no defaults here: the file's
// count where the flag is not given.
type cli struct {
	Config string `help:"Configuration file (YAML)." type:"path" placeholder:"FILE" env:"TRIBUTARY_CONFIG"`
	Data   string `help:"Data folder. Default: tributary in your data home." type:"path" placeholder:"DIR" env:"TRIBUTARY_DATA"`

	Serve   serveCmd   `cmd:"" help:"Run the server."`
	Chat    chatCmd    `cmd:"" help:"Ask a question and watch the answer arrive."`
	Team    teamCmd    `cmd:"" help:"Have a team of experts answer a question."`
	Say     sayCmd     `cmd:"" help:"Say something to a team that works in the server."`
	Events  eventsCmd  `cmd:"" help:"Print a run's journal."`
	Check   checkCmd   `cmd:"" help:"Look for damage in the data folder, and say what is lost."`
	Doctor  doctorCmd  `cmd:"" help:"Look at all that the server needs, and say what to do about what is wrong."`
	Backup  backupCmd  `cmd:"" help:"Copy the data folder into one file, while a server may run."`
	Restore restoreCmd `cmd:"" help:"Put a backup into the data folder."`
	Threads threadsCmd `cmd:"" help:"List conversations, the newest first, or search them."`
	Models  modelsCmd  `cmd:"" help:"List the models, and say why one cannot be used; check what one can do."`
	Agents  agentsCmd  `cmd:"" help:"Make, list and delete agents of your own, and show how one would be assembled: its model, tools, middleware and prompt, and why."`
	Tools   toolsCmd   `cmd:"" help:"List the tools that agents have, what each can do, and why one is off."`
	Skills  skillsCmd  `cmd:"" help:"List, install and remove skills, which tell agents how to do something."`
	Memory  memoryCmd  `cmd:"" help:"What agents remember of you: list, change, delete, export, import, switch it off."`
	MCP     mcpCmd     `cmd:"" name:"mcp" help:"MCP: the servers whose tools agents have, and tributary as one."`
	Docs    docsCmd    `cmd:"" help:"Add, list, search and remove folders of documents."`
	Usage   usageCmd   `cmd:"" help:"Tell what runs have spent, by model, agent and thread."`
	Version versionCmd `cmd:"" help:"Print the version."`

	Research researchCmd `cmd:"" help:"Research a question and write a report that cites its sources."`
	Attach   attachCmd   `cmd:"" help:"Come back to a research that was left."`
	Eval     evalCmd     `cmd:"" help:"Measure how good answers are."`
}

// env is what commands see of the process; tests give them another.
type env struct {
	ctx    context.Context
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	config Config
}

func main() {
	// The first signal asks for an orderly end; the second one kills, as ever.
	os.Exit(command(heed(context.Background()), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// command is main without the process.
func command(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var c cli
	exit := -1
	parser, err := kong.New(&c,
		kong.Name("tributary"),
		kong.Description("A stateful, streaming agent server in one binary."),
		kong.Writers(stdout, stderr),
		kong.Vars{"styles": strings.Join(research.Styles, ","), "checks": "The checks are " + strings.Join(trial.Names(), ", ")},
		kong.Exit(func(code int) { exit = code }),
		kong.UsageOnError(),
	)
	if err != nil {
		fmt.Fprintln(stderr, "tributary:", err)
		return 1
	}
	parsed, err := parser.Parse(args)
	if exit >= 0 { // --help
		return exit
	}
	if err != nil {
		fmt.Fprintf(stderr, "tributary: %s (try %s --help)\n", mistyped(err), asked(err))
		return 1
	}
	config, err := loadConfig(c.Config, c.Data)
	out := &output{to: stdout}
	if err == nil {
		err = parsed.Run(&env{ctx: ctx, stdin: stdin, stdout: out, stderr: stderr, config: config})
	}
	if problem := out.problem(); problem != nil && (err == nil || errors.Is(err, out.err)) {
		err = problem
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errStopped // what it was about to do then is no mistake
	}
	if err != nil {
		fmt.Fprintln(stderr, "tributary:", advice(err))
		return 1
	}
	return 0
}

// mistyped says what is wrong with a command line in our words.
func mistyped(err error) string {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, `expected "<`); ok { // expected "<question> ..."
		name, _, _ = strings.Cut(name, ">")
		return "the " + name + " is missing"
	}
	if name, rest, ok := strings.Cut(strings.TrimPrefix(text, "<"), ">: "); ok && strings.HasPrefix(text, "<") {
		return name + ": " + rest
	}
	return text
}

// asked is the command that a command line which cannot be read was about.
func asked(err error) string {
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context.Selected() != nil {
		return parse.Context.Selected().FullPath()
	}
	return "tributary"
}

// advice adds what to do to errors that users can do something about, and that do not say it themselves.
func advice(err error) string {
	var do string
	switch {
	case errors.As(err, new(remedied)):
	case errors.Is(err, sqlite.ErrLocked):
		do = "stop it, or give another folder with --data"
	case errors.Is(err, syscall.EADDRINUSE):
		do = "stop what listens there, or give another address with --addr"
	case errors.As(err, new(*net.OpError)) && errors.Is(err, os.ErrPermission):
		do = "give an address that you may listen on with --addr"
	case errors.As(err, new(listening)):
		do = "give an address of this machine with --addr, as in 127.0.0.1:8123"
	case errors.As(err, new(unreadable)):
		do = "make it readable, or give another one with --config"
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.EROFS):
		do = "give a folder that you may write to with --data"
	case errors.Is(err, syscall.ENOSPC) && !strings.Contains(err.Error(), "free some space"):
		do = "free some space, or give a folder on another disk with --data"
	}
	if do == "" {
		return err.Error()
	}
	return err.Error() + "; " + do
}

type versionCmd struct{}

func (versionCmd) Run(e *env) error {
	fmt.Fprintln(e.stdout, "tributary", versionText())
	return nil
}

// versionText is what the build set, or what Go knows of the module.
func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
