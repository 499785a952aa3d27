package sandbox

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/files"
)

type bashArguments struct {
	Command string `json:"command" jsonschema:"the command, or several lines of them"`
}

type pythonArguments struct {
	Code string `json:"code" jsonschema:"the program; it prints what you want to know"`
}

func tools(r runner, opt Options) (all []tool.Tool) {
	network := "There is no network."
	if opt.Network {
		network = "There is a network."
	}
	about := fmt.Sprintf(" It starts in %s; put what people are to have into %s. Nothing else is kept, and nothing goes on running afterwards. %s It may take %v and %d MiB.",
		mountPoint(workspaceArea), mountPoint(outputsArea), network, opt.Wall, opt.Memory>>20)
	if shell := firstOf(r, "bash", "sh"); shell != "" {
		all = append(all, coded{tool.FuncOfCall("bash", "Runs a shell command and returns what it prints, with its exit code."+about,
			func(ctx context.Context, call tool.Call, in bashArguments) (item.ToolResult, error) {
				return execute(ctx, r, call, command{argv: []string{shell}, name: "command", script: in.Command})
			}), opt})
	}
	if python := firstOf(r, "python3", "python"); python != "" {
		all = append(all, coded{tool.FuncOfCall("python", "Runs a Python program and returns what it prints, with its exit code."+about,
			func(ctx context.Context, call tool.Call, in pythonArguments) (item.ToolResult, error) {
				return execute(ctx, r, call, command{argv: []string{python}, name: "program.py", script: in.Code})
			}), opt})
	}
	return all
}

func firstOf(r runner, names ...string) string {
	for _, name := range names {
		if path := r.where(name); path != "" {
			return path
		}
	}
	return ""
}

// coded adds to a function what its description has besides.
type coded struct {
	tool.Tool
	opt Options
}

func (c coded) Spec() tool.Spec {
	spec := c.Tool.Spec()
	spec.Group, spec.Risk = Group, tool.Reads|tool.Writes|tool.Executes
	if c.opt.Network {
		spec.Risk |= tool.Leaves
	}
	spec.Grace = Grace + 3*time.Second
	spec.Timeout = c.opt.Wall + spec.Grace // the command's own limit comes first, and says more
	return spec
}

// execute runs a command and makes a result of it. A command that fails is a result like another: the model reads the exit
// code, and what was left in outputs counts.
func execute(ctx context.Context, r runner, call tool.Call, c command) (item.ToolResult, error) {
	if strings.TrimSpace(c.script) == "" {
		return item.ToolResult{}, fmt.Errorf("there is nothing to run")
	}
	if len(c.script) > longestScript {
		return item.ToolResult{}, fmt.Errorf("it is %d bytes long, and at most %d can be run; write it into a file first", len(c.script), longestScript)
	}
	var err error
	if c.folder, err = call.Scope.Folder(); err != nil {
		return item.ToolResult{}, err
	}
	before := marks(c.folder)
	t := &transcript{scope: call.Scope}
	got, err := r.run(ctx, c, t.write)
	if err != nil {
		t.flush(true)
		return item.ToolResult{}, err
	}
	text, said := t.text(), got.said()
	if text != "" && !strings.HasSuffix(text, "\n") {
		said = "\n" + said
	}
	if names := changed(before, marks(c.folder)); len(names) > 0 {
		if err := call.Scope.Update(files.Artifacts, names); err != nil {
			return item.ToolResult{}, err
		}
		said += "\n[in outputs, new or changed: " + strings.Join(names, ", ") + "]"
	}
	t.close(said)
	return tool.Text(text + said), nil
}

const longestScript = 1 << 20

// said is the last line of a result.
func (o outcome) said() string {
	how := fmt.Sprintf("exit code %d", o.Code)
	if o.Signal != "" {
		how = "ended by " + o.Signal + ", " + how
	}
	if o.Why != "" {
		how += ": " + o.Why
	} else if o.Signal == "SIGXCPU" {
		how += ": it used too much processor time"
	} else if o.Signal == "SIGXFSZ" {
		how += ": it wrote a file that is too large"
	}
	return "[" + how + "]"
}
