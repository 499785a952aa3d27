package faults

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Wire is how a hostile provider speaks: the pieces of an answer in one provider's words.
type Wire struct {
	Name  string
	Begin string
	Text  func(s string) string
	Think func(s string) string
	// Call begins the i-th call of a tool or goes on with it.
	Call func(i int, args string) string
	// Usage tells numbers.
	Usage func(in, out string) string
	End   string
}

func data(format string, args ...any) string {
	for i, a := range args {
		if s, ok := a.(string); ok {
			quoted, _ := json.Marshal(s) // strings can always be written
			args[i] = string(quoted)
		}
	}
	return fmt.Sprintf("data: "+format+"\n\n", args...)
}

// verbatim is a number that a provider could not mean.
type verbatim string

// Wires are those that a hostile provider can speak.
var Wires = []Wire{
	{
		Name:  "openai",
		Begin: data(`{"id":"c","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`),
		Text:  func(s string) string { return data(`{"id":"c","choices":[{"index":0,"delta":{"content":%s}}]}`, s) },
		Think: func(s string) string {
			return data(`{"id":"c","choices":[{"index":0,"delta":{"reasoning_content":%s}}]}`, s)
		},
		Call: func(i int, args string) string {
			return data(`{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"call_%d","type":"function","function":{"name":"look","arguments":%s}}]}}]}`, i, i, args)
		},
		Usage: func(in, out string) string {
			return data(`{"id":"c","choices":[],"usage":{"prompt_tokens":%v,"completion_tokens":%v,"total_tokens":1}}`, verbatim(in), verbatim(out))
		},
		End: data(`{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`) + "data: [DONE]\n\n",
	},
	{
		Name: "anthropic",
		Begin: data(`{"type":"message_start","message":{"id":"m","model":"m","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`) +
			data(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
		Text: func(s string) string {
			return data(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`, s)
		},
		Think: func(s string) string {
			return data(`{"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":%s}}`, s)
		},
		Call: func(i int, args string) string {
			return data(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"call_%d","name":"look","input":{}}}`, i+2, i) +
				data(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%s}}`, i+2, args)
		},
		Usage: func(in, out string) string {
			return data(`{"type":"message_delta","delta":{},"usage":{"input_tokens":%v,"output_tokens":%v}}`, verbatim(in), verbatim(out))
		},
		End: data(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`) + data(`{"type":"message_stop"}`),
	},
	{
		Name: "gemini",
		Text: func(s string) string {
			return data(`{"candidates":[{"content":{"role":"model","parts":[{"text":%s}]}}]}`, s)
		},
		Think: func(s string) string {
			return data(`{"candidates":[{"content":{"role":"model","parts":[{"thought":true,"text":%s}]}}]}`, s)
		},
		Call: func(_ int, args string) string {
			return data(`{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"look","args":{"q":%s}}}]}}]}`, args)
		},
		Usage: func(in, out string) string {
			return data(`{"candidates":[],"usageMetadata":{"promptTokenCount":%v,"candidatesTokenCount":%v}}`, verbatim(in), verbatim(out))
		},
		End: data(`{"candidates":[{"finishReason":"STOP","content":{"role":"model","parts":[{"text":"."}]}}]}`),
	},
}

// Hostile is one way in which a provider means harm, or is badly broken.
type Hostile struct {
	Name string
	// Serve answers a call. stop is closed when the test is over.
	Serve func(w http.ResponseWriter, r *http.Request, wire Wire, stop <-chan struct{})
	// Ends are the classes of error that are clear enough; "" where the answer may be lawful.
	Ends []string
}

const (
	tooMuch = "model_too_much"
	broken  = "model_broken"
	network = "model_network"
	timeout = "model_timeout"
	bad     = "model_bad_request"
	lawful  = ""
)

// sse answers with an event stream.
func sse(body func(wire Wire) string) func(http.ResponseWriter, *http.Request, Wire, <-chan struct{}) {
	return func(w http.ResponseWriter, r *http.Request, wire Wire, _ <-chan struct{}) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body(wire)) // who hangs up has what he wanted
	}
}

