package ui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/ui"
)

// readThroughCuts is a script for a page: it follows a team with the browser's own WebSocket, cuts it again and again, and goes on after
// the last frame that it has. On the first connection it speaks to an expert.
const readThroughCuts = `(async (path) => {
  const frames = [], replies = [];
  let cuts = 0;
  const read = (n) => new Promise((resolve, reject) => {
    const url = new URL(path, location.href.replace(/^http/, "ws"));
    if (frames.length) url.searchParams.set("after", JSON.parse(frames.at(-1)).sequence);
    const socket = new WebSocket(url);
    let left = n, cut = false;
    socket.onopen = () => { if (cuts === 0) socket.send('{"type":"speak","expert":"ben","text":"Mind the tides.","message_id":"w1"}'); };
    socket.onmessage = (e) => {
      if (cut) return;
      const { type } = JSON.parse(e.data);
      if (type === "accepted" || type === "refused") return replies.push(e.data);
      frames.push(e.data);
      if (--left === 0) { cut = true; cuts++; socket.close(); resolve(false); }
    };
    socket.onclose = (e) => { if (!cut) e.code === 1000 ? resolve(true) : reject(new Error("closed with " + e.code)); };
  });
  for (let n = 2; !(await read(n)); n = (n * 7) % 23 + 1);
  return { frames, replies, cuts };
})(%s)`

// A real browser reads a team that works, is cut again and again, and goes on: it has the same letters as whoever read it at once.
func TestABrowserReadsATeamThroughCuts(t *testing.T) {
	b := browse(t)
	m := scripted.New(func(req model.Request) scripted.Script {
		if name, _, ok := strings.Cut(strings.TrimPrefix(req.System, "You are "), ","); ok && strings.HasPrefix(req.System, "You are ") {
			return scripted.Every(2 * time.Millisecond).Words(strings.Repeat(name+" says “naïve” 水 things. ", 10))
		}
		return scripted.Every(2 * time.Millisecond).Words(strings.Repeat("All in all. ", 10))
	})
	rt, err := tributary.Open(t.Context(), tributary.Options{Team: true, Models: tributary.OneModel(m)})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := httpapi.New(rt, httpapi.Options{Page: ui.Files()})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(srv)
	t.Cleanup(func() {
		srv.Closing()
		h.Close()
		_ = rt.Close(t.Context()) // what still runs goes with its folder
	})
	res, err := http.Post(h.URL+"/teams", "application/json", strings.NewReader(`{"question":"What does water do?","experts":[{"name":"ada"},{"name":"ben"}],"mode":"discuss"}`))
	if err != nil {
		t.Fatal(err)
	}
	var team struct{ Ws, Events string }
	err = json.NewDecoder(res.Body).Decode(&team)
	_ = res.Body.Close()
	if err != nil || team.Ws == "" {
		t.Fatalf("POST /teams: %s, %v", res.Status, err)
	}
	p := b.open(h.URL)
	var got struct {
		Frames, Replies []string
		Cuts            int
	}
	path, _ := json.Marshal(team.Ws) // a string can be encoded
	p.eval(strings.Replace(readThroughCuts, "%s", string(path), 1), &got)
	res, err = http.Get(h.URL + team.Events)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var whole []string
	for line := range strings.Lines(string(body)) {
		if data, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "data: "); ok {
			whole = append(whole, data)
		}
	}
	if strings.Join(got.Frames, "\n") != strings.Join(whole, "\n") {
		t.Errorf("through cuts the browser read\n%s\nand all at once there is\n%s", strings.Join(got.Frames, "\n"), strings.Join(whole, "\n"))
	}
	if got.Cuts < 5 {
		t.Errorf("only %d cuts", got.Cuts)
	}
	if n := strings.Count(string(body), `"type":"team_spoken"`); n > 1 {
		t.Errorf("the words were said %d times; it was told %q", n, got.Replies)
	}
}

