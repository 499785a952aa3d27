package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/outbound"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/mcp"
)

// everything is the server that the authors of MCP test clients with.
const everything = "@modelcontextprotocol/server-everything/dist/index.js"

// TestTheToolsOfMCPsOwnTestServer calls what that server has, over each of its transports.
func TestTheToolsOfMCPsOwnTestServer(t *testing.T) {
	needClients(t)
	script, err := filepath.Abs("clients/node_modules/" + everything)
	if err != nil {
		t.Fatal(err)
	}
	for kind, server := range map[mcp.Transport]func(*testing.T) mcp.Server{
		mcp.Stdio: func(*testing.T) mcp.Server { return mcp.Server{Command: "node", Args: []string{script, "stdio"}} },
		mcp.HTTP: func(t *testing.T) mcp.Server {
			return mcp.Server{URL: startEverything(t, script, "streamableHttp") + "/mcp"}
		},
		mcp.SSE: func(t *testing.T) mcp.Server { return mcp.Server{URL: startEverything(t, script, "sse") + "/sse"} },
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Setenv("TRIBUTARY_SECRET", "not for servers")
			s := server(t)
			s.Name, s.Type, s.Start = "e", kind, time.Minute
			useEverything(t, s)
		})
	}
}

// startEverything starts the server as a process, and waits until somebody can connect.
func startEverything(t *testing.T, script, transport string) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.Addr().String()
	_, port, _ := net.SplitHostPort(at)
	_ = free.Close() // the server wants a number; nobody else is given this one so soon
	cmd := exec.CommandContext(t.Context(), "node", script, transport)
	cmd.Env = append(os.Environ(), "PORT="+port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if conn, err := net.Dial("tcp", at); err == nil {
			_ = conn.Close()
			return "http://" + at
		}
		if time.Now().After(deadline) {
			t.Fatal("the server does not start")
		}
	}
}

func useEverything(t *testing.T, s mcp.Server) {
	allow, err := outbound.ParseAllow([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	client := outbound.New(outbound.Options{Allow: allow, Timeout: -1, MaxBody: -1})
	defer client.Close()
	hub, err := mcp.Open(mcp.Options{Servers: []mcp.Server{s}, HTTP: client.HTTP()})
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	list, problems := hub.Tools(t.Context(), mcp.Who{Owner: "anna", Thread: "t"})
	if len(problems) > 0 {
		t.Fatal(problems[0].Err)
	}
	tools, err := tool.NewSet(list...)
	if err != nil {
		t.Fatal(err)
	}
	call := func(ctx context.Context, name, args string, sc *person) (item.ToolResult, error) {
		return tools.Invoke(ctx, "e__"+name, tool.Call{Owner: "anna", Thread: "t", Arguments: json.RawMessage(args), Scope: sc})
	}
	for _, want := range []struct{ name, args, text string }{
		{"echo", `{"message":"grüße"}`, "Echo: grüße"},
		{"get-sum", `{"a":19,"b":23}`, "42"},
		{"get-structured-content", `{"location":"New York"}`, "temperature"},
		{"get-resource-links", `{"count":2}`, "](demo://"},
		{"get-resource-reference", `{"resourceType":"Text","resourceId":1}`, "demo://resource"},
		{"get-annotated-message", `{"messageType":"error"}`, "Error"},
	} {
		res, err := call(t.Context(), want.name, want.args, &person{})
		if got := item.JoinText(res.Content); err != nil || res.Error || !strings.Contains(got, want.text) {
			t.Errorf("%s%s: %q, %v; want %q", want.name, want.args, got, err, want.text)
		}
	}
	if res, err := call(t.Context(), "get-sum", `{"a":"x"}`, &person{}); err != nil || !res.Error {
		t.Errorf("wrong arguments: %+v, %v", res, err)
	}
	picture, err := call(t.Context(), "get-tiny-image", `{}`, &person{})
	if err != nil || !strings.Contains(fmt.Sprint(picture.Content), "data:image/png;base64,") {
		t.Errorf("the picture is %.300v, %v", picture.Content, err)
	}
	working := &person{}
	res, err := call(t.Context(), "trigger-long-running-operation", `{"duration":1,"steps":4}`, working)
	if working.mu.Lock(); err != nil || res.Error || len(working.told) == 0 {
		t.Errorf("long work: %+v, %v; progress %+v", res, err, working.told)
	}
	working.mu.Unlock()

	// Cancelled in the middle; the session is of use afterwards.
	ctx, cancel := context.WithCancel(t.Context())
	if res, err := call(ctx, "trigger-long-running-operation", `{"duration":100,"steps":1000}`, &person{heard: cancel}); err != nil || !res.Error {
		t.Errorf("a call that was cancelled: %+v, %v", res, err)
	}
	cancel()
	if s.Type == mcp.Stdio {
		res, err := call(t.Context(), "get-env", `{}`, &person{})
		if got := item.JoinText(res.Content); err != nil || strings.Contains(got, "not for servers") || !strings.Contains(got, "PATH") {
			t.Errorf("the environment is %s, %v", got, err)
		}
	}

	if _, err := call(t.Context(), "trigger-elicitation-request", `{}`, &person{}); !errors.Is(err, errPerson) {
		t.Errorf("a question: %v, want that a person is asked", err)
	}
	res, err = call(t.Context(), "trigger-elicitation-request", `{}`, &person{answer: `{"name":"Anna","check":true,"email":"anna@example.com"}`})
	if got := item.JoinText(res.Content); err != nil || res.Error || !strings.Contains(got, "Anna") {
		t.Errorf("an answer: %q, %v", got, err)
	}
}

var errPerson = errors.New("a person is asked")

// person is a scope in which somebody answers, or not yet.
type person struct {
	tool.Scope
	answer string
	heard  func() // called when progress is told; nil for nothing
	mu     sync.Mutex
	told   []tool.Progress
}

func (p *person) Ask(tool.Question) (json.RawMessage, error) {
	if p.answer == "" {
		return nil, tool.Abort(errPerson)
	}
	return json.RawMessage(p.answer), nil
}

func (p *person) Progress(progress tool.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, progress)
	if p.heard != nil {
		p.heard()
	}
}
