package web

import (
	"container/list"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	keptForParts   = 10 * time.Minute // who reads a page in parts reads one page
	longestFresh   = time.Hour        // however long a site says that its page stays as it is
	perPage        = 1 << 10          // what a page costs beside its text
	shareOfOnePage = 4                // a page that needs more than this part of all memory is not kept
)

// kept is a page in memory.
type kept struct {
	page               Page
	etag, lastModified string
	asked              time.Time // when the site last said that it is so
	fresh              time.Time // until when it need not be asked
}

// condition asks the site to send the page only if it has changed.
func (k kept) condition(h http.Header) {
	if k.etag != "" {
		h.Set("If-None-Match", k.etag)
	}
	if k.lastModified != "" {
		h.Set("If-Modified-Since", k.lastModified)
	}
}

// renew notes what a site says about its page now.
func (k *kept) renew(h http.Header) {
	k.asked = time.Now()
	k.fresh = k.asked
	if age, ok := maxAge(h); ok {
		k.fresh = k.asked.Add(min(age, longestFresh))
	}
	if v := h.Get("ETag"); v != "" {
		k.etag = v
	}
	if v := h.Get("Last-Modified"); v != "" {
		k.lastModified = v
	}
}

// directives are those of Cache-Control.
func directives(h http.Header) map[string]string {
	all := map[string]string{}
	for d := range strings.SplitSeq(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(d), "=")
		all[strings.ToLower(name)] = strings.Trim(value, `"`)
	}
	return all
}

func maxAge(h http.Header) (time.Duration, bool) {
	d := directives(h)
	if _, ok := d["no-cache"]; ok {
		return 0, false
	}
	seconds, err := strconv.Atoi(d["max-age"])
	if err != nil || seconds <= 0 || seconds > int(longestFresh/time.Second) {
		return longestFresh, err == nil && seconds > 0
	}
	return time.Duration(seconds) * time.Second, true
}

// cache keeps the pages that were used last, up to a number of bytes.
type cache struct {
	max int

	mu    sync.Mutex
	bytes int
	order *list.List // of *entry, the last used first
	at    map[string]*list.Element
}

type entry struct {
	key  string
	kept kept
}

func (e *entry) size() int { return len(e.key) + len(e.kept.page.Text) + perPage }

func newCache(max int) *cache {
	return &cache{max: max, order: list.New(), at: map[string]*list.Element{}}
}

func (c *cache) get(key string) (kept, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.at[key]
	if !ok {
		return kept{}, false
	}
	c.order.MoveToFront(el)
	return el.Value.(*entry).kept, true
}

// keep takes in a page that a site has sent, unless the site forbids it.
func (c *cache) keep(key string, p Page, h http.Header) {
	if _, forbidden := directives(h)["no-store"]; forbidden {
		c.remove(key)
		return
	}
	k := kept{page: p}
	k.renew(h)
	c.put(key, k)
}

func (c *cache) put(key string, k kept) {
	e := &entry{key, k}
	c.remove(key)
	if e.size() > c.max/shareOfOnePage {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.at[key]; ok { // another was faster
		c.drop(el)
	}
	c.at[key] = c.order.PushFront(e)
	c.bytes += e.size()
	for c.bytes > c.max {
		c.drop(c.order.Back())
	}
}

func (c *cache) remove(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.at[key]; ok {
		c.drop(el)
	}
}

// drop needs the lock.
func (c *cache) drop(el *list.Element) {
	e := c.order.Remove(el).(*entry)
	delete(c.at, e.key)
	c.bytes -= e.size()
}
