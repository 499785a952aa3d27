package offline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/offline"
)

var search = model.Tool{
	Name: "search", Description: "Finds passages.",
	Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}},"required":["query"]}`),
}

// answer is a whole answer, put together as a reader would.
type answer struct {
	pieces  []string
	text    string
	thought string
	call    *item.ToolCall
	usage   item.Usage
	finish  item.Finish
}

func ask(t testing.TB, req model.Request) answer {
	t.Helper()
	var a answer
	finished := false
	for part, err := range offline.New(offline.Options{}).Stream(context.Background(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if finished {
			t.Fatalf("%#v came after the finish", part)
		}
		switch part := part.(type) {
		case model.Text:
			a.pieces = append(a.pieces, part.Text)
			a.text += part.Text
		case model.Reasoning:
			a.thought += part.Text
		case model.ToolCall:
			if part.Name != "" {
				a.call = &item.ToolCall{CallID: part.ID, Name: part.Name}
			}
			a.call.Arguments += part.Arguments
		case model.Usage:
			a.usage = part.Usage
		case model.Finish:
			a.finish, finished = part.Reason, true
		}
	}
	if !finished {
		t.Fatal("the answer has no finish")
	}
	return a
}

// user builds a conversation of alternating user and assistant messages.
func user(texts ...string) model.Request {
	var req model.Request
	for i, text := range texts {
		if i%2 == 0 {
			req.Messages = append(req.Messages, item.UserText(fmt.Sprint("u", i), text))
		} else {
			req.Messages = append(req.Messages, item.AssistantText(fmt.Sprint("a", i), text))
		}
	}
	return req
}

func TestCountsToFifteenInRealTokens(t *testing.T) {
	a := ask(t, user("count to fifteen"))
	want := "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve\nthirteen\nfourteen\nfifteen"
	if a.text != want {
		t.Errorf("said %q", a.text)
	}
	i := slices.Index(a.pieces, "ele")
	if i < 0 || a.pieces[i+1] != "ven" {
		t.Errorf("eleven did not arrive as ele, ven: %q", a.pieces)
	}
	if a.finish != item.FinishStop || a.usage.OutputTokens != len(a.pieces) || a.usage.InputTokens == 0 {
		t.Errorf("finish %q, usage %+v for %d pieces", a.finish, a.usage, len(a.pieces))
	}
}

func TestSmallAnswers(t *testing.T) {
	for q, want := range map[string]string{
		"count to 3":                      "one\ntwo\nthree",
		"Please count from five to seven": "five\nsix\nseven",
		"Count down from three":           "three\ntwo\none",
		"can you count to twenty-one?":    "one\ntwo\n…\ntwenty\ntwenty-one",
		"count to 100":                    "one\ntwo\n…\nninety-nine\none hundred",
		"count to 101":                    "between one and one hundred only",
		"count to 2.5":                    "between one and one hundred only",
		"count to -4":                     "between one and one hundred only",
		"数到十二":                            "一\n二\n…\n十一\n十二",
		"请从5数到7":                          "五\n六\n七",
		"What is 12 * 3?":                 "12 × 3 = 36",
		"seven plus eight":                "7 + 8 = 15",
		"0.1 + 0.2":                       "0.1 + 0.2 = 0.3",
		"1/3":                             "1 ÷ 3 ≈ 0.3333333333",
		"2 - 5":                           "2 − 5 = -3",
		"10 divided by 4":                 "10 ÷ 4 = 2.5",
		"5 / 0":                           "cannot be divided by zero",
		"99999999999999999999 + 1":        "= 100000000000000000000",
		"三乘以四等于多少？":                       "3 × 4 = 12",
		"Hello!":                          "Hello!",
		"你好":                              "你好！",
		"thanks a lot":                    "You are welcome.",
		"Who are you?":                    "not a large language model",
		"are you ChatGPT?":                "not a large language model",
		"你是谁？":                            "不是大语言模型",
		"What can you do?":                "I can count",
		"What did I just ask?":            "first thing you have said",
		"Why is the sky blue?":            "I cannot answer that by myself",
		"天空为什么是蓝色的？":                      "这个问题我自己答不了",
		"what happened on 2026-11-15?":    "I cannot answer that by myself",
	} {
		got := ask(t, user(q)).text
		head, tail, cut := strings.Cut(want, "…")
		if cut && !(strings.HasPrefix(got, head) && strings.HasSuffix(got, tail)) || !cut && !strings.Contains(got, want) {
			t.Errorf("%q was answered with %q, want %q", q, got, want)
		}
	}
}

func TestWhoItIsTakesOneSentence(t *testing.T) {
	if got := ask(t, user("who are you?")).text; strings.Count(got, ".") != 1 {
		t.Errorf("said %q", got)
	}
}

func TestFollowUpsLookAtTheConversation(t *testing.T) {
	for name, tc := range map[string]struct {
		req  model.Request
		want string
	}{
		"again":    {user("count to 2", "one\ntwo", "again please"), "one\ntwo"},
		"and to":   {user("count to 2", "one\ntwo", "and to three?"), "one\ntwo\nthree"},
		"recall":   {user("what is 1+1?", "2", "What did I ask?"), "“what is 1+1?”"},
		"no count": {user("hello", "Hello!", "and to three?"), "I cannot answer"},
	} {
		if got := ask(t, tc.req).text; !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func query(t *testing.T, a answer) string {
	t.Helper()
	if a.call == nil || a.call.Name != "search" || a.call.CallID == "" || a.finish != item.FinishToolCalls {
		t.Fatalf("answer %+v is not a call of search", a)
	}
	var args struct{ Query string }
	if err := json.Unmarshal([]byte(a.call.Arguments), &args); err != nil {
		t.Fatalf("arguments %q: %v", a.call.Arguments, err)
	}
	return args.Query
}

func TestQuestionsAreLookedUpByTheirContentWords(t *testing.T) {
	for _, tc := range []struct {
		req  model.Request
		want string
	}{
		{user("What is a journal, and how does a reader resume?"), "journal reader resume"},
		{user("What's the agent's checkpoint?"), "agent checkpoint"},
		{user("hello, please tell me about “group commit” <now>"), "group commit now"},
		{user("什么是日志？读者如何恢复？"), "日志 读者 恢复"},
		{user("如何使用 journal 的 cursor"), "使用 journal cursor"},
		{user("智能体的流式协议是什么？"), "智能体 流式协议"},
		{user("怎么了解它的目的？"), "了解 目的"},
		{user("What is a journal?", "…", "How does it resume?"), "resume journal"},
		{user("What is a journal?", "…", "tell me more"), "journal"},
		{user("What is a journal?", "…", "again"), "journal"},
		{user("What is a journal?", "…", "What is a graph node?"), "graph node"},
		{user("and the?"), "and the?"},
	} {
		req := tc.req
		req.Tools = []model.Tool{{Name: "other"}, search}
		if got := query(t, ask(t, req)); got != tc.want {
			t.Errorf("%q is looked up as %q, want %q", req.Messages[len(req.Messages)-1].Text(), got, tc.want)
		}
	}
}

func TestToolChoiceIsObeyed(t *testing.T) {
	req := user("What is a journal?")
	req.Tools = []model.Tool{{Name: "weather", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":2}},"required":["city"]}`)}, search}
	req.Choice = "none"
	if a := ask(t, req); a.call != nil {
		t.Errorf("called %+v though no tool was allowed", a.call)
	}
	req.Choice = "weather"
	if a := ask(t, req); a.call == nil || a.call.Name != "weather" || a.call.Arguments != `{"city":"What is a journal?","days":2}` {
		t.Errorf("forced call is %+v", a.call)
	}
	req.Choice = "required"
	req.Messages[0] = item.UserText("u", "hello")
	if a := ask(t, req); a.call == nil || a.call.Name != "search" {
		t.Errorf("required call is %+v", a.call)
	}
}

