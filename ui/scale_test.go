package ui_test

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/scripted"
)

// paragraph is a block of a long answer, with what costs a reader of Markdown something.
func paragraph(n int) string {
	switch n % 8 {
	case 3:
		return fmt.Sprintf("## Part %d of the long answer\n\n", n)
	case 5:
		return fmt.Sprintf("- a point of part **%d**\n- another one, with `code`\n\n", n)
	case 7:
		return fmt.Sprintf("| gauge | level |\n|---|--:|\n| Kaub | %d cm |\n| Ruhrort | %d cm |\n\n", n, n+128)
	}
	return fmt.Sprintf("Paragraph %d: the river carries *boats* past kilometre %d, unhurriedly, and **nobody** counts them twice; that is all there is to say of it here.\n\n", n, 400+n)
}

// sentence is a part of a paragraph that does not end.
func sentence(n int) string {
	return fmt.Sprintf("Sentence %d: the river carries *boats* past kilometre %d, unhurriedly, and **nobody** counts them twice. ", n, 400+n)
}

// long says as many paragraphs as the question wants: "Long 500 every 10ms in words", or in pieces of some kilobytes. "after 400" lets the
// first of them come at once. "Endless" says as many sentences in one paragraph.
func long(asked string) scripted.Script {
	f := strings.Fields(asked)
	paragraph := paragraph
	if f[0] == "Endless" {
		paragraph = sentence
	}
	n, _ := strconv.Atoi(f[1]) // a test that says no number gets nothing
	pace, _ := time.ParseDuration(f[3])
	var b strings.Builder
	for i := range n {
		b.WriteString(paragraph(i))
	}
	if f[len(f)-1] == "words" {
		script := scripted.Script{}
		if f[4] == "after" {
			skip, _ := strconv.Atoi(f[5])
			var head strings.Builder
			for i := range skip {
				head.WriteString(paragraph(i))
			}
			return script.Pieces(head.String()).Every(pace).Words(b.String()[head.Len():])
		}
		return script.Every(pace).Words(b.String())
	}
	var pieces []string
	for text := b.String(); text != ""; {
		cut := min(len(text), 4000)
		pieces = append(pieces, text[:cut])
		text = text[cut:]
	}
	return scripted.Every(pace).Pieces(pieces...)
}

// twenty calls twenty sub-agents at once.
func twenty() scripted.Script {
	calls := make([]item.ToolCall, 20)
	for i := range calls {
		calls[i] = item.ToolCall{ID: fmt.Sprintf("tw_%d", i), Name: "helper", Arguments: fmt.Sprintf(`{"prompt":"Look at gauge %d.","title":"Gauge %d"}`, i, i)}
	}
	return scripted.Parallel(calls...)
}

// counts is what the page counts of its own work, and what the document has.
type counts struct {
	Characters, Blocks, Renders, Nodes int
}

func (p *tab) counts() (c counts) {
	p.t.Helper()
	p.eval(`({ Characters: tributaryCounts.characters, Blocks: tributaryCounts.blocks, Renders: tributaryCounts.renders, Nodes: document.querySelectorAll("*").length })`, &c)
	return c
}

func TestATokenCostsTheSameAtTheEndOfALongAnswer(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	const paragraphs = 400
	p.ask(fmt.Sprintf("Long %d every 1ms in words", paragraphs))
	p.until("the answer is complete", complete)
	c := p.counts()
	whole := 0
	for i := range paragraphs {
		whole += len(paragraph(i))
	}
	if c.Characters != whole {
		t.Errorf("%d characters were read of an answer of %d: each is to be read once", c.Characters, whole)
	}
	// Each block is drawn once, and in each frame the last ones once more, however many stand before them and however many frames there are.
	const blocks = paragraphs * 10 / 8
	if most := blocks + 4*c.Renders + 20; c.Renders < 2 || c.Blocks > most {
		t.Errorf("%d blocks were drawn in %d frames of an answer that has some %d, want at most %d", c.Blocks, c.Renders, blocks, most)
	}
	t.Logf("%+v", c)
	p.clean()
}

// A text that is joined or read in each frame is garbage in each frame. It is counted in bytes, which do not depend on how busy the machine is.
func TestAFrameOfALongTextAllocatesNoMoreThanOneOfAShortOne(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.size(1360, 900, false)
	allocated := func(kind, shown, word string, before int) float64 {
		p.visit(s.url() + "/#/")
		p.reload()
		p.ask(fmt.Sprintf("%s %d every 30ms after %d in words", kind, before+400, before))
		p.until("what came before is there", fmt.Sprintf(`document.querySelector(%q)?.textContent.includes("%s %d:") && tributaryCounts.renders > 10`, shown, word, before+1))
		p.do("HeapProfiler.startSampling", map[string]any{"samplingInterval": 8192, "includeObjectsCollectedByMajorGC": true, "includeObjectsCollectedByMinorGC": true}, nil)
		from := p.counts().Renders
		p.until("some frames have come", fmt.Sprintf(`tributaryCounts.renders >= %d`, from+40))
		to := p.counts().Renders
		var r struct{ Profile struct{ Head sampled } }
		p.do("HeapProfiler.stopSampling", map[string]any{}, &r)
		p.press("Stop")
		p.until("it has stopped", `document.querySelector(".turn:last-child[data-status=canceled]")`)
		return r.Profile.Head.bytes() / float64(to-from)
	}
	for _, of := range []struct {
		name, kind, shown, word string
		text                    func(int) string
		few, many               int // paragraphs or sentences; the next but one of each is in words
	}{
		{"an answer", "Long", ".message", "Paragraph", paragraph, 16, 5000},
		{"a report", "Report", ".report-text", "Paragraph", paragraph, 16, 5000},
		{"a paragraph", "Endless", ".message", "Sentence", sentence, 100, 2000},
	} {
		short, far := allocated(of.kind, of.shown, of.word, of.few), allocated(of.kind, of.shown, of.word, of.many)
		length := 0
		for i := range of.many {
			length += len(of.text(i))
		}
		t.Logf("a frame of %s allocates %.0f bytes in a short one, %.0f in one of %d", of.name, short, far, length)
		if short == 0 || far > short+float64(length)/2 {
			t.Errorf("a frame allocates %.0f bytes in %s of %d letters, %.0f in a short one: want about the same", far, of.name, length, short)
		}
	}
	p.clean()
}

