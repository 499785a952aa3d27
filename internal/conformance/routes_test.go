package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server"
	"github.com/tributary-ai/tributary/internal/server/webhook"
)

const hello = `"input":{"messages":[{"type":"human","content":"hello","id":"human-1"}]}`

func TestAStreamNamesItsRunBeginsWithMetadataAndEndsWithTheRun(t *testing.T) {
	s := start(t, options{})
	thread := s.thread()
	res := s.call("POST", "/threads/"+thread+"/runs/stream", `{"assistant_id":"chat","stream_mode":["values","messages-tuple"],`+hello+`}`, "Origin", "http://app.example")
	at := res.header.Get("Content-Location")
	if !strings.HasPrefix(at, "/threads/"+thread+"/runs/") || res.header.Get("Location") != at+"/stream" {
		t.Errorf("Content-Location %q, Location %q", at, res.header.Get("Location"))
	}
	for _, name := range []string{"Content-Location", "Location", "X-Pagination-Total", "X-Pagination-Next"} {
		if !strings.Contains(res.header.Get("Access-Control-Expose-Headers"), name) {
			t.Errorf("scripts of other origins cannot read %s", name)
		}
	}
	all := allFrames(strings.NewReader(string(res.body)))
	if len(all) < 4 || all[0].name != "metadata" || all[1].name != "values" || all[2].name != "messages" || all[len(all)-1].name != "values" {
		t.Fatalf("got %v", all)
	}
	if !strings.Contains(all[1].data, `"id":"human-1"`) {
		t.Errorf("the input is not in the first values: %s", all[1].data)
	}
	var text strings.Builder
	ids := map[string]bool{}
	for _, f := range all {
		if f.name != "messages" {
			continue
		}
		var tuple [2]struct{ ID, Content string }
		if err := json.Unmarshal([]byte(f.data), &tuple); err != nil {
			t.Fatal(err)
		}
		text.WriteString(tuple[0].Content)
		ids[tuple[0].ID] = true
	}
	last := all[len(all)-1].data
	if len(ids) != 1 || !strings.Contains(last, text.String()) {
		t.Errorf("ids %v; the joined chunks are not in the last values", ids)
	}
	for id := range ids {
		if !strings.Contains(last, id) {
			t.Errorf("the message %s of the chunks is not in the last values", id)
		}
	}
}

func TestOnlyTheCreatorsOwnDisconnectCancels(t *testing.T) {
	s := start(t, options{})
	for _, c := range []struct {
		name, disconnect string
		join             bool // the one who leaves has joined
		want             string
	}{
		{"creator leaves, cancel", "cancel", false, "interrupted"},
		{"creator leaves, continue", "continue", false, "success"},
		{"somebody else leaves", "cancel", true, "success"},
	} {
		t.Run(c.name, func(t *testing.T) {
			thread := s.thread()
			ctx, leave := withCancel(t)
			body := `{"assistant_id":"slow","input":{"messages":"x","n":20,"delay_ms":20},"stream_mode":"messages-tuple","on_disconnect":"` + c.disconnect + `"}`
			res, err := s.open(ctx, "POST", "/threads/"+thread+"/runs/stream", body)
			must(t, err)
			defer res.Body.Close()
			at := res.Header.Get("Content-Location")
			seen := func(r io.Reader) {
				n := 0
				_ = frames(r, func(frame) bool { n++; return n < 4 })
			}
			if c.join {
				other, gone := withCancel(t)
				joined, err := s.open(other, "GET", at+"/stream", nil, "Last-Event-ID", "-1")
				must(t, err)
				seen(joined.Body)
				gone()
				joined.Body.Close()
				_ = allFrames(res.Body)
			} else {
				seen(res.Body)
				leave()
			}
			s.want(200, "GET", at+"/join", nil)
			if got := s.want(200, "GET", at, nil)["status"]; got != c.want {
				t.Errorf("the run is %v, want %s", got, c.want)
			}
		})
	}
}

