package graph

import (
	"container/list"
	"reflect"
	"sync"
)

// Cache keeps the live states in which runs left their threads, so that the next run of a thread need not read and
// decode the whole conversation again: a turn then costs what is new in it, however long the thread has become.
//
// A state is taken out when it is used and put back when the run ends, so that no two runs share one: lists grow
// in place. What is in the cache is only ever used for the very checkpoint it belongs to, so a stale entry is
// harmless. The zero Cache keeps nothing; see NewCache.
type Cache struct {
	mu      sync.Mutex
	max     int
	bytes   int
	entries map[cacheKey]*list.Element
	recent  list.List // of *cached, most recently put first
}

type cacheKey struct{ thread, ns string }

type cached struct {
	key        cacheKey
	checkpoint string
	fields     []cachedField
	st         state
	bytes      int
}

// cachedField is what must be the same in the graph that takes the state.
type cachedField struct {
	name string
	typ  reflect.Type
}

// NewCache returns a cache for states of that many bytes, measured in their encoded form.
func NewCache(maxBytes int) *Cache {
	return &Cache{max: maxBytes, entries: map[cacheKey]*list.Element{}}
}

// take returns the state of a checkpoint and forgets it.
func (c *Cache) take(g *Graph, cp *Checkpoint) (state, bool) {
	if c == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.entries[cacheKey{cp.Thread, cp.NS}]
	if el == nil {
		return nil, false
	}
	e := el.Value.(*cached)
	c.drop(el)
	if e.checkpoint != cp.ID || len(e.fields) != len(g.fields) {
		return nil, false
	}
	for i, d := range g.fields {
		if e.fields[i] != (cachedField{d.name, d.typ}) {
			return nil, false
		}
	}
	return e.st, true
}

// put keeps the state of a checkpoint that was stored.
func (c *Cache) put(g *Graph, cp *Checkpoint, st state) {
	if c == nil || cp.ID == "" {
		return
	}
	e := &cached{key: cacheKey{cp.Thread, cp.NS}, checkpoint: cp.ID, st: st}
	for i, d := range g.fields {
		e.fields = append(e.fields, cachedField{d.name, d.typ})
		e.bytes += st[i].bytes
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.entries[e.key]; el != nil {
		c.drop(el)
	}
	if e.bytes > c.max {
		return
	}
	c.entries[e.key] = c.recent.PushFront(e)
	c.bytes += e.bytes
	for c.bytes > c.max {
		c.drop(c.recent.Back())
	}
}

func (c *Cache) drop(el *list.Element) {
	e := c.recent.Remove(el).(*cached)
	delete(c.entries, e.key)
	c.bytes -= e.bytes
}
