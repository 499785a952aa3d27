package httpapi_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/model/openai"
	"github.com/tributary-ai/tributary/tool/mcp"
)

// provider answers as a service of models does: with the given answers, one after the other. It keeps what it was asked.
type provider struct {
	*httptest.Server
	mu      sync.Mutex
	asked   []string
	answers []string
}

func newProvider(t *testing.T, answers ...string) *provider {
	t.Helper()
	p := &provider{answers: answers}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked = append(p.asked, string(body))
		if len(p.asked) > len(p.answers) {
			http.Error(w, "asked too often", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", p.answers[len(p.asked)-1])
		fmt.Fprint(w, "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

func callsFor(name, arguments string) string {
	return fmt.Sprintf(`{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":%q,"arguments":%q}}]}`, name, arguments)
}

const (
	says        = `{"role":"assistant","content":"A boat."}`
	boat        = "\x89PNG\r\n\x1a\nthe picture of a boat"
	pictureWish = `{"assistant_id":"lead_agent","input":{"messages":[{"role":"user","content":"What is on it?"}]}}`
)

// sees is whether a request brings the picture.
func sees(request string) bool {
	return strings.Contains(request, `"url":"data:image/png;base64,`+base64.StdEncoding.EncodeToString([]byte(boat))+`"`)
}

func TestAPictureThatWasUploadedIsInTheRequestToAModelThatSees(t *testing.T) {
	p := newProvider(t, callsFor("view_image", `{"image_path":"/mnt/user-data/uploads/boat.png"}`), says)
	w := people(t, leading(t, t.TempDir(), openai.Chat(openai.Options{Model: "m", BaseURL: p.URL})))
	thread := "0190a1b2-0000-7000-8000-00000000000a"
	body, kind := form(t, "boat.png", boat)
	if res, text := w.call("POST", "/threads/"+thread+"/uploads", body, "Content-Type", kind, "Who", "anna"); res.StatusCode != 200 {
		t.Fatalf("%s: %s", res.Status, text)
	}
	w.step("anna", "POST", "/threads/"+thread+"/runs/wait", pictureWish, 200, "A boat.")
	asked := p.requests()
	if len(asked) != 2 || !strings.Contains(asked[0], "boat.png (29 bytes, a picture; view_image shows it, if you have that tool)") || sees(asked[0]) || !sees(asked[1]) {
		t.Errorf("the model was asked %q", asked)
	}
	if text := w.step("anna", "GET", "/threads/"+thread+"/state", "", 200); strings.Contains(text, "base64") {
		t.Errorf("the picture is in the state: %s", text)
	}
}

func TestAModelThatCannotSeeIsToldSo(t *testing.T) {
	p := newProvider(t, says)
	w := people(t, leading(t, t.TempDir(), openai.Chat(openai.Options{Model: "m", BaseURL: p.URL, TextOnly: true})))
	thread := "0190a1b2-0000-7000-8000-00000000000b"
	body, kind := form(t, "boat.png", boat)
	w.call("POST", "/threads/"+thread+"/uploads", body, "Content-Type", kind, "Who", "anna")
	w.step("anna", "POST", "/threads/"+thread+"/runs/wait", pictureWish, 200, "A boat.")
	asked := p.requests()
	if len(asked) != 1 || !strings.Contains(asked[0], "boat.png (29 bytes, a picture, which you cannot see)") || strings.Contains(asked[0], "view_image") {
		t.Errorf("the model was asked %q", asked)
	}
}

// A picture in the result of an MCP server's tool is shown to a model that sees; another one is told that there is one.
func TestAPictureOfAnMCPServerReachesTheModel(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "camera", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "look", Description: "looks"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "The harbour."}, &sdk.ImageContent{MIMEType: "image/png", Data: []byte(boat)}}}, nil, nil
	})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	defer web.Close()
	defer web.CloseClientConnections() // those of a stream stay open
	hub, err := mcp.Open(mcp.Options{Servers: []mcp.Server{{Name: "camera", Type: mcp.HTTP, URL: web.URL}}, HTTP: web.Client()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := hub.Close(); err != nil {
			t.Error(err)
		}
	}()
	tools, problems := hub.Tools(t.Context(), mcp.Who{Agent: "agent", Owner: "anna", Thread: "t"})
	if len(problems) > 0 || len(tools) != 1 {
		t.Fatalf("tools %v, problems %v", tools, problems)
	}
	for name, blind := range map[string]bool{"sees": false, "cannot see": true} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, callsFor(tools[0].Spec().Name, "{}"), says)
			w := serve(t, tributary.Options{Tools: tools, Models: tributary.OneModel(openai.Chat(openai.Options{Model: "m", BaseURL: p.URL, TextOnly: blind}))}, httpapi.Options{})
			if res, text := w.call("POST", "/runs/wait", `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"Look."}]}}`); res.StatusCode != 200 {
				t.Fatalf("%s: %s", res.Status, text)
			}
			asked := p.requests()
			if len(asked) != 2 || !strings.Contains(asked[1], "The harbour.") || sees(asked[1]) == blind || blind && !strings.Contains(asked[1], "[image") {
				t.Errorf("the model was asked %q", asked)
			}
		})
	}
}
