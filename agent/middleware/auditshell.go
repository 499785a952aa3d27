package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// AuditOptions are settings of [AuditShell].
type AuditOptions struct {
	// Tools are the names of the tools that run shell; nil means "bash". Argument is the one that holds the command; empty means
	// "command".
	Tools    []string
	Argument string
	// Classify judges a command; nil means [Classify].
	Classify func(line string) (Danger, string)
}

// AuditShell looks at commands before they are run. Those that would do harm are refused; those that are often a mistake are run, and
// the model and people are told.
func AuditShell(o AuditOptions) agent.Middleware {
	if o.Tools == nil {
		o.Tools = []string{"bash"}
	}
	if o.Argument == "" {
		o.Argument = "command"
	}
	if o.Classify == nil {
		o.Classify = Classify
	}
	return agent.Middleware{Name: "shell_audit", Tool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
			if !slices.Contains(o.Tools, c.Call.Name) {
				return next(ctx, c)
			}
			line, readable := o.command(c.Call.Arguments)
			if !readable {
				return c.Refuse("This command was not run: the arguments are not one valid JSON object, so that it cannot be looked at. Write them again."), nil
			}
			danger, why := o.Classify(line)
			if danger == Pass {
				return next(ctx, c)
			}
			code, did := "shell_warning", "is run all the same"
			if danger == Block {
				code, did = "shell_blocked", "was not run"
			}
			if err := c.Step.Emit(ctx, event.Warned{Code: code, Message: fmt.Sprintf("a command of the model's %s: %s", did, why)}); err != nil {
				return agent.Outcome{}, err
			}
			if danger == Block {
				return c.Refuse("This command was not run: " + why + ". Do it in another way, within your own folders."), nil
			}
			out, err := next(ctx, c)
			if err == nil {
				if out.Result.Blocks == nil {
					out.Result.Blocks = out.Result.Content
				}
				out.Result.Content = slices.Concat(out.Result.Content, item.Text("\n[About this command: "+why+". Make sure that it was meant.]"))
			}
			return out, err
		}
	}}
}

// command is what the tool will run. Arguments that are not valid may be repaired before a tool sees them; nobody knows here into
// what.
func (o AuditOptions) command(arguments string) (line string, readable bool) {
	var object map[string]any
	if json.Unmarshal([]byte(arguments), &object) != nil {
		var twice string // the object within a string, which tools accept
		if json.Unmarshal([]byte(arguments), &twice) != nil || json.Unmarshal([]byte(twice), &object) != nil {
			return "", false
		}
	}
	line, _ = object[o.Argument].(string) // one that is missing is the tool's to complain about
	return line, true
}
