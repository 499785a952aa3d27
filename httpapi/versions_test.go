package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/model/scripted"
)

// What was presented, and what somebody wrote over it, can be had again; what an agent only worked on is not kept.
func TestVersionsOfArtifactsAreKept(t *testing.T) {
	const report = "/mnt/user-data/outputs/report.html"
	write := func(id, text string) scripted.Script {
		return scripted.Call(id, "write_file", `{"path":"`+report+`","content":"`+text+`"}`)
	}
	show := func(id string) scripted.Script {
		return scripted.Call(id, "present_files", `{"filepaths":["`+report+`"]}`)
	}
	m := scripted.Sequence(write("c1", "one"), show("c2"), show("c3"), write("c4", "half"), write("c5", "two"), show("c6"), scripted.Say("ok"))
	w := people(t, leading(t, t.TempDir(), m))
	const thread = "0190a1b2-0000-7000-8000-000000000004"
	said(t, w.rt, tributary.Request{Owner: "anna", Thread: thread, Text: "Write."})
	at := "/threads/" + thread + "/artifacts" + report
	versions := func(want ...string) {
		t.Helper()
		var got struct {
			Versions []struct {
				Version int
				Sha256  string
				Size    int64
			}
		}
		text := w.step("anna", "GET", at+"?versions=true", "", 200)
		if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Versions) != len(want) {
			t.Fatalf("the versions are %s, %v; want %q", text, err, want)
		}
		for i, v := range got.Versions {
			res, text := w.call("GET", at+"?version="+string(rune('0'+v.Version)), "", "Who", "anna")
			if res.StatusCode != 200 || text != want[i] || res.Header.Get("ETag") != `"`+v.Sha256+`"` || v.Size != int64(len(text)) {
				t.Errorf("version %d: %s %q %v, want %q", v.Version, res.Status, text, v, want[i])
			}
			if h := res.Header; !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") || h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("a version runs in our origin: %v", h)
			}
		}
	}
	versions("one", "two")
	res, _ := w.call("GET", at, "", "Who", "anna")
	body, err := json.Marshal(map[string]string{"content": "three", "expected_sha256": strings.Trim(res.Header.Get("ETag"), `"`)})
	if err != nil {
		t.Fatal(err)
	}
	w.step("anna", "PUT", at, string(body), 200)
	versions("one", "two", "three")
	for query, status := range map[string]int{"?version=9": http.StatusNotFound, "?version=x": 422, "?version=-1": 422, "?version=0": 422} {
		w.step("anna", "GET", at+query, "", status, `"field":"version"`)
	}
	w.step("bert", "GET", at+"?versions=true", "", 404)
	w.step("bert", "GET", at+"?version=1", "", 404)
	// Agents cannot reach them, and they are not in the archive.
	w.step("anna", "GET", "/threads/"+thread+"/artifacts/mnt/user-data/.versions", "", 404)
	if text := w.step("anna", "GET", "/threads/"+thread+"/artifacts", "", 200, `"count":1`); strings.Contains(text, ".versions") {
		t.Errorf("the list is %s", text)
	}
}
