package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tributary-ai/tributary/docs"
)

const resumeQuestion = "How does a reader resume a stream after a crash?"

// invokeWith is invoke for a person who types.
func invokeWith(t *testing.T, input string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	code = command(t.Context(), args, strings.NewReader(input), &out, &errs)
	return code, out.String(), errs.String()
}

var quotation = regexp.MustCompile(`“([^“”]+)” \[\^([0-9]+)\]`)

// library is the text of all documents, without line breaks.
func library(t *testing.T, documents fs.FS) string {
	t.Helper()
	var all strings.Builder
	err := fs.WalkDir(documents, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(documents, name)
		all.WriteString(strings.Join(strings.Fields(string(raw)), " ") + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// quotations checks that all that a report quotes stands in the documents, and returns how much that is.
func quotations(t *testing.T, report string, documents fs.FS) int {
	t.Helper()
	all := library(t, documents)
	found := quotation.FindAllStringSubmatch(report, -1)
	for _, m := range found {
		if !strings.Contains(all, strings.Join(strings.Fields(m[1]), " ")) {
			t.Errorf("no document says %q", m[1])
		}
		if !strings.Contains(report, "\n[^"+m[2]+"]: ") {
			t.Errorf("number %s is not among the references", m[2])
		}
	}
	return len(found)
}

func TestResearchWritesAReportWithoutKeyOrNetwork(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.md")
	code, out, notes := invoke(t, "--data", t.TempDir(), "research", resumeQuestion, "--auto-accept", "-o", path)
	report, err := os.ReadFile(path)
	if code != 0 || err != nil || out != "" {
		t.Fatalf("exit %d, %v, %q, %s", code, err, out, notes)
	}
	if n := quotations(t, string(report), docs.FS); n < 5 {
		t.Errorf("%d quotations, want 5 or more:\n%s", n, report)
	}
	for _, want := range []string{"plan: " + resumeQuestion, "step 1 begins", "  search: ", "  [1] ", "step 1 is done, with", "writing the report", path + ": "} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q:\n%s", want, notes)
		}
	}
	if !strings.Contains(string(report), "No language model was used") || strings.Contains(string(report), "⚠") {
		t.Errorf("the report:\n%s", report)
	}
}

func TestResearchOverAFolderOfOnesOwn(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"nile.md":   "# The Nile\n\nThe Nile is 6650 km long and flows through eleven countries. It ends in the Mediterranean Sea.\n",
		"atlas.md":  "# Atlas of rivers\n\nThe Nile is 6853 km long and flows through eleven countries.\n",
		"danube.md": "# The Danube\n\nThe Danube is 2850 km long and ends in the Black Sea.\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, report, notes := invoke(t, "--data", t.TempDir(), "research", "How long is the Nile, and who discovered its sources?", "-y", "--docs", dir)
	if code != 0 {
		t.Fatalf("exit %d, %s", code, notes)
	}
	quotations(t, report, os.DirFS(dir))
	for _, want := range []string{"6650 km", "## Where the sources disagree", "6853 km", "## Not found in the sources", "discovered"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
}

func TestResearchInChinese(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "河流.md"), []byte("# 尼罗河\n\n尼罗河全长6650公里，流经十一个国家，最后注入地中海。尼罗河的水量随季节变化很大，每年夏天泛滥。\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, report, notes := invoke(t, "--data", t.TempDir(), "research", "尼罗河有多长？", "-y", "--docs", dir)
	if code != 0 || !strings.Contains(report, "没有使用语言模型") || !strings.Contains(report, "“尼罗河全长6650公里，流经十一个国家，最后注入地中海。” [^1]") || !strings.Contains(report, "## 参考资料") {
		t.Errorf("exit %d, %s\n%s", code, notes, report)
	}
}

func TestAPersonIsAskedAboutThePlan(t *testing.T) {
	data := t.TempDir()
	code, out, notes := invokeWith(t, "only the wires\n\n", "--data", data, "research", resumeQuestion)
	if code != 0 || !strings.Contains(out, "## References") || strings.Count(notes, "Enter begins the research") != 2 {
		t.Errorf("exit %d, %q, %s", code, out, notes)
	}
	// Nobody is there: the research waits, and somebody comes back to it.
	path := filepath.Join(t.TempDir(), "report.html")
	code, _, notes = invoke(t, "--data", data, "research", resumeQuestion, "-o", path)
	back := regexp.MustCompile(`attach (\S+)`).FindStringSubmatch(notes)
	if code != 1 || back == nil || !strings.Contains(notes, "waits for an answer") {
		t.Fatalf("exit %d, %s", code, notes)
	}
	for _, args := range [][]string{{"attach", back[1]}, {"attach"}} { // the second time there is nothing left to do
		code, _, notes = invokeWith(t, "\n", append([]string{"--data", data}, args...)...)
		page, err := os.ReadFile(path)
		if code != 0 || err != nil || !strings.HasPrefix(string(page), "<!doctype html>\n<html lang=\"en-US\">") || !strings.Contains(string(page), "footnote-ref") {
			t.Errorf("%q: exit %d, %v, %s", args, code, err, notes)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestThePlanCanBeEdited(t *testing.T) {
	editor := filepath.Join(t.TempDir(), "editor")
	script := "#!/bin/sh\necho '{\"steps\":[{\"title\":\"Crash recovery\",\"step_type\":\"research\"}]}' > \"$1\"\n"
	if err := os.WriteFile(editor, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VISUAL", "")
	t.Setenv("EDITOR", editor)
	code, _, notes := invokeWith(t, "e\n", "--data", t.TempDir(), "research", resumeQuestion, "--max-rounds", "1")
	if code != 0 || !strings.Contains(notes, "step 1 begins: Crash recovery") || strings.Contains(notes, "step 2 begins") {
		t.Errorf("exit %d, %s", code, notes)
	}
}

func TestResearchForPrograms(t *testing.T) {
	code, out, notes := invokeWith(t, "{\"type\":\"accept\"}\n", "--data", t.TempDir(), "research", resumeQuestion, "--json")
	if code != 0 || notes != "" {
		t.Fatalf("exit %d, %s", code, notes)
	}
	seen := map[string]int{}
	for line := range strings.Lines(out) {
		var o struct{ Event, Text string }
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if seen[o.Event]++; o.Event == "report" && !strings.Contains(o.Text, "## References") {
			t.Errorf("the report is %q", o.Text)
		}
	}
	for _, kind := range []string{"run", "plan", "step", "source", "question", "report", "end"} {
		if seen[kind] == 0 {
			t.Errorf("there is no %s among %v", kind, seen)
		}
	}
}

func TestPromptsAreShown(t *testing.T) {
	code, out, notes := invoke(t, "--data", t.TempDir(), "agents", "show", "research", "--language", "zh")
	if code != 0 || !strings.Contains(out, "# planner (zh, version 2)\n\n你负责制定研究计划") || strings.Contains(out, "(en,") {
		t.Errorf("exit %d, %s%s", code, out, notes)
	}
}

func TestResearchRefusesWhatItCannotDo(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"research", "x", "-o", "report.xyz"}, "reports are written as .md"},
		{[]string{"research", "x", "--style", "poem"}, "--style must be one of"},
		{[]string{"research", "x", "--max-steps", "99"}, "max_step_num: must be between"},
		{[]string{"research", "x", "--max-time", "999h"}, "max_research_seconds: must be between"},
		{[]string{"attach"}, "no runs yet"},
	} {
		code, _, notes := invoke(t, append([]string{"--data", filepath.Join(t.TempDir(), "new")}, c.args...)...)
		if code != 1 || !strings.Contains(notes, c.says) {
			t.Errorf("%q: exit %d, %s", c.args, code, notes)
		}
	}
}

// With a server on the folder the server does the work, and the command watches.
func TestResearchInARunningServer(t *testing.T) {
	data := t.TempDir()
	p := startProcess(t, data)
	path := filepath.Join(t.TempDir(), "report.md")
	code, _, notes := invokeWith(t, "\n", "--data", data, "research", resumeQuestion, "-o", path)
	report, err := os.ReadFile(path)
	if code != 0 || err != nil || quotations(t, string(report), docs.FS) < 5 {
		t.Errorf("exit %d, %v, %s\n%s", code, err, notes, p.log)
	}
	if code, _, notes = invoke(t, "--data", data, "research", "x", "--docs", t.TempDir()); code != 1 || !strings.Contains(notes, "searches its own documents") {
		t.Errorf("exit %d, %s", code, notes)
	}
	p.stop(t)
}

// A person leaves with Ctrl-C while a model thinks, and comes back when it answers; another insists, and cancels.
func TestCtrlCLeavesAndAnotherOneCancels(t *testing.T) {
	var answers atomic.Bool
	asked := make(chan struct{}, 64)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		if !answers.Load() {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello.\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer provider.Close()
	defer provider.CloseClientConnections()
	data, config := t.TempDir(), filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("models:\n  - {name: slow, provider: openai, model: slow, base_url: "+provider.URL+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := func(more ...string) []string { return append([]string{"--config", config, "--data", data}, more...) }
	begin := func(signals int) (string, int) {
		cmd := program(t, args("research", "Hello?", "-y")...)
		cmd.Env = append(cmd.Env, "OPENAI_API_KEY=none")
		notes, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-asked
		var all strings.Builder
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		for in := bufio.NewScanner(notes); in.Scan(); {
			all.WriteString(in.Text() + "\n")
			if strings.Contains(in.Text(), "Ctrl-C again") && signals > 1 {
				if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // its exit code says how it ended
		return all.String(), cmd.ProcessState.ExitCode()
	}
	notes, code := begin(2)
	if !strings.Contains(notes, "Cancelled.") || code != 0 {
		t.Errorf("after two: exit %d, %s", code, notes)
	}
	if code, _, notes := invoke(t, args("attach")...); code != 1 || !strings.Contains(notes, "the research was cancelled") {
		t.Errorf("coming back to what was cancelled: exit %d, %s", code, notes)
	}
	notes, code = begin(1)
	back := regexp.MustCompile(`attach (\S+)`).FindStringSubmatch(notes)
	if code != 0 || back == nil || !strings.Contains(notes, "stands still until then") || strings.Contains(notes, "Cancelled") {
		t.Fatalf("after one: exit %d, %s", code, notes)
	}
	answers.Store(true)
	t.Setenv("OPENAI_API_KEY", "none")
	if code, out, notes := invoke(t, args("attach", back[1])...); code != 0 || out != "Hello.\n" {
		t.Errorf("coming back: exit %d, %q, %s", code, out, notes)
	}
}
