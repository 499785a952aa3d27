package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// pace is the time between two tokens: enough for somebody to see one and kill the process before the next.
const pace = 3 * time.Millisecond

// withLead makes the server's agent the lead agent, with its whole chain and something to do for each part of it. Its model plays
// a story that is the same in every process, since it goes by what it is shown.
func withLead(o *tributary.Options) error {
	var deferred []tool.Tool
	for i := range 12 {
		deferred = append(deferred, tool.Func(fmt.Sprint("mail_", i), "Mails.", func(context.Context, struct{}) (string, error) { return "sent", nil }))
	}
	agents := tributary.AgentsIn(o.Dir, o.Log)
	f, err := lead.New(lead.Options{
		Agents: agents, Keeper: agents, Deferred: deferred, Budget: 1 << 20,
		Skills: tributary.SkillsIn(o.Dir).Options(true, nil),
		Rules:  lead.Rules{List: []lead.Rule{{Tool: "pay", Do: lead.Ask}}},
		May:    middleware.Rules{DenyNames: []string{"forbidden"}}.May,
	})
	if err != nil {
		return err
	}
	o.Agent, o.Files, o.Memory, o.MaxAttempts = f.Graph, true, &tributary.Memory{}, 1000
	o.Models = tributary.OneModel(scripted.New(story))
	o.Tools = []tool.Tool{pay(o.Dir), look(), dump()}
	return nil
}

// story plans, loads a skill, has two sub-agents work, pays, asks, finds a tool, reads something large, writes a file and shows it.
func story(r model.Request) scripted.Script {
	if strings.HasPrefix(r.System, "You judge") {
		return scripted.Say(`{"blocker":"none","reason":"all is there"}`)
	}
	say := scripted.Every(pace)
	asked, results := "", 0
	for _, b := range r.Messages[0].Content {
		if !strings.HasPrefix(b.Text, "<system-reminder>") {
			asked += b.Text
		}
	}
	for _, m := range r.Messages {
		if m.Role == item.Tool {
			results++
		}
	}
	if asked == "rivers" || asked == "lakes" {
		if results == 0 {
			return say.Call("look_"+asked, "look", `{"at":"`+asked+`"}`)
		}
		return say.Words("I have looked at " + asked + ", and they are wet.")
	}
	task := func(id, what string) item.ToolCall {
		return item.ToolCall{CallID: id, Name: "task", Arguments: `{"description":"` + what + `","prompt":"` + what + `","subagent_type":"general-purpose"}`}
	}
	switch results {
	case 0:
		return say.Words("I make a plan.").Call("todo_1", "write_todos", `{"todos":[{"content":"look","status":"in_progress"},{"content":"pay","status":"pending"}]}`)
	case 1:
		return say.Call("skill_1", "load_skill", `{"name":"report"}`)
	case 2:
		return say.Words("Two look at it.").Parallel(task("task_1", "rivers"), task("task_2", "lakes"))
	case 4:
		return say.Words("It costs.").Parallel(item.ToolCall{CallID: "pay_1", Name: "pay", Arguments: `{"euros":1}`}, item.ToolCall{CallID: "pay_2", Name: "pay", Arguments: `{"euros":2}`},
			item.ToolCall{CallID: "ask_1", Name: "ask_clarification", Arguments: `{"question":"Which?"}`})
	case 7:
		return say.Parallel(item.ToolCall{CallID: "find_1", Name: "tool_search", Arguments: `{"query":"select:mail_3"}`}, item.ToolCall{CallID: "dump_1", Name: "dump", Arguments: `{}`})
	case 9:
		return say.Call("file_1", "write_file", `{"path":"/mnt/user-data/outputs/water.md","content":"Water is wet."}`)
	case 10:
		return say.Call("show_1", "present_files", `{"filepaths":["/mnt/user-data/outputs/water.md"]}`)
	case 11:
		return say.Call("todo_2", "write_todos", `{"todos":[{"content":"look","status":"completed"},{"content":"pay","status":"completed"}]}`)
	}
	return say.Words("All is done, and it is written down.")
}

// pay has an effect that no crash takes back, and shows where it is: before it and behind it.
func pay(dir string) tool.Tool {
	var mu sync.Mutex
	return tool.FuncOfCall("pay", "Pays.", func(_ context.Context, c tool.Call, in struct {
		Euros int `json:"euros"`
	}) (string, error) {
		c.Scope.Progress(tool.Progress{Message: "paying"})
		time.Sleep(5 * pace)
		mu.Lock()
		defer mu.Unlock()
		f, err := os.OpenFile(filepath.Join(dir, "paid"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		_, err = fmt.Fprintln(f, c.ID)
		if err := errors.Join(err, f.Close()); err != nil {
			return "", err
		}
		c.Scope.Progress(tool.Progress{Message: "paid"})
		time.Sleep(5 * pace)
		return fmt.Sprintf("paid %d", in.Euros), nil
	})
}

// look is what sub-agents do. It may be done again.
func look() tool.Tool {
	return tool.Repeatable(tool.Func("look", "Looks.", func(_ context.Context, in struct {
		At string `json:"at"`
	}) (string, error) {
		time.Sleep(2 * pace)
		return in.At + " are wet", nil
	}))
}

// dump says more than a model should read.
func dump() tool.Tool {
	return tool.Repeatable(tool.Func("dump", "Says much.", func(context.Context, struct{}) (string, error) { return strings.Repeat("water is wet\n", 4000), nil }))
}