// endless repeats a piece until the client hangs up.
func endless(begin, piece func(wire Wire) string) func(http.ResponseWriter, *http.Request, Wire, <-chan struct{}) {
	return func(w http.ResponseWriter, r *http.Request, wire Wire, _ <-chan struct{}) {
		w.Header().Set("Content-Type", "text/event-stream")
		repeat(w, begin(wire), piece(wire))
	}
}

func repeat(w io.Writer, begin, piece string) {
	_, err := io.WriteString(w, begin)
	for err == nil {
		_, err = io.WriteString(w, piece)
	}
}

var kilobyte = strings.Repeat("all work and no play ", 50)

func begun(wire Wire) string { return wire.Begin + wire.Text("Hello ") }

// Hostiles are all of them.
var Hostiles = []Hostile{
	{"endless text", endless(begun, func(w Wire) string { return w.Text(kilobyte) }), []string{tooMuch}},
	{"endless reasoning", endless(begun, func(w Wire) string { return w.Think(kilobyte) }), []string{tooMuch}},
	{"endless arguments", endless(begun, func(w Wire) string { return w.Call(0, kilobyte) }), []string{tooMuch}},
	{"endless comments", endless(begun, func(Wire) string { return ": " + kilobyte + "\n" }), []string{tooMuch}},
	{"endless empty lines", endless(begun, func(Wire) string { return strings.Repeat("\n", 1<<10) }), []string{tooMuch}},
	{"endless events of unknown kinds", endless(begun, func(Wire) string { return data(`{"type":"ping","object":"ping","x":%s}`, kilobyte) }), []string{tooMuch}},
	{"endless line", endless(begun, func(Wire) string { return kilobyte }), []string{tooMuch}},
	{"a line of 100 MB", func(w http.ResponseWriter, r *http.Request, wire Wire, _ <-chan struct{}) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, err := io.WriteString(w, begun(wire)+"data: {\"x\":\"")
		for mb, n := strings.Repeat("x", 1<<20), 0; n < 100 && err == nil; n++ {
			_, err = io.WriteString(w, mb)
		}
		_, _ = io.WriteString(w, "\"}\n\n"+wire.End)
	}, []string{tooMuch}},
	{"a text of 15 MB in one event", sse(func(w Wire) string { return w.Begin + w.Text(strings.Repeat("x", 15<<20)) + w.End }), []string{tooMuch}},
	{"10,000 calls", func(w http.ResponseWriter, r *http.Request, wire Wire, _ <-chan struct{}) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, wire.Begin)
		for i := range 10_000 {
			_, _ = io.WriteString(w, wire.Call(i, `{}`))
		}
		_, _ = io.WriteString(w, wire.End)
	}, []string{tooMuch}},
	{"a gzip bomb", func(w http.ResponseWriter, r *http.Request, wire Wire, _ <-chan struct{}) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		repeat(z, begun(wire), ": "+strings.Repeat("\x00", 1<<20)+"\n")
	}, []string{tooMuch}},
	{"an error without end", func(w http.ResponseWriter, r *http.Request, _ Wire, _ <-chan struct{}) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		repeat(w, `{"error":{"message":"`, kilobyte)
	}, []string{bad}},
	{"a redirect to another host", func(w http.ResponseWriter, r *http.Request, _ Wire, _ <-chan struct{}) {
		http.Redirect(w, r, "http://127.0.0.1:1/elsewhere", http.StatusTemporaryRedirect)
	}, []string{bad}},
	{"a redirect to itself", func(w http.ResponseWriter, r *http.Request, _ Wire, _ <-chan struct{}) {
		http.Redirect(w, r, r.URL.String(), http.StatusTemporaryRedirect)
	}, []string{network, bad}},
	{"no answer", func(_ http.ResponseWriter, r *http.Request, _ Wire, stop <-chan struct{}) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	}, []string{timeout}},
	{"one byte at a time, and never an event", func(w http.ResponseWriter, r *http.Request, _ Wire, stop <-chan struct{}) {
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			if _, err := io.WriteString(w, "x"); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush() // who hangs up is found at the next byte
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			case <-stop:
				return
			}
		}
	}, []string{timeout}},
	{"negative usage", sse(func(w Wire) string { return begun(w) + w.Usage("-5", "-7") + w.End }), []string{lawful}},
	{"usage beyond all numbers", sse(func(w Wire) string { return begun(w) + w.Usage("1e300", "99999999999999999999") + w.End }), []string{lawful}},
	{"huge usage", sse(func(w Wire) string { return begun(w) + w.Usage("9007199254740991", "9007199254740991") + w.End }), []string{lawful}},
	{"usage that is text", sse(func(w Wire) string { return begun(w) + w.Usage(`"many"`, `null`) + w.End }), []string{lawful}},
	{"NUL in the text", sse(func(w Wire) string { return begun(w) + w.Text("a\x00b") + w.End }), []string{lawful, broken}},
	{"broken UTF-8", sse(func(w Wire) string { return strings.ReplaceAll(begun(w)+w.Text("QQ")+w.End, "QQ", "\xff\xfe\xc3") }), []string{lawful, broken}},
	{"half a surrogate", sse(func(w Wire) string { return strings.ReplaceAll(begun(w)+w.Text("QQ")+w.End, "QQ", `\ud83d`) }), []string{lawful, broken}},
	{"a page of HTML with status 200", func(w http.ResponseWriter, r *http.Request, _ Wire, _ <-chan struct{}) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><html><body>Sign in</body></html>")
	}, []string{bad}}, // another try would get it again
	{"nothing with status 200", func(w http.ResponseWriter, r *http.Request, _ Wire, _ <-chan struct{}) {}, []string{broken}},
	{"JSON of depth 100,000", sse(func(w Wire) string {
		return begun(w) + "data: {\"x\":" + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}\n\n" + w.End
	}), []string{broken, lawful}},
	{"two ends", sse(func(w Wire) string { return begun(w) + w.End + w.Text("more") + w.End }), []string{lawful, broken}},
	{"an end before the beginning", sse(func(w Wire) string { return w.End }), []string{lawful, broken}},
	{"less than it promised", func(w http.ResponseWriter, r *http.Request, wire Wire, _ <-chan struct{}) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Length", "100000")
		_, _ = io.WriteString(w, begun(wire))
		panic(http.ErrAbortHandler)
	}, []string{network}},
	{"a chunk that is cut off", func(w http.ResponseWriter, r *http.Request, wire Wire, _ <-chan struct{}) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = rw.WriteString("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n" + begun(wire))
		_ = rw.Flush()
		_ = conn.Close()
	}, []string{network}},
	{"gzip that is none", func(w http.ResponseWriter, r *http.Request, wire Wire, _ <-chan struct{}) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, begun(wire)+wire.End)
	}, []string{network, broken}},
	{"a header of 20 MB", func(w http.ResponseWriter, r *http.Request, wire Wire, _ <-chan struct{}) {
		w.Header().Set("X-Large", strings.Repeat("x", 20<<20))
		_, _ = io.WriteString(w, begun(wire)+wire.End)
	}, []string{network}},
	{"no HTTP at all", func(w http.ResponseWriter, r *http.Request, _ Wire, _ <-chan struct{}) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = rw.WriteString("220 mail.example.com ESMTP\r\n")
		_ = rw.Flush()
		_ = conn.Close()
	}, []string{network}},
	{"retry after a thousand years", func(w http.ResponseWriter, r *http.Request, _ Wire, _ <-chan struct{}) {
		w.Header().Set("Retry-After", "31536000000")
		w.WriteHeader(http.StatusTooManyRequests)
	}, []string{"model_rate_limit"}},
}
