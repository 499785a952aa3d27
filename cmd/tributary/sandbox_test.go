package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/checkup"
	"github.com/tributary-ai/tributary/tool/sandbox"
)

func TestSandboxIsConfiguredWithAWordOrWithSettings(t *testing.T) {
	c, err := configured(t, "sandbox: {mode: on, network: host, memory_mb: 64, processes: 9, scratch_mb: 8, cpu_time: 5s, wall_time: 1m}\nthread_bytes: 1000\nthread_files: -1\n")
	want := sandbox.Options{Network: true, Memory: 64 << 20, Processes: 9, Scratch: 8 << 20, CPU: 5 * time.Second, Wall: time.Minute, Bytes: 1000, Files: -1}
	if got := c.sandboxOptions(); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for text, want := range map[string]string{
		"sandbox: off":                  "off",
		"sandbox: none":                 "none",
		"sandbox: on":                   "on",
		"sandbox: {network: off}":       "",
		"sandbox: maybe":                `configuration: sandbox: the mode must be on, off or none, not "maybe"`,
		"sandbox: {network: lan}":       `configuration: sandbox: network must be off or host, not "lan"`,
		"sandbox: {memory_mb: -1}":      "must not be negative",
		"sandbox: {memory_mb: much}":    "line 1: sandbox: must be a whole number, not `much`",
		"addr: x\nsandbox: {memory: 5}": `line 2: there is no setting "memory"`,
		"sandbox: [on]":                 "must have settings of its own",
	} {
		c, err := configured(t, text)
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && c.Sandbox.Mode != want {
			t.Errorf("%s: got %q, %v; want %q", text, c.Sandbox.Mode, err, want)
		}
	}
}

// configFile writes settings for a command.
func configFile(t *testing.T, settings string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte("addr: 127.0.0.1:0\n"+settings+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestToolsThatRunCodeAreListedOrSayWhyNot(t *testing.T) {
	s, err := sandbox.Open(t.Context(), sandbox.Options{})
	if err == nil {
		defer s.Close()
	}
	for settings, want := range map[string]string{
		"sandbox: off": "code       -                            off: sandbox is off in the configuration",
		"sandbox: on":  "Runs a shell command",
	} {
		code, out, notes := invoke(t, "--config", configFile(t, settings), "--data", t.TempDir(), "tools")
		if settings == "sandbox: on" && err != nil {
			want = "off: " + err.Error()
		}
		if code != 0 || !strings.Contains(strings.Join(strings.Fields(out), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%s: exit %d, %s, %s; want %q", settings, code, out, notes, want)
		}
	}
	if goruntime.GOOS == "linux" && err != nil && os.Getenv("CI") == "true" {
		t.Errorf("the sandbox does not hold on this machine: %v", err)
	}
}

func TestCodeWithoutASandboxIsSaidAtEveryStart(t *testing.T) {
	config := configFile(t, "sandbox: none")
	for _, args := range [][]string{{"tools"}, {"chat", "-q", "count to two"}} {
		if code, out, notes := invoke(t, append([]string{"--config", config, "--data", t.TempDir()}, args...)...); code != 0 || !strings.Contains(notes, noSandbox) {
			t.Errorf("%v: exit %d, %s, %q", args, code, out, notes)
		}
	}
	_, found, _ := doctor(t, t.TempDir(), "sandbox: none\n")
	for _, f := range found {
		if f.Check == "sandbox" && (f.State != checkup.Warning || f.Says != noSandbox) {
			t.Errorf("the doctor says %+v", f)
		}
	}
}

func TestInfoSaysWhichToolsAreOffAndWhy(t *testing.T) {
	s := serveOn(t, t.TempDir(), "--config", configFile(t, "sandbox: off"))
	status, body := get(t, s.url+"/info")
	var info struct {
		Off map[string]string `json:"tools_off"`
	}
	if err := json.Unmarshal([]byte(body), &info); err != nil || status != 200 || info.Off[sandbox.Group] != "sandbox is off in the configuration" {
		t.Errorf("%d %s, %v", status, body, err)
	}
}