func TestThinkingIsSaidOnlyWhenAskedFor(t *testing.T) {
	req := user("What is a journal?")
	req.Tools = []model.Tool{search}
	if a := ask(t, req); a.thought != "" || a.usage.ReasoningTokens != 0 {
		t.Errorf("thought %q unasked", a.thought)
	}
	req.Thinking.On = true
	if a := ask(t, req); !strings.Contains(a.thought, "journal") || a.usage.ReasoningTokens == 0 || a.usage.ReasoningTokens >= a.usage.OutputTokens {
		t.Errorf("thought %q, usage %+v", a.thought, a.usage)
	}
}

// found is a conversation in which search has answered with the given passages, wrapped as the reference pool
// wraps them.
func found(question string, texts ...string) (model.Request, map[string]string) {
	req := user(question)
	req.Tools = []model.Tool{search}
	var blocks []item.Block
	byRef := map[string]string{}
	for i, text := range texts {
		ref := fmt.Sprint(i + 3)
		byRef[ref] = text
		for _, s := range []string{"<referencable-item>\nID: " + ref, "Source: Notes › Part (notes.md)\n\n" + text, "</referencable-item>"} {
			blocks = append(blocks, item.Block{Type: item.TextBlock, Text: s})
		}
	}
	if len(blocks) == 0 {
		blocks = item.Text("No passage matches.")
	}
	req.Messages = append(req.Messages,
		item.Message{Role: item.Assistant, ToolCalls: []item.ToolCall{{CallID: "c1", Name: "search", Arguments: `{"query":"x"}`}}},
		item.Message{Role: item.Tool, CallID: "c1", Content: blocks})
	return req, byRef
}

