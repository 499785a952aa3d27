package tributary_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool/sandbox"
)

// workshop is a lead agent with files, a sandbox and skills, and a model that does what it is told.
type workshop struct {
	*testing.T
	rt     *tributary.Runtime
	skills *tributary.Skills
	model  *scripted.Model
	plan   []scripted.Script // of the run that is under way
}

func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	box, err := sandbox.Open(t.Context(), sandbox.Options{})
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("there is no sandbox here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &workshop{T: t}
	w.model = scripted.New(func(model.Request) scripted.Script {
		next := w.plan[0]
		w.plan = w.plan[1:]
		return next
	})
	w.model.Record = true
	dir := t.TempDir()
	w.skills = tributary.SkillsIn(dir)
	factory, err := lead.New(lead.Options{Skills: w.skills.Options(true, nil), Without: []string{"title"}})
	if err != nil {
		t.Fatal(err)
	}
	w.rt = open(t, tributary.Options{Dir: dir, Agent: factory.Graph, Models: tributary.OneModel(w.model), Files: true, Tools: box.Tools()})
	return w
}

// chat has one run on a thread of its own, and returns what the model was shown, call by call.
func (w *workshop) chat(text string, plan ...scripted.Script) []model.Request {
	w.Helper()
	before := len(w.model.Requests())
	w.plan = append(plan, scripted.Say("done"))
	if _, err := w.rt.Chat(w.Context(), tributary.Request{Assistant: tributary.LeadGraph, Text: text}); err != nil {
		w.Fatalf("%s: %v", text, err)
	}
	reqs := w.model.Requests()[before:]
	if len(reqs) != len(plan)+1 {
		w.Fatalf("%s: the model was asked %d times, want %d", text, len(reqs), len(plan)+1)
	}
	return reqs
}

// work is what is done with a skill, and what must come of it.
type work struct {
	file, says  string // a file of it, and words in that
	run, prints string // a command within its folder, and words of its output
}

// uses has a person use a skill by /name and the model load it by itself; both read a file of it and run what it brings.
func (w *workshop) uses(name, body string, do work) {
	w.Helper()
	arguments := func(v map[string]string) string {
		raw, err := json.Marshal(v)
		if err != nil {
			w.Fatal(err)
		}
		return string(raw)
	}
	at := "/mnt/user-data/workspace/skills/" + name
	var steps []scripted.Script
	var wants []string
	if do.file != "" {
		steps, wants = append(steps, scripted.Call("read", "read_file", arguments(map[string]string{"path": at + "/" + do.file}))), append(wants, do.says)
	}
	if do.run != "" {
		steps, wants = append(steps, scripted.Call("run", "bash", arguments(map[string]string{"command": "cd " + at + " && " + do.run}))), append(wants, do.prints)
	}
	check := func(how string, reqs []model.Request, wants []string) {
		w.Helper()
		for i, want := range wants {
			last := reqs[i+1].Messages[len(reqs[i+1].Messages)-1]
			if last.Role != item.Tool || !strings.Contains(last.Text(), want) {
				w.Errorf("%s, %s, step %d: got %s, want %q in it", name, how, i+1, last.Text(), want)
			}
		}
	}
	reqs := w.chat("/"+name+" go on", steps...)
	shown := ""
	for _, m := range reqs[0].Messages {
		shown += m.Text() + "\n"
	}
	if !strings.Contains(reqs[0].System, "\n- "+name+": ") || !strings.Contains(shown, "The person activated the skill "+name) || !strings.Contains(shown, body) {
		w.Errorf("%s by its name: the model is told\n%s\nand shown\n%s\nwant %q there", name, reqs[0].System, shown, body)
	}
	check("by its name", reqs, wants)
	load := scripted.Call("load", tributary.SkillTool, arguments(map[string]string{"name": name}))
	check("by the model", w.chat("go on", append([]scripted.Script{load}, steps...)...), append([]string{body}, wants...))
}

// repository installs the skills below a folder, as their authors wrote them, and uses each.
func (w *workshop) repository(folder string, works map[string]work) (names []string) {
	w.Helper()
	err := filepath.WalkDir(folder, func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !slices.Contains([]string{"skill.md", "skills.md"}, strings.ToLower(e.Name())) {
			return err
		}
		r, err := w.skills.Install(w.Context(), "", filepath.Dir(at), false)
		if err != nil {
			w.Errorf("%s: %v", at, err)
			return nil
		}
		text, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		names = append(names, r.Skill.Name)
		w.uses(r.Skill.Name, headline(string(text)), works[r.Skill.Name])
		return fs.SkipDir
	})
	if err != nil {
		w.Fatal(err)
	}
	return names
}

