package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/pattern"
	"github.com/tributary-ai/tributary/internal/prose"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// searchTool is the name of the tool that finds passages.
const searchTool = "search"

// decide is the whole program: from a request to what is done about it. It is a pure function.
func decide(req model.Request) reply {
	conv := req.Messages
	last := len(conv) - 1
	if last < 0 {
		return reply{text: capabilities("", false)}
	}
	question := lastQuestion(conv)
	if len(req.Schema) > 0 {
		if isPlan(req.Schema) {
			return reply{text: encodeJSON(makePlan(lastTold(conv), question))}
		}
		return reply{text: fill(req.Schema, question)}
	}
	if task, ok := onePart(lastTold(conv), "report"); ok && len(req.Tools) == 0 {
		return reply{text: writeReport(task)}
	}
	if conv[last].Role == item.Tool && !forced(req) {
		if r, ok := present(req, question); ok {
			return r
		}
		if r, ok := searchAgain(req, question); ok {
			return r
		}
		return fromTools(conv, question)
	}
	if t, ok := toolFor(req); ok && forced(req) {
		return call(t, question, prose.Content(question))
	}
	if r, ok := byHand(req, question); ok {
		return r
	}
	if r, ok := small(conv, question); ok {
		return r
	}
	if r, ok := computed(req, question); ok {
		return r
	}
	if handsOver(req) {
		return handOver(question)
	}
	if t, ok := toolFor(req); ok && t.Name == searchTool && len(strings.TrimSpace(question)) > 0 {
		return lookUp(t, conv, question)
	}
	return reply{text: capabilities(question, false)}
}

// lastQuestion is what the user said last.
func lastQuestion(conv []item.Message) string {
	for _, m := range slices.Backward(conv) {
		text, ok := spoken(m)
		if m.Role != item.User || !ok {
			continue
		}
		if q, ok := onePart(m.Text(), "question"); ok { // of a task
			return beginning(q, readBytes)
		}
		return text
	}
	return ""
}

// readBytes is how much is read at the beginning and at the end of what a user says.
const readBytes = 4 << 10

// said is what is read of what a user said. In a text that is longer than a question ever is, such as a document that was
// pasted, the wish stands at one of the two ends.
func said(m item.Message) string {
	text := m.Text()
	if len(text) <= 2*readBytes {
		return strings.TrimSpace(text)
	}
	head, tail := beginning(text, readBytes), text[len(text)-readBytes:]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return strings.TrimSpace(head + "\n…\n" + tail)
}

// beginning is the first n bytes of a text, or a few less: it is cut between runes.
func beginning(text string, n int) string {
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:min(n, len(text))]
}

