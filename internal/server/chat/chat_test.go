package chat_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a runtime with a research graph, whose model plays all roles.
type world struct {
	*testing.T
	rt  *tributary.Runtime
	url string
}

const (
	plan   = `{"title":"Rivers","thought":"why they move","steps":[{"title":"Meanders","description":"why rivers bend","step_type":"research","need_search":true}]}`
	source = "Rivers bend because the outer bank is worn away."
	report = "# Rivers\n\nRivers bend because the outer bank is worn away. [^1]\n"
)

// play says what each role says. A plan that was talked about is told so.
func play(req model.Request) scripted.Script {
	last := req.Messages[len(req.Messages)-1]
	switch {
	case strings.HasPrefix(req.System, "You are the first"):
		switch text := last.Text(); {
		case text == "Hello!":
			return scripted.Say("Hello. What do you want to know?")
		case text == "Rivers?":
			return scripted.Say("What about rivers?")
		}
		return scripted.Call("h1", "handoff_to_planner", `{"research_topic":"Why do rivers bend?"}`)
	case strings.HasPrefix(req.System, "You plan research"):
		switch text := last.Text(); {
		case strings.Contains(text, "<finding"):
			return scripted.Say(`{"title":"Rivers","has_enough_context":true,"steps":[]}`)
		case strings.Contains(text, "<feedback>"):
			return scripted.Say(strings.Replace(plan, "Rivers", "Rivers, as you like", 1))
		}
		return scripted.Think("Let me plan.").Say(plan)
	case strings.HasPrefix(req.System, "You find out"):
		if last.Role == item.Tool {
			return scripted.Say("The outer bank is worn away. [^1]")
		}
		return scripted.Call("c1", "web_search", `{"query":"meanders [bends]"}`)
	case strings.HasPrefix(req.System, "You write the report"):
		return scripted.Say(report)
	}
	return scripted.Fail(&model.Error{Class: model.BadRequest, Message: "nobody plays this role"})
}

func searcher() tool.Tool {
	return tool.FuncOfCall("web_search", "Searches.", func(_ context.Context, _ tool.Call, _ struct {
		Query string `json:"query"`
	}) (item.ToolResult, error) {
		b := item.Block{Type: item.TextBlock, Ref: 1, Text: source, Name: "Meanders", URL: "https://example.com/meanders"}
		return item.ToolResult{Blocks: []item.Block{b}, Content: []item.Block{b}}, nil
	})
}

func serve(t *testing.T, play func(model.Request) scripted.Script) *world {
	t.Helper()
	builder, err := tributary.Research(tributary.ResearchOptions{Models: tributary.OneModel(scripted.New(play)), Tools: []tool.Tool{searcher()}})
	if err != nil {
		t.Fatal(err)
	}
	return open(t, tributary.Options{Graphs: map[string]tributary.Builder{tributary.ResearchGraph: builder}})
}

func open(t *testing.T, opt tributary.Options) *world { return openWith(t, opt, httpapi.Options{}) }

func openWith(t *testing.T, opt tributary.Options, served httpapi.Options) *world {
	t.Helper()
	opt.Dir = t.TempDir()
	rt, err := tributary.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	h, err := httpapi.New(rt, served)
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
	})
	return &world{t, rt, s.URL}
}

type frame struct {
	name, id, data string
	said           map[string]any
}

func (w *world) do(method, path, body string, header ...string) *http.Response {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { res.Body.Close() })
	return res
}

// read reads frames, all or until stop says that it is enough.
func (w *world) read(res *http.Response, stop func(frame) bool) (all []frame) {
	w.Helper()
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(res.Body)
		w.Fatalf("%s: %s", res.Status, body)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	var f frame
	for lines.Scan() {
		line := lines.Text()
		switch {
		case line == "" && f.name != "":
			if err := json.Unmarshal([]byte(f.data), &f.said); err != nil {
				w.Fatalf("%s: %v", f.data, err)
			}
			if all = append(all, f); stop != nil && stop(f) {
				return all
			}
			f = frame{}
		case strings.HasPrefix(line, "event: "):
			f.name = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			f.data = line[len("data: "):]
		case strings.HasPrefix(line, "id: "):
			f.id = line[len("id: "):]
		}
	}
	return all
}

// lines are the data of a stream, whatever its frames are called.
func (w *world) lines(res *http.Response) (all []string) {
	w.Helper()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		w.Fatalf("%v, %s: %s", err, res.Status, body)
	}
	for line := range strings.SplitSeq(string(body), "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			all = append(all, data)
		}
	}
	return all
}

