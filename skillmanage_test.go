package tributary_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/tool"
)

func TestAModelWritesSkillsOfItsPersonAlone(t *testing.T) {
	skills := tributary.SkillsIn(t.TempDir())
	manage := skills.Tool()
	if spec := manage.Spec(); !json.Valid(spec.Schema) || !spec.Risk.Has(tool.Writes) {
		t.Fatalf("the tool is %+v", spec)
	}
	do := func(owner, arguments, want string) {
		t.Helper()
		res, err := manage.Call(t.Context(), tool.Call{ID: "c", Owner: owner, Arguments: json.RawMessage(arguments)})
		got := ""
		for _, b := range res.Content {
			got += b.Text
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s: got %q, want %q", owner, arguments, got, want)
		}
	}
	const content = `"content":"---\nname: count\ndescription: Counts.\n---\nCount to ten.\n"`
	do("anna", `{"action":"edit","name":"count",`+content+`}`, "there is no skill count")
	do("anna", `{"action":"create","name":"count",`+content+`}`, "has 1 files")
	do("anna", `{"action":"create","name":"count",`+content+`}`, "already")
	do("anna", `{"action":"create","name":"other"}`, "content is missing")
	do("anna", `{"action":"create","name":"other",`+content+`}`, "keeps its name")
	do("anna", `{"action":"patch","name":"count","find":"ten","replace":"twelve"}`, "has 1 files")
	do("anna", `{"action":"patch","name":"count","find":"ten","replace":"twelve"}`, "0 times")
	do("anna", `{"action":"write_file","name":"count","path":"scripts/run.py","content":"import requests"}`, "uses the network")
	do("anna", `{"action":"write_file","name":"count","path":"../../x","content":"x"}`, "leads out")
	do("anna", `{"action":"remove_file","name":"count","path":"SKILL.md"}`, "no file SKILL.md in it that could be removed")
	do("anna", `{"action":"remove_file","name":"count","path":"scripts/run.py"}`, "has 1 files")
	do("bert", `{"action":"patch","name":"count","find":"twelve","replace":"x"}`, "there is no skill count")
	do("bert", `{"action":"delete","name":"count"}`, "there is no skill count")
	do("bert", `{"action":"delete","name":"report"}`, "there is no skill report")
	if text, err := skills.Text(t.Context(), "anna", "count"); err != nil || !strings.Contains(text, "Count to twelve.") {
		t.Errorf("the skill is %q, %v", text, err)
	}
	if all, err := skills.History(t.Context(), "anna", "count"); err != nil || len(all) != 3 {
		t.Errorf("the history is %v, %v", all, err)
	}
	do("anna", `{"action":"delete","name":"count"}`, "is deleted")
}
