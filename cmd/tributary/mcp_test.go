package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// itself is a configuration whose only MCP server is this program.
func itself(t *testing.T) string {
	t.Helper()
	cmd := program(t)
	var env strings.Builder
	for _, pair := range cmd.Env {
		if name, value, ok := strings.Cut(pair, "="); ok && strings.HasPrefix(name, "TRIBUTARY") {
			fmt.Fprintf(&env, "        %s: %q\n", name, value)
		}
	}
	return writeConfig(t, fmt.Sprintf("mcp:\n  servers:\n    self:\n      command: %q\n      args: [--data, %q, mcp, serve]\n      start_timeout: 5m\n      timeout: 5m\n      env:\n%s", cmd.Path, t.TempDir(), env.String()))
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTributaryIsAnMCPServerOfItself(t *testing.T) {
	config := itself(t)
	code, out, notes := invoke(t, "--config", config, "--data", t.TempDir(), "mcp", "list")
	if code != 0 || !strings.Contains(out, "self__agent") {
		t.Errorf("list: exit %d, %s, %s", code, out, notes)
	}
	code, out, notes = invoke(t, "--config", config, "--data", t.TempDir(), "mcp", "check", "self")
	if code != 0 || !regexp.MustCompile(`ok: [1-9][0-9]* tools`).MatchString(out) { // one for each assistant
		t.Errorf("check: exit %d, %s, %s", code, out, notes)
	}
	code, out, _ = invoke(t, "--config", config, "--data", t.TempDir(), "tools")
	if code != 0 || !strings.Contains(out, "tributary mcp list") {
		t.Errorf("tools: exit %d, %s", code, out)
	}

	rt := runtimeWith(t, config, scripted.New(func(req model.Request) scripted.Script {
		if last := req.Messages[len(req.Messages)-1]; last.Role == item.Tool {
			return scripted.Say("It said: " + last.Text())
		}
		return scripted.Call("c1", "self__agent", `{"message":"count to three"}`)
	}))
	var answer string
	for env, err := range rt.Stream(t.Context(), tributary.Request{Text: "go"}) {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := env.Event.(event.ItemEnded); ok {
			if m, ok := e.Item.(item.Message); ok {
				answer = m.Text()
			}
		}
	}
	if !strings.Contains(answer, "one\ntwo\nthree\n") {
		t.Errorf("the answer is %q", answer)
	}
}

// runtimeWith is a runtime with the tools of the configuration's MCP servers, and a model.
func runtimeWith(t *testing.T, path string, m model.Model) *tributary.Runtime {
	t.Helper()
	config, err := loadConfig(path, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	k, err := mcpKit(nil, config, nil)
	if err != nil {
		t.Fatal(err)
	}
	opt := config.options()
	opt.Models, opt.Middleware, opt.Files = tributary.OneModel(m), k.middleware, false
	rt, err := tributary.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		if err := rt.Close(now); err != nil {
			t.Error(err)
		}
		if err := k.close(); err != nil {
			t.Error(err)
		}
	})
	return rt
}

