package ui_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// chromium is a real browser, driven over its debugging pipe: messages of JSON with a zero byte after each. All tests share
// one; what it keeps for a page is apart for each context.
type chromium struct {
	in   *os.File
	stop func()
	log  bytes.Buffer
	mu   sync.Mutex // of the fields below, and of writing
	next int
	wait map[int]chan reply
	tabs map[string]*tab // by session
	gone error
}

type reply struct {
	ID      int             `json:"id"`
	Session string          `json:"sessionId"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// browser is the shared browser as one test uses it.
type browser struct {
	*chromium
	t *testing.T
}

var shared struct {
	once sync.Once
	c    *chromium
	err  error
}

// browse gives the test a browser, which is started for the first that wants one.
func browse(t *testing.T) browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		skip(t, "no chromium in PATH: apt-get install chromium")
	}
	shared.once.Do(func() { shared.c, shared.err = launch(program) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return browser{shared.c, t}
}

// launch starts a browser without a window. It reaches this machine alone: whatever else it asks for is not resolved.
func launch(program string) (*chromium, error) {
	profile, err := os.MkdirTemp("", "page-chromium")
	if err != nil {
		return nil, err
	}
	fromUs, toIt, err1 := os.Pipe()
	fromIt, toUs, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	c := &chromium{in: toIt, wait: map[int]chan reply{}, tabs: map[string]*tab{}}
	cmd := exec.Command(program, "--headless=new", "--remote-debugging-pipe", "--user-data-dir="+profile, "--no-sandbox", "--disable-gpu",
		"--no-first-run", "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--lang=en-US", "--hide-scrollbars", "about:blank")
	cmd.ExtraFiles = []*os.File{fromUs, toUs}
	cmd.Stderr = &c.log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_ = fromUs.Close()
	_ = toUs.Close()
	done := make(chan struct{})
	go func() { // ends with the browser
		defer close(done)
		c.read(bufio.NewReader(fromIt))
	}()
	c.stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = toIt.Close()
		<-done
		_ = fromIt.Close()
		for range 40 { // helpers of the browser may write for a moment after it has ended
			if os.RemoveAll(profile) == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return c, nil
}

func (c *chromium) read(r *bufio.Reader) {
	for {
		line, err := r.ReadBytes(0)
		if err != nil {
			c.mu.Lock()
			c.gone = fmt.Errorf("the browser is gone: %w", err)
			for id, ch := range c.wait {
				delete(c.wait, id)
				close(ch)
			}
			c.mu.Unlock()
			return
		}
		var m reply
		if json.Unmarshal(line[:len(line)-1], &m) != nil {
			continue
		}
		c.mu.Lock()
		if ch := c.wait[m.ID]; m.ID != 0 && ch != nil {
			delete(c.wait, m.ID)
			ch <- m
		} else if tab := c.tabs[m.Session]; tab != nil {
			tab.heard(&m)
		}
		c.mu.Unlock()
	}
}

// call sends a command and waits for what it gives.
func (c browser) call(session, method string, params any, result any) {
	c.t.Helper()
	ch := make(chan reply, 1)
	c.mu.Lock()
	c.next++
	id := c.next
	gone := c.gone
	c.wait[id] = ch
	msg, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params, "sessionId": session})
	if session == "" {
		msg, err = json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	}
	if err == nil && gone == nil {
		_, err = c.in.Write(append(msg, 0))
	}
	c.mu.Unlock()
	if err := errors.Join(err, gone); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	m, ok := <-ch
	switch {
	case !ok:
		c.t.Fatalf("%s: the browser ended", method)
	case m.Error != nil:
		c.t.Fatalf("%s: %s", method, m.Error.Message)
	}
	if result != nil {
		if err := json.Unmarshal(m.Result, result); err != nil {
			c.t.Fatalf("%s: %v", method, err)
		}
	}
}

// tab is a page of the browser, with what it asked for and what went wrong in it.
type tab struct {
	browser
	session  string
	requests []string // addresses, in order
	problems []string // errors of scripts and of the console, violations of the policy
}

func (c browser) open(url string) *tab {
	c.t.Helper()
	var context struct {
		ID string `json:"browserContextId"`
	}
	c.call("", "Target.createBrowserContext", map[string]any{}, &context)
	return c.openIn(context.ID, url)
}

// openIn opens a tab that shares what the browser keeps with those of the same context.
func (c browser) openIn(context, url string) *tab {
	c.t.Helper()
	var target struct {
		ID string `json:"targetId"`
	}
	c.call("", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": context, "width": 1360, "height": 900}, &target)
	var session struct {
		ID string `json:"sessionId"`
	}
	c.call("", "Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &session)
	p := &tab{browser: c, session: session.ID}
	c.mu.Lock()
	c.tabs[session.ID] = p
	c.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		p.do(domain+".enable", map[string]any{}, nil)
	}
	p.do("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `addEventListener("securitypolicyviolation", (e) => console.error("policy violated: " + e.violatedDirective + " " + e.blockedURI));`}, nil)
	c.t.Cleanup(func() {
		c.call("", "Target.closeTarget", map[string]any{"targetId": target.ID}, nil)
		c.mu.Lock()
		delete(c.tabs, session.ID)
		c.mu.Unlock()
	})
	p.visit(url)
	return p
}

func (p *tab) do(method string, params, result any) {
	p.t.Helper()
	p.call(p.session, method, params, result)
}

func (p *tab) visit(url string) {
	p.t.Helper()
	p.do("Page.navigate", map[string]any{"url": url}, nil)
	p.until("the page is there", `document.readyState === "complete" && document.querySelector("#app")?.children.length > 0`)
}

func (p *tab) reload() {
	p.t.Helper()
	p.eval(`window.before = true`, nil)
	p.do("Page.reload", map[string]any{}, nil)
	p.until("the page is there again", `window.before === undefined && document.readyState === "complete" && document.querySelector("#app")?.children.length > 0`)
}

// heard keeps what a test may want to know. The lock is held.
func (p *tab) heard(m *reply) {
	var e struct {
		Request struct {
			URL string `json:"url"`
		} `json:"request"`
		Type string `json:"type"`
		Args []struct {
			Value any `json:"value"`
		} `json:"args"`
		Details struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
		Entry struct {
			Level, Source, Text, URL string
		} `json:"entry"`
	}
	if json.Unmarshal(m.Params, &e) != nil {
		return
	}
	switch m.Method {
	case "Network.requestWillBeSent":
		p.requests = append(p.requests, e.Request.URL)
	case "Runtime.consoleAPICalled":
		if e.Type == "error" {
			p.problems = append(p.problems, fmt.Sprint(e.Args))
		}
	case "Runtime.exceptionThrown":
		p.problems = append(p.problems, e.Details.Text+" "+e.Details.Exception.Description)
	case "Log.entryAdded":
		if e.Entry.Level == "error" && e.Entry.Source != "network" {
			p.problems = append(p.problems, e.Entry.Source+": "+e.Entry.Text)
		}
	}
}

// clean fails the test if anything went wrong in the tab, or a request left this machine.
func (p *tab) clean() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, problem := range p.problems {
		p.t.Errorf("in the browser: %s", problem)
	}
	for _, url := range p.requests {
		if !strings.HasPrefix(url, "http://127.0.0.1:") && !strings.HasPrefix(url, "data:image/") && !strings.HasPrefix(url, "blob:http://127.0.0.1:") {
			p.t.Errorf("a request left for %.200s", url)
		}
	}
}

// eval runs an expression, also one that is a promise.
func (p *tab) eval(expression string, result any) {
	p.t.Helper()
	var r struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	p.do("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &r)
	if r.Exception != nil {
		p.t.Fatalf("%.300s: %s %s", expression, r.Exception.Text, r.Exception.Exception.Description)
	}
	if result != nil && len(r.Result.Value) > 0 {
		if err := json.Unmarshal(r.Result.Value, result); err != nil {
			p.t.Fatalf("%.300s: %v", expression, err)
		}
	}
}

func (p *tab) text(selector string) string {
	p.t.Helper()
	var s string
	p.eval(`[...document.querySelectorAll(`+quote(selector)+`)].map((e) => e.innerText).join("\n")`, &s)
	return s
}

func (p *tab) is(condition string) bool {
	p.t.Helper()
	var b bool
	p.eval(`Boolean(`+condition+`)`, &b)
	return b
}

// patience is for a page that hangs, not for a machine that is slow: one whose host takes nine tenths of its cores away is.
const patience = 2 * time.Minute

// until waits for a condition.
func (p *tab) until(what, condition string) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !p.is(condition); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("waited in vain until %s: %s\nthe page shows: %.1500s", what, condition, p.text("body"))
		}
	}
}

func (p *tab) click(selector string) {
	p.t.Helper()
	p.until("there is "+selector, `document.querySelector(`+quote(selector)+`)`)
	p.eval(`{ const e = document.querySelector(`+quote(selector)+`); e.focus(); e.click(); }`, nil)
}

// typed writes into what has the focus, as a keyboard does.
func (p *tab) typed(text string) {
	p.t.Helper()
	p.do("Input.insertText", map[string]any{"text": text}, nil)
}

func (p *tab) key(name string, modifiers int) {
	p.t.Helper()
	text := ""
	if name == "Enter" {
		text = "\r"
	} else if len(name) == 1 && modifiers == 0 {
		text = name
	}
	codes := map[string]int{"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39}
	for _, typ := range []string{"keyDown", "keyUp"} {
		params := map[string]any{"type": typ, "key": name, "modifiers": modifiers, "windowsVirtualKeyCode": codes[name]}
		if typ == "keyDown" && text != "" {
			params["text"] = text
		}
		p.do("Input.dispatchKeyEvent", params, nil)
	}
}

// ask writes a question into the composer and sends it.
func (p *tab) ask(question string) {
	p.t.Helper()
	p.until("the composer is there", `document.querySelector("#composer")`)
	p.eval(`document.querySelector("#composer").focus()`, nil)
	p.typed(question)
	p.key("Enter", 0)
	p.until("the question is shown", `[...document.querySelectorAll(".bubble, .queued .grow")].some((e) => e.innerText.includes(`+quote(strings.SplitN(question, "\n", 2)[0])+`))`)
}

func (p *tab) size(width, height int, phone bool) {
	p.t.Helper()
	p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}, nil)
}

func (p *tab) dark(dark bool) {
	p.t.Helper()
	value := "light"
	if dark {
		value = "dark"
	}
	p.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": value}, {"name": "prefers-reduced-motion", "value": "reduce"}}}, nil)
	p.until("the theme is "+value, `document.documentElement.dataset.theme === `+quote(value))
}

// shot takes a picture, where PAGE_SHOTS names a folder for them.
func (p *tab) shot(name string) {
	p.t.Helper()
	dir := os.Getenv("PAGE_SHOTS")
	if dir == "" {
		return
	}
	var r struct{ Data string }
	p.do("Page.captureScreenshot", map[string]any{"format": "png"}, &r)
	data, err := base64.StdEncoding.DecodeString(r.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always encode
	}
	return string(b)
}