func (w *world) ask(body string) []frame {
	w.Helper()
	return w.read(w.do("POST", "/api/chat/stream", body), nil)
}

// texts are the messages of a stream by agent, in their order, without what is void.
func texts(all []frame) (out []string) {
	said, agent := map[string]string{}, map[string]string{}
	var order []string
	for _, f := range all {
		id, _ := f.said["id"].(string)
		if f.name != "message_chunk" {
			continue
		}
		if _, ok := said[id]; !ok {
			order = append(order, id)
			agent[id], _ = f.said["agent"].(string)
		}
		text, _ := f.said["content"].(string)
		said[id] += text
		if f.said["finish_reason"] == "void" {
			said[id] = ""
		}
	}
	for _, id := range order {
		if said[id] != "" {
			out = append(out, agent[id]+": "+said[id])
		}
	}
	return out
}

func named(all []frame, name string) (out []frame) {
	for _, f := range all {
		if f.name == name {
			out = append(out, f)
		}
	}
	return out
}

const question = `"messages":[{"role":"user","content":"Why do rivers bend?"}],"enable_background_investigation":false`

func TestAPlanIsReviewedAndCarriedOut(t *testing.T) {
	w := serve(t, play)
	all := w.ask(`{"thread_id":"V1StGXR8_Z5jdHi6B-myT",` + question + `}`)
	if got := strings.Join(texts(all), "|"); got != "planner: "+plan {
		t.Errorf("before the review there is %q, want the plan", got)
	}
	asked := named(all, "interrupt")
	if len(asked) != 1 {
		t.Fatalf("%d interrupts, want 1", len(asked))
	}
	id, _ := asked[0].said["id"].(string)
	want := `{"thread_id":"V1StGXR8_Z5jdHi6B-myT","id":"` + id + `","role":"assistant","content":"Please review the plan.","finish_reason":"interrupt",` +
		`"options":[{"text":"Edit plan","value":"edit_plan"},{"text":"Start research","value":"accepted"}]}`
	if asked[0].data != want {
		t.Errorf("the interrupt is\n%s\nwant\n%s", asked[0].data, want)
	}
	if end := all[len(all)-1]; end.name != "end" || end.said["status"] != "interrupted" || end.said["id"] != id {
		t.Errorf("the stream ends with %s %s", end.name, end.data)
	}

	all = w.ask(`{"thread_id":"V1StGXR8_Z5jdHi6B-myT","messages":[{"role":"user","content":"more about water"}],"interrupt_feedback":"edit_plan","auto_accepted_plan":false}`)
	if got := strings.Join(texts(all), "|"); !strings.HasPrefix(got, "planner: ") || !strings.Contains(got, "as you like") || len(named(all, "interrupt")) != 1 {
		t.Errorf("after the edit there is %q, want another plan and its review", got)
	}

	all = w.ask(`{"thread_id":"V1StGXR8_Z5jdHi6B-myT","messages":[{"role":"user","content":"Great, let's go!"}],"interrupt_feedback":"accepted","auto_accepted_plan":false}`)
	got := texts(all)
	if len(got) != 2 || got[0] != "researcher: The outer bank is worn away. [^1]" || !strings.HasPrefix(got[1], "reporter: # Rivers") {
		t.Errorf("after the acceptance there is %q, want a finding and the report", got)
	}
	cited := named(all, "citations")
	if len(cited) != 1 || !strings.Contains(cited[0].data, `"url":"https://example.com/meanders","title":"Meanders","content_snippet":"`+source) ||
		!strings.Contains(cited[0].data, `"citations":[{"id":"`) || len(cited[0].said) != 2 {
		t.Errorf("the citations are %v", cited)
	}
	res := w.do("POST", "/api/chat/stream", `{"thread_id":"V1StGXR8_Z5jdHi6B-myT","interrupt_feedback":"accepted"}`)
	if body, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusConflict || !strings.Contains(string(body), "nothing is asked") {
		t.Errorf("a second answer is answered with %s %s", res.Status, body)
	}
}

