package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool/sandbox"
)

// cast plays the roles of a research, and remembers which tools each was shown.
type cast struct {
	plan       string
	researcher func(model.Request) scripted.Script
	coder      func(model.Request) scripted.Script
	reporter   func(model.Request) scripted.Script

	mu    sync.Mutex
	tools map[string][]string
}

func (c *cast) model() *scripted.Model {
	return scripted.New(func(req model.Request) scripted.Script {
		role := func(name string) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.tools == nil {
				c.tools = map[string][]string{}
			}
			for _, t := range req.Tools {
				if !slices.Contains(c.tools[name], t.Name) {
					c.tools[name] = append(c.tools[name], t.Name)
				}
			}
		}
		switch {
		case strings.HasPrefix(req.System, "You are the first"):
			return scripted.Call("h1", "handoff_to_planner", `{"research_topic":"How long are rivers?"}`)
		case strings.HasPrefix(req.System, "You plan research"):
			if strings.Contains(req.Messages[0].Text(), "<finding") {
				return scripted.Say(`{"title":"Rivers","has_enough_context":true,"steps":[]}`)
			}
			return scripted.Say(c.plan)
		case strings.HasPrefix(req.System, "You find out"):
			role(research.NodeResearcher)
			return c.researcher(req)
		case strings.HasPrefix(req.System, "You calculate"):
			role(research.NodeCoder)
			return c.coder(req)
		case strings.HasPrefix(req.System, "You draw conclusions"):
			role(research.NodeAnalyst)
			return scripted.Say("Rivers are long.")
		case strings.HasPrefix(req.System, "You write the report"):
			return c.reporter(req)
		}
		return scripted.Fail(&model.Error{Class: model.BadRequest, Message: "nobody plays this role"})
	})
}

func lastOf(req model.Request) item.Message { return req.Messages[len(req.Messages)-1] }