// sampled is a node of a profile of what was allocated.
type sampled struct {
	SelfSize float64
	Children []sampled
}

func (s sampled) bytes() float64 {
	sum := s.SelfSize
	for _, c := range s.Children {
		sum += c.bytes()
	}
	return sum
}

func TestAnAnswerOfTwoMegabytesIsShownWithoutDrawingItTwice(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.ask("Long 18000 every 0s in pieces")
	p.until("the answer is complete", complete)
	var length int
	p.eval(`document.querySelector(".turn:last-child .message").textContent.length`, &length)
	if length < 1_700_000 {
		t.Fatalf("the answer has %d characters, want about two million", length)
	}
	if got := p.text(".message .md-page:last-child"); !strings.Contains(got, "17999") && !strings.Contains(got, "17998") {
		t.Errorf("its end is %.200q", got)
	}
	c := p.counts()
	if blocks := 18000 * 12 / 8; c.Blocks > 3*blocks {
		t.Errorf("%d blocks were drawn for some %d", c.Blocks, blocks)
	}
	// What is far away is not laid out: its pages say so.
	if n := p.text("body"); len(n) == 0 || !p.is(`getComputedStyle(document.querySelector(".message .md-page")).contentVisibility === "auto"`) {
		t.Error("pages that are out of sight are laid out")
	}
	before := p.counts()
	p.eval(`document.querySelector("#composer").focus()`, nil)
	p.typed("typing goes on")
	p.until("it is typed", `document.querySelector("#composer").value === "typing goes on"`)
	if after := p.counts(); after.Blocks != before.Blocks {
		t.Errorf("typing drew %d blocks of the answer", after.Blocks-before.Blocks)
	}
	p.clean()
}

// messages says how many a long thread has: fewer than a nightly run has, since each costs the server a run.
func turnsOfALongThread() int {
	if os.Getenv("PAGE_SCALE") != "" {
		return 2500
	}
	return 150
}

// fill asks as many questions in a thread, one after the other.
func (s *stage) fill(thread string, turns int) {
	s.t.Helper()
	for i := range turns {
		body := fmt.Sprintf(`{"thread_id":%q,"input":"Say: message %d of this thread"}`, thread, i)
		res, err := http.Post(s.url()+"/tasks", "application/json", strings.NewReader(body))
		if err != nil {
			s.t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			s.t.Fatalf("POST /tasks: %d", res.StatusCode)
		}
	}
}

func TestAThreadOfThousandsOfMessagesCostsWhatIsShown(t *testing.T) {
	s := newStage(t)
	const few, many = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
	s.fill(few, 30)
	s.fill(many, turnsOfALongThread())
	c := browse(t)
	look := func(id, last string) (nodes, requests int) {
		p := c.open(s.url() + "/#/t/" + id)
		p.until("its end is shown", `document.querySelector(".turn:last-child .message")?.innerText.includes(`+quote(last)+`) && document.querySelectorAll(".foot-row").length === 20`)
		before := p.counts()
		p.eval(`document.querySelector("#composer").focus()`, nil)
		p.eval(`{ window.touched = 0; new MutationObserver((l) => { touched += l.filter((m) => !(m.target.nodeType === 1 ? m.target : m.target.parentElement)?.closest(".composer")).length; }).observe(document.querySelector(".scroller"), { subtree: true, childList: true, characterData: true, attributes: true }); }`, nil)
		for _, r := range "a question that is typed letter by letter" {
			p.typed(string(r))
		}
		p.until("it is typed", `document.querySelector("#composer").value.endsWith("letter by letter")`)
		var touched int
		p.eval(`touched`, &touched)
		if after := p.counts(); touched != 0 || after.Blocks != before.Blocks {
			t.Errorf("typing changed %d nodes of the conversation and drew %d blocks", touched, after.Blocks-before.Blocks)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, url := range p.requests {
			if strings.Contains(url, "/tasks/") {
				requests++
			}
		}
		return before.Nodes, requests
	}
	a, asked := look(few, "message 29")
	b, askedMany := look(many, fmt.Sprintf("message %d", turnsOfALongThread()-1))
	if b > a+a/5 || askedMany > asked+2 {
		t.Errorf("a thread of %d messages has %d nodes and %d requests, one of 60 has %d and %d: want the same", 2*turnsOfALongThread(), b, askedMany, a, asked)
	}
}

func TestTwentySubAgentsAtOnceAreALineThatCounts(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.ask("Twenty at once")
	p.until("the answer is complete", complete)
	p.click(".work-head")
	p.until("each is there", `document.querySelectorAll(".agent").length === 20`)
	if n := p.counts().Nodes; n > 2500 {
		t.Errorf("twenty sub-agents that are folded make %d nodes", n)
	}
	p.click(".agent-head")
	p.until("one can be opened", `document.querySelector(".agent-body")?.innerText.includes("Safari does the same")`)
	p.clean()
}