func TestFramesHaveTheFieldsOfDeerFlow(t *testing.T) {
	w := serve(t, play)
	all := w.ask(`{"auto_accepted_plan":true,"max_plan_iterations":1,` + question + `}`)
	thread, _ := all[0].said["thread_id"].(string)
	if len(thread) != 36 {
		t.Errorf("the thread is %q, want a new one", thread)
	}
	base := []string{"thread_id", "agent", "id", "role", "checkpoint_ns", "langgraph_node", "langgraph_path", "langgraph_step"}
	finishes := map[string]int{}
	for _, f := range all {
		if f.said["thread_id"] != thread || f.id == "" {
			t.Errorf("%s %s has another thread, or no id", f.name, f.data)
		}
		if _, has := f.said["content"]; has && f.said["content"] == "" {
			t.Errorf("an empty content in %s", f.data)
		}
		switch f.name {
		case "message_chunk", "tool_calls", "tool_call_chunks", "tool_call_result":
			for _, name := range base {
				if _, ok := f.said[name]; !ok {
					t.Errorf("%s has no %s: %s", f.name, name, f.data)
				}
			}
			if reason, ok := f.said["finish_reason"].(string); ok {
				finishes[reason]++
			}
		case "citations", "end":
		default:
			t.Errorf("a frame %s", f.name)
		}
	}
	if finishes["tool_calls"] != 2 || finishes["stop"] != 3 || len(finishes) != 2 {
		t.Errorf("messages finish with %v, want 2 with tool_calls and 3 with stop", finishes)
	}
	var calls []frame
	for _, f := range named(all, "tool_calls") {
		if f.said["agent"] == "researcher" {
			calls = append(calls, f)
		}
	}
	if len(calls) != 1 || !strings.Contains(calls[0].data, `"tool_calls":[{"name":"web_search","args":{},"id":"`) ||
		!strings.Contains(calls[0].data, `"tool_call_chunks":[{"name":"web_search","args":"","id":"`) {
		t.Fatalf("the calls of the researcher are %+v", calls)
	}
	args := ""
	for _, f := range named(all, "tool_call_chunks") {
		if f.said["id"] == calls[0].said["id"] {
			chunk := f.said["tool_call_chunks"].([]any)[0].(map[string]any)
			args += chunk["args"].(string)
			if chunk["id"] != nil || chunk["index"] != 0.0 || chunk["type"] != "tool_call_chunk" {
				t.Errorf("a chunk %v", chunk)
			}
		}
	}
	if want := `&#123;"query":"meanders &#91;bends&#93;"&#125;`; args != want {
		t.Errorf("the arguments are %s, want %s", args, want)
	}
	var found []map[string]string
	for _, f := range named(all, "tool_call_result") {
		if f.said["agent"] == "researcher" {
			content, _ := f.said["content"].(string)
			if err := json.Unmarshal([]byte(content), &found); err != nil {
				t.Errorf("the result is no list of pages: %s", content)
			}
		}
	}
	if len(found) != 1 || found[0]["type"] != "page" || found[0]["title"] != "Meanders" || found[0]["url"] != "https://example.com/meanders" || found[0]["content"] != source {
		t.Errorf("the search found %v", found)
	}
	thought := ""
	for _, f := range named(all, "message_chunk") {
		text, _ := f.said["reasoning_content"].(string)
		thought += text
	}
	if thought != "Let me plan." {
		t.Errorf("the planner thought %q", thought)
	}
}

func TestAClarificationIsAnsweredByTheNextMessage(t *testing.T) {
	w := serve(t, play)
	all := w.ask(`{"thread_id":"t1","enable_clarification":true,"enable_background_investigation":false,"messages":[{"role":"user","content":"Rivers?"}]}`)
	if got := texts(all); len(got) != 1 || got[0] != "coordinator: What about rivers?" || len(named(all, "interrupt")) != 0 {
		t.Errorf("the question is %q, want a message and no interrupt", got)
	}
	all = w.ask(`{"thread_id":"t1","enable_clarification":true,"messages":[{"role":"user","content":[{"type":"text","text":"Why they bend."}]}]}`)
	if got := texts(all); len(got) != 1 || got[0] != "planner: "+plan {
		t.Errorf("the answer led to %q, want the plan", got)
	}
}

func TestADirectAnswerIsAMessageOfTheCoordinator(t *testing.T) {
	w := serve(t, play)
	all := w.ask(`{"thread_id":"__default__","messages":[{"role":"user","content":"Hello!"}]}`)
	if got := texts(all); len(got) != 1 || got[0] != "coordinator: Hello. What do you want to know?" {
		t.Errorf("got %q", got)
	}
}

