package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/memory"
)

func TestPeopleReadChangeAndForgetWhatIsRemembered(t *testing.T) {
	owner := "anna"
	w := serve(t, tributary.Options{Memory: &tributary.Memory{}}, httpapi.Options{Identify: func(*http.Request) (string, error) { return owner, nil }})
	step := func(method, path, body string, status int, want ...string) memory.Document {
		t.Helper()
		res, text := w.call(method, path, body)
		if res.StatusCode != status {
			t.Fatalf("%s %s %s: got %d, want %d: %s", method, path, body, res.StatusCode, status, text)
		}
		for _, part := range want {
			if no, ok := strings.CutPrefix(part, "!"); ok == strings.Contains(text, no) {
				t.Errorf("%s %s: %q, and the answer is %s", method, path, part, text)
			}
		}
		var d memory.Document
		_ = json.Unmarshal([]byte(text), &d)
		return d
	}
	step("GET", "/memory", "", 200, `"version":"1.0"`, `"workContext":{"summary":""}`, `"facts":[]`)
	d := step("POST", "/memory/facts", `{"content":"Likes  tea"}`, 200, `"content":"Likes tea"`, `"category":"context"`, `"confidence":0.5`, `"source":"manual"`)
	id := d.Facts[0].ID
	step("POST", "/memory/facts", `{"content":""}`, 422, `"field":"content"`)
	step("POST", "/memory/facts", `{"content":"x","confidence":7}`, 422, `"field":"confidence"`)
	step("PATCH", "/memory/facts/"+id, `{"content":"Likes coffee","category":"correction"}`, 200, `Likes coffee`, `!tea`, `"revision":2`)
	step("GET", "/memory/facts/"+id, "", 200, `Likes coffee`)
	step("PATCH", "/memory", `{"topOfMind":"Coffee beans"}`, 200, `Coffee beans`)
	step("GET", "/memory/search?query=coffee", "", 200, id)
	step("GET", "/memory/search?query=tea", "", 200, `{"facts":[]}`)
	step("GET", "/memory?agent_name=writer", "", 200, `!coffee`)

	owner = "bert"
	step("GET", "/memory", "", 200, `!offee`)
	for _, method := range []string{"GET", "PATCH", "DELETE"} {
		step(method, "/memory/facts/"+id, `{"content":"mine"}`, 404, `"field":"fact_id"`)
	}
	step("PUT", "/memory/status", `{"enabled":false}`, 200, `"enabled":false`)
	owner = "anna"
	step("GET", "/memory/status", "", 200, `"enabled":true`, `"facts":1`)

	_, export := w.call("GET", "/memory/export", "")
	step("DELETE", "/memory/facts/"+id, "", 200, `!coffee`, `!Coffee`) // and the summary that speaks of it
	step("POST", "/memory/import", `{}`, 422, `"field":"facts"`)
	step("POST", "/memory/import", `{"facts":null}`, 422, `"field":"facts"`)
	step("POST", "/memory/import", export, 200, id, `Coffee beans`)
	step("PUT", "/memory/status?agent_name=writer", `{"enabled":false}`, 200, `"enabled":false`, `"user_enabled":true`)
	step("PUT", "/memory/status", `{}`, 422, `"field":"enabled"`)
	step("GET", "/memory/config", "", 200, `"max_facts":1000`, `"enabled":true`)
	step("DELETE", "/memory", "", 200, `"facts":[]`, `!offee`)
	if res, text := w.call("POST", "/store/items/search", `{"query":"coffee"}`); res.StatusCode != 200 || strings.Contains(text, "offee") {
		t.Errorf("the store has %d %s", res.StatusCode, text)
	}
}

// DeerFlow's page asks below /api, and reads the whole memory from every answer.
func TestDeerFlowsPageFindsTheMemoryWhereItLooks(t *testing.T) {
	w := people(t, tributary.Options{Memory: &tributary.Memory{}})
	read := func(text string) (d memory.Document) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return d
	}
	whole := []string{`"version":"1.0"`, `"workContext"`, `"longTermBackground"`, `"facts":[`}
	w.step("anna", "GET", "/api/memory", "", 200, whole...)
	fact := read(w.step("anna", "POST", "/api/memory/facts", `{"content":"Likes tea","category":"preference","confidence":0.9}`, 200, whole...)).Facts[0]
	w.step("anna", "PATCH", "/api/memory/facts/"+fact.ID, `{"content":"Likes coffee","category":"preference","confidence":0.8}`, 200, append(whole, "Likes coffee")...)
	exported := w.step("anna", "GET", "/api/memory/export", "", 200, whole...)
	if plain := w.step("anna", "GET", "/memory", "", 200); plain != exported {
		t.Errorf("under its own name the memory is %s, and %s there", plain, exported)
	}
	w.step("bert", "GET", "/api/memory", "", 200, `"facts":[]`)
	w.step("bert", "DELETE", "/api/memory/facts/"+fact.ID, "", 404, `"field":"fact_id"`)
	if d := read(w.step("anna", "DELETE", "/api/memory/facts/"+fact.ID, "", 200)); len(d.Facts) != 0 {
		t.Errorf("after its deletion there is %+v", d.Facts)
	}
	if d := read(w.step("anna", "POST", "/api/memory/import", exported, 200)); len(d.Facts) != 1 || d.Facts[0].Content != "Likes coffee" {
		t.Errorf("after the import there is %+v", d.Facts)
	}
	if d := read(w.step("anna", "DELETE", "/api/memory", "", 200, whole...)); len(d.Facts) != 0 {
		t.Errorf("after everything was forgotten there is %+v", d.Facts)
	}
	w.step("anna", "GET", "/api/memory/search?query=coffee", "", 200, `{"facts":[]}`)
	for _, path := range []string{"/api/memory/nowhere", "/api/memories"} {
		w.step("anna", "GET", path, "", 404)
	}
}

func TestWithoutMemoryThereAreNoRoutesForIt(t *testing.T) {
	w := serve(t, tributary.Options{}, httpapi.Options{})
	for _, path := range []string{"/memory", "/api/memory"} {
		if res, text := w.call("GET", path, ""); res.StatusCode != 404 {
			t.Errorf("%s: got %d: %s", path, res.StatusCode, text)
		}
	}
}
