package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// view shows a research. On a terminal it draws the plan over and over in one place; elsewhere it writes a line for
// whatever happens, or an object of JSON. All of that goes to standard error, but for JSON; the report goes to standard output.
type view struct {
	env   *env
	flags reportFlags
	living

	run      string
	locale   string
	plan     event.PlanUpdated
	shown    map[string]string // status of each step when it was last told
	doing    map[string]string // by task
	sources  map[string][]int  // numbers, by task
	titles   map[int]string
	writing  int    // characters of the report so far
	thinking string // the node that works
	text     string // of the report, or of an answer
	question *event.InterruptRaised
	streamed bool // the report was printed as it came
	resting  bool // nobody watches the run
}

func newView(e *env, f reportFlags) *view {
	v := &view{env: e, flags: f, shown: map[string]string{}, doing: map[string]string{}, sources: map[string][]int{}, titles: map[int]string{}}
	v.live = isTerminal(e.stderr) && !f.JSON && !f.Quiet
	v.out, v.width = e.stderr, columns(e.stderr)
	return v
}

// begin turns to another run of the same research.
func (v *view) begin(run string) {
	if v.run == "" {
		v.tell("run", map[string]any{"run": run})
		if !v.live {
			v.note("research %s", run)
		}
	}
	v.run, v.question, v.resting = run, nil, false
}

// show takes in an event. It is no projection and owes nothing to other kinds.
func (v *view) show(env *event.Envelope) {
	switch e := env.Event.(type) {
	case event.NodeStarted:
		if env.NS == "" {
			v.thinking = env.Node
		}
	case event.NodeEnded:
		var update struct{ Locale string }
		if env.NS == "" && json.Unmarshal(e.Update, &update) == nil && update.Locale != "" {
			v.locale = update.Locale
		}
	case event.PlanUpdated:
		v.planned(e)
	case event.ItemEnded:
		v.item(env, e)
	case event.TextDelta:
		if env.Task == "" && env.Node == research.NodeReporter {
			v.written(e.Text)
		}
		if env.Task == "" && env.Node == research.NodeChecker && v.streamed {
			fmt.Fprint(v.env.stdout, "\n", harmless(e.Text)) // all of it comes at once
		}
	case event.TurnVoided:
		if env.Task == "" && env.Node == research.NodeReporter {
			v.writing = 0
			if v.streamed {
				fmt.Fprintf(v.env.stdout, "\n\n× the report so far is void (%s)\n\n", e.Cause)
			}
		}
	case event.InterruptRaised:
		v.question = &e
		v.tell("question", map[string]any{"id": e.ID, "kind": e.Ask, "value": e.Value})
	case event.Warned:
		v.tell("warning", map[string]any{"code": e.Code, "message": e.Message})
		v.line("! %s", e.Message)
	case event.RunEnded:
		delete(v.doing, "")
		v.tell("end", map[string]any{"status": e.Status, "error": e.Error, "usage": e.Usage})
	}
	v.draw()
}

func (v *view) planned(p event.PlanUpdated) {
	same := slices.EqualFunc(p.Steps, v.plan.Steps, func(a, b event.PlanStep) bool { return a.ID == b.ID && a.Title == b.Title })
	v.plan = p
	if !same {
		v.tell("plan", map[string]any{"plan": p})
		v.line("plan: %s", p.Title)
		for i, s := range p.Steps {
			v.line("  %d. %s", i+1, s.Title)
		}
	}
	for i, s := range p.Steps {
		if v.shown[s.ID] == s.Status {
			continue
		}
		v.shown[s.ID] = s.Status
		switch s.Status {
		case "pending":
			continue
		case "running":
			v.line("step %d begins: %s", i+1, s.Title)
		case "done":
			v.line("step %d is done, with %s", i+1, plural(len(v.sources["step-"+s.ID]), "source"))
		default:
			v.line("step %d: %s", i+1, s.Result)
		}
		v.tell("step", map[string]any{"id": s.ID, "title": s.Title, "status": s.Status, "result": s.Result})
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (v *view) item(env *event.Envelope, e event.ItemEnded) {
	switch it := e.Item.(type) {
	case item.ToolCall:
		if env.Task == "" {
			return
		}
		var args map[string]any
		_ = json.Unmarshal([]byte(it.Arguments), &args)
		about := it.Arguments
		for _, key := range []string{"query", "url", "path", "q"} {
			if text, ok := args[key].(string); ok {
				about = text
				break
			}
		}
		v.doing[env.Task] = it.Name + ": " + oneLine(about)
		v.line("  %s", v.doing[env.Task])
	case item.ToolResult:
		for _, b := range it.Blocks {
			if b.Ref == 0 || slices.Contains(v.sources[env.Task], b.Ref) {
				continue
			}
			v.sources[env.Task] = append(v.sources[env.Task], b.Ref)
			if v.titles[b.Ref] == "" {
				v.titles[b.Ref] = b.Name
				v.tell("source", map[string]any{"number": b.Ref, "title": b.Name, "address": b.URL, "task": env.Task})
				v.line("  [%d] %s", b.Ref, b.Name)
			}
		}
	case item.Message:
		if env.Task == "" && (env.Node == research.NodeReporter || env.Node == research.NodeCoordinator) {
			v.text = it.Text()
		}
		if env.Task == "" && env.Node == research.NodeChecker {
			v.text = strings.TrimRight(v.text, "\n") + "\n\n" + it.Text()
		}
	}
}

func (v *view) written(text string) {
	if v.writing == 0 {
		v.line("writing the report")
	}
	v.writing += len([]rune(text))
	// On a terminal it is read as it comes. Elsewhere only a whole one is of use.
	if v.live && v.flags.Output == "" && isTerminal(v.env.stdout) {
		if !v.streamed {
			v.thinking = "" // what is written tells of itself
			v.draw()
			v.drawn, v.streamed = 0, true
			fmt.Fprintln(v.env.stdout)
		}
		fmt.Fprint(v.env.stdout, harmless(text))
	}
}

// report is the text that the research came to.
func (v *view) report() string { return v.text }

// print puts the report on standard output, unless it stands there.
func (v *view) print(text string) {
	if v.flags.JSON {
		v.tell("report", map[string]any{"text": text})
		return
	}
	if v.streamed {
		fmt.Fprintln(v.env.stdout)
		return
	}
	if isTerminal(v.env.stdout) {
		text = harmless(text)
	}
	fmt.Fprintln(v.env.stdout, strings.TrimRight(text, "\n"))
}

// wrote says where the report is.
func (v *view) wrote(path string) {
	cited := len(citedIn(v.text))
	v.tell("report", map[string]any{"path": path, "sources": cited})
	v.note("%s: %s, %s", path, plural(len([]rune(v.text)), "character"), plural(cited, "cited source"))
}

func citedIn(text string) map[string]bool {
	all := map[string]bool{}
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, "[^")
		if !ok {
			return all
		}
		n, tail, _ := strings.Cut(after, "]")
		if n != "" && len(n) < 8 && strings.Trim(n, "0123456789") == "" {
			all[n] = true
		}
		rest = tail
	}
}

