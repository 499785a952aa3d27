package anthropic

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/providertest"
)

const canary = providertest.Canary

const begun = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m\",\"usage\":{\"input_tokens\":3}}}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hal\"}}\n\n"

// subject is how the shared tests reach this package.
var subject = providertest.Subject{
	Begun: begun, Parts: 2, KeyHeader: "X-Api-Key",
	Open: func(t testing.TB, at providertest.At) model.Model {
		m, err := New(Options{
			Model: "m", Key: NewKey(canary), BaseURL: at.URL, HTTPClient: at.Client, Headers: at.Headers,
			FirstTimeout: at.First, IdleTimeout: at.Idle,
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	},
}

func TestFaults(t *testing.T) { subject.Faults(t) }

func TestStatusesAreNamed(t *testing.T) {
	object := func(typ, msg string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, typ, msg)
	}
	subject.Statuses(t, []providertest.Status{
		{400, object("invalid_request_error", "messages: at least one message is required"), "", model.BadRequest, 0, "at least one message"},
		{400, object("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), "", model.TooLarge, 0, "too long"},
		{400, object("invalid_request_error", "Your credit balance is too low to access the API"), "", model.Quota, 0, "credit balance"},
		{401, object("authentication_error", "invalid x-api-key: "+canary), "", model.Auth, 0, "invalid x-api-key"},
		{403, object("permission_error", "no access"), "", model.Auth, 0, "no access"},
		{404, object("not_found_error", "model: claude-nine"), "", model.NotFound, 0, "claude-nine"},
		{413, object("request_too_large", "Request exceeds the maximum size"), "", model.TooLarge, 0, "maximum size"},
		{429, object("rate_limit_error", "slow down"), "", model.RateLimit, 0, "slow down"},
		{429, object("rate_limit_error", "slow down"), "7", model.RateLimit, 7 * time.Second, "slow down"},
		{500, object("api_error", "Internal server error"), "", model.Server, 0, "Internal server error"},
		{502, "<html>bad gateway " + canary, "", model.Server, 0, "HTML"},
		{503, "", "2", model.Overloaded, 2 * time.Second, "unavailable"},
		{529, object("overloaded_error", "Overloaded"), "", model.Overloaded, 0, "Overloaded"},
	})
}

func TestBrokenAnswersAreNamed(t *testing.T) {
	subject.BrokenAnswers(t, map[string]providertest.Broken{
		"nothing at all":            {"", model.Broken, 0},
		"early end":                 {begun, model.Broken, 2},
		"stop reason, but no stop":  {begun + "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n", model.Broken, 2},
		"end inside an event":       {begun + "event: content_block_delta\ndata: {\"type\":\"conte", model.Broken, 2},
		"garbage":                   {"data: \x00\xff<nonsense>\n\n", model.Broken, 0},
		"garbage after the start":   {begun + "data: {]\n\n", model.Broken, 2},
		"JSON that is no object":    {"data: [1,2]\n\n", model.Broken, 0},
		"overloaded":                {begun + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", model.Overloaded, 2},
		"overloaded at once":        {"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", model.Overloaded, 0},
		"server error":              {begun + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"oops " + canary + "\"}}\n\n", model.Server, 2},
		"rate limit in the middle":  {begun + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow\"}}\n\n", model.RateLimit, 2},
		"event larger than allowed": {begun + "data: " + strings.Repeat("x", 17<<20) + "\n\n", model.TooMuch, 2},
	})
}

func TestAnAnswerThatIsNoStreamIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		media, body string
		class       model.Class
	}{
		"error with status 200": {"application/json", `{"type":"error","error":{"type":"authentication_error","message":"bad key"}}`, model.Auth},
		"another object":        {"application/json", `{"ok":true}`, model.Broken},
		"a page":                {"text/html", `<html>`, model.BadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			srv := providertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", c.media)
				_, _ = io.WriteString(w, c.body)
			})
			_, _, err := providertest.Collect(t, client(t, srv), providertest.Hello)
			providertest.Check(t, err, c.class, 0)
		})
	}
}

// The key prints nowhere, whichever way it is printed.
func TestKeysDoNotPrint(t *testing.T) {
	o := Options{Model: "m", Key: NewKey(canary)}
	printed, err := json.Marshal(o.Key)
	if err != nil || strings.Contains(fmt.Sprintf("%v %+v %#v %s %+v", o.Key, o.Key, o.Key, printed, o), canary) {
		t.Errorf("the key prints")
	}
}
