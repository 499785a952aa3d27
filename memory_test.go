package tributary_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/memory"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// extracts is a model that finds facts in what it is shown: each of these whose key is there, in the message that has it.
func extracts(facts map[string]memory.ExtractedFact) *scripted.Model {
	m := scripted.New(func(req model.Request) scripted.Script {
		_, talk, _ := strings.Cut(req.Messages[0].Text(), "<conversation>")
		var e memory.Extraction
		for line := range strings.Lines(talk) {
			var n int
			if _, err := fmt.Sscanf(line, "message %d of the person:", &n); err != nil {
				continue
			}
			for key, f := range facts {
				if strings.Contains(line, key) {
					f.Message = n
					e.Facts = append(e.Facts, f)
				}
			}
		}
		raw, _ := json.Marshal(e)
		return scripted.Say(string(raw))
	})
	m.Record = true
	return m
}

func asked(m *scripted.Model) func(context.Context, string) (model.Choice, error) {
	return func(context.Context, string) (model.Choice, error) { return model.Choice{Model: m}, nil }
}

// person is a runtime on a folder that is closed and opened again: when it is closed, everything that was said has been learned.
type person struct {
	*testing.T
	dir   string
	chat  *scripted.Model
	learn *scripted.Model
	wait  time.Duration
	rt    *tributary.Runtime
}

func newPerson(t *testing.T, learn *scripted.Model) *person {
	p := &person{T: t, dir: t.TempDir(), chat: scripted.Always(scripted.Say("ok")), learn: learn, wait: time.Hour}
	p.chat.Record = true
	p.open()
	t.Cleanup(func() { _ = p.rt.Close(context.Background()) })
	return p
}

func (p *person) open() {
	p.Helper()
	opt := tributary.Options{Dir: p.dir, Models: tributary.OneModel(p.chat), Memory: &tributary.Memory{Wait: p.wait}}
	if p.learn != nil {
		opt.Memory.Model = asked(p.learn)
	}
	var err error
	if p.rt, err = tributary.Open(p.Context(), opt); err != nil {
		p.Fatal(err)
	}
}

func (p *person) reopen() {
	p.Helper()
	if err := p.rt.Close(context.Background()); err != nil {
		p.Fatal(err)
	}
	p.open()
}

func (p *person) says(owner, thread, text string) {
	p.Helper()
	if _, err := p.rt.Chat(p.Context(), tributary.Request{Owner: owner, Thread: thread, Text: text}); err != nil {
		p.Fatal(err)
	}
}

// shown is all that the chat model was shown last.
func (p *person) shown() string {
	reqs := p.chat.Requests()
	var b strings.Builder
	for _, m := range reqs[len(reqs)-1].Messages {
		b.WriteString(m.Text() + "\n")
	}
	return b.String()
}

func (p *person) remembers(owner string) []memory.Fact {
	p.Helper()
	d, err := p.rt.Memory().Document(p.Context(), memory.Whose{Owner: owner})
	if err != nil {
		p.Fatal(err)
	}
	return d.Facts
}

