package gemini

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/providertest"
)

const canary = providertest.Canary

const begun = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hal\"}],\"role\":\"model\"},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":3}}\r\n\r\n"

// subject is how the shared tests reach this package.
var subject = providertest.Subject{
	Begun: begun, Parts: 2, KeyHeader: "X-Goog-Api-Key",
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
	object := func(code int, status, msg string) string {
		return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"status":%q}}`, code, msg, status)
	}
	quota := func(id string) string {
		return `[{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[
			{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"` + id + `"}]},
			{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}]`
	}
	subject.Statuses(t, []providertest.Status{
		{400, object(400, "INVALID_ARGUMENT", "contents is not specified"), "", model.BadRequest, 0, "contents is not"},
		{400, object(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key: "+canary), "", model.Auth, 0, "API key not valid"},
		{400, object(400, "INVALID_ARGUMENT", "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576)."), "", model.TooLarge, 0, "token count"},
		{401, object(401, "UNAUTHENTICATED", "Request had invalid authentication credentials."), "", model.Auth, 0, "credentials"},
		{403, object(403, "PERMISSION_DENIED", "no access"), "", model.Auth, 0, "no access"},
		{404, object(404, "NOT_FOUND", "models/gemini-nine is not found"), "", model.NotFound, 0, "gemini-nine"},
		{413, "", "", model.TooLarge, 0, "too large"},
		{429, object(429, "RESOURCE_EXHAUSTED", "slow down"), "", model.RateLimit, 0, "slow down"},
		{429, object(429, "RESOURCE_EXHAUSTED", "slow down"), "7", model.RateLimit, 7 * time.Second, "slow down"},
		{429, quota("GenerateRequestsPerMinutePerProjectPerModel"), "", model.RateLimit, 34 * time.Second, "quota"},
		{429, quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), "", model.Quota, 34 * time.Second, "quota"},
		{500, object(500, "INTERNAL", "An internal error has occurred"), "", model.Server, 0, "internal error"},
		{502, "<html>bad gateway " + canary, "", model.Server, 0, "HTML"},
		{503, object(503, "UNAVAILABLE", "The model is overloaded."), "2", model.Overloaded, 2 * time.Second, "overloaded"},
		{529, "", "", model.Overloaded, 0, ""},
	})
}

func TestBrokenAnswersAreNamed(t *testing.T) {
	subject.BrokenAnswers(t, map[string]providertest.Broken{
		"nothing at all":            {"", model.Broken, 0},
		"early end":                 {begun, model.Broken, 2},
		"early end of an array":     {"[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hal\"}]}}]}\n,\n", model.Broken, 1},
		"end inside an event":       {begun + "data: {\"candidates\":[{\"con", model.Broken, 2},
		"garbage":                   {"data: \x00\xff<nonsense>\n\n", model.Broken, 0},
		"garbage after the start":   {begun + "data: {]\n\n", model.Broken, 2},
		"garbage in an array":       {"[{}} oops", model.Broken, 0},
		"a page":                    {"<html>sign in</html>", model.Broken, 0},
		"JSON that is no object":    {"data: [1,2]\n\n", model.Broken, 0},
		"event larger than allowed": {begun + "data: " + strings.Repeat("x", 17<<20) + "\n\n", model.TooMuch, 2},
		"overloaded":                {begun + "data: {\"error\":{\"code\":503,\"message\":\"busy " + canary + "\",\"status\":\"UNAVAILABLE\"}}\n\n", model.Overloaded, 2},
		"error object alone":        {"{\"error\":{\"code\":500,\"message\":\"oops\",\"status\":\"INTERNAL\"}}", model.Server, 0},
		"blocked prompt":            {"data: {\"promptFeedback\":{\"blockReason\":\"PROHIBITED_CONTENT\"},\"usageMetadata\":{\"promptTokenCount\":4}}\n\n", model.Refused, 1},
		"malformed call":            {begun + "data: {\"candidates\":[{\"finishReason\":\"MALFORMED_FUNCTION_CALL\",\"finishMessage\":\"f(x\"}]}\n\n", model.Broken, 2},
		"arguments in no order": {"data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"f\",\"willContinue\":true,\"partialArgs\":[" +
			"{\"jsonPath\":\"$.a.b\",\"numberValue\":1},{\"jsonPath\":\"$.c\",\"numberValue\":1},{\"jsonPath\":\"$.a.d\",\"numberValue\":1}]}}]}}]}\n\n", model.Broken, 0},
	})
}

// The key prints nowhere, whichever way it is printed.
func TestKeysDoNotPrint(t *testing.T) {
	o := Options{Model: "m", Key: NewKey(canary)}
	printed, err := json.Marshal(o.Key)
	if err != nil || strings.Contains(fmt.Sprintf("%v %+v %#v %s %+v", o.Key, o.Key, o.Key, printed, o), canary) {
		t.Errorf("the key prints")
	}
}
