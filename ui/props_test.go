package ui_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// cue is the name of a file in the stage's folder for which actors wait, so that a test sees them work for as long as it likes.
const cue = "cue"

// onCue waits for it, in the process of the stage.
func onCue(ctx context.Context) error { return onCueOf(ctx, cue) }

func onCueOf(ctx context.Context, name string) error {
	for {
		if _, err := os.Stat(filepath.Join(os.Getenv("PAGE_STAGE"), name)); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// picture is the address of a square picture that holds itself.
func picture(size int) string {
	img := image.NewGray(image.Rect(0, 0, size, size))
	for i := range img.Pix {
		img.Pix[i] = byte(i * 255 / len(img.Pix))
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err) // a buffer takes everything
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}

// paper is a PDF of one small page.
const paper = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n" +
	"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/Contents 4 0 R/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>endobj\n" +
	"4 0 obj<</Length 41>>stream\nBT /F 18 Tf 20 40 Td (Low water) Tj ET   \nendstream endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"

// props are the tools of the stage that have a view of their own, under the names that real ones have.
func props() []tool.Tool {
	bash := tool.FuncOfCall("bash", "Runs a command.", func(ctx context.Context, c tool.Call, in struct {
		Command string `json:"command"`
	}) (item.ToolResult, error) {
		show := func(text string) { c.Scope.Show(0, item.Block{Type: item.TextBlock, Text: text}) }
		c.Scope.Progress(tool.Progress{Message: "compiling", Done: 3, Total: 10})
		show("\x1b[32mok\x1b[0m   package one\n")
		for i := range 40 {
			show(fmt.Sprintf("line %d of the build\n", i+1))
		}
		show("downloading 10%\rdownloading 100%\n")
		if err := onCue(ctx); err != nil {
			return item.ToolResult{}, err
		}
		show("the last line\n[exit code 2]")
		return tool.Text("the last line\n[exit code 2]"), nil
	})
	edit := tool.Func("str_replace", "Changes a file.", func(context.Context, struct {
		Path string `json:"path"`
		Old  string `json:"old_str"`
		New  string `json:"new_str"`
	}) (string, error) {
		return "changed", nil
	})
	search := tool.Func("web_search", "Searches.", func(context.Context, struct {
		Query string `json:"query"`
	}) (string, error) {
		return `[{"title":"Low water on the Rhine","url":"https://example.org/rhine","content":"At Kaub the gauge fell to 25 cm."},{"title":"<b>Hostile</b>","url":"javascript:pwned=1","snippet":"x"}]`, nil
	})
	report := tool.FuncOfCall("report", "Writes files for the person.", func(_ context.Context, c tool.Call, _ struct{}) (string, error) {
		folder, err := c.Scope.Folder()
		if err != nil {
			return "", err
		}
		for name, text := range map[string]string{
			"report.md": "# Low water\n\nThe gauge fell to **25 cm**.\n", "levels.csv": "place,level\nKaub,25\n\"Ruhrort, harbour\",153\n",
			"main.py": "def level():\n    return 25\n", "page.html": "<h1>made</h1><script>document.body.dataset.ran = 1; try { parent.pwned = 1 } catch {} fetch('https://evil.example/1').catch(() => {})</script>",
			"dot.png":  "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82",
			"data.bin": "\x00\x01", "paper.pdf": paper,
		} {
			if err := folder.MkdirAll("outputs", 0o755); err != nil {
				return "", err
			}
			if err := folder.WriteFile(path.Join("outputs", name), []byte(text), 0o644); err != nil {
				return "", err
			}
		}
		return "seven files", nil
	})
	present := tool.Func("present_files", "Shows files.", func(context.Context, struct {
		Paths []string `json:"filepaths"`
	}) (string, error) {
		return "shown", nil
	})
	uploads := tool.FuncOfCall("uploads", "Reads what was uploaded.", func(_ context.Context, c tool.Call, _ struct{}) (string, error) {
		folder, err := c.Scope.Folder()
		if err != nil {
			return "", err
		}
		f, err := folder.Open("uploads")
		if err != nil {
			return "", err
		}
		defer f.Close()
		names, err := f.Readdirnames(-1)
		return strings.Join(names, " "), err
	})
	// asking asks what its arguments say, and gives back the answer as it came.
	asking := tool.FuncOfCall("asking", "Asks.", func(_ context.Context, c tool.Call, in struct {
		Kind    string         `json:"kind"`
		Options []string       `json:"options,omitempty"`
		Value   map[string]any `json:"value"`
	}) (string, error) {
		raw, err := c.Scope.Ask(tool.Question{Value: in.Value, Kind: in.Kind, Options: in.Options})
		return string(raw), err
	})
	write := tool.Func("write_todos", "Writes the list.", func(context.Context, struct {
		Todos []todo `json:"todos"`
	}) (string, error) {
		return "written", nil
	})
	all := []tool.Tool{bash, edit, search, report, present, uploads, asking, write}
	for i := range all {
		all[i] = tool.Repeatable(all[i])
	}
	return all
}

type todo struct {
	Content string `json:"content"`
	Status  string `json:"status"`
	Kind    string `json:"kind,omitempty"` // of a step of a research
}

// todos tells the readers of a run of the list that write_todos writes.
func todos() agent.Middleware {
	return agent.Middleware{Name: "todos", Tool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
			out, err := next(ctx, c)
			if err != nil || c.Call.Name != "write_todos" {
				return out, err
			}
			var in struct{ Todos []todo }
			if err := json.Unmarshal([]byte(c.Call.Arguments), &in); err != nil {
				return out, err
			}
			plan := event.PlanUpdated{Plan: "todos", Steps: []event.PlanStep{}}
			for i, t := range in.Todos {
				plan.Steps = append(plan.Steps, event.PlanStep{ID: fmt.Sprint(i), Title: t.Content, Status: t.Status, Kind: t.Kind})
			}
			return out, c.Step.Emit(ctx, plan)
		}
	}}
}

