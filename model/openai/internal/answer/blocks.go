package answer

import "strings"

type blockKind int

const (
	noBlock blockKind = iota
	contentBlock
	refusalBlock
)

// blocks numbers the blocks of an answer on a wire that does not.
type blocks struct {
	count int
	kind  blockKind // of the open one
}

// at returns the number of the open block if it is of the given kind, and otherwise opens one.
func (b *blocks) at(kind blockKind) int {
	if b.kind != kind {
		b.kind = kind
		b.count++
	}
	return b.count - 1
}

// next returns the number of a block that is whole.
func (b *blocks) next() int {
	b.kind = noBlock
	b.count++
	return b.count - 1
}

// thoughts numbers reasoning items: what is thought after something else was said is another item.
type thoughts struct {
	count int
	over  bool        // something else has been said since
	index int         // the server's number of the current one
	items map[int]int // by the server's number
}

// current returns the item of reasoning that the server does not number.
func (t *thoughts) current() int { return t.of(0, true) }

// of returns the item of the server's number. Text may begin a new one; a signature never does, if there is
// one that it can belong to.
func (t *thoughts) of(index int, text bool) int {
	n, known := t.items[index]
	if known && (!text || !t.over && t.index == index) {
		return n
	}
	if t.items == nil {
		t.items = make(map[int]int, 1)
	}
	n = t.count
	t.count++
	t.items[index], t.index, t.over = n, index, false
	return n
}

// mimeOf reads the type of a data URL.
func mimeOf(url string) string {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return ""
	}
	mime, _, _ := strings.Cut(rest, ",")
	mime, _, _ = strings.Cut(mime, ";")
	return mime
}