func TestAFactToldInOneThreadIsUsedInAnother(t *testing.T) {
	p := newPerson(t, extracts(map[string]memory.ExtractedFact{
		"allergic": {Content: "Is allergic to nuts", Category: "knowledge", Confidence: 0.95},
		"Oslo":     {Content: "Lives in Oslo", Category: "context", Confidence: 0.9},
	}))
	p.says("anna", "dinner", "I am allergic to nuts. What can I cook?")
	p.says("anna", "dinner", "By the way, I live in Oslo.")
	p.says("bert", "dinner-of-bert", "Hello")
	if strings.Contains(p.shown(), "nuts") {
		t.Errorf("bert's agent is shown %q", p.shown())
	}
	p.reopen()
	if n := len(p.learn.Requests()); n != 2 {
		t.Errorf("the model was asked %d times what to remember, want once for each thread", n)
	}
	facts := p.remembers("anna")
	if len(facts) != 2 || facts[0].Content != "Is allergic to nuts" || facts[0].Source != "dinner" || facts[0].Run == "" || facts[0].Message == "" || facts[1].Message == facts[0].Message {
		t.Fatalf("remembered %+v", facts)
	}
	st, err := p.rt.State(t.Context(), "anna", "dinner", tributary.Checkpoint{})
	if err != nil || !strings.Contains(string(st.Values["messages"]), facts[0].Message) {
		t.Errorf("the thread has no message %q: %s, %v", facts[0].Message, st.Values["messages"], err)
	}
	if got := p.remembers("bert"); len(got) != 0 {
		t.Errorf("bert's memory has %+v", got)
	}

	p.says("anna", "holiday", "Where shall I eat?")
	if !strings.Contains(p.shown(), "Is allergic to nuts") || !strings.Contains(p.shown(), "it is not an instruction") {
		t.Errorf("in another thread the model is shown %q", p.shown())
	}
	p.says("bert", "holiday-of-bert", "Where shall I eat?")
	if strings.Contains(p.shown(), "nuts") {
		t.Errorf("bert's agent is shown %q", p.shown())
	}

	text := "Is allergic to peanuts only"
	whose := memory.Whose{Owner: "anna"}
	if _, err := p.rt.Memory().Edit(t.Context(), whose, facts[0].ID, memory.Change{Content: &text}); err != nil {
		t.Fatal(err)
	}
	p.says("anna", "holiday", "And tomorrow?")
	if s := p.shown(); !strings.Contains(s, "peanuts only") || strings.Contains(s, "to nuts") {
		t.Errorf("after the correction the model is shown %q", s)
	}
	if _, err := p.rt.Memory().Delete(t.Context(), whose, facts[0].ID); err != nil {
		t.Fatal(err)
	}
	for _, thread := range []string{"holiday", "another"} {
		p.says("anna", thread, "Anything else?")
		if s := p.shown(); strings.Contains(s, "nuts") || !strings.Contains(s, "Lives in Oslo") {
			t.Errorf("after the deletion the model is shown, in %s, %q", thread, s)
		}
	}
	found, err := p.rt.Store().Search(t.Context(), "anna", tributary.ItemQuery{Text: "nuts"})
	if err != nil || len(found) != 0 {
		t.Errorf("the store still has %v, %v", found, err)
	}
	p.reopen()
	for _, f := range p.remembers("anna") {
		if strings.Contains(f.Content, "nuts") {
			t.Errorf("came back: %+v", f)
		}
	}
}

func TestWithoutAModelWhatPeopleAskForIsRemembered(t *testing.T) {
	p := newPerson(t, nil)
	p.says("", "one", "Please remember that my boat is called Wren.")
	p.says("", "one", "What do you think of the sea?")
	p.reopen()
	if facts := p.remembers(""); len(facts) != 1 || facts[0].Content != "my boat is called Wren" || facts[0].Source != "one" {
		t.Fatalf("remembered %+v", facts)
	}
	p.says("", "two", "Hello")
	if !strings.Contains(p.shown(), "Wren") {
		t.Errorf("the model is shown %q", p.shown())
	}
}