// The questions that the stage can ask, as the built-in agents ask them.
var (
	approvalAsk = `{"kind":"tool_approval","options":["approve","approve_for_thread","edit","reject"],"value":{"kind":"tool_approval","tool":"bash","arguments":{"command":"rm -r exports/2019"},"tool_call_id":"t1","can":"reads, writes, executes"}}`
	formAsk     = `{"kind":"clarification","value":{"version":2,"kind":"human_input_request","input_mode":"form","question":"For which boats?","context":"Prices differ.","fields":[` +
		`{"name":"river","label":"River","type":"select","required":true,"options":["Rhine","Danube"]},{"name":"boats","label":"How many","type":"number","required":true},{"name":"cargo","label":"Cargo","type":"multi_select","options":["ore","grain"]},{"name":"night","label":"Also at night","type":"checkbox"}]}}`
	choiceAsk = `{"kind":"clarification","options":["Germany","The whole Rhine"],"value":{"version":1,"kind":"human_input_request","input_mode":"choice_with_other","question":"Which freight?","options":[{"id":"option-1","label":"Germany","value":"Germany"},{"id":"option-2","label":"The whole Rhine","value":"The whole Rhine"}]}}`
	planAsk   = `{"kind":"plan_review","options":["accepted","edit_plan"],"value":{"message":"Please review the plan.","plan":{"title":"Low water","steps":[` +
		`{"id":"s1","title":"Gauges","description":"Levels since 2018","step_type":"research","need_search":true},{"id":"s2","title":"Freight","description":"What it cost","step_type":"research","need_search":true},{"id":"s3","title":"Outlook","step_type":"analysis"}]}}}`
)

