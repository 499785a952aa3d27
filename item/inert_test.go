package item_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/item"
)

// Payloads in the manner of CVE-2025-64439 (a lone surrogate forces a decoder into a form in which an object names
// the constructor to call), CVE-2025-68664 (an "lc" object asks for an environment variable) and their like. In
// other programs a checkpoint or a request that holds one runs code or prints a secret. Here nothing that is
// read selects code: each is data, and stays the data that it was.
var payloads = map[string]string{
	"constructor in content":         `{"type":"human","content":[{"lc":2,"type":"constructor","id":["os","system"],"kwargs":{"command":"touch /tmp/owned"}}]}`,
	"constructor with method":        `{"type":"human","content":[{"lc":2,"type":"constructor","id":["builtins","eval"],"method":"__call__","args":["1+1"]}]}`,
	"constructor and surrogate":      `{"type":"human","content":[{"type":"text","text":"\ud800"},{"lc":2,"type":"constructor","id":["subprocess","run"],"kwargs":{"args":["id"]}}]}`,
	"secret in kwargs":               `{"type":"ai","content":"","additional_kwargs":{"key":{"lc":1,"type":"secret","id":["OPENAI_API_KEY"]}}}`,
	"secret in metadata":             `{"type":"ai","content":"","response_metadata":{"key":{"lc":1,"type":"secret","id":["HOME"]}}}`,
	"secret in arguments":            `{"type":"ai","content":"","tool_calls":[{"id":"c","name":"f","args":{"key":{"lc":1,"type":"secret","id":["PATH"]}}}]}`,
	"secret in an artifact":          `{"type":"tool","content":"","tool_call_id":"c","artifact":{"lc":1,"type":"secret","id":["PATH"]}}`,
	"pickle in content":              `{"type":"human","content":[{"__type__":"pickle","data":"Y29zCnN5c3RlbQ=="}]}`,
	"msgpack extension":              `{"type":"human","content":[{"__ext__":5,"module":"os","name":"system","args":["id"]}]}`,
	"python object":                  `{"type":"human","content":[{"py/object":"subprocess.Popen","py/reduce":["id"]}]}`,
	"prototype":                      `{"type":"human","content":[{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}]}`,
	"jinja in content":               `{"type":"human","content":"{{ ''.__class__.__mro__[1].__subclasses__() }}"}`,
	"template in kwargs":             `{"type":"human","content":"${env:HOME}","additional_kwargs":{"template":"{{.Env}}"}}`,
	"class that is no message":       `{"lc":1,"type":"constructor","id":["langchain","llms","openai","OpenAI"],"kwargs":{"content":"x","openai_api_key":{"lc":1,"type":"secret","id":["OPENAI_API_KEY"]}}}`,
	"constructor of a constructor":   `{"lc":1,"type":"constructor","id":["langchain","AIMessage"],"kwargs":{"content":[{"lc":1,"type":"constructor","id":["x","Y"],"kwargs":{}}]}}`,
	"secret for a type":              `{"lc":1,"type":"secret","id":"OPENAI_API_KEY","content":"x"}`,
	"not implemented":                `{"lc":1,"type":"not_implemented","id":"x","repr":"<object>","content":"x"}`,
	"NUL":                            `{"type":"human","content":"a\u0000b","additional_kwargs":{"\u0000":"\u0000"}}`,
	"bytes that are no UTF-8":        "{\"type\":\"human\",\"content\":\"a\xffb\",\"additional_kwargs\":{\"k\":\"\xc0\xaf\"}}",
	"lone surrogates in kept values": `{"type":"human","content":"\udfff","additional_kwargs":{"k":"\ud800"}}`,
}

func TestMaliciousPayloadsAreInertData(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "HOME", "PATH"} {
		t.Setenv(name, "canary-"+name)
	}
	for name, payload := range payloads {
		t.Run(name, func(t *testing.T) {
			m := decode(t, payload)
			written := encode(t, m)
			if strings.Contains(written, "canary") {
				t.Fatalf("a secret of the process came out: %s", written)
			}
			if again := encode(t, decode(t, written)); again != written {
				t.Errorf("written as %s and then as %s", written, again)
			}
			if !json.Valid([]byte(written)) {
				t.Errorf("not JSON: %s", written)
			}
		})
	}
}

// Of a foreign object inside a message every key survives: it was kept, not understood.
func TestForeignObjectsSurviveWhole(t *testing.T) {
	for name, where := range map[string][]string{
		"constructor in content":  {"content"},
		"constructor with method": {"content"},
		"secret in kwargs":        {"additional_kwargs"},
		"secret in metadata":      {"response_metadata"},
		"secret in an artifact":   {"artifact"},
		"pickle in content":       {"content"},
		"msgpack extension":       {"content"},
		"python object":           {"content"},
		"prototype":               {"content"},
		"jinja in content":        {"content"},
		"template in kwargs":      {"content", "additional_kwargs"},
		"NUL":                     {"content", "additional_kwargs"},
	} {
		for _, key := range where {
			want, got := object(t, payloads[name])[key], object(t, encode(t, decode(t, payloads[name])))[key]
			if want == nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s: got %v, want %v", name, key, got, want)
			}
		}
	}
}

// A class that is no message is a role that nobody has: no model adapter and no reducer acts on it.
func TestClassNamesOnlyEverNameRoles(t *testing.T) {
	m := decode(t, payloads["class that is no message"])
	if m.Role != "OpenAI" || m.Text() != "x" {
		t.Errorf("got %#v, want an inert message of role OpenAI", m)
	}
	if strings.Contains(encode(t, m), "secret") {
		t.Errorf("arguments of a constructor were kept: %s", encode(t, m))
	}
}

func TestTextThatCannotBeStoredEverywhereIsRecognised(t *testing.T) {
	for text, want := range map[string]bool{"": true, "é中😀\n": true, "\ufffd": true, "a\x00b": false, "a\xffb": false} {
		if got := item.ValidText(text); got != want {
			t.Errorf("ValidText(%q): got %v, want %v", text, got, want)
		}
	}
}
