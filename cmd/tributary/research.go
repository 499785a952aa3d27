package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
)

// ResearchConfig is the part of the file about deep research.
type ResearchConfig struct {
	// CheckModel is the name of the model that is asked about citations which a comparison of words cannot decide.
	CheckModel string `yaml:"check_model"`
}

// researchGraphs are the graphs of deep research, for the commands' runtime.
func researchGraphs(config Config, models model.Models, hands hands, tools []tool.Tool, log *slog.Logger) (map[string]tributary.Builder, error) {
	b, err := tributary.Research(tributary.ResearchOptions{
		Models: models, Tools: append(slices.Clip(tools), hands.files()...), Retry: config.Retry, Answers: config.Answers, Middleware: hands.role, Log: log,
		CheckModel: config.Research.CheckModel,
	})
	return map[string]tributary.Builder{tributary.ResearchGraph: b, tributary.ResearchAlias: b}, err
}

type researchCmd struct {
	Question []string `arg:"" help:"What to find out."`
	Docs     []string `help:"Search this folder, and not those of the configuration; may be given several times." type:"existingdir" placeholder:"DIR"`
	Style    string   `help:"How the report is written: ${styles}." placeholder:"STYLE" enum:"${styles}," default:""`
	Locale   string   `help:"The language of the report, as in en-US or zh-CN. Default: that of the question." placeholder:"LANG"`
	Model    string   `help:"Ask this model." placeholder:"NAME"`

	AutoAccept bool `help:"Carry the plan out without asking." short:"y"`
	Clarify    bool `help:"Let the question be asked back if it is not clear."`
	MaxSteps   int  `help:"How many steps a round of research may have." placeholder:"N"`
	MaxRounds  int  `help:"How many rounds there may be." placeholder:"N"`
	Parallel   int  `help:"How many steps are worked on at once." placeholder:"N"`

	MaxTokens int           `help:"How many tokens the steps may take together." placeholder:"N"`
	MaxTime   time.Duration `help:"How long the steps may be worked on, as in 5m." placeholder:"TIME"`

	reportFlags
}

// reportFlags say where a report goes and what is shown meanwhile.
type reportFlags struct {
	Output string `help:"Write the report into this file: Markdown, or what its ending says, .html, .docx, .pdf or .pptx. Default: standard output." short:"o" placeholder:"FILE"`
	Font   string `help:"A TrueType font for a PDF, where the built-in one lacks letters." placeholder:"FILE" type:"existingfile"`
	JSON   bool   `help:"Print what happens as lines of JSON, for programs." name:"json"`
	Quiet  bool   `help:"Print the report and nothing else." short:"q"`
}

func (f reportFlags) validate() error {
	switch ext := strings.ToLower(filepath.Ext(f.Output)); ext {
	case "", ".md", ".markdown", ".txt", ".html", ".htm", ".docx", ".pdf", ".pptx":
		return nil
	default:
		return fmt.Errorf("reports are written as .md, .html, .docx, .pdf or .pptx, not as %s", ext)
	}
}

// settings are what the command line says, by the names that the graph knows.
func (c researchCmd) settings() map[string]any {
	all := map[string]any{}
	for name, value := range map[string]any{
		"report_style": c.Style, "locale": c.Locale, "max_step_num": c.MaxSteps, "max_plan_iterations": c.MaxRounds, "parallel_steps": c.Parallel,
		"max_research_tokens": c.MaxTokens, "max_research_seconds": int(math.Ceil(c.MaxTime.Seconds())), "auto_accepted_plan": c.AutoAccept, "enable_clarification": c.Clarify, "model_name": c.Model,
	} {
		if value != "" && value != 0 && value != false {
			all[name] = value
		}
	}
	return all
}

// errand is what a run remembers of the command that began it, for the one that comes back to it.
type errand struct {
	Docs   []string `json:"research_docs,omitempty"`
	Output string   `json:"research_output,omitempty"`
}

// Run researches a question and writes the report.
func (c researchCmd) Run(e *env) error {
	if err := c.validate(); err != nil {
		return err
	}
	memo := errand{Output: absolute(c.Output)}
	for _, dir := range c.Docs {
		memo.Docs = append(memo.Docs, absolute(dir))
	}
	d, err := openDesk(e, memo.Docs)
	if err != nil {
		return err
	}
	s := newSitting(e, d, c.reportFlags)
	defer s.stop()
	run, err := d.start(e.ctx, inquiry{graph: tributary.ResearchGraph, question: strings.Join(c.Question, " "), settings: c.settings(), memo: memo})
	if err == nil {
		err = s.attend(run)
	}
	return errors.Join(err, d.close())
}

