package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/internal/outbound"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// FetchOptions are the settings of a [Fetcher]; the zero value reads public pages.
type FetchOptions struct {
	// Allow are the addresses, ranges and hosts that may be read beside public addresses, and Setting what the person who can
	// change that calls it.
	Allow   []string
	Setting string
	// Timeout bounds the request for a page, redirects included. Default 30 s.
	Timeout time.Duration
	// MaxBytes bounds a page as it comes. Default 10 MiB.
	MaxBytes int64
	// PartBytes is how long the parts are that a model reads at a time. Default 24,000 bytes.
	PartBytes int
	// CacheBytes is how much text of pages is kept in memory. Default 32 MiB; negative: nothing is kept.
	CacheBytes int
	// Client sends the requests. Default: one that reaches public addresses and what is in Allow.
	Client Doer
}

// Fetcher reads pages. It is safe for concurrent use.
type Fetcher struct {
	opt    FetchOptions
	client Doer
	close  func()
	cache  *cache
	room   chan struct{} // taken by those who make text of a page, which takes memory
}

// converting is how many pages are made text of at once. Each may need some hundred megabytes for a moment.
const converting = 2

// NewFetcher makes a fetcher. The error is about Allow.
func NewFetcher(opt FetchOptions) (*Fetcher, error) {
	if opt.Setting == "" {
		opt.Setting = "FetchOptions.Allow"
	}
	if opt.Timeout == 0 {
		opt.Timeout = 30 * time.Second
	}
	if opt.MaxBytes == 0 {
		opt.MaxBytes = 10 << 20
	}
	if opt.PartBytes == 0 {
		opt.PartBytes = 24_000
	}
	if opt.CacheBytes == 0 {
		opt.CacheBytes = 32 << 20
	}
	f := &Fetcher{opt: opt, client: opt.Client, close: func() {}, cache: newCache(opt.CacheBytes), room: make(chan struct{}, converting)}
	if f.client == nil {
		allow, err := outbound.ParseAllow(opt.Allow)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", opt.Setting, err)
		}
		c := outbound.New(outbound.Options{Allow: allow, Setting: opt.Setting, Timeout: opt.Timeout, MaxBody: opt.MaxBytes})
		f.client, f.close = c, c.Close
	}
	return f, nil
}

// Close lets go of connections.
func (f *Fetcher) Close() { f.close() }

// Page is what can be read of a page.
type Page struct {
	URL   string // where it was in the end
	Title string
	// Author is who wrote it, as the page says; empty if it does not.
	Author string
	Date   time.Time // when it was published; zero if it does not tell
	Text   string    // Markdown, where the page has headings, links and lists
	// Note says what is not as on the site; empty if nothing is missing.
	Note string
}

// Tool is the fetcher as a tool named web_fetch.
func (f *Fetcher) Tool() tool.Tool {
	return describe("web_fetch",
		"Reads a page of the web: its text as Markdown with its links, or the text of a PDF, of plain text or of JSON. Long pages come in parts. Cite it with its number.",
		tool.Reads|tool.Leaves, f.opt.Timeout+time.Minute, f.call)
}

type fetchArguments struct {
	URL  string `json:"url" jsonschema:"the address of the page, as in https://example.org/article"`
	Part int    `json:"part,omitempty" jsonschema:"which part of a long page to read, counted from 1; the first if left out"`
}

func (f *Fetcher) call(ctx context.Context, in fetchArguments) (item.ToolResult, error) {
	part := max(in.Part, 1)
	p, err := f.fetch(ctx, in.URL, part > 1)
	if err != nil {
		return item.ToolResult{}, err
	}
	parts := split(p.Text, f.opt.PartBytes)
	if part > len(parts) {
		return item.ToolResult{}, fmt.Errorf("%s has %d parts; there is no part %d", p.URL, len(parts), part)
	}
	var res item.ToolResult
	cited(&res, source{p.Title, p.URL, p.Author, p.Date}, parts[part-1])
	var notes []string
	if p.Note != "" {
		notes = append(notes, p.Note)
	}
	if part < len(parts) {
		notes = append(notes, fmt.Sprintf("This is part %d of %d. Give part %d to read on.", part, len(parts), part+1))
	} else if part > 1 {
		notes = append(notes, fmt.Sprintf("This is part %d of %d, the last.", part, len(parts)))
	}
	if len(notes) > 0 {
		noted(&res, strings.Join(notes, " "))
	}
	return res, nil
}

