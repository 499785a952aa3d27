package cite

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/item"
)

var marker = regexp.MustCompile(`\[\^([0-9]+)\]`)

// Adopted is a foreign agent's answer after its numbers were replaced by those of the run.
type Adopted struct {
	Text        string
	Annotations []item.Annotation // of Text
	Numbers     map[int]int       // from the foreign number to the pool's
}

// Adopt takes in the finished answer of an agent with a pool of its own. The things it cites get numbers of
// this pool, in the order in which they are first cited; what it does not cite is left out. A marker that its
// pool does not resolve stays as it is and is not annotated, although this pool may have that number.
func (p *Pool) Adopt(text string, groups map[int]Group) Adopted {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := Adopted{Numbers: map[int]int{}}
	var b strings.Builder
	points := 0 // code points written to b
	write := func(s string) {
		b.WriteString(s)
		points += utf8.RuneCountInString(s)
	}
	at := 0
	// One pass over the old text: replacing number after number would rewrite what was just written.
	for _, m := range marker.FindAllStringSubmatchIndex(text, -1) {
		old, err := strconv.Atoi(text[m[2]:m[3]])
		if err != nil {
			continue // more digits than any number has
		}
		n, ok := out.Numbers[old]
		if !ok {
			if n = p.take(groups[old]); n == 0 {
				continue
			}
			out.Numbers[old] = n
		}
		write(text[at:m[0]])
		start := points
		write("[^" + strconv.Itoa(n) + "]")
		out.Annotations = append(out.Annotations, item.Annotation{Type: item.ReferenceToBlock, Ref: n, Start: start, End: points})
		at = m[1]
	}
	write(text[at:])
	out.Text = b.String()
	return out
}
