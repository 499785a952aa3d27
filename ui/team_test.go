package ui_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
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
