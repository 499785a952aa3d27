package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/internal/outbound"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/registry"
)

// Config is the configuration file. Everything has a default, so there need not be one.
type Config struct {
	file string // where it was read from; empty for none

	// Addr is where the server listens.
	Addr string `yaml:"addr"`
	// Data is the data folder.
	Data string `yaml:"data"`
	// Durability of tokens: "process" (they survive kill -9) or "disk" (they survive the loss of power).
	// Everything that is a promise always survives both.
	Durability string `yaml:"durability"`
	// Docs are folders that the search tool looks into; without any, tributary's own documentation.
	Docs []string `yaml:"docs"`
	// Embeddings are a model that has a say in the order of what the search finds.
	Embeddings EmbeddingsConfig `yaml:"embeddings"`
	// Origins are the browser origins that may call the server; "*" for all. Those on this machine always may.
	Origins []string `yaml:"origins"`
	// Hosts are the names under which the server may be addressed, beside localhost and addresses.
	Hosts []string `yaml:"hosts"`
	// Webhooks is where the ends of runs are told.
	Webhooks WebhookConfig `yaml:"webhooks"`
	// MCP are the servers whose tools agents have.
	MCP MCPConfig `yaml:"mcp"`
	// Speech is who reads texts aloud.
	Speech SpeechConfig `yaml:"speech"`
	// Limits are what each owner may have at once.
	Limits run.Limits `yaml:"limits"`
	// AccessLog has a line for each request in the log, AuditLog one for each change: who did what. The second is on where
	// callers show a key.
	AccessLog bool  `yaml:"access_log"`
	AuditLog  *bool `yaml:"audit_log"`
	// System is the built-in agent's system prompt.
	System string `yaml:"system"`
	// Lead is what the built-in agent does by itself, and what it asks about.
	Lead LeadConfig `yaml:"lead"`
	// Research is what deep research does beside what a run asks for.
	Research ResearchConfig `yaml:"research"`
	// Skills is whether agents may write skills.
	Skills SkillsConfig `yaml:"skills"`
	// Files gives the built-in agent tools for the files of its thread.
	Files bool `yaml:"files"`
	// ThreadBytes and ThreadFiles bound what they leave in the folder of a thread; 0 for the defaults, -1 for no limit.
	ThreadBytes int64 `yaml:"thread_bytes"`
	ThreadFiles int   `yaml:"thread_files"`
	// Sandbox is where agents run code.
	Sandbox SandboxConfig `yaml:"sandbox"`
	// Node is the name of this process among those that share a store.
	Node string `yaml:"node"`
	// MaxRuns is how many runs execute at once.
	MaxRuns int `yaml:"max_runs"`
	// MaxAttempts is how many crashes a run may see at one place before it is given up.
	MaxAttempts int `yaml:"max_attempts"`
	// MaxSteps is how often the built-in agent calls its model to answer one message; 0 for its default.
	MaxSteps int `yaml:"max_steps"`
	// RecursionLimit is how many steps the graph of a run may take, where neither the run nor the graph says.
	RecursionLimit int `yaml:"recursion_limit"`
	// OmitRequests says that what models are shown is not kept.
	OmitRequests bool `yaml:"omit_requests"`
	// RunTimeout ends runs that take longer; "0s" for never.
	RunTimeout time.Duration `yaml:"run_timeout"`
	// Drain is how long a shutdown waits for runs before it hands them over to the next start.
	Drain time.Duration `yaml:"drain"`
	// Models are the models to choose from; the first is the default.
	Models []registry.Config `yaml:"models"`
	// Retry is what is done about models that fail; docs/models.md has the defaults. Its time-outs are those of every
	// model that has none of its own.
	Retry tributary.Retry `yaml:"retry"`
	// Answers bounds what one answer of a model may hold; docs/models.md has the defaults. -1 is no limit.
	Answers model.Limits `yaml:"answers"`
	// Web is what agents may do on the web.
	Web WebConfig `yaml:"web"`
	// Memory is what agents remember of people.
	Memory MemoryConfig `yaml:"memory"`
}

// WebhookConfig is the part of the file about webhooks.
type WebhookConfig struct {
	// Allow are the ranges, addresses and hosts that webhooks may reach beside public addresses.
	Allow []string `yaml:"allow"`

	allow outbound.Allow // Allow, read
}

// loadConfig reads the file, if there is one, over the defaults. A flag for the data folder wins.
func loadConfig(path, data string) (Config, error) {
	c := Config{Addr: "127.0.0.1:8123", Durability: "process", Files: true, Memory: usualMemory(), Drain: 10 * time.Second, MaxAttempts: 10, RecursionLimit: 1000, RunTimeout: 6 * time.Hour}
	if path != "" {
		c.file = path
		raw, err := os.ReadFile(path)
		if err != nil {
			return c, unreadable{err}
		}
		dec := yaml.NewDecoder(bytes.NewReader(raw))
		dec.KnownFields(true)
		if err := dec.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
			return c, fmt.Errorf("configuration %s: %s", path, yamlProblem(err, raw))
		}
	}
	if data != "" {
		c.Data = data
	}
	if c.Data == "" {
		dir, err := dataHome()
		if err != nil {
			return c, err
		}
		c.Data = dir
	}
	if c.Durability != "process" && c.Durability != "disk" {
		return c, fmt.Errorf("configuration: durability must be process or disk, not %q", c.Durability)
	}
	for name, n := range map[string]int64{
		"max_runs": int64(c.MaxRuns), "max_attempts": int64(c.MaxAttempts), "max_steps": int64(c.MaxSteps), "recursion_limit": int64(c.RecursionLimit),
		"memory.wait": int64(c.Memory.Wait), "memory.max_facts": int64(c.Memory.MaxFacts), "memory.budget": int64(c.Memory.Budget),
		"run_timeout": int64(c.RunTimeout), "drain": int64(c.Drain),
	} {
		if n < 0 {
			return c, fmt.Errorf("configuration: %s must not be negative", name)
		}
	}
	var err error
	if c.Webhooks.allow, err = outbound.ParseAllow(c.Webhooks.Allow); err != nil {
		return c, fmt.Errorf("configuration: webhooks.allow: %w", err)
	}
	if err := errors.Join(c.Sandbox.check(), c.Embeddings.check()); err != nil {
		return c, fmt.Errorf("configuration: %w", err)
	}
	if err := c.Retry.Validate(); err != nil {
		return c, fmt.Errorf("configuration: %w", inYAML(err))
	}
	return c, nil
}