var quotation = regexp.MustCompile(`“([^”]*)” \[\^(\d+)\]`)

// checkQuotes holds an answer to the law: every quotation stands in the passage that it cites.
func checkQuotes(t testing.TB, text string, byRef map[string]string) int {
	t.Helper()
	marks := quotation.FindAllStringSubmatch(text, -1)
	if n := strings.Count(text, "[^"); n != len(marks) {
		t.Fatalf("%d citation marks, %d of them after a quotation: %s", n, len(marks), text)
	}
	for _, m := range marks {
		if !strings.Contains(byRef[m[2]], m[1]) {
			t.Fatalf("%q is not in passage %s, %q", m[1], m[2], byRef[m[2]])
		}
	}
	return len(marks)
}

func TestAnswersQuoteAndCiteWhatWasFound(t *testing.T) {
	req, byRef := found("What is a journal, and how does a reader resume?",
		"Postgres is one of the stores.\n\n```\njournal resume reader journal\n```",
		"# The journal\n\nThe journal of a run is its queue. A journal is an ordered list of events, e.g. tokens. It has one writer.",
		"{\"journal\": null, \"reader\": {\"resume\": [1, 2, 3]}}\njournal/     reader, resume\n- a reader resumes after the position that it names\n- it is never pushed to\n| reader | table |",
		"The mark `[^1]` of a reader is not quoted. “Nor is this journal.”",
	)
	a := ask(t, req)
	if n := checkQuotes(t, a.text, byRef); n < 2 {
		t.Errorf("%d quotations in %q", n, a.text)
	}
	for _, want := range []string{
		"about journal, reader and resume.",
		"“A journal is an ordered list of events, e.g. tokens.” [^4]",
		"“a reader resumes after the position that it names” [^5]",
		"I add nothing of my own",
	} {
		if !strings.Contains(a.text, want) {
			t.Errorf("answer lacks %q:\n%s", want, a.text)
		}
	}
	if strings.Contains(a.text, "Postgres") || a.finish != item.FinishStop {
		t.Errorf("answer quotes what was not asked for:\n%s", a.text)
	}
}

func TestARowIsQuotedWhereThereIsNoSentence(t *testing.T) {
	req, byRef := found("What is a checkpoint?", "| word | meaning |\n|---|---|\n| checkpoint | the state after a step; checkpoints form a tree |")
	a := ask(t, req)
	if checkQuotes(t, a.text, byRef) != 1 || !strings.Contains(a.text, "“checkpoint | the state after a step; checkpoints form a tree” [^3]") {
		t.Errorf("answer %q", a.text)
	}
}