// playProps plays the scenes that show tools, files, plans and questions.
func playProps(asked, last string, results int) (scripted.Script, bool) {
	call := func(name, args string) (scripted.Script, bool) {
		return scripted.Call("p_"+fmt.Sprint(results), name, args), true
	}
	say := func(text string) (scripted.Script, bool) { return scripted.Say(text), true }
	scene := func(name, args string) (scripted.Script, bool) {
		if results == 0 {
			return call(name, args)
		}
		return say("It said: `" + last + "`")
	}
	switch {
	case strings.HasPrefix(asked, "Build it"):
		return scene("bash", `{"command":"go build ./...\ngo vet ./..."}`)
	case strings.HasPrefix(asked, "Think and write"):
		if results > 0 {
			return say("It said: `" + last + "`")
		}
		return scripted.Script{}.Part(model.Reasoning{Text: "The gauge is *too low*.\n\nIt is "}).Do(onCue).
			Part(model.Reasoning{Text: "to be corrected."}).Do(func(ctx context.Context) error { return onCueOf(ctx, "second "+cue) }).
			Part(model.ToolCall{ID: "w_1", Name: "str_replace", Arguments: `{"path":"/mnt/user-data/outputs/main.py","old_str":"return 25\n","new_str":"return 26\n# half of`}).
			Do(func(ctx context.Context) error { return onCueOf(ctx, "third "+cue) }).
			Part(model.ToolCall{Arguments: ` it\n"}`}), true
	case strings.HasPrefix(asked, "Change the gauge"):
		return scene("str_replace", `{"path":"/mnt/user-data/outputs/main.py","old_str":"def level():\n    return 25\n","new_str":"def level():\n    return 26\n    # corrected\n"}`)
	case strings.HasPrefix(asked, "Search the web"):
		return scene("web_search", `{"query":"low water Kaub"}`)
	case strings.HasPrefix(asked, "Write the report"):
		switch results {
		case 0:
			return call("report", `{}`)
		case 1:
			return call("present_files", `{"filepaths":["/mnt/user-data/outputs/report.md","/mnt/user-data/outputs/levels.csv"]}`)
		}
		return say("Here it is.")
	case strings.HasPrefix(asked, "Recite at length"):
		return scripted.Pieces(recitation).Do(onCue).Words("The end."), true
	case strings.HasPrefix(asked, "Recite"):
		return scripted.Every(time.Millisecond).Words(recital[0]).Do(onCue).Words(recital[1]), true
	case strings.HasPrefix(asked, "Paint"):
		return scripted.Script{}.Part(model.Image{Partial: true, URL: picture(8)}).Do(onCue).Part(model.Image{Partial: true, URL: picture(16)}, model.Image{URL: picture(64), MIME: "image/png"}).Block().Say("Here is the sea."), true
	case strings.HasPrefix(asked, "Draw"):
		return say("A boat waits until the gauge allows it to sail:\n\n" + flowchart + "\n\nA page asks the server for what it has missed:\n\n" + sequence)
	case strings.HasPrefix(asked, "Show the dot"):
		if results == 0 {
			return call("report", `{}`)
		}
		return say("Look: ![the dot](/mnt/user-data/outputs/dot.png) in [the report](/mnt/user-data/outputs/report.md), " +
			"not ![gone](/mnt/user-data/outputs/gone.png) nor ![out](/mnt/user-data/outputs/../../../../../../tasks?x.png) nor ![code](/mnt/user-data/outputs/page.html) nor ![out](/threads/search.png).")
	case strings.HasPrefix(asked, "What did I upload"):
		return scene("uploads", `{}`)
	case strings.HasPrefix(asked, "Approve"):
		return scene("asking", approvalAsk)
	case strings.HasPrefix(asked, "Form"):
		return scene("asking", formAsk)
	case strings.HasPrefix(asked, "Choose"):
		return scene("asking", choiceAsk)
	case strings.HasPrefix(asked, "Research"):
		return scene("asking", planAsk)
	case strings.HasPrefix(asked, "Report "):
		if results == 0 {
			return call("write_todos", `{"todos":[{"content":"Read the gauges","status":"done","kind":"research"}]}`)
		}
		return long(asked), true
	case strings.HasPrefix(asked, "Plan three things"):
		switch results {
		case 0:
			return call("write_todos", `{"todos":[{"content":"Read the gauges","status":"done"},{"content":"Compare the years","status":"running"},{"content":"Write it down","status":"pending"}]}`)
		case 1:
			return call("bash", `{"command":"sleep"}`)
		case 2:
			return call("write_todos", `{"todos":[{"content":"Read the gauges","status":"done"},{"content":"Compare the years","status":"done"},{"content":"Write it down","status":"skipped"}]}`)
		}
		return say("All is done.")
	}
	return scripted.Script{}, false
}

// playWith plays, and can tell what it was configured with.
func playWith(configurable json.RawMessage) func(model.Request) scripted.Script {
	return func(req model.Request) scripted.Script {
		if m := req.Messages[len(req.Messages)-1]; m.Role == item.User && strings.HasPrefix(m.Text(), "Which model") {
			return scripted.Say("Configured with `" + string(configurable) + "`")
		}
		return play(req)
	}
}

// researcher is another assistant to choose.
func researcher() (*graph.Graph, error) {
	return agent.New(agent.Options{Name: "research", Model: scripted.New(func(model.Request) scripted.Script { return scripted.Say("The researcher answers.") })})
}
