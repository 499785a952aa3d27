package ui_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// recital is what a listener is told of in two parts; between them the actor waits for the cue.
var recital = [2]string{
	"## The river\n\nIt carries *boats*, unhurriedly. Nobody counts them twice, [^9] and `nobody` is in a hurry. It has time.\n\nThis is not yet",
	" the end of it. But this is:\n\n- the sea\n- the ships",
}

// recitation is more than anybody listens to.
var recitation = func() string {
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, "Verse %d tells of boats that come and go without any hurry. ", i+1)
	}
	return b.String()
}()

// region is a part of the page as a screen reader has it: a live region, or text inside of one.
type region struct{ role, live, text string }

// tree reads the accessibility tree: all live regions with their text, and the text of everything else.
func (p *tab) tree() (live []region, rest string) {
	p.t.Helper()
	var r struct {
		Nodes []struct {
			NodeID     string `json:"nodeId"`
			ParentID   string `json:"parentId"`
			Ignored    bool
			Role, Name struct{ Value any }
			Properties []struct {
				Name  string
				Value struct{ Value any }
			}
		}
	}
	p.do("Accessibility.getFullAXTree", map[string]any{}, &r)
	var plain strings.Builder
	inside := map[string]string{} // how live a node is, or what it stands in: parents come before their children
	for _, n := range r.Nodes {
		inside[n.NodeID] = inside[n.ParentID]
		here := region{role: fmt.Sprint(n.Role.Value), text: fmt.Sprint(n.Name.Value)}
		for _, prop := range n.Properties {
			if prop.Name == "live" {
				inside[n.NodeID] = fmt.Sprint(prop.Value.Value)
			}
		}
		here.live = inside[n.NodeID]
		switch {
		case n.Ignored || here.role == "InlineTextBox":
		case here.live != "" && here.live != "off":
			live = append(live, here)
		case here.role == "StaticText":
			plain.WriteString(here.text + "\n")
		}
	}
	return live, plain.String()
}

// listen writes down whatever the live regions say, and gives the test the clock of the announcer: nothing waits for its five seconds.
const listen = `{
	const real = window.setInterval, clocks = [];
	window.setInterval = (f, ms, ...more) => (ms === 5000 ? -clocks.push(f) : real(f, ms, ...more));
	window.tick = () => clocks.at(-1)();
	window.heard = [];
	addEventListener("DOMContentLoaded", () => new MutationObserver((changes) => {
		for (const c of changes) {
			const at = (c.target.nodeType === 1 ? c.target : c.target.parentElement)?.closest("[aria-live], [role=status], [role=alert], [role=log]");
			if (at && at.textContent !== "" && at.textContent !== heard.at(-1)) heard.push(at.textContent);
		}
	}).observe(document, { subtree: true, childList: true, characterData: true }));
}`

func TestAStreamedAnswerIsToldToAScreenReaderAFewSentencesAtATimeAndOnce(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.do("Accessibility.enable", map[string]any{}, nil)
	p.do("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": listen}, nil)
	p.reload()
	heard := func(want ...string) {
		t.Helper()
		var got []string
		p.eval(`heard`, &got)
		if !slices.Equal(got, want) {
			t.Fatalf("it was told %q, want %q", got, want)
		}
	}
	p.ask("Recite")
	p.until("the first part is written, word by word", `document.querySelector(".message")?.innerText.includes("This is not yet")`)
	heard("Answering")
	p.eval(`tick()`, nil)
	const first = "The river. It carries boats, unhurriedly. Nobody counts them twice, and nobody is in a hurry. It has time."
	p.until("the first sentences are told", `heard.length > 1`)
	heard("Answering", first)
	live, rest := p.tree()
	if !slices.Contains(live, region{"status", "polite", ""}) || !slices.ContainsFunc(live, func(r region) bool { return r.role == "StaticText" && r.live == "polite" && r.text == first }) {
		t.Errorf("the live regions of the accessibility tree are %q, want a polite status that says %q", live, first)
	}
	for _, r := range live {
		if r.text != "" && r.text != first {
			t.Errorf("%s says %q too", r.role, r.text)
		}
	}
	if !strings.Contains(rest, "Nobody counts them twice") {
		t.Errorf("the answer itself, which is to be no live region, is not among %q", rest)
	}
	p.eval(`tick(); tick()`, nil)
	p.eval(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`, nil) // whatever they changed is drawn
	heard("Answering", first)                                                                      // half a sentence is not told, and nothing twice
	s.goOn()
	p.until("the answer is complete", complete)
	p.until("its end is told", `heard.at(-1).endsWith("Answer complete.")`)
	heard("Answering", first, "This is not yet the end of it. But this is: the sea. the ships Answer complete.")

	// An answer that is written faster than anybody listens does not flood: it is told from its beginning, a little at a time, and then
	// that it is complete.
	s.hold()
	p.visit(s.url() + "/#/")
	p.ask("Recite at length")
	p.until("much is written", `document.querySelector(".message")?.textContent.length > 20000`)
	p.eval(`heard.length = 0; tick()`, nil)
	p.until("some of it is told", `heard.length === 1`)
	p.eval(`tick()`, nil)
	p.until("a little more is told", `heard.length === 2`)
	s.goOn()
	p.until("the answer is complete", complete)
	p.until("that is told", `heard.at(-1).endsWith("Answer complete.")`)
	var told []string
	p.eval(`heard`, &told)
	if len(told) != 3 || !strings.HasPrefix(recitation, told[0]+" "+told[1]+" ") || max(len(told[0]), len(told[1])) > 240 || told[2] != "Answer complete." {
		t.Errorf("of five hundred verses it was told %q, want the first few, then a few more, and then that the answer is complete", told)
	}
	p.clean()
}

func TestAPictureSharpensInItsPlace(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.ask("Paint the sea")
	p.until("a coarse picture is shown", `document.querySelector(".message img")?.naturalWidth === 8`)
	p.eval(`document.querySelector(".message img").dataset.same = "yes"`, nil)
	s.goOn()
	p.until("it is sharp", complete+` && document.querySelector(".message img")?.naturalWidth === 64`)
	if !p.is(`document.querySelectorAll(".message img").length === 1 && document.querySelector(".message img").dataset.same === "yes"`) {
		t.Error("a picture that gets sharper is another one in the document, so that the page jumps")
	}
	if got := p.text(".message"); !strings.Contains(got, "Here is the sea.") {
		t.Errorf("the answer says %q below it", got)
	}
	p.reload()
	p.until("a reload shows the sharp one", complete+` && document.querySelector(".message img")?.naturalWidth === 64`)
	p.clean()
}