func absolute(path string) string {
	if path == "" {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

type attachCmd struct {
	Run_ string `arg:"" optional:"" name:"run" help:"Id of the run. Without it, the newest research."`
	reportFlags
}

// Run comes back to a research that was left: it shows what has happened, asks what is asked, and writes the report.
func (c attachCmd) Run(e *env) error {
	if err := c.validate(); err != nil {
		return err
	}
	run, memo, err := findResearch(e, c.Run_)
	if err != nil {
		return err
	}
	if c.Output == "" {
		c.Output = memo.Output
	}
	d, err := openDesk(e, memo.Docs)
	if err != nil {
		return err
	}
	s := newSitting(e, d, c.reportFlags)
	defer s.stop()
	return errors.Join(s.attend(run), d.close())
}

// sitting is a person before a research.
type sitting struct {
	env     *env
	desk    desk
	flags   reportFlags
	view    *view
	in      *bufio.Reader
	signals chan os.Signal
}

func newSitting(e *env, d desk, f reportFlags) *sitting {
	s := &sitting{env: e, desk: d, flags: f, in: bufio.NewReader(e.stdin), signals: make(chan os.Signal, 4)}
	s.view = newView(e, f)
	// main's own handler ends the context at the first signal and then lets go; the second one is ours.
	signal.Notify(s.signals, os.Interrupt, syscall.SIGTERM)
	return s
}

func (s *sitting) stop() { signal.Stop(s.signals) }

// attend watches a run and those that go on from it, until there is a report, or an end.
func (s *sitting) attend(run string) error {
	for {
		end, err := s.watch(run)
		if s.env.ctx.Err() != nil {
			return s.leave(run, end != nil)
		}
		if err != nil {
			return err
		}
		switch {
		case end.Status == event.Interrupted && s.view.question != nil:
			value, err := s.answer(run, *s.view.question)
			if err != nil {
				return err
			}
			if s.env.ctx.Err() != nil {
				return s.leave(run, true)
			}
			if run, err = s.desk.answer(s.env.ctx, run, s.view.question.ID, value); err != nil {
				return err
			}
		case end.Status == event.Success:
			return s.finish(run)
		case end.Error != nil:
			return end.Error
		default:
			return errors.New("the research was cancelled; ask again to begin another")
		}
	}
}

// watch shows a run until it has ended.
func (s *sitting) watch(run string) (*event.RunEnded, error) {
	s.view.begin(run)
	defer s.view.rest()
	return watch(s.env.ctx, s.desk, run, s.view, nil)
}

// watcher shows what happens.
type watcher interface {
	show(env *event.Envelope)
	tick()
	// hear takes a line that the person has typed.
	hear(line string)
}

// watch shows a run until it has ended, and hands over what is typed meanwhile.
func watch(ctx context.Context, d desk, run string, w watcher, typed <-chan string) (*event.RunEnded, error) {
	tick := time.NewTicker(120 * time.Millisecond)
	defer tick.Stop()
	type next struct {
		env event.Envelope
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := make(chan next)
	go func() {
		defer close(events)
		for env, err := range d.follow(ctx, run) {
			select {
			case events <- next{env, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() { // the reader ends before anything that it reads is closed
		cancel()
		for range events {
		}
	}()
	for {
		select {
		case n, ok := <-events:
			if !ok {
				return nil, errors.New("the run's events end before the run does")
			}
			if n.err != nil {
				return nil, n.err
			}
			w.show(&n.env)
			if end, ok := n.env.Event.(event.RunEnded); ok {
				return &end, nil
			}
		case <-tick.C:
			w.tick()
		case line, ok := <-typed:
			if !ok {
				typed = nil
				continue
			}
			w.hear(line)
		}
	}
}

// answer puts a question to the person.
func (s *sitting) answer(run string, q event.InterruptRaised) (any, error) {
	waits := fmt.Errorf("the research waits for an answer; come back to it with: %s", comeBack(s.env, run))
	if q.Ask == event.AskPlanReview {
		return s.review(q, waits)
	}
	var text string
	if json.Unmarshal(q.Value, &text) != nil {
		text = string(q.Value)
	}
	s.view.ask(text)
	line, ok := s.line()
	if !ok {
		return nil, waits
	}
	return line, nil
}

// review asks about a plan: an empty line begins, words change it, e edits it.
func (s *sitting) review(q event.InterruptRaised, waits error) (any, error) {
	var asked research.Question
	if err := json.Unmarshal(q.Value, &asked); err != nil {
		return nil, fmt.Errorf("the plan cannot be read: %w", err)
	}
	for {
		if asked.Problem != "" {
			s.view.ask(asked.Problem)
		}
		s.view.ask("Enter begins the research; words say what to change; e edits the plan; q leaves it for later.")
		line, ok := s.line()
		switch {
		case !ok || line == "q":
			return nil, waits
		case line == "":
			return research.Accept, nil
		case s.flags.JSON && json.Valid([]byte(line)): // a program answers as the graph is answered
			return json.RawMessage(line), nil
		case line != "e":
			return map[string]string{"feedback": line}, nil
		}
		plan, err := editPlan(s.env, asked.Plan)
		if err == nil {
			return map[string]json.RawMessage{"plan": plan}, nil
		}
		asked.Problem = err.Error()
	}
}

// line reads a line; false at the end of the input, or when somebody leaves.
func (s *sitting) line() (string, bool) {
	type read struct {
		text string
		err  error
	}
	got := make(chan read, 1)
	go func() { // ends with the input, or with the process: nothing else ends a read from a terminal
		text, err := s.in.ReadString('\n')
		got <- read{text, err}
	}()
	select {
	case r := <-got:
		return strings.TrimSpace(r.text), r.err == nil || strings.TrimSpace(r.text) != ""
	case <-s.env.ctx.Done():
		return "", false
	}
}

// editPlan lets the person change a plan in an editor.
func editPlan(e *env, p research.Plan) (json.RawMessage, error) {
	raw, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp("", "plan-*.json")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(raw, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	editor := os.Getenv("VISUAL")
	if editor == "" {
		editor = os.Getenv("EDITOR")
	}
	if editor == "" {
		editor = "vi"
	}
	words := strings.Fields(editor)
	cmd := exec.CommandContext(e.ctx, words[0], append(words[1:], f.Name())...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("the editor %s: %w; set EDITOR to another one", editor, err)
	}
	if raw, err = os.ReadFile(f.Name()); err != nil {
		return nil, err
	}
	if !json.Valid(raw) {
		return nil, errors.New("what the editor left is not JSON")
	}
	return raw, nil
}

// again is how long a second Ctrl-C is waited for.
const again = 2 * time.Second

// leave says how to come back, and cancels the run if the person insists.
func (s *sitting) leave(run string, over bool) error {
	s.view.overtyped("")
	s.view.note("Left. Come back with: %s", comeBack(s.env, run))
	if over {
		return nil
	}
	// The one that we heard of already is taken before another is asked for, which may come at once. It was given to main's handler and
	// to ours at the same moment, in any order.
	select {
	case <-s.signals:
	case <-time.After(100 * time.Millisecond): // nobody pressed anything
	}
	if !s.desk.goesOn() {
		s.view.note("It stands still until then. Ctrl-C again within %v cancels it.", again)
	} else {
		s.view.note("It goes on in the server. Ctrl-C again within %v cancels it.", again)
	}
	timer := time.NewTimer(again)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-s.signals:
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.env.ctx), 10*time.Second)
	defer cancel()
	if err := s.desk.cancel(ctx, run); err != nil {
		return err
	}
	s.view.overtyped("Cancelled.")
	return nil
}

// comeBack is the command that comes back to a run, with the folder if that is not the usual one.
func comeBack(e *env, run string) string { return comeBackWith(e, "attach "+run) }

// comeBackWith is a command line in the same folder.
func comeBackWith(e *env, command string) string {
	if usual, err := dataHome(); err == nil && usual != e.config.Data {
		return "tributary --data " + e.config.Data + " " + command
	}
	return "tributary " + command
}

// finish writes the report where it is wanted.
func (s *sitting) finish(run string) error {
	text := s.view.report()
	if text == "" {
		return errors.New("the run ended without a report")
	}
	if s.flags.Output == "" {
		s.view.print(text)
		return nil
	}
	text = s.pictures(run, text, s.flags.Output)
	data, err := render(s.flags.Output, text, s.view.locale, s.flags.Font)
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.flags.Output, data, 0o644); err != nil {
		return remedied{fmt.Errorf("write the report: %w", err), "the research is kept; write it elsewhere with " + comeBack(s.env, run) + " -o FILE"}
	}
	s.view.wrote(s.flags.Output)
	return nil
}