func TestChineseQuestionsGetAChineseFrame(t *testing.T) {
	req, byRef := found("什么是日志？", "日志是一个有序的事件列表。它只有一个写者！读者从任意位置恢复。", "An English passage about nothing.")
	a := ask(t, req)
	if checkQuotes(t, a.text, byRef) != 1 || !strings.HasPrefix(a.text, "关于「日志」，文档中是这样写的：") || !strings.Contains(a.text, "“日志是一个有序的事件列表。” [^3]") {
		t.Errorf("answer %q", a.text)
	}
}

func TestSaysWhenNothingWasFound(t *testing.T) {
	req, _ := found("What is a journal?")
	if got := ask(t, req).text; got != "I searched the documents for journal and found nothing that answers this." {
		t.Errorf("said %q", got)
	}
	req, _ = found("What is a journal?", "Only Postgres is spoken of here, at some length.")
	if got := ask(t, req).text; !strings.Contains(got, "found nothing") {
		t.Errorf("said %q", got)
	}
	req, _ = found("What is a journal?", "```\njournal := open()\n```")
	if got := ask(t, req).text; got != "The documents speak of journal in [^3], though in no sentence that I could quote by itself." {
		t.Errorf("said %q", got)
	}
	req, _ = found("什么是日志？")
	if got := ask(t, req).text; !strings.Contains(got, "没有找到") {
		t.Errorf("said %q", got)
	}
}

func TestAFailedToolIsReported(t *testing.T) {
	req, _ := found("What is a journal?")
	req.Messages[2].Failed = true
	req.Messages[2].Content = item.Text("the index is locked")
	if got := ask(t, req).text; got != "The tool search failed: the index is locked" {
		t.Errorf("said %q", got)
	}
}

func TestOtherToolsAreReportedAsTheyAnswered(t *testing.T) {
	req, _ := found("How is the weather?")
	req.Messages[1].ToolCalls[0].Name = "weather"
	req.Messages[2].Content = item.Text("sunny, says the station [^7]")
	if got := ask(t, req).text; got != "The tool weather answered: sunny, says the station [^7]" {
		t.Errorf("said %q", got)
	}
}

func TestTellingMoreDoesNotRepeat(t *testing.T) {
	texts := []string{"A journal is a list of events, in order.", "The journal of a run has exactly one writer."}
	first, byRef := found("What is a journal?", texts[0])
	said := ask(t, first).text
	req, _ := found("x", texts...)
	req.Messages = append(user("What is a journal?", said, "tell me more").Messages, req.Messages[1:]...)
	got := ask(t, req).text
	byRef["4"] = texts[1]
	if checkQuotes(t, got, byRef) != 1 || !strings.Contains(got, texts[1]) {
		t.Errorf("said %q after %q", got, said)
	}
}

func TestASchemaIsFilled(t *testing.T) {
	req := user("Compare two databases")
	req.Schema = json.RawMessage(`{"type":"object","properties":{"locale":{"type":"string"},"has_enough_context":{"type":"boolean"},"title":{"type":"string"},
		"steps":{"type":"array","minItems":2,"items":{"type":"object","properties":{"need_search":{"type":"boolean"},"title":{"type":["string","null"]},"kind":{"enum":["research","processing"]}}}}}}`)
	var plan struct {
		Locale, Title string
		Enough        bool `json:"has_enough_context"`
		Steps         []struct {
			Need        bool `json:"need_search"`
			Title, Kind string
		}
	}
	if err := json.Unmarshal([]byte(ask(t, req).text), &plan); err != nil {
		t.Fatal(err)
	}
	if plan.Locale != "en-US" || plan.Title != "Compare two databases" || plan.Enough || len(plan.Steps) != 2 || !plan.Steps[0].Need || plan.Steps[0].Kind != "research" {
		t.Errorf("plan %+v", plan)
	}
}

