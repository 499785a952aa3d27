package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/internal/outbound"
)

// Engine is a search engine.
type Engine interface {
	// Name is how settings and errors call it.
	Name() string
	// Search returns about limit results, best first. Its error is for the person who can change the settings.
	Search(ctx context.Context, query string, limit int) ([]Result, error)
}

// ImageEngine is one that finds images too.
type ImageEngine interface {
	Engine
	Images(ctx context.Context, query string, limit int) ([]Image, error)
}

// Result is a page that an engine found.
type Result struct {
	Title, URL, Snippet string
	Date                time.Time // zero if the engine does not tell
}

// Image is an image that an engine found, and the page that it is on.
type Image struct {
	Title, URL, Page string
	Width, Height    int // zero if the engine does not tell
}

// EngineOptions are the settings of an engine; only Name is needed, and a Key or a URL where [EngineInfo] says so.
type EngineOptions struct {
	Name string
	Key  string
	// URL is where the engine is, in place of its usual address.
	URL string
	// Allow are the addresses, ranges and hosts that this engine may have beside public addresses.
	Allow []string
	// Client sends the requests. Default: one that reaches public addresses and what is in Allow.
	Client Doer
	// KeySetting and Setting are what the person who can change them calls the key and the engine's place in the settings.
	// Default: the name of the usual environment variable, and "the engines' settings".
	KeySetting, Setting string
}

// EngineInfo says what an engine needs.
type EngineInfo struct {
	Name string
	Key  string // the environment variable that usually has its key; empty if it needs none
	URL  bool   // it has no usual address
	Paid bool   // searches are counted and paid for
}

type maker struct {
	EngineInfo
	url string // its usual address
	new func(*endpoint) Engine
}

var makers = []maker{
	{EngineInfo{Name: "tavily", Key: "TAVILY_API_KEY", Paid: true}, "https://api.tavily.com", func(e *endpoint) Engine { return tavily{e} }},
	{EngineInfo{Name: "brave", Key: "BRAVE_API_KEY", Paid: true}, "https://api.search.brave.com", func(e *endpoint) Engine { return brave{e} }},
	{EngineInfo{Name: "serper", Key: "SERPER_API_KEY", Paid: true}, "https://google.serper.dev", func(e *endpoint) Engine { return serper{e} }},
	{EngineInfo{Name: "exa", Key: "EXA_API_KEY", Paid: true}, "https://api.exa.ai", func(e *endpoint) Engine { return exa{e} }},
	{EngineInfo{Name: "searxng", URL: true}, "", func(e *endpoint) Engine { return searxng{e} }},
	{EngineInfo{Name: "duckduckgo"}, "https://html.duckduckgo.com", func(e *endpoint) Engine { return duckduckgo{e} }},
	{EngineInfo{Name: "wikipedia"}, "https://en.wikipedia.org", func(e *endpoint) Engine { return wikipedia{e} }},
	{EngineInfo{Name: "arxiv"}, "https://export.arxiv.org", func(e *endpoint) Engine { return arxiv{e} }},
}

// Engines lists the engines that there are.
func Engines() []EngineInfo {
	var all []EngineInfo
	for _, m := range makers {
		all = append(all, m.EngineInfo)
	}
	return all
}

// NewEngine makes an engine of its settings.
func NewEngine(opt EngineOptions) (Engine, error) {
	i := slices.IndexFunc(makers, func(m maker) bool { return m.Name == opt.Name })
	if i < 0 {
		var names []string
		for _, m := range makers {
			names = append(names, m.Name)
		}
		return nil, fmt.Errorf("there is no search engine %q; there are %s", opt.Name, strings.Join(names, ", "))
	}
	m := makers[i]
	e := &endpoint{name: m.Name, paid: m.Paid, base: strings.TrimRight(opt.URL, "/"), key: opt.Key, keySetting: opt.KeySetting, setting: opt.Setting, client: opt.Client}
	if e.keySetting == "" {
		e.keySetting = m.EngineInfo.Key
	}
	if e.setting == "" {
		e.setting = "the engines' settings"
	}
	if e.base == "" {
		e.base = m.url
	}
	switch u, err := url.Parse(e.base); {
	case e.base == "":
		return nil, fmt.Errorf("search engine %s: it has no usual address; give its url in %s", e.name, e.setting)
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("search engine %s: its url in %s must begin with https:// or http://", e.name, e.setting)
	case m.EngineInfo.Key != "" && e.key == "":
		return nil, fmt.Errorf("search engine %s: it needs a key; set %s", e.name, e.keySetting)
	}
	if e.client == nil {
		allow, err := outbound.ParseAllow(opt.Allow)
		if err != nil {
			return nil, fmt.Errorf("search engine %s: allow in %s: %w", e.name, e.setting, err)
		}
		// How long an answer may take is up to who asks; this is for those who do not say.
		e.client = outbound.New(outbound.Options{Allow: allow, Setting: "allow of " + e.name + " in " + e.setting, Timeout: 2 * time.Minute, MaxBody: 4 << 20, MaxRedirects: 2})
	}
	return m.new(e), nil
}

// endpoint is what engines share: where one is, and how it is asked.
type endpoint struct {
	name                     string
	paid                     bool
	base                     string
	key, keySetting, setting string
	client                   Doer
}

func (e *endpoint) Name() string { return e.name }

