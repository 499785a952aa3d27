package httpapi_test

import (
	"archive/zip"
	"bytes"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/model/scripted"
)

// packed is an archive of a skill.
func packed(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i+1 < len(files); i += 2 {
		f, err := z.Create(files[i])
		if err == nil {
			_, err = f.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func sent(t *testing.T, field, name string, data []byte) (body, kind string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	f, err := w.CreateFormFile(field, name)
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}

const fetcher = "---\nname: fetcher\ndescription: Fetches.\nlicense: MIT\nrequired-secrets: [KEY]\n---\nRun get.py."

func TestSkillsAreInstalledSwitchedChangedAndHadAgain(t *testing.T) {
	m := scripted.Always(scripted.Say("ok"))
	m.Record = true
	w := people(t, leading(t, t.TempDir(), m))
	prompt := func(who string) string {
		t.Helper()
		said(t, w.rt, tributary.Request{Owner: who, Assistant: tributary.LeadGraph, Text: "hi"})
		all := m.Requests()
		return all[len(all)-1].System
	}
	w.step("anna", "GET", "/skills", "", 200, `"name":"bootstrap"`, `"name":"deep-research"`, `"category":"public"`, `"editable":false`, `"enabled":true`)
	w.step("anna", "GET", "/skills/custom", "", 200, `{"skills":[]}`)
	w.step("anna", "GET", "/skills/report", "", 200, `"content":"---\nname: report`)

	body, kind := sent(t, "file", "fetcher.skill", packed(t, "fetcher/SKILL.md", fetcher, "fetcher/get.py", "import requests"))
	res, text := w.call("POST", "/skills/install", body, "Who", "anna", "Content-Type", kind)
	for _, want := range []string{`"success":true`, `"skill_name":"fetcher"`, `"files":2`, `"name":"get.py"`, `"uses the network"`, `"required_secrets":["KEY"]`} {
		if res.StatusCode != 200 || !strings.Contains(text, want) {
			t.Fatalf("installed: %s %s, want %s", res.Status, text, want)
		}
	}
	if res, text := w.call("POST", "/skills/install", body, "Who", "anna", "Content-Type", kind); res.StatusCode != 422 || !strings.Contains(text, "already") {
		t.Errorf("a second time: %s %s", res.Status, text)
	}
	for name, data := range map[string][]byte{
		"leads out": packed(t, "SKILL.md", fetcher, "../x", "y"), "no archive": []byte("hello"), "no skill": packed(t, "README.md", "x"), "a route": packed(t, "SKILL.md", strings.Replace(fetcher, "fetcher", "install", 1)),
	} {
		body, kind := sent(t, "file", "x.zip", data)
		if res, text := w.call("POST", "/skills/install", body, "Who", "anna", "Content-Type", kind); res.StatusCode != 422 || !strings.Contains(text, `"field":"skill"`) {
			t.Errorf("%s: %s %s", name, res.Status, text)
		}
	}
	body, kind = sent(t, "other", "x.zip", nil)
	if res, text := w.call("POST", "/skills/install", body, "Who", "anna", "Content-Type", kind); res.StatusCode != 422 || !strings.Contains(text, `"field":"file"`) {
		t.Errorf("no file: %s %s", res.Status, text)
	}
	if p := prompt("anna"); !strings.Contains(p, "- fetcher: Fetches.") {
		t.Errorf("the next run is told %s", p)
	}
	if p := prompt("bert"); strings.Contains(p, "fetcher") || !strings.Contains(p, "- report: ") {
		t.Errorf("somebody else's run is told %s", p)
	}
	w.step("bert", "GET", "/skills/fetcher", "", 404)
	w.step("bert", "GET", "/skills/custom/fetcher", "", 404)
	w.step("bert", "PUT", "/skills/fetcher", `{"enabled":false}`, 404)
	w.step("bert", "DELETE", "/skills/custom/fetcher", "", 404)

	// Everybody switches for himself.
	w.step("anna", "PUT", "/skills/fetcher", `{"enabled":false}`, 200, `"enabled":false`)
	w.step("anna", "PUT", "/skills/report", `{"enabled":false}`, 200, `"enabled":false`)
	if p := prompt("anna"); strings.Contains(p, "- fetcher: ") || strings.Contains(p, "- report: ") || !strings.Contains(p, "- deep-research: ") {
		t.Errorf("with two that are off a run is told %s", p)
	}
	if p := prompt("bert"); !strings.Contains(p, "- report: ") {
		t.Errorf("what somebody else switched off is off: %s", p)
	}
	w.step("anna", "PUT", "/skills/fetcher", `{"enabled":true}`, 200, `"enabled":true`)
	if p := prompt("anna"); !strings.Contains(p, "- fetcher: ") {
		t.Errorf("what is on again is not told: %s", p)
	}

	// What is replaced is kept.
	w.step("anna", "GET", "/skills/custom/fetcher/history", "", 200, `{"history":[]}`)
	w.step("anna", "PUT", "/skills/custom/fetcher", `{"content":"---\nname: fetcher\ndescription: Fetches more.\n---\nRun get.py twice."}`, 200, `"description":"Fetches more."`)
	w.step("anna", "PUT", "/skills/custom/fetcher", `{"content":"---\nname: other\ndescription: x\n---\n"}`, 422, "keeps its name")
	w.step("anna", "PUT", "/skills/custom/fetcher", `{"content":"no head"}`, 422)
	w.step("anna", "GET", "/skills/custom/fetcher/history", "", 200, `"version":1`, `"description":"Fetches."`)
	w.step("anna", "POST", "/skills/custom/fetcher/rollback", `{"version":7}`, 404, `"field":"version"`)
	w.step("anna", "POST", "/skills/custom/fetcher/rollback", `{"history_index":3}`, 404, `"field":"history_index"`)
	w.step("bert", "POST", "/skills/custom/fetcher/rollback", `{}`, 404)
	w.step("anna", "POST", "/skills/custom/fetcher/rollback", `{}`, 200, `"description":"Fetches."`, "Run get.py.")
	w.step("anna", "GET", "/skills/custom/fetcher/history", "", 200, `"version":1`, `"version":2`, `"description":"Fetches more."`)
	w.step("anna", "POST", "/skills/custom/fetcher/rollback", `{"version":2}`, 200, `"description":"Fetches more."`)
	w.step("anna", "DELETE", "/skills/custom/fetcher", "", 200, `{"success":true}`)
	w.step("anna", "GET", "/skills/custom/fetcher/history", "", 404)
	w.step("anna", "DELETE", "/skills/custom/report", "", 404)
}

// As DeerFlow's page does it: the archive is a file that an agent left in a thread.
func TestASkillThatAnAgentLeftInAThreadIsInstalled(t *testing.T) {
	w := people(t, leading(t, t.TempDir(), scripted.Always(scripted.Say("ok"))))
	const thread = "0190a1b2-0000-7000-8000-000000000003"
	body, kind := sent(t, "files", "x.skill", packed(t, "SKILL.md", fetcher))
	if res, text := w.call("POST", "/threads/"+thread+"/uploads", body, "Who", "anna", "Content-Type", kind); res.StatusCode != 200 {
		t.Fatalf("upload: %s %s", res.Status, text)
	}
	const from = `{"thread_id":"` + thread + `","path":"/mnt/user-data/uploads/x.skill"`
	w.step("bert", "POST", "/skills/install", from+`}`, 404)
	w.step("anna", "POST", "/skills/install", `{"thread_id":"`+thread+`","path":"/mnt/user-data/uploads/../../x"}`, 404, `"field":"path"`)
	w.step("anna", "POST", "/skills/install", `{"thread_id":"`+thread+`","path":"/etc/passwd"}`, 404, `"field":"path"`)
	w.step("anna", "POST", "/skills/install", from+`}`, 200, `"skill_name":"fetcher"`)
	w.step("anna", "POST", "/skills/install", from+`}`, 422, "already")
	w.step("anna", "POST", "/skills/install", from+`,"replace":true}`, 200)
	w.step("anna", "GET", "/skills/custom/fetcher/history", "", 200, `"version":1`)
}

func TestWithoutTheLeadAgentThereAreNoRoutesForSkills(t *testing.T) {
	w := serve(t, tributary.Options{}, httpapi.Options{})
	if res, text := w.call("GET", "/skills", ""); res.StatusCode != 404 {
		t.Errorf("got %d: %s", res.StatusCode, text)
	}
}
