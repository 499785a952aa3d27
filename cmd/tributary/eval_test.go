package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The offline model finds what the documentation says, and says so where it says nothing.
func TestEvalScoresTheOfflineModel(t *testing.T) {
	code, out, notes := invoke(t, "eval", "research", "--json", "--only", "resume", "--only", "webhooks", "--only", "price")
	var table struct {
		Questions []struct {
			ID                    string
			Plan, Coverage, Truth float64
			Citations             int
			Error, Missing        string
		}
		Mean struct{ Total float64 }
	}
	if err := json.Unmarshal([]byte(out), &table); code != 0 || err != nil || len(table.Questions) != 3 {
		t.Fatalf("exit %d, %v, %s%s", code, err, out, notes)
	}
	for _, q := range table.Questions {
		if q.Plan != 1 || q.Truth != 1 || q.Coverage == 0 || q.Error != "" {
			t.Errorf("%+v", q)
		}
	}
	if table.Mean.Total < 0.8 || strings.Count(notes, "\n") != 3 {
		t.Errorf("mean %v; notes %q", table.Mean.Total, notes)
	}
}

func TestEvalTakesQuestionsOfOnesOwn(t *testing.T) {
	dir := t.TempDir()
	docs := filepath.Join(dir, "docs")
	if err := os.Mkdir(docs, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		filepath.Join(docs, "nile.md"):       "# The Nile\n\nThe Nile is 6650 km long and flows through eleven countries. It ends in the Mediterranean Sea.\n",
		filepath.Join(dir, "questions.json"): `[{"id":"nile","text":"How long is the Nile?","expect":[["6650 km"]],"sources":["nile.md"]}]`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, out, notes := invoke(t, "eval", "research", "-q", "--docs", docs, "--questions", filepath.Join(dir, "questions.json"))
	if code != 0 || notes != "" || !strings.Contains(out, "nile         1.00") || !strings.Contains(out, "1 questions  1.00") {
		t.Errorf("exit %d, %s%s", code, out, notes)
	}
	for _, c := range []struct{ args, says string }{{"--only nothing", `no question "nothing"`}, {"--model nobody", "nobody"}, {"--max-steps 99", "max_step_num"}} {
		code, out, notes := invoke(t, append([]string{"eval", "research", "-q", "--docs", docs, "--questions", filepath.Join(dir, "questions.json")}, strings.Fields(c.args)...)...)
		if !strings.Contains(out+notes, c.says) {
			t.Errorf("%s: exit %d, %s%s", c.args, code, out, notes)
		}
	}
}