// tell writes an object for programs.
func (v *view) tell(kind string, members map[string]any) {
	if !v.flags.JSON {
		return
	}
	members["event"] = kind
	if raw, err := json.Marshal(members); err == nil {
		fmt.Fprintf(v.env.stdout, "%s\n", raw)
	}
}

// note writes a line for people, below what is drawn.
func (v *view) note(format string, args ...any) {
	if v.flags.Quiet || v.flags.JSON {
		return
	}
	v.drawn = 0
	fmt.Fprintf(v.env.stderr, format+"\n", args...)
}

// overtyped is note where a terminal may just have shown ^C: it is written over.
func (v *view) overtyped(format string, args ...any) {
	if v.live {
		format = "\r\x1b[K" + format
	}
	v.note(format, args...)
}

// line writes what happens where nothing is drawn.
func (v *view) line(format string, args ...any) {
	if !v.live {
		v.note(format, args...)
	}
}

// ask asks the person, also a quiet one.
func (v *view) ask(text string) {
	if v.flags.JSON {
		return
	}
	v.drawn = 0
	fmt.Fprintf(v.env.stderr, "\n%s\n> ", text)
}

// rest leaves what is drawn as it stands.
func (v *view) rest() {
	v.thinking, v.resting = "", true
	v.draw()
	v.drawn = 0
}

// hear passes by what is typed while nothing is asked.
func (v *view) hear(string) {}

// tick moves what turns.
func (v *view) tick() {
	v.spin++
	v.draw()
}

// draw draws the plan over the one before.
func (v *view) draw() {
	if !v.live || v.streamed {
		return
	}
	v.living.draw(v.lines())
}

var doingWhat = map[string]string{
	research.NodeCoordinator: "Reading the question", research.NodeBackground: "Looking around", research.NodePlanner: "Planning",
	research.NodeReview: "The plan", research.NodeReporter: "Writing the report", research.NodeChecker: "Checking citations",
}

func (v *view) lines() []string {
	turning := v.turning()
	var out []string
	add := func(format string, args ...any) { out = append(out, fit(fmt.Sprintf(format, args...), v.width)) }
	if len(v.plan.Steps) > 0 {
		add("%s", oneLine(v.plan.Title))
	}
	for i, s := range v.plan.Steps {
		sign, about := "·", ""
		switch s.Status {
		case "running":
			if sign, about = turning, v.doing["step-"+s.ID]; v.resting {
				sign = "·"
			}
		case "done":
			sign = "✓"
		case "failed":
			sign, about = "✗", s.Result
		}
		if n := len(v.sources["step-"+s.ID]); n > 0 && s.Status == "running" {
			about = plural(n, "source") + ", " + about
		}
		if s.Status == "done" {
			about = plural(len(v.sources["step-"+s.ID]), "source")
		}
		title := fit(oneLine(s.Title), max(20, v.width/2))
		add("  %s %d %s  \x1b[2m%s\x1b[0m", sign, i+1, title, oneLine(about))
		if read := v.sources["step-"+s.ID]; len(read) > 0 && s.Status == "running" { // the one that came last
			n := read[len(read)-1]
			add("      \x1b[2m[%d] %s\x1b[0m", n, oneLine(v.titles[n]))
		}
	}
	if what := doingWhat[v.thinking]; what != "" {
		if v.thinking == research.NodeReporter && v.writing > 0 {
			what += fmt.Sprintf(", %d characters", v.writing)
		}
		add("%s %s", turning, what)
	}
	return out
}

// oneLine is a text of others on a line of ours: what would move the cursor is taken out of it.
func oneLine(text string) string { return strings.Join(strings.Fields(harmless(text)), " ") }

// fit cuts a line to a number of columns. Han characters take two; what is between an escape and its m takes none.
func fit(text string, width int) string {
	columns, escape := 0, false
	for i, r := range text {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		default:
			columns += cells(r)
			if columns > width-1 {
				return text[:i] + "…\x1b[0m"
			}
		}
	}
	return text
}

// cells is how many columns a character takes.
func cells(r rune) int {
	if r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xff60) {
		return 2
	}
	return 1
}
