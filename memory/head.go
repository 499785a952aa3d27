package memory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"sync"
)

// heads are those that were read last, with the stamps of the documents that they are of. A document is long, and a run that begins needs its
// head alone: it is read again only when its stamp has changed.
type heads struct {
	mu    sync.Mutex
	known map[Whose]stamped
}

type stamped struct {
	stamp string
	head  head
}

// mostHeads is how many are remembered.
const mostHeads = 1000

func (h *heads) find(w Whose, stamp string) (head, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k, ok := h.known[w]
	return k.head, ok && k.stamp == stamp
}

func (h *heads) put(w Whose, k stamped) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil || len(h.known) >= mostHeads {
		h.known = map[Whose]stamped{}
	}
	h.known[w] = k
}

// head is that of a document as it is now; ok is false if there is none.
func (b *Book) head(ctx context.Context, w Whose) (h head, ok bool, err error) {
	w.Owner = cmp.Or(w.Owner, b.opt.Local)
	store, stamp := b.store(w.Owner), ""
	s, marks := store.(Stamped)
	if marks {
		if stamp, ok, err = s.Stamp(ctx, w.namespace(), documentKey); err != nil || !ok {
			return h, false, err
		}
		if h, ok := b.heads.find(w, stamp); ok {
			return h, true, nil
		}
	}
	raw, ok, err := store.Get(ctx, w.namespace(), documentKey)
	if err != nil || !ok {
		return h, false, err
	}
	if h, err = headOf(raw); err == nil && marks { // whoever wrote since the stamp was read has made another one
		b.heads.put(w, stamped{stamp, h})
	}
	return h, true, err
}

// headOf decodes the beginning of a row.
func headOf(raw []byte) (h head, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	var name json.Token
	for range 2 { // the brace, and the first name
		if name, err = dec.Token(); err != nil {
			return h, err
		}
	}
	if name == "head" {
		return h, dec.Decode(&h)
	}
	var r row // somebody wrote it back in another order
	err = json.Unmarshal(raw, &r)
	return r.Head, err
}
