package cite

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tributary-ai/tributary/item"
)

// Group is one thing that can be cited, in its two views. It has a number only if both are there.
type Group struct {
	Content []item.Block // for the model
	Blocks  []item.Block // for people
}

// Pool numbers what can be cited in a run tree. The zero Pool is empty and ready. It may be used by several
// goroutines at once, as tools run in parallel.
type Pool struct {
	mu     sync.Mutex
	number map[identity]int
	groups map[int]Group
	last   int
}

// Has reports that n can be cited.
func (p *Pool) Has(n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.groups[n]
	return ok
}

// Group returns what number n stands for. The caller must not change the slices.
func (p *Pool) Group(n int) (Group, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g, ok := p.groups[n]
	return g, ok
}

// Add takes a tool's fresh result into the pool and returns it as it is to be recorded: numbered, and with
// Content wrapped for the model. The argument is left as it was.
func (p *Pool) Add(res item.ToolResult) item.ToolResult {
	content, forged := escaped(res.Content)
	blocks := slices.Clone(res.Blocks)
	if res.Blocks == nil && (forged || slices.ContainsFunc(content, referencable)) {
		// People see Content where a tool gave only that; once it is wrapped or escaped they need their own copy.
		blocks = slices.Clone(res.Content)
	}
	seenByModel, seenByPeople := grouped(content), grouped(blocks)

	p.mu.Lock()
	defer p.mu.Unlock()
	numbers, taken := map[int]int{}, map[int]bool{}
	for _, local := range order(content) {
		n := p.take(Group{seenByModel[local], seenByPeople[local]})
		// The same thing twice in one result is numbered where it stands first. With one number for both
		// it would be recorded as a single group of twice the blocks, which is another thing.
		if n != 0 && !taken[n] {
			numbers[local], taken[n] = n, true
		}
	}
	for i := range blocks {
		blocks[i].Ref = numbers[blocks[i].Ref]
	}
	for i := range content {
		content[i].Ref = numbers[content[i].Ref]
	}
	res.Content, res.Blocks = wrapped(content), blocks
	return res
}

// take returns the number of a group, a new one if the group is new; 0 if it has only one view.
func (p *Pool) take(g Group) int {
	if len(g.Content) == 0 || len(g.Blocks) == 0 {
		return 0
	}
	id := identify(g.Blocks)
	if n, ok := p.number[id]; ok {
		return n
	}
	p.put(p.last+1, id, g)
	return p.last
}

func (p *Pool) put(n int, id identity, g Group) {
	if p.groups == nil {
		p.groups, p.number = map[int]Group{}, map[identity]int{}
	}
	p.number[id] = n
	p.groups[n] = Group{numbered(g.Content, n), numbered(g.Blocks, n)}
	p.last = max(p.last, n)
}

// Restore takes in a result as the journal has it, under the numbers that it was recorded with. A number that
// the pool knows already keeps its first meaning.
func (p *Pool) Restore(res item.ToolResult) {
	content := unwrapped(res.Content)
	blocks := res.Blocks
	if blocks == nil {
		blocks = content
	}
	seenByModel, seenByPeople := grouped(content), grouped(blocks)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range order(content) {
		g := Group{seenByModel[n], seenByPeople[n]}
		if _, known := p.groups[n]; known || len(g.Blocks) == 0 {
			continue
		}
		p.put(n, identify(g.Blocks), g)
	}
}

// Quote is what a parent's model is shown of a sub-agent's answer: the things that the answer cites, in the
// order of their first citation, and then the answer itself.
func (p *Pool) Quote(answer []item.Block) []item.Block {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []item.Block
	done := map[int]bool{}
	for _, b := range answer {
		for _, a := range b.Annotations {
			g, ok := p.groups[a.Ref]
			if a.Type != item.ReferenceToBlock || !ok || done[a.Ref] {
				continue
			}
			done[a.Ref] = true
			out = append(out, wrapped(g.Content)...)
		}
	}
	answer, _ = escaped(answer)
	for _, b := range answer {
		b.Annotations = nil
		b.Ref = 0
		out = append(out, b)
	}
	return out
}

const (
	openPrefix = "<referencable-item>\nID: "
	closing    = "</referencable-item>"
)

// wrapped puts a pair of tags around each stretch of adjacent blocks with the same number. A group whose
// blocks lie apart gets several pairs: one pair around all would claim what lies between.
func wrapped(content []item.Block) []item.Block {
	if !slices.ContainsFunc(content, referencable) {
		return content
	}
	out := make([]item.Block, 0, len(content)+2)
	for i := 0; i < len(content); {
		n := content[i].Ref
		end := i + 1
		for end < len(content) && content[end].Ref == n {
			end++
		}
		if n > 0 {
			out = append(out, item.Block{Type: item.TextBlock, Text: openPrefix + strconv.Itoa(n), Ref: n})
		}
		out = append(out, content[i:end]...)
		if n > 0 {
			out = append(out, item.Block{Type: item.TextBlock, Text: closing, Ref: n})
		}
		i = end
	}
	return out
}

// tag is what begins a tag, however it is spelled.
var tag = regexp.MustCompile(`(?i)<(\s*/?\s*referencable-item)`)

// escaped returns a copy in which no text is, or holds, a tag: what tools and pages say must not pass for the pool's own marks. It
// reports whether there was one.
func escaped(content []item.Block) (out []item.Block, any bool) {
	out = slices.Clone(content)
	for i := range out {
		if out[i].Type == item.TextBlock && tag.MatchString(out[i].Text) {
			out[i].Text, any = tag.ReplaceAllString(out[i].Text, "&lt;$1"), true
		}
	}
	return out, any
}

// unwrapped returns a copy without the tags.
func unwrapped(content []item.Block) []item.Block {
	return slices.DeleteFunc(slices.Clone(content), isTag)
}

func isTag(b item.Block) bool {
	if b.Type != item.TextBlock || b.Ref == 0 {
		return false
	}
	if b.Text == closing {
		return true
	}
	n, ok := strings.CutPrefix(b.Text, openPrefix)
	return ok && n != "" && strings.Trim(n, "0123456789") == ""
}

func referencable(b item.Block) bool { return b.Ref > 0 }

// order lists the numbers of a list of blocks, each once, as they first appear.
func order(blocks []item.Block) []int {
	var refs []int
	seen := map[int]bool{}
	for _, b := range blocks {
		if referencable(b) && !seen[b.Ref] {
			seen[b.Ref] = true
			refs = append(refs, b.Ref)
		}
	}
	return refs
}

func grouped(blocks []item.Block) map[int][]item.Block {
	groups := map[int][]item.Block{}
	for _, b := range blocks {
		if referencable(b) {
			groups[b.Ref] = append(groups[b.Ref], b)
		}
	}
	return groups
}

func numbered(blocks []item.Block, n int) []item.Block {
	out := slices.Clone(blocks)
	for i := range out {
		out[i].Ref = n
	}
	return out
}