func TestAThreadsStreamShowsItsRunsOneAfterTheOther(t *testing.T) {
	s := start(t, options{})
	thread := s.thread()
	post := func() string {
		return s.want(200, "POST", "/threads/"+thread+"/runs", `{"assistant_id":"custom","stream_mode":["values","custom"],`+hello+`}`)["run_id"].(string)
	}
	first := post()
	s.want(200, "GET", "/threads/"+thread+"/runs/"+first+"/join", nil)
	ctx, cancel := withCancel(t)
	res, err := s.open(ctx, "GET", "/threads/"+thread+"/stream", nil, "Last-Event-ID", "-1")
	must(t, err)
	defer res.Body.Close()
	second := ""
	var all []frame
	_ = frames(res.Body, func(f frame) bool {
		all = append(all, f)
		if len(all) == 9 { // all of the first run
			second = post()
		}
		return len(all) < 18
	})
	if all[0].name != "metadata" || all[9].name != "metadata" || !strings.HasPrefix(all[0].id, first+"/") || !strings.HasPrefix(all[9].id, second+"/") {
		t.Fatalf("got %v", all)
	}
	cancel()
	// Cut after any frame, it goes on with the next.
	for _, cut := range []int{0, 5, 8, 9, 15} {
		ctx, cancel := withCancel(t)
		res, err := s.open(ctx, "GET", "/threads/"+thread+"/stream", nil, "Last-Event-ID", all[cut].id)
		must(t, err)
		var rest []frame
		_ = frames(res.Body, func(f frame) bool { rest = append(rest, f); return len(rest) < 17-cut })
		cancel()
		res.Body.Close()
		if fmt.Sprint(rest) != fmt.Sprint(all[cut+1:]) {
			t.Errorf("after frame %d came\n%v\nand not\n%v", cut, rest, all[cut+1:])
		}
	}
	s.want(422, "GET", "/threads/"+thread+"/stream", nil, "Last-Event-ID", "nonsense")
	s.want(409, "GET", "/threads/"+thread+"/stream", nil, "Last-Event-ID", "11111111-2222-4333-8444-555555555555/1-1")
}

func TestACronFiresOnceAndIsPlannedAgain(t *testing.T) {
	s := start(t, options{})
	thread := s.thread()
	cron := s.want(200, "POST", "/threads/"+thread+"/runs/crons", `{"assistant_id":"custom","schedule":"0 0 1 1 *","metadata":{"k":"v"},`+hello+`}`)
	id := cron["cron_id"].(string)
	ctx := t.Context()
	c, err := s.w.db.Cron(ctx, server.Local, id)
	must(t, err)
	bell := make(chan struct{})
	go func() { // follows the thread until the run that the cron makes has ended
		defer close(bell)
		res, err := s.open(ctx, "GET", "/threads/"+thread+"/stream", nil)
		if err == nil {
			_ = frames(res.Body, func(f frame) bool { return !strings.Contains(f.data, "custom-final") })
			res.Body.Close()
		}
	}()
	c.Next = time.Now().Add(-time.Hour) // missed
	_, err = s.w.db.ReplaceCron(ctx, server.Local, c)
	must(t, err)
	s.w.crons.Kick()
	<-bell
	s.settle(ctx)
	runs, err := s.w.db.ThreadRuns(ctx, server.Local, thread, "", 10, 0)
	must(t, err)
	if len(runs) != 1 || runs[0].Status != run.Success || !strings.Contains(string(runs[0].Request.Metadata), id) {
		t.Errorf("it made %d runs: %+v", len(runs), runs)
	}
	c, err = s.w.db.Cron(ctx, server.Local, id)
	must(t, err)
	if !c.Next.After(time.Now()) {
		t.Errorf("it fires next at %v", c.Next)
	}
	patched := s.want(200, "PATCH", "/runs/crons/"+id, `{"enabled":false,"schedule":"0 12 * * *","timezone":"Asia/Tokyo"}`)
	if patched["enabled"] != false || patched["timezone"] != "Asia/Tokyo" || !strings.HasSuffix(patched["next_run_date"].(string), "T03:00:00.000Z") {
		t.Errorf("patched: %v", patched)
	}
	if due, err := s.w.db.DueCrons(ctx, time.Now().AddDate(1, 0, 0), 10); err != nil || len(due) > 0 {
		t.Errorf("a cron that is switched off is due: %v %v", due, err)
	}
}

func TestAWebhookTellsHowARunEnded(t *testing.T) {
	got := make(chan map[string]any, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("webhook-signature") != "v1,"+webhook.Sign([]byte(webhookSecret), r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), body) {
			return
		}
		var m map[string]any
		_ = json.Unmarshal(body, &m)
		got <- m
	}))
	defer receiver.Close()
	s := start(t, options{})
	s.want(200, "POST", "/runs/wait", `{"assistant_id":"failing","webhook":"`+receiver.URL+`",`+hello+`}`)
	m := <-got
	if m["status"] != "error" || m["error"].(map[string]any)["message"] != "upstream model went away" || m["values"] == nil || m["run_ended_at"] == nil {
		t.Errorf("got %v", m)
	}
}