// unreadable is a configuration file that is not there, or not for us.
type unreadable struct{ err error }

func (u unreadable) Error() string { return "configuration: " + u.err.Error() }
func (u unreadable) Unwrap() error { return u.err }

// inYAML names a setting as the file does: Retry.MaxWait is retry.max_wait.
func inYAML(err error) error {
	var option *tributary.OptionError
	if !errors.As(err, &option) {
		return err
	}
	var b strings.Builder
	for i, r := range option.Field {
		if unicode.IsUpper(r) && i > 0 && option.Field[i-1] != '.' {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return fmt.Errorf("%s: %s", b.String(), option.Problem)
}

// yamlProblem tells the line, the setting and the mistake in one line.
func yamlProblem(err error, file []byte) string {
	var te *yaml.TypeError
	if errors.As(err, &te) {
		msg := te.Errors[0]
		// "line 3: field prot not found in type main.Config"
		if line, rest, ok := strings.Cut(msg, ": field "); ok {
			if name, _, ok := strings.Cut(rest, " not found in type"); ok {
				return fmt.Sprintf("%s: there is no setting %q", line, name)
			}
		}
		// "line 3: cannot unmarshal !!str `many` into int"
		if line, rest, ok := strings.Cut(msg, ": "); ok {
			if key := keyAt(file, line); key != "" {
				line += ": " + key
			}
			return line + ": " + wanted(rest)
		}
		return msg
	}
	return strings.TrimPrefix(err.Error(), "yaml: ")
}

// wanted says what a setting of the wrong type should look like, in place of the Go type that it did not fit.
func wanted(mistake string) string {
	value, into, ok := strings.Cut(strings.TrimPrefix(mistake, "cannot unmarshal "), " into ")
	if !ok {
		return mistake
	}
	if _, text, ok := strings.Cut(value, " "); ok { // without YAML's name of its type
		value = text
	}
	switch {
	case into == "time.Duration":
		return "must be a length of time, as in 30s or 5m, not " + value
	case strings.HasPrefix(into, "[]"):
		return "must be a list, as in [one, two], not " + value
	case strings.HasPrefix(into, "int"), strings.HasPrefix(into, "uint"):
		return "must be a whole number, not " + value
	case strings.HasPrefix(into, "float"):
		return "must be a number, not " + value
	case into == "bool":
		return "must be true or false, not " + value
	case into == "string":
		return "must be a text, not " + value
	}
	return "must have settings of its own, as in {name: value}, not " + value
}

// keyAt is the setting that a line of the file gives, if it gives one.
func keyAt(file []byte, line string) string {
	n, err := strconv.Atoi(strings.TrimPrefix(line, "line "))
	lines := bytes.Split(file, []byte("\n"))
	if err != nil || n < 1 || n > len(lines) {
		return ""
	}
	key, _, ok := strings.Cut(strings.TrimLeft(string(lines[n-1]), " \t-"), ":")
	if !ok {
		return ""
	}
	return strings.Trim(key, `"' `)
}

func dataHome() (string, error) {
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "tributary"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("there is no home folder to keep data in; give one with --data: %w", err)
	}
	return filepath.Join(home, ".local", "share", "tributary"), nil
}

// options are the runtime's, as the configuration has them.
func (c Config) options() tributary.Options {
	return tributary.Options{
		Dir: c.Data, Team: true, Disk: c.Durability == "disk", System: c.System, Files: c.Files, ThreadBytes: c.ThreadBytes, ThreadFiles: c.ThreadFiles, Node: c.Node, MaxRuns: c.MaxRuns, MaxAttempts: c.MaxAttempts, MaxSteps: c.MaxSteps,
		RecursionLimit: c.RecursionLimit, OmitRequests: c.OmitRequests, Timeout: orNever(c.RunTimeout), Retry: c.net(), Answers: c.Answers,
	}
}

// orNever says "never" as the runtime does: with a number below 0.
func orNever(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// models are those of the file, or those that the environment has keys for.
func (c Config) models() (*registry.Registry, error) {
	return registry.New(registry.Options{Models: c.Models, FirstTimeout: c.Retry.FirstTimeout, IdleTimeout: c.Retry.IdleTimeout, Limits: c.Answers})
}

// net is the retry policy of the runtime. Models see every byte that comes and have the limits of the file; the runtime's
// are a net for what they miss, and never stricter than its own defaults.
func (c Config) net() tributary.Retry {
	r := c.Retry
	widen := func(d *time.Duration, usual time.Duration) {
		if *d > 0 && *d < usual {
			*d = 0
		}
	}
	widen(&r.FirstTimeout, 10*time.Minute)
	widen(&r.IdleTimeout, 5*time.Minute)
	return r
}
