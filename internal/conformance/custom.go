package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// custom is an application around the server, as LangGraph's suite has one: routes of its own beside and among the API's,
// and middleware before both. Nothing in it is known to the server, which is a handler among others.
type custom struct {
	mux     *http.ServeMux
	payload atomic.Pointer[[]byte] // of the last webhook
}

func newCustom(api http.Handler) *custom {
	c := &custom{mux: http.NewServeMux()}
	c.mux.Handle("/", api)
	c.mux.HandleFunc("GET /custom/my-route", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Custom-Output", r.Header.Get("X-Custom-Input"))
		answerJSON(w, `{"foo":"bar"}`)
	})
	c.mux.HandleFunc("GET /runs/afakeroute", func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, `{"foo":"afakeroute"}`) })
	c.mux.HandleFunc("GET /custom/error", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "Bad request", http.StatusBadRequest) })
	c.mux.HandleFunc("GET /custom/streaming", streaming)
	c.mux.HandleFunc("GET /custom/client", client)
	c.mux.HandleFunc("POST /custom/webhook", c.webhook)
	c.mux.HandleFunc("GET /custom/webhook-payload", c.lastPayload)
	return c
}

// ServeHTTP marks every answer, answers some requests in the API's place, and changes some before the API sees them.
func (c *custom) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Js-Middleware", "true")
	if r.URL.Query().Has("interrupt") {
		answerJSON(w, `{"status":"interrupted"}`)
		return
	}
	if r.Method == http.MethodPost && strings.Contains(r.URL.Path, "/runs") {
		if err := resolveWebhook(r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	c.mux.ServeHTTP(w, r)
}

// resolveWebhook gives a webhook that is a path of this server the address of the server. What is no such body is left
// for the API to judge.
func resolveWebhook(r *http.Request) error {
	url, ok := ownURL(r)
	if !ok {
		return nil
	}
	head, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	if err != nil {
		return err
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), r.Body), r.Body}
	var body map[string]json.RawMessage
	var path string
	if json.Unmarshal(head, &body) != nil || json.Unmarshal(body["webhook"], &path) != nil || !strings.HasPrefix(path, "/") {
		return nil
	}
	if body["webhook"], err = json.Marshal(url + path); err != nil {
		return err
	}
	if head, err = json.Marshal(body); err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(head)) // the body was whole, or it would not have been JSON
	r.ContentLength = int64(len(head))
	return nil
}

// streaming writes four lines, each when it is due.
func streaming(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	rc := http.NewResponseController(w)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := range 4 {
		fmt.Fprintf(w, "Count: %d\n", i)
		if rc.Flush() != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

// client asks the API from inside of the application.
func client(w http.ResponseWriter, r *http.Request) {
	url, ok := ownURL(r)
	if !ok {
		http.Error(w, "the server's own address is not known", http.StatusInternalServerError)
		return
	}
	body := `{"assistant_id":"agent_simple","input":{"messages":[{"role":"human","content":"input"}]}}`
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, url+"/runs/wait", strings.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer res.Body.Close()
	result, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		http.Error(w, fmt.Sprintf("%s: %v", res.Status, err), http.StatusBadGateway)
		return
	}
	answerJSON(w, `{"result":`+string(result)+`}`)
}

// ownURL is where the server was reached.
func ownURL(r *http.Request) (string, bool) {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return "", false
	}
	return "http://" + local.String(), true
}

func (c *custom) webhook(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.payload.Store(&data)
	answerJSON(w, `{"status":"success"}`)
}

func (c *custom) lastPayload(w http.ResponseWriter, _ *http.Request) {
	data := c.payload.Load()
	if data == nil {
		answerJSON(w, `null`)
		return
	}
	answerJSON(w, string(*data))
}

func answerJSON(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body) // the reader may be gone
}
