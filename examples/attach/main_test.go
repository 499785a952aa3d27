package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The test is several processes: this test binary, started again with a command.
func TestMain(m *testing.M) {
	if os.Getenv("ATTACH_DATA") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestARunIsReadAnsweredAndForkedByOtherProcesses(t *testing.T) {
	dir := t.TempDir()
	process := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
		cmd.Env = append(os.Environ(), "ATTACH_DATA="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run := strings.TrimSpace(process("start"))
	const looked = `look wrote {"notes":["the source of rivers"]}
look wrote {"notes":["the mouth of rivers"]}
`
	const asked = `ask asks "publish 2 notes?"
interrupted
`
	verdict := func(v string) string {
		return "ask wrote {\"verdict\":\"" + v + "\"}\nreview wrote {\"notes\":[],\"verdict\":\"" + v + "\"}\nsuccess\n"
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"follow", run}, looked + asked},
		{[]string{"answer", run, "yes"}, verdict("yes")},
		{[]string{"follow", run}, looked + asked}, // what was said stays said
		{[]string{"again", run, "no"}, asked + verdict("no")},
	} {
		if got := process(c.args...); sorted(got) != sorted(c.want) {
			t.Errorf("%v prints\n%s\nwant\n%s", c.args, got, c.want)
		}
	}
}

// sorted puts what happens at the same time into an order.
func sorted(text string) string {
	lines := strings.Split(text, "\n")
	if len(lines) > 2 && strings.HasPrefix(lines[0], "look") && lines[0] > lines[1] {
		lines[0], lines[1] = lines[1], lines[0]
	}
	return strings.Join(lines, "\n")
}
