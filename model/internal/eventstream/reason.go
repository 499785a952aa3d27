package eventstream

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/model"
)

// reason is what an error body says, whoever wrote it.
type reason struct {
	status  int    // given in the body; 0 if not
	words   string // codes, types and status words, lower case
	message string
	after   time.Duration
}

// errorObject has the fields of all known error objects:
//
//	OpenAI and most compatible servers  {"error": {"message", "type", "code"}}
//	OpenRouter, LiteLLM                 … with a number or a numeric string as code, and metadata.raw
//	Anthropic                           {"type": "error", "error": {"type", "message"}}
//	Responses                           {"type": "error", "code", "message"}, or response.error
//	Gemini                              {"error": {"code", "message", "status", "details"}}, also in an array
//	Ollama                              {"error": "text"}
//	vLLM, DashScope                     {"object": "error", "code", "message"}
//	FastAPI, gateways                   {"detail": …}, {"message": …}, {"errors": [{"message"}]}
type errorObject struct {
	Error    json.RawMessage `json:"error"`
	Errors   json.RawMessage `json:"errors"`
	Response *struct {
		Error json.RawMessage `json:"error"`
	} `json:"response"`
	Message    json.RawMessage `json:"message"`
	Detail     json.RawMessage `json:"detail"`
	Type       string          `json:"type"`
	Code       json.RawMessage `json:"code"`
	Status     json.RawMessage `json:"status"`
	StatusCode int             `json:"status_code"`
	Inner      json.RawMessage `json:"innererror"` // Azure: the filter that stopped it
	Metadata   struct {
		Raw json.RawMessage `json:"raw"` // OpenRouter: what the provider behind it said
	} `json:"metadata"`
	Details []struct {
		RetryDelay string `json:"retryDelay"`
		Reason     string `json:"reason"`
		Violations []struct {
			QuotaID string `json:"quotaId"`
		} `json:"violations"`
	} `json:"details"`
}

func readReason(body []byte) reason {
	body = bytes.TrimSpace(body)
	var r reason
	r.read(body, 0)
	if r.message == "" && len(body) > 0 && !json.Valid(body) {
		if body[0] == '<' {
			r.message = "a page of HTML came instead of an answer; check the base URL"
		} else {
			r.message = string(body[:min(len(body), 4*maxMessage)])
		}
	}
	if m := tryAgain.FindStringSubmatch(r.message); m != nil && r.after == 0 {
		r.after, _ = time.ParseDuration(m[1])
	}
	return r
}

// OpenAI says so in the text of errors inside a stream, where there is no header to say it in.
var tryAgain = regexp.MustCompile(`(?i)try again in ((?:[0-9.]+(?:ms|s|m|h))+)`)

// maxNesting of error objects in each other; three have been seen.
const maxNesting = 5

func (r *reason) read(raw json.RawMessage, depth int) {
	if len(raw) == 0 || depth > maxNesting {
		return
	}
	switch raw[0] {
	case '"':
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return
		}
		// Gateways put the JSON of the server behind them into a string.
		if t := strings.TrimSpace(s); strings.HasPrefix(t, "{") && json.Valid([]byte(t)) {
			r.read(json.RawMessage(t), depth+1)
		} else if r.message == "" {
			r.message = s
		}
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
			r.read(list[0], depth+1)
		}
	case '{':
		r.readObject(raw, depth)
	}
}

func (r *reason) readObject(raw json.RawMessage, depth int) {
	var o errorObject
	if err := json.Unmarshal(raw, &o); err != nil && !isTypeError(err) {
		return
	}
	r.word(o.Type)
	r.code(o.Code)
	r.code(o.Status)
	if r.status == 0 {
		r.status = o.StatusCode
	}
	for _, d := range o.Details {
		r.word(d.Reason)
		if d.RetryDelay != "" && r.after == 0 {
			r.after, _ = time.ParseDuration(d.RetryDelay)
		}
		for _, v := range d.Violations {
			r.word(v.QuotaID)
		}
	}
	r.read(o.Error, depth+1)
	if o.Response != nil {
		r.read(o.Response.Error, depth+1)
	}
	// The server behind a router knows more than the router ("Provider returned error").
	if behind := (reason{}); len(o.Metadata.Raw) > 0 {
		behind.read(o.Metadata.Raw, depth+1)
		if behind.message != "" {
			r.message = behind.message
			r.word(behind.words)
		}
	}
	for _, m := range []json.RawMessage{o.Message, o.Detail, o.Errors} {
		if r.message == "" {
			r.read(m, depth+1)
		}
	}
	inner := reason{}
	inner.read(o.Inner, depth+1)
	r.word(inner.words)
}

func isTypeError(err error) bool {
	_, ok := err.(*json.UnmarshalTypeError)
	return ok
}

func (r *reason) word(s string) {
	if s != "" {
		r.words += strings.ToLower(s) + " "
	}
}

// code reads a word, a status number, or a status number in quotes.
func (r *reason) code(raw json.RawMessage) {
	s := strings.Trim(string(raw), `"`)
	if s == "" || s == "null" || s[0] == '{' || s[0] == '[' {
		return
	}
	if n, err := strconv.Atoi(s); err == nil {
		if n >= 400 && n < 600 && r.status == 0 {
			r.status = n
		}
		return
	}
	r.word(s)
}