// many is a server with many tools, of which one asks a person.
func many(t *testing.T, tools int) string {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "many", Version: "1"}, nil)
	empty := json.RawMessage(`{"type":"object"}`)
	for i := range tools {
		server.AddTool(&sdk.Tool{Name: fmt.Sprintf("tool_%03d", i), Description: fmt.Sprintf("Does thing %d.", i), InputSchema: empty},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{}, nil
			})
	}
	server.AddTool(&sdk.Tool{Name: "paint", Description: "Paints the fence in a colour.", InputSchema: empty},
		func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			got, err := req.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Which colour?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"colour":{"type":"string"}}}`)})
			if err != nil {
				return nil, err
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint("painted ", got.Content["colour"])}}}, nil
		})
	s := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// A question of a server stops the run; the answer makes the call again, and the server gets it. The tool is found first.
func TestAToolIsFoundAndItsServersQuestionIsAnswered(t *testing.T) {
	var shown []int
	m := scripted.New(func(req model.Request) scripted.Script {
		shown = append(shown, len(req.Tools))
		switch last := req.Messages[len(req.Messages)-1]; {
		case last.Role == item.User:
			return scripted.Call("c1", "tool_search", `{"query":"paint a fence","limit":1}`)
		case last.Role == item.Tool && last.Name == "tool_search":
			return scripted.Call("c2", "many__paint", `{}`)
		default:
			return scripted.Say("Result: " + last.Text())
		}
	})
	rt := runtimeWith(t, writeConfig(t, fmt.Sprintf("mcp:\n  allow: [127.0.0.1]\n  servers:\n    many:\n      url: %s\n", many(t, 60))), m)
	_, err := rt.Chat(t.Context(), tributary.Request{Thread: "t1", Text: "paint it"})
	if err == nil || !strings.Contains(err.Error(), "Which colour?") {
		t.Fatalf("the run ended with %v, want a question", err)
	}
	var answer string
	for env, err := range rt.Resume(t.Context(), tributary.Request{Thread: "t1"}, tributary.Answer{Value: "red"}) {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := env.Event.(event.ItemEnded); ok {
			if m, ok := e.Item.(item.Message); ok {
				answer = m.Text()
			}
		}
	}
	if answer != "Result: painted red" {
		t.Errorf("the answer is %q", answer)
	}
	if want := []int{1, 2, 2}; fmt.Sprint(shown) != fmt.Sprint(want) {
		t.Errorf("the model was shown %v tools, want %v", shown, want)
	}
}

// A request that defines a command is refused and starts nothing, whatever the configuration says.
func TestARequestThatDefinesACommandIsRefused(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "started")
	url := many(t, 0)
	for _, allowed := range []bool{false, true} {
		config := writeConfig(t, fmt.Sprintf("mcp:\n  requests: %v\n  allow: [127.0.0.1]\n", allowed))
		s := serveOn(t, t.TempDir(), "--config", config)
		for settings, want := range map[string]int{
			`{"servers":{"x":{"transport":"stdio","command":"touch","args":["` + mark + `"]}}}`:              403,
			`{"servers":{"x":{"command":"touch","args":["` + mark + `"],"url":"` + url + `"}}}`:              403,
			`{"servers":{"x":{"transport":"stdio","url":"` + url + `"}}}`:                                    403,
			`{"servers":{"x":{"url":"` + url + `","env":{"LD_PRELOAD":"/x"}}}}`:                              403,
			`{"servers":{"x":{"command":["touch","` + mark + `"]}}}`:                                         403,
			`{"servers":{"x":{"transport":"streamable_http","url":"` + url + `","command":"","args":null}}}`: map[bool]int{false: 403, true: 200}[allowed],
			`{"servers":{"x y":{"url":"` + url + `"}}}`:                                                      map[bool]int{false: 403, true: 422}[allowed],
			`{"servers":[1]}`: 422,
		} {
			for path, body := range map[string]string{
				"/tasks":           `{"input":"count to one","configurable":{"mcp_settings":` + settings + `}}`,
				"/api/chat/stream": `{"messages":[{"role":"user","content":"count to one"}],"mcp_settings":` + settings + `}`,
				"/runs/wait":       `{"assistant_id":"agent","input":{"messages":"count to one"},"context":{"mcp_settings":` + settings + `}}`,
			} {
				res, err := http.Post(s.url+path, "application/json", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				want := want
				if path == "/api/chat/stream" && want == 200 {
					want = 422 // a research must be told who has the tools
				}
				if res.StatusCode != want {
					t.Errorf("requests %v, %s of %s: %d, want %d", allowed, path, settings, res.StatusCode, want)
				}
			}
		}
		if code := s.stop(); code != 0 {
			t.Errorf("exit %d", code)
		}
	}
	if _, err := os.Stat(mark); !os.IsNotExist(err) {
		t.Errorf("a process was started: %v", err)
	}
}

// What DeerFlow's page asks of a server before it keeps it among its settings.
func TestTheToolsOfARequestsServerAreListed(t *testing.T) {
	url := many(t, 2)
	for _, allowed := range []bool{false, true} {
		s := serveOn(t, t.TempDir(), "--config", writeConfig(t, fmt.Sprintf("mcp:\n  requests: %v\n  allow: [127.0.0.1]\n  servers:\n    asked: {command: /no/such/program}\n", allowed)))
		ask := func(body string) (int, string) {
			res, err := http.Post(s.url+"/api/mcp/server/metadata", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			raw, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			return res.StatusCode, string(raw)
		}
		for body, want := range map[string]int{
			`{"transport":"streamable_http","url":"` + url + `","headers":{"X-Key":"k"},"timeout_seconds":20,"command":null,"args":[],"env":{}}`: 200,
			`{"transport":"carrier pigeon","url":"` + url + `"}`:            422,
			`{"url":"` + url + `/","timeout_seconds":20,"transport":"sse"}`: 502, // it speaks the newer transport only
			`{"url":"http://10.1.2.3/","timeout_seconds":5}`:                502, // not among mcp.allow
			`{"transport":"stdio","command":"sh","args":["-c","exit"]}`:     403,
		} {
			if !allowed {
				want = 403
			}
			code, got := ask(body)
			if code != want {
				t.Errorf("requests %v, %s: got %d %s, want %d", allowed, body, code, got, want)
			}
			if code != 200 {
				continue
			}
			var answer struct {
				Transport, URL string
				Command        *string
				Headers        map[string]string
				Seconds        int `json:"timeout_seconds"`
				Tools          []struct {
					Name, Description string
					Schema            map[string]any `json:"inputSchema"`
				}
			}
			if err := json.Unmarshal([]byte(got), &answer); err != nil || answer.Transport != "streamable_http" || answer.URL != url || answer.Command != nil || answer.Headers["X-Key"] != "k" || answer.Seconds != 20 ||
				len(answer.Tools) != 3 || answer.Tools[1].Name != "tool_000" || answer.Tools[1].Description != "Does thing 0." || answer.Tools[1].Schema["type"] != "object" {
				t.Errorf("%v: %s", err, got)
			}
		}
		if code := s.stop(); code != 0 {
			t.Errorf("exit %d", code)
		}
	}
}

func TestADeadMCPServerIsToldAndTheRunGoesOn(t *testing.T) {
	rt := runtimeWith(t, writeConfig(t, "mcp:\n  servers:\n    dead: {command: /no/such/program}\n    inside: {url: http://127.0.0.1:1/}\n"), scripted.Always(scripted.Say("fine")))
	var warned strings.Builder
	var status event.Status
	for env, err := range rt.Stream(t.Context(), tributary.Request{Text: "go"}) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := env.Event.(type) {
		case event.Warned:
			warned.WriteString(e.Message + "\n")
		case event.RunEnded:
			status = e.Status
		}
	}
	if status != event.Success || !strings.Contains(warned.String(), "no such file") || !strings.Contains(warned.String(), "mcp.allow") {
		t.Errorf("the run is %s; warnings: %s", status, warned.String())
	}
}

func TestMistakesInMCPSettingsAreTold(t *testing.T) {
	t.Setenv("UNSET_FOR_SURE", "")
	os.Unsetenv("UNSET_FOR_SURE")
	for text, want := range map[string]string{
		"mcp: {servers: {x: {}}}": "give a command to start",
		"mcp: {servers: {x: {url: http://x, headers: {A: $UNSET_FOR_SURE}}}}": "the environment has no UNSET_FOR_SURE",
		"mcp: {servers: {x: {command: x, risk: [flies]}}}":                    `no class "flies"`,
		"mcp: {allow: ['*']}":                                                            "mcp.allow",
		"mcp: {servers: {x: {command: x, colour: red}}}":                                 `no setting "colour"`,
		"mcp: {servers: {x: {command: x, timeout: many}}}":                               "length of time",
		"mcp: {servers: {x: {url: 'https://u:p@x/'}}}":                                   "must not hold a name and a password",
		"mcp: {servers: {a_very_long_name_of_a_server_that_nobody_wants: {command: x}}}": "a name has 1 to 24",
	} {
		if code, _, notes := invoke(t, "--config", writeConfig(t, text), "--data", t.TempDir(), "mcp", "list"); code != 1 || !strings.Contains(notes, want) {
			t.Errorf("%s: exit %d, %s; want %q", text, code, notes, want)
		}
	}
}

// What people are told of the tools has the servers, asks them only when told to, and says nothing of how they are reached.
func TestPeopleAreToldOfToolsAndServers(t *testing.T) {
	config, err := loadConfig(itself(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	all, err := (&env{ctx: t.Context()}).hands(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := all.Close(); err != nil {
			t.Error(err)
		}
	}()
	box := all.box()
	if len(box.Servers) != 1 || box.Servers[0].Name != "self" || box.Servers[0].Type != "stdio" {
		t.Fatalf("the servers are %+v", box.Servers)
	}
	if why, off := box.Off["mcp"]; off {
		t.Errorf("the servers are said to be off: %s", why)
	}
	var names []string
	for _, tool := range box.Tools {
		names = append(names, tool.Spec().Name)
	}
	if text := strings.Join(names, " "); !strings.Contains(text, "search") || !strings.Contains(text, "write_file") {
		t.Errorf("the tools are %s", text)
	}
	tools, err := box.Ask(t.Context(), "self")
	if err != nil || len(tools) == 0 {
		t.Errorf("it has %d tools, %v", len(tools), err)
	}
}