// researchServer serves a research with the hands that a configuration gives it.
func researchServer(t *testing.T, settings string, m model.Model) string {
	t.Helper()
	config, err := loadConfig(writeConfig(t, settings), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e := &env{ctx: t.Context(), stderr: io.Discard}
	all, err := e.hands(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	opt := config.options()
	opt.Models, opt.Tools = tributary.OneModel(m), all.tools()
	if opt.Graphs, err = researchGraphs(config, opt.Models, all, opt.Tools, nil); err != nil {
		t.Fatal(err)
	}
	rt, err := tributary.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	h, err := httpapi.New(rt, httpapi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Closing()
		s.CloseClientConnections()
		s.Close()
		now, cancel := context.WithCancel(context.Background())
		cancel()
		if err := rt.Close(now); err != nil {
			t.Error(err)
		}
		if err := all.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.URL
}

// say posts to the chat wire and returns the names of the frames and their data.
func say(t *testing.T, url, body string) (status int, frames []string) {
	t.Helper()
	res, err := http.Post(url+"/api/chat/stream", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		raw, _ := io.ReadAll(res.Body)
		return res.StatusCode, []string{string(raw)}
	}
	in := bufio.NewScanner(res.Body)
	in.Buffer(nil, 1<<20)
	name := ""
	for in.Scan() {
		if n, ok := strings.CutPrefix(in.Text(), "event: "); ok {
			name = n
		}
		if data, ok := strings.CutPrefix(in.Text(), "data: "); ok {
			frames = append(frames, name+" "+data)
		}
	}
	return res.StatusCode, frames
}

func stateOf(t *testing.T, url, thread string, into any) {
	t.Helper()
	status, body := get(t, url+"/threads/"+thread+"/state")
	st := struct{ Values any }{into}
	if err := json.Unmarshal([]byte(body), &st); err != nil || status != 200 {
		t.Fatalf("%d %s: %v", status, body, err)
	}
}

// drawing is a program that calculates, and draws two bars as a PNG by hand.
const drawing = `
import struct, zlib
rivers = {"Nile": 6650, "Danube": 2850}
print("ratio", round(rivers["Nile"] / rivers["Danube"], 2))
width, height = 70, 40
rows = []
for y in range(height):
    row = b"\0"
    for x in range(width):
        bar = list(rivers.values())[x // 35]
        row += b"\x20\x60\xc0" if (height - y) * 6650 / height <= bar and x % 35 > 4 else b"\xff\xff\xff"
    rows.append(row)
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
with open("/mnt/user-data/outputs/lengths.png", "wb") as f:
    f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(b"".join(rows))) + chunk(b"IEND", b""))
`

// The coder's program runs in the sandbox. Its numbers are in the report, and so is its chart: as an artifact of the thread that
// the report shows, also where the reporter forgets it.
func TestTheCoderCalculatesAndDrawsInTheSandbox(t *testing.T) {
	s, err := sandbox.Open(t.Context(), sandbox.Options{})
	if err != nil {
		t.Skip("there is no sandbox on this machine:", err)
	}
	why := missing(s.Tools())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if why != "" {
		t.Skip(why)
	}
	for _, shows := range []bool{true, false} {
		code, _ := json.Marshal(map[string]string{"code": drawing})
		var told string
		c := &cast{
			plan: `{"title":"Rivers","steps":[{"title":"Compare the lengths","step_type":"processing"}]}`,
			coder: func(req model.Request) scripted.Script {
				if last := lastOf(req); last.Role == item.Tool {
					_, ratio, _ := strings.Cut(last.Text(), "ratio ")
					ratio, _, _ = strings.Cut(ratio, "\n")
					return scripted.Say("The Nile is " + ratio + " times as long. The chart is lengths.png.")
				}
				return scripted.Call("c1", "python", string(code))
			},
			reporter: func(req model.Request) scripted.Script {
				told = lastOf(req).Text()
				_, ratio, _ := strings.Cut(told, "The Nile is ")
				ratio, _, _ = strings.Cut(ratio, " times")
				text := "# Rivers\n\nThe Nile is " + ratio + " times as long as the Danube.\n"
				if shows {
					text += "\n![The lengths of both](/mnt/user-data/outputs/lengths.png)\n"
				}
				return scripted.Say(text)
			},
		}
		url := researchServer(t, "sandbox: on\n", c.model())
		if status, frames := say(t, url, `{"thread_id":"t","auto_accepted_plan":true,"enable_background_investigation":false,"messages":[{"role":"user","content":"Rivers?"}]}`); status != 200 || !strings.Contains(frames[len(frames)-1], "success") {
			t.Fatalf("%d %q", status, frames)
		}
		var values struct {
			Report    string `json:"final_report"`
			Artifacts []string
			Results   map[string]research.Result
		}
		stateOf(t, url, "t", &values)
		if !strings.Contains(values.Report, "The Nile is 2.33 times as long") || strings.Count(values.Report, "](/mnt/user-data/outputs/lengths.png)") != 1 {
			t.Errorf("the report is %s; the coder says %+v", values.Report, values.Results)
		}
		if !strings.Contains(told, "<chart title=\"Compare the lengths\">\n/mnt/user-data/outputs/lengths.png\n</chart>") {
			t.Errorf("the reporter was told %s", told)
		}
		if want := []string{"/mnt/user-data/outputs/lengths.png", "/mnt/user-data/outputs/report.md"}; !slices.Equal(values.Artifacts, want) {
			t.Errorf("artifacts %q, want %q", values.Artifacts, want)
		}
		status, picture := get(t, url+"/threads/t/artifacts/mnt/user-data/outputs/lengths.png")
		if img, err := png.Decode(bytes.NewReader([]byte(picture))); err != nil || status != 200 || img.Bounds().Dx() != 70 {
			t.Errorf("%d, %v: the chart is no picture", status, err)
		}
		if status, text := get(t, url+"/threads/t/artifacts/mnt/user-data/outputs/report.md"); status != 200 || text != values.Report {
			t.Errorf("%d: the file of the report is %q", status, text)
		}
		if !slices.Contains(c.tools[research.NodeCoder], "write_file") {
			t.Errorf("the coder has %q", c.tools[research.NodeCoder])
		}
	}
}

// gauge is an MCP server with one tool.
func gauge(t *testing.T) string {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "gauge", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "level", Description: "Tells the level of a river.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "The level of the Nile is 4.2 m."}}}, nil
		})
	s := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

func gauging() *cast {
	return &cast{
		plan: `{"title":"Rivers","steps":[{"title":"The level","step_type":"research"},{"title":"What it means","step_type":"analysis"},{"title":"Count","step_type":"processing"}]}`,
		researcher: func(req model.Request) scripted.Script {
			if last := lastOf(req); last.Role == item.Tool {
				return scripted.Say("It was measured: " + last.Text())
			}
			return scripted.Call("c1", "gauge__level", `{}`)
		},
		coder:    func(model.Request) scripted.Script { return scripted.Say("4.2") },
		reporter: func(model.Request) scripted.Script { return scripted.Say("# Level\n\nIt is 4.2 m.\n") },
	}
}

// The researcher, and nobody else, has the tools of a server that names it: one of the configuration, or one of the request,
// also after a person has accepted the plan in a run of its own.
func TestMCPToolsAreAddedToTheResearcher(t *testing.T) {
	url := gauge(t)
	const question = `"messages":[{"role":"user","content":"How high is the Nile?"}],"enable_background_investigation":false,"max_step_num":3`
	brought := fmt.Sprintf(`,"mcp_settings":{"servers":{"gauge":{"transport":"streamable_http","url":%q,"enabled_tools":["level"],"add_to_agents":["researcher"]}}}`, url)
	for name, c := range map[string]struct{ config, request string }{
		"of the configuration": {"mcp:\n  allow: [127.0.0.1]\n  servers:\n    gauge: {url: '" + url + "', add_to_agents: [researcher]}\n", ""},
		"of the request":       {"mcp: {allow: [127.0.0.1], requests: true}\n", brought},
	} {
		t.Run(name, func(t *testing.T) {
			play := gauging()
			server := researchServer(t, c.config+"sandbox: off\n", play.model())
			if status, frames := say(t, server, `{"thread_id":"t",`+question+c.request+`}`); status != 200 || !slices.ContainsFunc(frames, func(f string) bool { return strings.HasPrefix(f, "interrupt ") }) {
				t.Fatalf("%d %q", status, frames)
			}
			status, frames := say(t, server, `{"thread_id":"t","interrupt_feedback":"accepted"}`)
			if status != 200 || !slices.ContainsFunc(frames, func(f string) bool { return strings.HasPrefix(f, "tool_call_result ") && strings.Contains(f, "4.2 m") }) {
				t.Fatalf("%d %q", status, frames)
			}
			var values struct{ Results map[string]research.Result }
			stateOf(t, server, "t", &values)
			if got := values.Results["s1"].Text; got != "It was measured: The level of the Nile is 4.2 m." {
				t.Errorf("the step found %q", got)
			}
			for _, role := range research.Roles {
				if has := slices.Contains(play.tools[role], "gauge__level"); has != (role == research.NodeResearcher) {
					t.Errorf("%s has %q", role, play.tools[role])
				}
			}
		})
	}
	// A server that names no role of the research is of no use to it, and one of the configuration for all agents is not meant.
	server := researchServer(t, "sandbox: off\nmcp: {allow: [127.0.0.1], requests: true}\n", gauging().model())
	nobody := strings.Replace(brought, `,"add_to_agents":["researcher"]`, "", 1)
	if status, said := say(t, server, `{`+question+nobody+`}`); status != 422 || !strings.Contains(said[0], "add_to_agents must name who has its tools: researcher, analyst, coder") {
		t.Errorf("%d %q", status, said)
	}
	play := gauging()
	play.researcher = func(model.Request) scripted.Script { return scripted.Say("Nothing to measure with.") }
	server = researchServer(t, "sandbox: off\nmcp:\n  allow: [127.0.0.1]\n  servers:\n    gauge: {url: '"+url+"'}\n", play.model())
	if status, frames := say(t, server, `{"auto_accepted_plan":true,`+question+`}`); status != 200 || len(play.tools[research.NodeResearcher]) == 0 || slices.Contains(play.tools[research.NodeResearcher], "gauge__level") {
		t.Errorf("%d %q; the researcher has %q", status, frames, play.tools[research.NodeResearcher])
	}
}