func TestLengthAndStopAreKept(t *testing.T) {
	req := user("count to fifteen")
	req.MaxTokens = 5
	if a := ask(t, req); a.usage.OutputTokens != 5 || a.finish != item.FinishLength || a.text != "one\ntwo\nthree" {
		t.Errorf("%q, %+v, %q", a.text, a.usage, a.finish)
	}
	req = user("count to fifteen")
	req.Stop = []string{"four"}
	if a := ask(t, req); a.text != "one\ntwo\nthree\n" || a.finish != item.FinishStop {
		t.Errorf("%q, %q", a.text, a.finish)
	}
}

func TestDelayPacesAndCancelsAtOnce(t *testing.T) {
	_ = ask(t, user("hi")) // loads the vocabulary outside of the bubble's clock
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Millisecond)
		defer cancel()
		began, n := time.Now(), 0
		var last error
		for _, err := range offline.New(offline.Options{Delay: 10 * time.Millisecond}).Stream(ctx, user("count to fifteen")) {
			if err != nil {
				last = err
				continue
			}
			n++
		}
		if n != 2 || time.Since(began) != 25*time.Millisecond || !errors.Is(last, context.DeadlineExceeded) {
			t.Errorf("%d parts in %v, then %v", n, time.Since(began), last)
		}
	})
}

func TestBreakingOutEndsTheAnswer(t *testing.T) {
	n := 0
	for range offline.New(offline.Options{}).Stream(t.Context(), user("count to fifteen")) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d parts", n)
	}
}

// Over any conversation: the same answer twice, valid pieces, and quotations that stand where they say.
func TestLawsOverAnyConversation(t *testing.T) {
	text := rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"count to 12", "what is a journal?", "日志是什么", "👩‍🚀𠮷", "again", "a\xffb", "<referencable-item>\nID: 9", "“x”", "[^1]"}),
		rapid.StringOf(rapid.RuneFrom([]rune("ab .\n-|`日志是。[^1]“”#?👩"))),
	)
	rapid.Check(t, func(t *rapid.T) {
		req, byRef := found(text.Draw(t, "question"), rapid.SliceOfN(text, 0, 4).Draw(t, "passages")...)
		if rapid.Bool().Draw(t, "before tools") {
			req.Messages = req.Messages[:1]
		}
		req.Thinking.On = rapid.Bool().Draw(t, "think")
		read := func() []model.Part {
			var parts []model.Part
			for part, err := range offline.New(offline.Options{}).Stream(context.Background(), req) {
				if err != nil {
					t.Fatal(err)
				}
				if p, ok := part.(model.Text); ok && (!utf8.ValidString(p.Text) || p.Text == "") {
					t.Fatalf("piece %q", p.Text)
				}
				parts = append(parts, part)
			}
			return parts
		}
		parts := read()
		if !slices.Equal(parts, read()) {
			t.Fatal("two answers to one request")
		}
		for ref := range byRef { // a passage that closes itself early is another passage
			if strings.Contains(byRef[ref], "referencable-item") {
				return
			}
		}
		if len(req.Messages) == 3 {
			var b strings.Builder
			for _, p := range parts {
				if p, ok := p.(model.Text); ok {
					b.WriteString(p.Text)
				}
			}
			for _, m := range quotation.FindAllStringSubmatch(b.String(), -1) {
				if !strings.Contains(strings.ToValidUTF8(byRef[m[2]], "\uFFFD"), m[1]) {
					t.Fatalf("%q is not in passage %s", m[1], m[2])
				}
			}
		}
	})
}

func TestAWordThatNoPassageHasIsNotSpokenOf(t *testing.T) {
	req, _ := found("What is the journal of xyzzy?", "A journal is an ordered list of events.")
	got := ask(t, req).text
	if !strings.HasPrefix(got, "This is what the documents say about journal.") || !strings.HasSuffix(got, "I found nothing about xyzzy.") {
		t.Errorf("answer %q", got)
	}
}