// rule gives the class of an error in which one of the words occurs. The first rule that fits decides, so
// the more telling ones stand first: a used-up account and a rate limit are both 429.
type rule struct {
	class model.Class
	// words are looked for in codes and types, phrases in the message.
	words, phrases []string
}

var rules = []rule{
	{model.TooLarge,
		[]string{"context_length_exceeded", "request_too_large", "string_above_max_length", "contextwindow"},
		[]string{"context length", "context window", "prompt is too long", "too many tokens in", "input token count", "input is too long",
			"exceeds the maximum number of tokens", "reduce the length", "maximum prompt length", "exceed context limit", "request too large"}},
	{model.Quota,
		[]string{"insufficient_quota", "billing", "payment_required", "insufficient_balance", "insufficient_user_quota", "quota_exceeded", "arrearage", "credits", "perday"},
		[]string{"credit balance", "insufficient balance", "insufficient credits", "requires more credits", "out of credits",
			"spending limit", "make sure your account is in good standing"}},
	{model.Refused,
		[]string{"content_filter", "content_policy", "contentfilter", "responsibleai", "moderation", "data_inspection_failed", "datainspectionfailed", "invalid_prompt", "image_content_policy"},
		[]string{"content management policy", "content policy", "flagged for"}},
	// The model called a tool wrongly and the server noticed: asked again, it may do better.
	{model.Broken, []string{"tool_use_failed", "json_validate_failed", "output_parse_failed"}, nil},
	{model.Auth,
		[]string{"authentication", "invalid_api_key", "invalidapikey", "api_key_invalid", "permission", "unauthorized", "unauthenticated", "forbidden", "access_terminated"},
		[]string{"api key not valid", "invalid api key", "incorrect api key", "no auth credentials"}},
	{model.NotFound,
		[]string{"model_not_found", "not_found", "deploymentnotfound"},
		[]string{"is not a valid model", "model does not exist"}},
	{model.RateLimit,
		[]string{"rate_limit", "ratelimit", "resource_exhausted", "too_many_requests", "throttl", "limit_requests", "limit_burst_rate"},
		nil},
	{model.Overloaded, []string{"overloaded", "unavailable", "slow_down", "engine_overloaded"}, []string{"overloaded", "currently loading"}},
	{model.Timeout, []string{"timeout", "deadline_exceeded"}, nil},
	{model.Server, []string{"server_error", "api_error", "internal", "server_is_busy"}, nil},
	{model.BadRequest, []string{"invalid_request", "invalid_argument", "bad_request", "invalidparameter", "failed_precondition", "unsupported"}, nil},
}

// classify decides by the words where they tell more than the status, and by the status otherwise.
func classify(status int, r reason) model.Class {
	message := strings.ToLower(r.message)
	byWords := model.Class("")
	for _, rule := range rules {
		if containsAny(r.words, rule.words) || containsAny(message, rule.phrases) {
			byWords = rule.class
			break
		}
	}
	byStatus := classOfStatus(status)
	switch byWords {
	case "":
		return byStatus
	case model.TooLarge, model.Quota, model.Refused, model.Broken:
		// Only these say more than a status can; but a failing server is a failing server.
		if status >= 500 && status != 529 {
			return byStatus
		}
		return byWords
	case model.Auth:
		// Gemini and xAI answer a wrong key with 400.
		if status == http.StatusBadRequest || status == 0 {
			return byWords
		}
	case model.Overloaded:
		if status == 0 || status >= 500 || status == http.StatusTooManyRequests {
			return byWords
		}
	case model.NotFound:
		if status == 0 || status == http.StatusBadRequest {
			return byWords
		}
	case model.RateLimit, model.Timeout, model.Server, model.BadRequest, model.Network:
	}
	if status == 0 {
		return byWords
	}
	return byStatus
}

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

func classOfStatus(status int) model.Class {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return model.Auth
	case http.StatusPaymentRequired:
		return model.Quota
	case http.StatusNotFound:
		return model.NotFound
	case http.StatusRequestEntityTooLarge:
		return model.TooLarge
	case http.StatusTooManyRequests:
		return model.RateLimit
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return model.Timeout
	case http.StatusServiceUnavailable, 529: // 529 is Anthropic's word for it
		return model.Overloaded
	case http.StatusConflict, http.StatusTooEarly, http.StatusLocked:
		return model.Server
	}
	if status >= 300 && status < 500 {
		return model.BadRequest
	}
	return model.Server
}

// retryAfter reads how long the provider asks to wait: in milliseconds, in seconds, or until a date, which
// is taken relative to the answer's own date, since clocks differ.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return wait(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return wait(s)
	}
	until, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return max(0, until.Sub(now))
}

// wait makes a duration of seconds, of at most a day: what asks for more is no wait, and overflows.
func wait(seconds float64) time.Duration {
	const day = 24 * 60 * 60
	if !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, day) * float64(time.Second))
}