// A reader that leaves after any frame and comes back gets the rest; the run went on meanwhile, and runs once.
func TestARunOutlivesItsConnection(t *testing.T) {
	var asked atomic.Int32
	w := serve(t, func(req model.Request) scripted.Script {
		asked.Add(1)
		return play(req)
	})
	whole := w.ask(`{"thread_id":"t2","auto_accepted_plan":true,` + question + `}`)
	times := asked.Load()
	for at := 0; at < len(whole); at += 7 {
		rest := w.read(w.do("POST", "/api/chat/stream", `{"thread_id":"t2"}`, "Last-Event-ID", whole[at].id), nil)
		if same := equal(rest, whole[at+1:]); !same {
			t.Errorf("after frame %d there are %d frames, want the %d others", at, len(rest), len(whole)-at-1)
		}
	}
	if asked.Load() != times {
		t.Errorf("the model was asked %d times more", asked.Load()-times)
	}
	first := w.read(w.do("POST", "/api/chat/stream", `{"thread_id":"t3","auto_accepted_plan":true,`+question+`}`), func(frame) bool { return true })
	rest := w.read(w.do("GET", "/api/chat/stream?thread_id=t3&after="+first[0].id, ""), nil)
	if end := rest[len(rest)-1]; end.name != "end" || end.said["status"] != "success" {
		t.Errorf("after the connection broke the run ended with %s %s", end.name, end.data)
	}
	for _, bad := range []struct {
		id     string
		status int
	}{{"nonsense", 422}, {strings.Replace(first[0].id, ":0", ":999999", 1), 410}, {"00000000-0000-7000-8000-000000000000:1", 404}} {
		if res := w.do("POST", "/api/chat/stream", `{"thread_id":"t3"}`, "Last-Event-ID", bad.id); res.StatusCode != bad.status {
			t.Errorf("Last-Event-ID %s is answered with %s, want %d", bad.id, res.Status, bad.status)
		}
	}
	if res := w.do("POST", "/api/chat/stream", `{"thread_id":"t2"}`, "Last-Event-ID", first[0].id); res.StatusCode != 404 {
		t.Errorf("a frame of another thread is answered with %s", res.Status)
	}
}

func equal(a, b []frame) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].name != b[i].name || a[i].id != b[i].id || a[i].data != b[i].data {
			return false
		}
	}
	return true
}

func TestTwoClientsOfAThreadSeeTheSame(t *testing.T) {
	w := serve(t, play)
	one := w.do("POST", "/api/chat/stream", `{"thread_id":"t4","auto_accepted_plan":true,`+question+`}`)
	other := w.do("GET", "/api/chat/stream?thread_id=t4", "")
	a, b := w.read(one, nil), w.read(other, nil)
	if !equal(a, b) || len(a) == 0 {
		t.Errorf("one client has %d frames, the other %d, or they differ", len(a), len(b))
	}
}

func TestAFailureIsToldAndEndsTheStream(t *testing.T) {
	w := serve(t, func(model.Request) scripted.Script {
		return scripted.Fail(&model.Error{Class: model.BadRequest, Message: "no"})
	})
	all := w.ask(`{"messages":[{"role":"user","content":"Hello!"}]}`)
	if len(all) != 2 || all[0].name != "error" || all[0].said["error"] == "" || all[1].name != "end" || all[1].said["status"] != "error" {
		t.Errorf("got %+v, want an error and the end", all)
	}
}

func TestWhatCannotBeHadIsRefused(t *testing.T) {
	w := serve(t, play)
	for _, c := range []struct {
		body   string
		status int
		field  string
	}{
		{`{"mcp_settings":{"servers":{"x":{"transport":"stdio","command":"sh"}}},` + question + `}`, 403, "mcp_settings"},
		{`{"interrupt_before_tools":["web_search"],` + question + `}`, 422, "interrupt_before_tools"},
		{`{"max_step_num":99,` + question + `}`, 422, "max_step_num"},
		{`{"report_style":"poem",` + question + `}`, 422, "report_style"},
		{`{"thread_id":"a b",` + question + `}`, 422, "thread_id"},
		{`{"messages":[]}`, 422, "messages"},
		{`{"messages":[{"role":"dog","content":"x"}]}`, 422, "messages[0].role"},
		{`{"thread_id":"t9","interrupt_feedback":"accepted"}`, 409, "interrupt_feedback"},
	} {
		res := w.do("POST", "/api/chat/stream", c.body)
		var p struct{ Detail, Field string }
		if err := json.NewDecoder(res.Body).Decode(&p); err != nil || res.StatusCode != c.status || p.Field != c.field || !strings.Contains(p.Detail, c.field) {
			t.Errorf("%s is answered with %s %+v, want %d for %s", c.body, res.Status, p, c.status, c.field)
		}
	}
	if res := w.do("GET", "/api/chat/stream?thread_id=t9", ""); res.StatusCode != 404 {
		t.Errorf("a thread without runs is answered with %s", res.Status)
	}
}
