package main

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// Without a key and without a network, a fresh server answers from its own documentation: several sentences, each
// quotation with a mark whose annotation points at a passage that contains what is quoted.
func TestFreshServerAnswersFromItsDocumentsWithCitationsThatResolve(t *testing.T) {
	s := serveOn(t, t.TempDir())
	res, err := http.Post(s.url+"/tasks", "application/json", strings.NewReader(`{"input":"What is a journal, and how does a reader resume?","stream":false}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("%d %s, %v", res.StatusCode, body, err)
	}
	var task struct {
		Status string
		Output []struct {
			Type   string
			Blocks []struct {
				Text        string
				ID          int
				Annotations []struct {
					Type  string
					Ref   int `json:"reference_id"`
					Start int `json:"start_index"`
					End   int `json:"end_index"`
				}
			} `json:"block_list"`
		}
	}
	if err := json.Unmarshal(body, &task); err != nil || task.Status != "completed" {
		t.Fatalf("%v: %s", err, body)
	}
	passages := map[int]string{}
	quoted := 0
	for _, item := range task.Output {
		for _, block := range item.Blocks {
			if item.Type == "tool_result" {
				passages[block.ID] = block.Text
				continue
			}
			text := []rune(block.Text)
			if n := strings.Count(block.Text, "."); n < 3 {
				t.Errorf("the answer is no several sentences: %s", block.Text)
			}
			for _, a := range block.Annotations {
				if mark := string(text[a.Start:a.End]); !regexp.MustCompile(`^\[\^\d+\]$`).MatchString(mark) {
					t.Errorf("annotation %+v covers %q", a, mark)
				}
				before := string(text[:a.Start])
				quote := before[strings.LastIndex(before, "“")+len("“") : strings.LastIndex(before, "”")]
				if !strings.Contains(passages[a.Ref], quote) {
					t.Errorf("passage %d does not contain %q", a.Ref, quote)
				}
				quoted++
			}
		}
	}
	if quoted < 2 {
		t.Errorf("%d citations in %s", quoted, body)
	}
}