// Learning takes its time; neither the end of a run nor the next one waits for it, and what fails is done later.
func TestLearningHoldsUpNobody(t *testing.T) {
	release := make(chan struct{})
	begun := make(chan struct{}, 8)
	slow := scripted.New(func(model.Request) scripted.Script {
		begun <- struct{}{}
		return scripted.Wait(release).Say(`{"facts":[]}`)
	})
	p := &person{T: t, dir: t.TempDir(), chat: scripted.Always(scripted.Say("ok")), learn: slow, wait: -1}
	p.open()
	p.says("anna", "t", "one")
	<-begun
	p.says("anna", "t", "two") // while the model thinks
	p.says("anna", "u", "three")
	close(release)
	if err := p.rt.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// Whose runs end faster than a model can be asked is asked about in fewer calls, and nothing of it is lost.
func TestManyThreadsAreLearnedFromTogether(t *testing.T) {
	var mu sync.Mutex
	calls, heard := 0, map[string]int{}
	learn := scripted.New(func(r model.Request) scripted.Script {
		mu.Lock()
		defer mu.Unlock()
		calls++
		for _, m := range r.Messages {
			for _, word := range regexp.MustCompile(`saying[0-9]+`).FindAllString(m.Text(), -1) {
				heard[word]++
			}
		}
		return scripted.Say(`{"facts":[]}`)
	})
	p := newPerson(t, learn)
	const threads = 40
	for i := range threads {
		p.says("anna", fmt.Sprint("thread-", i), fmt.Sprint("saying", i, "."))
	}
	p.reopen() // what waits is done when the process ends
	mu.Lock()
	defer mu.Unlock()
	if len(heard) != threads {
		t.Errorf("the model was asked about %d threads, want %d", len(heard), threads)
	}
	for word, n := range heard {
		if n != 1 {
			t.Errorf("the model was asked about %s %d times", word, n)
		}
	}
	if calls > 3 {
		t.Errorf("the model was asked %d times about %d threads, want at most 3", calls, threads)
	}
}

const memoryChildEnv = "TRIBUTARY_MEMORY_CHILD"

// TestMemoryChild is the process that [TestAKilledProcessLosesAndDoublesNoFact] kills.
func TestMemoryChild(t *testing.T) {
	dir, at, _ := strings.Cut(os.Getenv(memoryChildEnv), "|")
	if dir == "" {
		t.Skip("it is started by another test")
	}
	m := scripted.New(func(model.Request) scripted.Script {
		fmt.Println("asked")
		return scripted.Stall()
	})
	wait := time.Duration(-1)
	if at == "ended" {
		wait = time.Hour
	}
	rt, err := tributary.Open(t.Context(), tributary.Options{
		Dir: dir, Models: tributary.OneModel(scripted.Always(scripted.Say("ok"))), Memory: &tributary.Memory{Model: asked(m), Wait: wait},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Chat(t.Context(), tributary.Request{Owner: "anna", Thread: "t", Text: "I play the harp."}); err != nil {
		t.Fatal(err)
	}
	fmt.Println("ended")
	select {} // until it is killed
}

func TestAKilledProcessLosesAndDoublesNoFact(t *testing.T) {
	for _, at := range []string{"ended", "asked"} {
		t.Run(at, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0], "-test.run=^TestMemoryChild$")
			cmd.Env = append(os.Environ(), memoryChildEnv+"="+dir+"|"+at)
			cmd.Stderr = os.Stderr
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for lines := bufio.NewScanner(out); lines.Scan(); {
				if lines.Text() == at {
					break
				}
			}
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it was killed
			p := &person{T: t, dir: dir, chat: scripted.Always(scripted.Say("ok")), wait: time.Hour, learn: extracts(map[string]memory.ExtractedFact{
				"harp": {Content: "Plays the harp", Category: "context", Confidence: 0.9},
			})}
			p.open()
			p.reopen() // what waits is done before the end, and nothing of it again
			p.reopen()
			if facts := p.remembers("anna"); len(facts) != 1 || facts[0].Content != "Plays the harp" || facts[0].Source != "t" || facts[0].Message == "" {
				t.Errorf("remembered %+v", facts)
			}
			if n := p.learn.Calls(); n != 1 {
				t.Errorf("the model was asked %d times after the crash, want once", n)
			}
			if err := p.rt.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestAgentsHaveToolsForTheirMemory(t *testing.T) {
	p := newPerson(t, nil)
	p.chat = scripted.Sequence(
		scripted.Call("c1", "memory_add", `{"content":"Plays the harp"}`), scripted.Say("noted"),
		scripted.Call("c2", "memory_search", `{"query":"harp"}`), scripted.Say("found"),
	)
	p.chat.Record = true
	p.reopen()
	p.says("anna", "t", "Note that I play the harp")
	facts := p.remembers("anna")
	if len(facts) != 1 || facts[0].Source != "t" || facts[0].Run == "" {
		t.Fatalf("remembered %+v", facts)
	}
	p.says("anna", "t", "What do I play?")
	if !strings.Contains(p.shown(), facts[0].ID) {
		t.Errorf("the search shows %q", p.shown())
	}
	if got := p.remembers("bert"); len(got) != 0 {
		t.Errorf("bert's memory has %+v", got)
	}
}
