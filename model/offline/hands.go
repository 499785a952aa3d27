package offline

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/internal/pattern"
	"github.com/tributary-ai/tributary/internal/prose"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// The tools that the model knows how to use beside search, and where it puts what people are to have.
const (
	writeTool   = "write_file"
	presentTool = "present_files"
	pythonTool  = "python"
	outputs     = "/mnt/user-data/outputs/"
)

const fileName = "[`\"'“”]?([\\w][\\w.\\-/]*)[`\"'“”]?"

var (
	writeNamed = pattern.New(`(?is)^\W*(?:please\s+)?(?:write|create|make|save)\s+(?:me\s+)?(?:a\s+|the\s+)?(?:new\s+|text\s+)*file\s+(?:called\s+|named\s+)?` + fileName +
		`(?:[\s,]+(?:with(?:\s+the)?(?:\s+(?:text|content|contents|words))?|that\s+says|which\s+says|saying|that\s+contains|containing)[\s:]+(.+))?$`)
	writeQuoted = pattern.New(`(?is)^\W*(?:please\s+)?(?:write|save|put)\s+["“'](.+)["”']\s+(?:in|into|to)\s+(?:a\s+|the\s+)?(?:new\s+)?(?:file\s+)?(?:called\s+|named\s+)?` + fileName + `\W*$`)
	writeHan    = pattern.New(`(?s)(?:写|创建|新建|保存)(?:一个|个)?(?:名为|叫)?(?:文件)?\s*` + fileName + `(?:的文件)?[\s，,]*(?:内容(?:为|是)|写(?:着|上|入))[\s:：]*(.+)$`)
	expression  = pattern.New(`(?i)^(?:(?:please|what\s+is|what's|whats|how\s+much\s+is|calculate|compute|请|请问|计算|算一下)[\s,，:：]*)*([\d\s.+\-−–*/×÷^%()]{3,200}?)\s*(?:=|等于|是)?\s*(?:几|多少)?\s*[?？.。!]*$`)
)

// wish is a file that somebody wants written.
type wish struct{ path, content string }

// fileWish finds a wish for a file in what was said.
func fileWish(question string) (wish, bool) {
	var name, content string
	if m := writeQuoted.FindStringSubmatch(question); m != nil {
		name, content = m[2], m[1]
	} else if m := writeNamed.FindStringSubmatch(question); m != nil {
		name, content = m[1], m[2]
	} else if m := writeHan.FindStringSubmatch(question); m != nil {
		name, content = m[1], m[2]
	}
	if name == "" || !strings.Contains(name, ".") { // "write a file please" names none
		return wish{}, false
	}
	name = strings.TrimPrefix(path.Clean("/"+strings.TrimPrefix(name, outputs)), "/")
	content = strings.TrimSpace(content)
	if len(content) > 1 && strings.ContainsRune(`"'“`, []rune(content)[0]) {
		content = strings.Trim(content, `"'“”`)
	}
	return wish{outputs + name, content}, name != ""
}

// byHand uses a tool that does what was asked.
func byHand(req model.Request, question string) (reply, bool) {
	w, ok := fileWish(question)
	if !ok || !offers(req, writeTool) {
		return reply{}, false
	}
	if w.content == "" {
		if prose.Chinese(question) {
			return reply{text: "文件里要写什么？请说：写一个文件 " + path.Base(w.path) + "，内容为……"}, true
		}
		return reply{text: "What is to be in it? Say: write a file " + path.Base(w.path) + " with the text …"}, true
	}
	args := encodeJSON(map[string]string{"path": w.path, "content": w.content + "\n"})
	return reply{thought: "A file is wanted, so I write it.", tool: writeTool, args: args}, true
}

// computed has a longer sum computed, or says that it cannot be.
func computed(req model.Request, question string) (reply, bool) {
	m := expression.FindStringSubmatch(strings.TrimSpace(question))
	if m == nil || !strings.ContainsAny(m[1], "0123456789") || !strings.ContainsAny(m[1], "+*/×÷^%") && !strings.Contains(m[1], " - ") {
		return reply{}, false // 2026-11-16 is a date
	}
	if !offers(req, pythonTool) {
		if prose.Chinese(question) {
			return reply{text: "我自己只会算两个数；更长的算式要有名为 python 的工具。"}, true
		}
		return reply{text: "By myself I calculate with two numbers only; for a longer sum I need a tool named python."}, true
	}
	sum := strings.NewReplacer("×", "*", "÷", "/", "−", "-", "–", "-", "^", "**").Replace(strings.Join(strings.Fields(m[1]), " "))
	args := encodeJSON(map[string]string{"code": "print(" + sum + ")"})
	return reply{thought: "This is more than two numbers, so I have it computed.", tool: pythonTool, args: args}, true
}

// present shows the file that was just written, or says that it was shown.
func present(req model.Request, question string) (reply, bool) {
	last := req.Messages[len(req.Messages)-1]
	w, asked := fileWish(question)
	if last.Failed || !asked {
		return reply{}, false
	}
	switch toolName(req.Messages, last) {
	case writeTool:
		if !offers(req, presentTool) {
			break
		}
		return reply{tool: presentTool, args: encodeJSON(map[string][]string{"filepaths": {w.path}})}, true
	case presentTool:
	default:
		return reply{}, false
	}
	if prose.Chinese(question) {
		return reply{text: "已写入文件：" + w.path}, true
	}
	return reply{text: "I wrote the file " + w.path + "."}, true
}

func offers(req model.Request, name string) bool {
	return req.Choice != "none" && slices.ContainsFunc(req.Tools, func(t model.Tool) bool { return t.Name == name && json.Valid(t.Schema) })
}

// reminders are what the program says between what people say.
var reminders = pattern.New(`(?s)<system-reminder>.*?</system-reminder>`)

// spoken is what a person said in a message, without what the program added; ok is false if nothing is left.
func spoken(m item.Message) (text string, ok bool) {
	text = said(m)
	if !strings.Contains(text, "<system-reminder>") {
		return text, true
	}
	text = strings.TrimSpace(reminders.ReplaceAllString(text, ""))
	return text, text != ""
}