// headline is the first heading of a skill's text.
func headline(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") && !strings.ContainsAny(line, "<`") {
			return line
		}
	}
	return "The person" // there is none
}

// Skills of other people's repositories, as they wrote them. They come with modules that this one needs anyway, and are read where Go keeps
// those: none of them is ours to hand on.
func TestSkillsOfPublicRepositoriesLoadAndRun(t *testing.T) {
	w := newWorkshop(t)
	for module, want := range map[string]map[string]work{
		"github.com/openai/openai-go/v3": {
			"improve-openai-go":   {},
			"openai-go-pr-review": {file: "references/go-correctness.md", says: "#", run: "grep -c '' references/*.md", prints: "references/sdk-contracts.md:"},
		},
		"github.com/modelcontextprotocol/go-sdk": {"fix-bug": {}},
	} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
		if err != nil {
			t.Fatalf("go list %s: %v", module, err)
		}
		names := w.repository(filepath.Join(strings.TrimSpace(string(out)), ".agents", "skills"), want)
		if len(names) < len(want) {
			t.Errorf("%s: there are %q, want %d", module, names, len(want))
		}
		for name := range want {
			if !slices.Contains(names, name) {
				t.Errorf("%s: %s is not among %q", module, name, names)
			}
		}
	}
}

// What was met in the folders of seven public repositories, told in our words: each shape that at least one of their 1,127 skills has.
func TestSkillsOfEveryShapeThatIsPublishedLoadAndRun(t *testing.T) {
	w := newWorkshop(t)
	repo := t.TempDir()
	long := strings.Repeat("Look at the water before you speak of it. ", 2000)
	for name, text := range map[string]string{
		".claude-plugin/marketplace.json": `{"name":"water","plugins":[{"name":"tides","source":"./plugins/tides"}]}`,
		"README.md":                       "# Skills about water",
		// A description over several lines, members that nobody here knows, tools in brackets, folders, several languages, binary files.
		"plugins/tides/skills/tide-tables/SKILL.md": "---\nname: tide-tables\ndescription: >-\n  Tells when the water is high:\n  use it for \"tides\", harbours & ships.\nlicense: Complete terms in LICENSE.txt\n" +
			"compatibility: Needs Python 3\nmetadata:\n  author: us\n  version: \"1.0\"\n  tags: [a, b]\nrequires:\n  mcp: [water]\nargument-hint: \"[harbour]\"\neffort: high\nallowed-tools:\n  - Read\n  - Bash(python3:*)\n---\n\n# Tide tables\n\nRun `scripts/next.py`.\n",
		"plugins/tides/skills/tide-tables/scripts/next.py":           "#!/usr/bin/env python3\nimport sys, json, table\nprint(json.dumps({'next': table.NEXT[sys.argv[1]]}))\n",
		"plugins/tides/skills/tide-tables/scripts/table.py":          "NEXT = {'emden': '14:20'}\n",
		"plugins/tides/skills/tide-tables/references/deep/places.md": "# Places\n\nEmden, Husum.\n",
		"plugins/tides/skills/tide-tables/assets/wave.png":           "\x89PNG\r\n\x1a\n\x00\x00\xff\xfe",
		"plugins/tides/skills/tide-tables/LICENSE.txt":               "As you like.",
		// A title for a name, another one than its folder's; Windows' line ends; a mark at the beginning; a script that is called by its path.
		"skills/level/SKILL.md":     "\ufeff---\r\nname: Water Level\r\ndescription: |\r\n  Measures levels.\r\n\r\n  With a blank line.\r\nallowed-tools: Read, Bash(./gauge.sh:*) Grep\r\n---\r\n\r\n# Water level\r\n\r\nRun ./gauge.sh.\r\n",
		"skills/level/gauge.sh":     "#!/bin/sh\necho \"level $(cat data.csv | wc -l)\"\n",
		"skills/level/data.csv":     "a,1\nb,2\n",
		"skills/level/package.json": "{}",
		// Other letters, and a small file name.
		"skills/river-words/skill.md": "---\nname: \"河流\"\ndescription: '河流的词汇。Words about rivers.'\n---\n# 河流\n",
		// More than a model is shown at once.
		"skills/long/SKILL.md": "---\nname: long\ndescription: Is long.\n---\n# Long\n\n" + long + "\n\nTHE MIDDLE\n\n" + long,
	} {
		at := filepath.Join(repo, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	names := w.repository(repo, map[string]work{
		"tide-tables": {file: "references/deep/places.md", says: "Emden, Husum.", run: "python3 scripts/next.py emden", prints: `{"next": "14:20"}`},
		"water-level": {file: "data.csv", says: "b,2", run: "./gauge.sh", prints: "level 2"},
		"river-words": {},
		"long":        {file: "SKILL.md", says: "description: Is long.", run: "grep -n MIDDLE SKILL.md", prints: "THE MIDDLE"},
	})
	slices.Sort(names)
	if want := []string{"long", "river-words", "tide-tables", "water-level"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	reqs := w.chat("/long go on")
	if shown := reqs[0].Messages[len(reqs[0].Messages)-1].Text(); !strings.Contains(shown, "All of them are in /mnt/user-data/workspace/skills/long/SKILL.md") {
		t.Errorf("of a long one the model is not told where the rest is: %.300s", shown)
	}
}