func TestPagesSelectionsAndExtracts(t *testing.T) {
	s := start(t, options{})
	for i := range 5 {
		s.want(200, "POST", "/threads", fmt.Sprintf(`{"metadata":{"n":%d,"all":true}}`, i))
	}
	res := s.call("POST", "/threads/search", `{"metadata":{"all":true},"limit":2,"offset":1,"select":["thread_id"],"extract":{"n":"metadata.n"}}`)
	if res.header.Get("X-Pagination-Total") != "5" || res.header.Get("X-Pagination-Next") != "3" {
		t.Errorf("total %q, next %q", res.header.Get("X-Pagination-Total"), res.header.Get("X-Pagination-Next"))
	}
	var found []map[string]any
	must(t, json.Unmarshal(res.body, &found))
	if len(found) != 2 || len(found[0]) != 2 || found[0]["extracted"].(map[string]any)["n"] != 3.0 {
		t.Errorf("got %s", res.body)
	}
	thread := s.thread()
	if res := s.call("PATCH", "/threads/"+thread, `{"metadata":{"a":1},"ttl":{"ttl":10}}`, "Prefer", "return=minimal"); res.status != 204 {
		t.Errorf("minimal: %d", res.status)
	}
	if th := s.want(200, "GET", "/threads/"+thread, nil); th["expires_at"] == nil {
		t.Errorf("no expiry: %v", th)
	}
	s.want(204, "PUT", "/store/items", `{"namespace":["a"],"key":"k","value":{},"ttl":10}`)
	it, err := s.w.db.Item(t.Context(), server.Local, []string{"a"}, "k", 0)
	must(t, err)
	s.want(200, "GET", "/store/items?namespace=a&key=k&refresh_ttl=false", nil)
	same, err := s.w.db.Item(t.Context(), server.Local, []string{"a"}, "k", 0)
	must(t, err)
	s.want(200, "GET", "/store/items?namespace=a&key=k", nil)
	later, err := s.w.db.Item(t.Context(), server.Local, []string{"a"}, "k", 0)
	must(t, err)
	if !same.ExpiresAt.Equal(it.ExpiresAt) || !later.ExpiresAt.After(it.ExpiresAt) {
		t.Errorf("expires %v, then %v, then %v", it.ExpiresAt, same.ExpiresAt, later.ExpiresAt)
	}
}

func TestPagesOfOtherOriginsAndOtherNames(t *testing.T) {
	s := start(t, options{})
	res := s.call("OPTIONS", "/threads", nil, "Origin", "http://app.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type,x-api-key")
	if res.status != 204 || res.header.Get("Access-Control-Allow-Origin") != "http://app.example" || res.header.Get("Access-Control-Allow-Headers") != "content-type,x-api-key" {
		t.Errorf("preflight: %d %v", res.status, res.header)
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/ok", nil)
	must(t, err)
	req.Host = "evil.example"
	answer, err := http.DefaultClient.Do(req)
	must(t, err)
	answer.Body.Close()
	if answer.StatusCode != 403 {
		t.Errorf("a name that somebody made up was answered with %d", answer.StatusCode)
	}
	if res := s.call("GET", "/docs", nil); res.status != 200 || !strings.Contains(string(res.body), "openapi.json") {
		t.Errorf("docs: %d", res.status)
	}
	if doc := s.want(200, "GET", "/openapi.json", nil); len(doc["paths"].(map[string]any)) < 40 {
		t.Errorf("openapi: %d paths", len(doc["paths"].(map[string]any)))
	}
}

// TestNumbersOfADeletedRunAreNotUsedAgain opens a stream anew after a run was deleted: clients drop events whose numbers they
// have seen.
func TestNumbersOfADeletedRunAreNotUsedAgain(t *testing.T) {
	s := start(t, options{})
	thread := s.thread()
	post := func() string {
		id := s.want(200, "POST", "/threads/"+thread+"/runs", `{"assistant_id":"custom",`+hello+`}`)["run_id"].(string)
		s.want(200, "GET", "/threads/"+thread+"/runs/"+id+"/join", nil)
		return id
	}
	read := func(n int) (ids []string) {
		ctx, cancel := withCancel(t)
		defer cancel()
		res, err := s.open(ctx, "POST", "/threads/"+thread+"/stream/events", `{"channels":["lifecycle"],"namespaces":[[]],"depth":0}`)
		must(t, err)
		defer res.Body.Close()
		_ = frames(res.Body, func(f frame) bool { ids = append(ids, f.id); return len(ids) < n })
		return ids
	}
	first := post()
	post()
	before := read(4)
	s.want(204, "DELETE", "/threads/"+thread+"/runs/"+first, nil)
	if after := read(2); fmt.Sprint(after) != fmt.Sprint(before[2:]) {
		t.Errorf("the second run had the numbers %v, and now %v", before[2:], after)
	}
}