// Paid reports that each search costs something.
func (e *endpoint) Paid() bool { return e.paid }

// close lets go of connections, if the client keeps any.
func (e *endpoint) close() {
	if c, ok := e.client.(interface{ Close() }); ok {
		c.Close()
	}
}

// EngineError says why an engine did not answer, and what to do about it.
type EngineError struct {
	Engine  string
	Problem string
	Do      string
	Err     error // what lies below; nil if the engine itself said no
}

func (e *EngineError) Error() string {
	s := "search engine " + e.Engine + ": " + e.Problem
	if e.Do != "" {
		s += "; " + e.Do
	}
	return s
}

func (e *EngineError) Unwrap() error { return e.Err }

func (e *endpoint) wrong(err error, problem, do string) error {
	return &EngineError{e.name, problem, do, err}
}

func (e *endpoint) wrongKey() error {
	if e.keySetting == "" {
		return e.wrong(nil, "it refuses the request", "see who may ask it, or take it out of "+e.setting)
	}
	return e.wrong(nil, "it refuses the key", "set "+e.keySetting+" to a key that is valid, or take "+e.name+" out of "+e.setting)
}

func (e *endpoint) quota() error {
	do := "wait, or add another engine to " + e.setting
	if e.keySetting != "" {
		do = "wait, extend the plan of the key in " + e.keySetting + ", or add another engine to " + e.setting
	}
	return e.wrong(nil, "it has had enough requests for now", do)
}

// ask sends a request and returns the body of a good answer. Verdict may know better what a bad one means; nil: it does not.
func (e *endpoint) ask(req *http.Request, verdict func(status int, body []byte) error) ([]byte, error) {
	req.Header.Set("User-Agent", agentName)
	res, err := e.client.Do(req)
	if err != nil {
		return nil, e.unreached(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, e.unreached(err)
	}
	if verdict != nil {
		if err := verdict(res.StatusCode, body); err != nil {
			return nil, err
		}
	}
	switch code := res.StatusCode; {
	case code/100 == 2:
		return body, nil
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return nil, e.wrongKey()
	case code == http.StatusPaymentRequired, code == http.StatusTooManyRequests, code == 432, code == 433: // the last two are Tavily's
		return nil, e.quota()
	case code >= 500:
		return nil, e.wrong(nil, fmt.Sprintf("it has trouble of its own (%d)", code), "try again later, or add another engine to "+e.setting)
	case code == http.StatusNotFound:
		return nil, e.wrong(nil, "there is no search at its address (404)", "correct the url of "+e.name+" in "+e.setting)
	default:
		said := line(string(body), 200)
		if e.key != "" {
			said = strings.ReplaceAll(said, e.key, "***")
		}
		return nil, e.wrong(nil, fmt.Sprintf("it answers with %d: %s", code, said), "")
	}
}

// unreached explains why there was no answer at all.
func (e *endpoint) unreached(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // without the address, which has the question in it
	}
	var late interface{ Timeout() bool }
	var address *outbound.AddressError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &late) && late.Timeout():
		return e.wrong(err, "it did not answer in time", "raise the timeout in "+e.setting+", or put another engine first")
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &address):
		return e.wrong(err, address.Error(), "")
	}
	return e.wrong(err, "it cannot be reached ("+line(err.Error(), 300)+")", "see that this machine has a network, and that the url of "+e.name+" in "+e.setting+" is right")
}

// get asks with a query in the address.
func (e *endpoint) get(ctx context.Context, path string, query url.Values, header map[string]string, into any, verdict func(int, []byte) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.base+path+"?"+query.Encode(), nil)
	if err != nil {
		return e.wrong(err, "its address is none", "correct the url of "+e.name+" in "+e.setting)
	}
	return e.json(req, header, into, verdict)
}

// post asks with a JSON body.
func (e *endpoint) post(ctx context.Context, path string, body any, header map[string]string, into any, verdict func(int, []byte) error) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.base+path, bytes.NewReader(raw))
	if err != nil {
		return e.wrong(err, "its address is none", "correct the url of "+e.name+" in "+e.setting)
	}
	req.Header.Set("Content-Type", "application/json")
	return e.json(req, header, into, verdict)
}

func (e *endpoint) json(req *http.Request, header map[string]string, into any, verdict func(int, []byte) error) error {
	req.Header.Set("Accept", "application/json")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	body, err := e.ask(req, verdict)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return e.garbled(body, "JSON", err)
	}
	return nil
}

// garbled is the error of an answer that is not what the engine speaks.
func (e *endpoint) garbled(body []byte, want string, err error) error {
	if strings.HasPrefix(http.DetectContentType(body), "text/html") {
		return e.wrong(err, "it answers with a web page in place of "+want, "see that the url of "+e.name+" in "+e.setting+" is the engine's, and that no proxy or login page stands before it")
	}
	return e.wrong(err, "its answer is not "+want, "see that the url of "+e.name+" in "+e.setting+" is the engine's")
}

// day reads the dates that engines give; zero if there is none that is sure.
func day(s string) time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.RFC1123, time.RFC1123Z, time.DateOnly, time.DateTime, "Jan 2, 2006", "2 Jan 2006", "January 2, 2006"} {
		if t, err := time.Parse(layout, strings.TrimSpace(s)); err == nil && t.Year() > 1 {
			return t.UTC()
		}
	}
	return time.Time{}
}
