package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tributary-ai/tributary/internal/checkup"
	"github.com/tributary-ai/tributary/internal/workspace"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/sandbox"
)

// SandboxConfig is the part of the file about code that agents run. It is one word, the mode, or settings.
type SandboxConfig struct {
	// Mode is "on": code runs if the sandbox withstands its own attacks; "off": there is no code; or "none": code runs without
	// any sandbox, as the user of the server.
	Mode string `yaml:"mode"`
	// Network is "off", or "host": the network of the machine, with its loopback and the private networks around it.
	Network string `yaml:"network"`
	// MemoryMB is what a command may hold, with all its processes; Processes how many they may be.
	MemoryMB  int64 `yaml:"memory_mb"`
	Processes int   `yaml:"processes"`
	// ScratchMB is the size of /tmp.
	ScratchMB int64 `yaml:"scratch_mb"`
	// CPUTime bounds each process, WallTime the whole command.
	CPUTime  time.Duration `yaml:"cpu_time"`
	WallTime time.Duration `yaml:"wall_time"`
}

// The modes.
const (
	sandboxOn   = "on"
	sandboxOff  = "off"
	sandboxNone = "none"
)

// UnmarshalYAML takes a word for the mode.
func (c *SandboxConfig) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		c.Mode = node.Value
		return nil
	}
	type settings SandboxConfig // without this method
	known := []string{"mode", "network", "memory_mb", "processes", "scratch_mb", "cpu_time", "wall_time"}
	for i := 0; node.Kind == yaml.MappingNode && i < len(node.Content); i += 2 {
		// A decoder within a decoder does not look for settings that are not there.
		if key := node.Content[i]; !slices.Contains(known, key.Value) {
			return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: field %s not found in type main.SandboxConfig", key.Line, key.Value)}}
		}
	}
	return node.Decode((*settings)(c))
}

// check finds mistakes. YAML reads a bare off and on as they are written, since the field is a text.
func (c SandboxConfig) check() error {
	switch c.Mode {
	case "", sandboxOn, sandboxOff, sandboxNone:
	default:
		return fmt.Errorf("sandbox: the mode must be on, off or none, not %q", c.Mode)
	}
	if c.Network != "" && c.Network != "off" && c.Network != "host" {
		return fmt.Errorf("sandbox: network must be off or host, not %q", c.Network)
	}
	if c.MemoryMB < 0 || c.Processes < 0 || c.ScratchMB < 0 || c.CPUTime < 0 || c.WallTime < 0 {
		return fmt.Errorf("sandbox: limits must not be negative")
	}
	return nil
}

func (c Config) sandboxOptions() sandbox.Options {
	s := c.Sandbox
	quota := workspace.Quota{Bytes: c.ThreadBytes, Files: c.ThreadFiles}.WithDefaults()
	return sandbox.Options{
		Network: s.Network == "host", Memory: s.MemoryMB << 20, Processes: s.Processes, Scratch: s.ScratchMB << 20, CPU: s.CPUTime, Wall: s.WallTime,
		Bytes: quota.Bytes, Files: quota.Files,
	}
}

// noSandbox is said at every start with sandbox: none.
const noSandbox = "code that models write runs WITHOUT a sandbox, with all rights of this user: the configuration says sandbox: none"

// sandboxKit opens the tools that run code. Whatever is wrong with the sandbox takes the tools away, and nothing else.
func sandboxKit(e *env, config Config, log *slog.Logger) (kit, error) {
	k := kit{group: sandbox.Group}
	if err := config.Sandbox.check(); err != nil {
		return k, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	switch config.Sandbox.Mode {
	case sandboxOff:
		k.off = "sandbox is off in the configuration"
		return k, nil
	case sandboxNone:
		tools, err := sandbox.Plain(config.sandboxOptions())
		if err != nil {
			k.off = err.Error()
			return k, nil
		}
		if log.Enabled(e.ctx, slog.LevelWarn) {
			log.Warn(noSandbox)
		} else { // it is said, whatever is logged
			fmt.Fprintln(e.stderr, "tributary: "+noSandbox)
		}
		k.tools = tools
		return k, nil
	}
	s, err := sandbox.Open(e.ctx, config.sandboxOptions())
	if e.ctx.Err() != nil {
		if err == nil {
			err = s.Close()
		}
		return k, errors.Join(e.ctx.Err(), err)
	}
	if err != nil {
		k.off = strings.ReplaceAll(err.Error(), "\n", "; ")
		log.Warn("agents cannot run code", "why", k.off)
		return k, nil
	}
	log.Info("agents can run code", "behind", s.String())
	k.tools, k.close = s.Tools(), s.Close
	k.off = missing(k.tools)
	return k, nil
}

// missing says which of the tools has no interpreter.
func missing(tools []tool.Tool) string {
	for _, name := range []string{"bash", "python"} {
		if !slices.ContainsFunc(tools, func(t tool.Tool) bool { return t.Spec().Name == name }) {
			return fmt.Sprintf("%s is not installed in /usr", name)
		}
	}
	return ""
}

// lookAtSandbox tells whether agents can run code.
func lookAtSandbox(ctx context.Context, c Config) []checkup.Finding {
	switch c.Sandbox.Mode {
	case sandboxOff:
		return []checkup.Finding{checkup.Well("agents run no code: sandbox is off in the configuration")}
	case sandboxNone:
		return []checkup.Finding{checkup.Warn("write sandbox: on or sandbox: off, unless the whole machine is there for that", "%s", noSandbox)}
	}
	s, err := sandbox.Open(ctx, c.sandboxOptions())
	if err != nil {
		return []checkup.Finding{checkup.Warn("agents have no bash and no python until this is mended; sandbox: off in the configuration says that it is meant", "agents cannot run code: %v", err)}
	}
	defer s.Close()
	if why := missing(s.Tools()); why != "" {
		return []checkup.Finding{checkup.Well("agents can run code, behind %v; %s", s, why)}
	}
	return []checkup.Finding{checkup.Well("agents can run code, behind %v", s)}
}