// earlier are the questions before the last one, newest first.
func earlier(conv []item.Message) []string {
	var out []string
	for _, m := range slices.Backward(conv) {
		if text, ok := spoken(m); m.Role == item.User && ok {
			out = append(out, text)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out[1:]
}

// forced reports that the request leaves no choice but to call a tool.
func forced(req model.Request) bool {
	return req.Choice != "" && req.Choice != "auto" && req.Choice != "none"
}

// toolFor is the tool to call if one is called: the one asked for by name, else search, else, if any tool must be
// called, the first.
func toolFor(req model.Request) (model.Tool, bool) {
	if req.Choice == "none" || len(req.Tools) == 0 {
		return model.Tool{}, false
	}
	for _, name := range []string{req.Choice, searchTool} {
		if i := slices.IndexFunc(req.Tools, func(t model.Tool) bool { return t.Name == name }); i >= 0 {
			return req.Tools[i], true
		}
	}
	return req.Tools[0], req.Choice == "required"
}

var (
	greeting = pattern.New(`(?i)^\W*(?:hello|hi|hey|hiya|greetings|good (?:morning|afternoon|evening|day)|你好|您好|嗨|早上好|晚上好)(?:[\s,，]+(?:there|tributary|again|all|everyone|friend))*\W*$`)
	thanks   = pattern.New(`(?i)^\W*(?:thanks|thank you|thx|cheers|谢谢|多谢)(?:[\s,]+(?:you|a lot|so much|very much|again))*\W*$`)
	identity = pattern.New(`(?i)\b(?:who|what) (?:exactly )?are you\b|\b(?:who|what) am i (?:talking|speaking) (?:to|with)\b|\bare you (?:really |just )?(?:an? )?(?:real |large )?(?:llm|ai|bot|robot|human|person|language model|model|chat ?gpt|gpt\S*|claude|gemini)\b|\bwhat(?:'s| is) your name\b|\bwhat (?:model|llm) (?:are you|is this)\b|\bintroduce yourself\b|你是谁|你是什么|您是谁|你叫什么|你是(?:不是)?.{0,6}(?:模型|人工智能|机器人|真人)|介绍一下你自己`)
	ability  = pattern.New(`(?i)^\W*(?:what can you do|what do you do|help|how can you help(?: me)?|你能做什么|你会做什么|你会什么|帮助)\W*$`)
	again    = pattern.New(`(?i)^\W*(?:again|once more|one more time|repeat(?: that| it)?|say (?:that|it) again|(?:please )?do (?:it|that) again|再来一次|再说一遍|重复一遍|再一次)(?:[\s,]+please)?\W*$`)
	asked    = pattern.New(`(?i)\bwhat (?:did i (?:just )?(?:ask|say)|was my (?:last |previous |first )?(?:question|message))\b|我(?:刚才|刚刚|之前)?(?:问|说)(?:了|过)?(?:你)?什么`)
)

// small answers what needs neither tools nor documents.
func small(conv []item.Message, question string) (reply, bool) {
	zh := prose.Chinese(question)
	before := earlier(conv)
	switch {
	case identity.MatchString(question):
		return reply{text: whoAmI(zh)}, true
	case ability.MatchString(question):
		return reply{text: capabilities(question, true)}, true
	case greeting.MatchString(question):
		if zh {
			return reply{text: "你好！我是 tributary 内置的离线程序，可以数数、计算，并在有搜索工具时引用本地文档。"}, true
		}
		return reply{text: "Hello! I am tributary's built-in offline model: I count, I calculate, and with a search tool I quote local documents."}, true
	case thanks.MatchString(question):
		if zh {
			return reply{text: "不客气。"}, true
		}
		return reply{text: "You are welcome."}, true
	case asked.MatchString(question):
		return reply{text: recall(before, zh)}, true
	case again.MatchString(question) && len(before) > 0:
		return small(conv[:lastUser(conv)], before[0])
	}
	if text, ok := count(question); ok {
		return reply{text: text, thought: "This is counting, which I do myself."}, true
	}
	if text, ok := calculate(question); ok {
		return reply{text: text, thought: "This is arithmetic with two numbers, which I do myself."}, true
	}
	// "and to twenty?" after something was counted
	if m := onlyTo.FindStringSubmatch(question); m != nil && len(before) > 0 {
		if _, counted := count(before[0]); counted {
			text, ok := count("count to " + m[1])
			return reply{text: text}, ok
		}
	}
	return reply{}, false
}

// lastUser is the index of the last message by the user.
func lastUser(conv []item.Message) int {
	for i, m := range slices.Backward(conv) {
		if m.Role == item.User {
			return i
		}
	}
	return 0
}

func whoAmI(zh bool) string {
	if zh {
		return "我是 tributary 内置的离线模型：一个结果确定的小程序，不是大语言模型，只会数数、做两个数的计算，以及引用本地文档。"
	}
	return "I am tributary's built-in offline model: a small deterministic program, not a large language model, that counts, calculates with two numbers and quotes local documents."
}

// capabilities says what can be asked; unless that was the question, it first says that this one cannot be answered.
func capabilities(question string, asked bool) string {
	if prose.Chinese(question) {
		can := "我可以数到一百、计算两个数，并在有 search 工具时逐字引用本地文档；有 write_file 时可以写文件，有 python 时可以算更长的算式。配置一个模型服务的密钥后，就由真正的语言模型来回答。"
		if asked || question == "" {
			return can
		}
		return "这个问题我自己答不了：我是一个离线程序，没有语言模型。" + can
	}
	can := "I can count to one hundred, calculate with two numbers and, when a tool named search is offered, quote passages of local documents; with write_file I write a file (“write a file notes.txt that says …”), and with python I have longer sums computed. With a provider's key configured, a real language model answers in my place."
	if asked || question == "" {
		return can
	}
	return "I cannot answer that by myself: I am an offline program without a language model. " + can
}

func recall(before []string, zh bool) string {
	switch {
	case len(before) == 0 && zh:
		return "这是您在这次对话中的第一个问题。"
	case len(before) == 0:
		return "This is the first thing you have said in this conversation."
	case zh:
		return "您之前说的是：“" + before[0] + "”"
	}
	return "Before this, you said: “" + before[0] + "”"
}

// pointing are the words with which a question leans on the one before it.
var pointing = pattern.New(`(?i)\b(?:it|its|they|them|their|that|those|this|these|he|she|more|else|continue|go on)\b|它|他们|这个|那个|其|继续|更多|还有呢`)

// lookUp calls search with the content words of the question, and of the one before where it is needed to
// understand this one.
func lookUp(t model.Tool, conv []item.Message, question string) reply {
	return call(t, question, topic(conv, question))
}

// topic is what a question is about, in words.
func topic(conv []item.Message, question string) []string {
	about := prose.Content(question)
	for _, prev := range earlier(conv) {
		if len(about) >= 2 && !pointing.MatchString(question) {
			break
		}
		if more := prose.Content(prev); len(more) > 0 {
			about = append(about, more...)
			break
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(about, func(w string) bool {
		known := seen[prose.Stem(w)]
		seen[prose.Stem(w)] = true
		return known
	})
}

func call(t model.Tool, question string, about []string) reply {
	query := strings.Join(about, " ")
	if query == "" {
		query = question
	}
	args := fillArguments(t.Schema, question, query)
	thought := fmt.Sprintf("I cannot know this myself, so I call %s with: %s.", t.Name, query)
	return reply{thought: thought, tool: t.Name, args: args}
}

// fillArguments writes the arguments of a call: the query where the schema has one, and whatever else it requires.
func fillArguments(schema json.RawMessage, question, query string) string {
	var s shape
	if json.Unmarshal(schema, &s) != nil || s.Properties["query"] == nil {
		if len(s.Required) > 0 {
			return fill(schema, question)
		}
		if len(s.Properties) > 0 {
			return "{}"
		}
	}
	args := map[string]any{}
	for _, name := range s.Required {
		args[name] = s.Properties[name].value(name, question)
	}
	args["query"] = query
	return encodeJSON(args)
}