// performTeam serves a team whose experts say what they know by heart. Ada waits for her cue in the middle; what Ben says first breaks off.
func performTeam(dir, addr string) error {
	var broke atomic.Bool
	m := scripted.New(func(req model.Request) scripted.Script {
		name, _, ok := strings.Cut(strings.TrimPrefix(req.System, "You are "), ",")
		switch {
		case !ok || !strings.HasPrefix(req.System, "You are "):
			return scripted.Say("All in all, water moves.")
		case name == "ben" && !broke.Swap(true):
			return scripted.Say("This breaks ").Fail(&model.Error{Class: model.Network, Provider: "scripted", Message: "connection reset"})
		case name == "ben":
			return scripted.Words("Seas fall twice a day.")
		}
		if _, err := os.Stat(filepath.Join(dir, cue)); err == nil {
			return scripted.Words("Rivers rise in spring.")
		}
		return scripted.Say("Rivers rise").Every(time.Hour).Say(" and never end.")
	})
	rt, err := tributary.Open(context.Background(), tributary.Options{Dir: dir, Team: true, Models: tributary.OneModel(m), Retry: tributary.Retry{Backoff: time.Millisecond}})
	if err != nil {
		return err
	}
	srv, err := httpapi.New(rt, httpapi.Options{Page: page()})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	return http.Serve(l, srv)
}

// Of an expert whose work is tried again, after a model broke off or the server died, the last attempt is shown, once.
func TestAnExpertThatIsTriedAgainIsShownOnce(t *testing.T) {
	s := newStageWith(t, "team")
	res, err := http.Post(s.url()+"/teams", "application/json", strings.NewReader(`{"question":"What does water do?","experts":[{"name":"ada"},{"name":"ben"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var team struct {
		Thread string `json:"thread_id"`
	}
	err = json.NewDecoder(res.Body).Decode(&team)
	_ = res.Body.Close()
	if err != nil || team.Thread == "" {
		t.Fatalf("POST /teams: %s, %v", res.Status, err)
	}
	p := browse(t).open(s.url() + "/#/t/" + team.Thread)
	p.size(1360, 900, false)
	p.until("what broke off is replaced", `document.querySelector('[data-expert="ben"] .md')?.innerText === "Seas fall twice a day."`)
	p.until("the other has begun", `document.querySelector('[data-expert="ada"] .md')?.innerText === "Rivers rise"`)
	const tried = `document.querySelector('[data-expert="ben"] .pill.again')?.innerText === "Attempt 2" && document.querySelector('[data-expert="ben"] .void')?.innerText.startsWith("Attempt 1 was replaced")`
	p.until("it is told that this is another attempt", tried)
	if p.is(`document.querySelector('[data-expert="ada"]').querySelector(".pill.again, .void")`) {
		t.Error("an expert whose first attempt goes well is shown as tried again")
	}
	s.kill()
	p.until("the line is down", `document.querySelector(".sign")?.innerText.includes("No connection")`)
	s.goOn()
	s.start()
	p.until("the team ends", complete)
	p.until("what is shown is the last attempt, once", `document.querySelector('[data-expert="ada"] .md')?.innerText === "Rivers rise in spring." && document.querySelectorAll('[data-expert="ada"] .md').length === 1`)
	p.until("and the answer says that a part was written again", `document.querySelector(".turn:last-child .note")?.innerText.includes("written again")`)
	if got := p.text(`[data-expert="ben"] .md`); got != "Seas fall twice a day." {
		t.Errorf("the expert that was done says %q now", got)
	}
	before := p.text(".team")
	p.reload()
	p.until("a reload shows the same", complete+` && document.querySelector(".expert .md")`)
	p.until("also which attempt it was", tried)
	if got := p.text(".team"); got != before {
		t.Errorf("after a reload: %q\nbefore: %q", got, before)
	}
	p.clean()
}

func TestAPersonSpeaksToOneExpertOfATeam(t *testing.T) {
	s := newStageWith(t, "team")
	p := browse(t).open(s.url())
	p.size(1360, 900, false)
	p.press("Team")
	p.ask("What does water do?")
	p.until("the experts work", `[...document.querySelectorAll(".expert")].every((e) => e.querySelector(".md")?.innerText === "Rivers rise") && document.querySelectorAll(".expert").length === 3`)
	p.fill(".expert:nth-child(2) .speak input", "Mind the tides.")
	p.click(".expert:nth-child(2) .speak button")
	p.until("it is told that the words have arrived", `document.querySelector(".expert:nth-child(2) .speak .meta")?.innerText.includes("Mind the tides.") && document.querySelector(".expert:nth-child(2) .speak input").value === ""`)
	var id, expert string
	p.eval(`document.querySelector(".turn").dataset.task`, &id)
	p.eval(`document.querySelector(".expert:nth-child(2)").dataset.expert`, &expert)
	var task struct{ Spoken []struct{ To, Text string } }
	s.get("/tasks/"+id, &task)
	if len(task.Spoken) != 1 || task.Spoken[0].To != expert || task.Spoken[0].Text != "Mind the tides." {
		t.Errorf("the server was told %+v, want the words to %s, once", task.Spoken, expert)
	}
	p.clean()
}