// Fetch reads a page.
func (f *Fetcher) Fetch(ctx context.Context, address string) (Page, error) {
	return f.fetch(ctx, address, false)
}

// fetch reads a page, from memory if it is still as it was. Who reads on (again) is given what the first part was of.
func (f *Fetcher) fetch(ctx context.Context, address string, again bool) (Page, error) {
	u, err := target(address)
	if err != nil {
		return Page{}, err
	}
	key := u.String()
	kept, ok := f.cache.get(key)
	if ok && (time.Now().Before(kept.fresh) || again && time.Since(kept.asked) < keptForParts) {
		return kept.page, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, key, nil)
	if err != nil {
		return Page{}, fmt.Errorf("%s is no address: %w", shorten(address, 200), err)
	}
	req.Header.Set("User-Agent", agentName)
	req.Header.Set("Accept", "text/html, application/xhtml+xml, application/pdf;q=0.9, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5")
	if ok {
		kept.condition(req.Header)
	}
	res, err := f.client.Do(req)
	if err != nil {
		return Page{}, f.unread(key, err)
	}
	defer res.Body.Close()
	if ok && res.StatusCode == http.StatusNotModified {
		kept.renew(res.Header)
		f.cache.put(key, kept)
		return kept.page, nil
	}
	if res.StatusCode/100 != 2 {
		return Page{}, refused(key, res.StatusCode)
	}
	// A client that a caller brought may have no bound of its own.
	body, err := io.ReadAll(io.LimitReader(res.Body, f.opt.MaxBytes+1))
	if err != nil {
		return Page{}, f.unread(key, err)
	}
	if int64(len(body)) > f.opt.MaxBytes {
		return Page{}, f.unread(key, &outbound.TooLargeError{Max: f.opt.MaxBytes})
	}
	select {
	case f.room <- struct{}{}:
		defer func() { <-f.room }()
	case <-ctx.Done():
		return Page{}, ctx.Err()
	}
	at := u
	if res.Request != nil && res.Request.URL != nil {
		at = res.Request.URL
	}
	p, err := read(ctx, body, res.Header.Get("Content-Type"), at)
	if err != nil {
		return Page{}, fmt.Errorf("read %s: %w", key, err)
	}
	f.cache.keep(key, p, res.Header)
	return p, nil
}

// target is the address that a model gave.
func target(address string) (*url.URL, error) {
	address = strings.TrimSpace(address)
	if address == "" {
		return nil, errors.New("url is empty; give the address of a page")
	}
	if len(address) > longestURL {
		return nil, fmt.Errorf("url has %d characters; more than %d is no address", len(address), longestURL)
	}
	if !strings.Contains(address, ":") && strings.Contains(address, ".") && !strings.HasPrefix(address, "/") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is no address; write it as in https://example.org/article", shorten(address, 200))
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%q does not begin with https:// or http://; other addresses are not read", shorten(address, 200))
	case u.Host == "" || u.Opaque != "":
		return nil, fmt.Errorf("%q names no host; write it as in https://example.org/article", shorten(address, 200))
	case u.User != nil:
		return nil, fmt.Errorf("the address of a page on %s must not hold a name or a password", u.Host)
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// refused is the error of a site that does not give the page, in words for a model.
func refused(address string, status int) error {
	text := fmt.Sprintf("%s answers with %d %s", address, status, http.StatusText(status))
	switch status {
	case http.StatusNotFound, http.StatusGone:
		text += "; there is no such page, look for another"
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusPaymentRequired, http.StatusUnavailableForLegalReasons:
		text += "; the site does not show it to programs, look for another source"
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		text += "; try again later, or look for another source"
	}
	return errors.New(text)
}

// unread explains why a page could not be had.
func (f *Fetcher) unread(address string, err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	var late interface{ Timeout() bool }
	var large *outbound.TooLargeError
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &large):
		return fmt.Errorf("%s is larger than %d bytes, which is all that is read of a page; look for a smaller one, or raise max_bytes", address, large.Max)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &late) && late.Timeout():
		return fmt.Errorf("%s did not answer within %v; try again later, or look for another source", address, f.opt.Timeout)
	}
	return fmt.Errorf("read %s: %w", address, err)
}
