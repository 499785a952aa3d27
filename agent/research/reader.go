package research

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/pattern"
	"github.com/tributary-ai/tributary/internal/prose"
)

// mark stands behind a citation that the check did not confirm.
const mark = " ⚠"

// reader reads a report as it streams. It checks each group of citations when the next word begins, marks those that
// it doubts, and drops a list of references that the model wrote itself. What it holds back is at most one heading.
type reader struct {
	judge  *judge
	doubts []Doubt
	open   []Claim // that words alone can neither confirm nor doubt

	held     string          // not decided yet
	newline  bool            // held begins a line
	dropping bool            // inside a list of references
	text     strings.Builder // of the paragraph since the last group, without markers
	claim    string          // of the last group
	group    []int           // of markers that stand together
	gap      string          // between the group and what follows, held back for the mark
}

func newReader(question string, look func(int) (Source, bool)) *reader {
	return &reader{judge: newJudge(question, look), newline: true}
}

// Check looks at every citation of a text and returns those that their passages do not bear out.
func Check(text, question string, look func(int) (Source, bool)) []Doubt {
	r := newReader(question, look)
	r.feed(text)
	r.end()
	return r.doubts
}

// Open are the claims of a text that [Check] does not doubt, and that comparing words cannot confirm either: what is said in other
// words, in another language, or concluded.
func Open(text, question string, look func(int) (Source, bool)) []Claim {
	r := newReader(question, look)
	r.feed(strings.ReplaceAll(text, "]"+mark, "]"))
	r.end()
	return r.open
}

var (
	ownReferences = pattern.New(`(?i)^#{1,6}\s*(?:\d+[.)]?\s*)?(?:\**)(?:key citations|references|reference list|sources|citations|bibliography|works cited|参考文献|参考资料|引用|引用来源|资料来源|来源)(?:\**)\s*:?\s*$`)
	definition    = pattern.New(`^\[\^[0-9]+\]:`)
	partMarker    = pattern.New(`^\[(?:\^(?:[0-9]{0,9}\]?)?)?$`)
	wholeMarker   = pattern.New(`^\[\^([0-9]{1,9})\]`)
)

// feed takes the next piece and returns what may be shown.
func (r *reader) feed(delta string) string {
	r.held += delta
	var out strings.Builder
	for r.held != "" && r.next(&out, false) {
	}
	return out.String()
}

// end returns what is left.
func (r *reader) end() string {
	var out strings.Builder
	for r.held != "" && r.next(&out, true) {
	}
	out.WriteString(r.close())
	return out.String()
}

// next decides about the beginning of what is held; false if more must come first.
func (r *reader) next(out *strings.Builder, last bool) bool {
	if r.newline {
		return r.line(out, last)
	}
	i := strings.IndexAny(r.held, "[\n")
	switch {
	case i < 0:
		i = len(r.held)
	case i == 0 && r.held[0] == '\n':
		r.take(out, "\n")
		r.newline = true
		return true
	case i == 0:
		if m := wholeMarker.FindStringSubmatch(r.held); m != nil {
			n, _ := strconv.Atoi(m[1])
			r.cite(n)
			out.WriteString(r.gap + m[0])
			r.gap = ""
			r.held = r.held[len(m[0]):]
			return true
		}
		if partMarker.MatchString(r.held) && !last {
			return false
		}
		i = 1
	}
	r.take(out, r.held[:i])
	return true
}

// line decides about a line by how it begins.
func (r *reader) line(out *strings.Builder, last bool) bool {
	end := strings.IndexByte(r.held, '\n')
	whole := end >= 0 || last
	if end < 0 {
		end = len(r.held) - 1
	}
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(r.held, " \t"))
	switch {
	case first == utf8.RuneError && !whole: // only spaces so far
		return false
	case first == '#':
		if !whole {
			return false
		}
		out.WriteString(r.close())
		r.paragraph()
		heading := r.held[:end+1]
		if r.dropping = ownReferences.MatchString(strings.TrimSpace(heading)); !r.dropping {
			out.WriteString(heading)
		}
		r.held = r.held[end+1:]
		return true
	case r.dropping:
		if !whole {
			return false
		}
		r.held = r.held[end+1:]
		return true
	case first == '[':
		if definition.MatchString(r.held) {
			if !whole {
				return false
			}
			r.held = r.held[end+1:]
			return true
		}
		if !last && (partMarker.MatchString(r.held) || wholeMarker.FindString(r.held) == r.held) {
			return false
		}
	case first == '\n', first == '-', first == '*', first == '+', first == '>', first == '|', first >= '0' && first <= '9':
		out.WriteString(r.close())
		r.paragraph()
	}
	r.newline = false
	return true
}

// take shows some text.
func (r *reader) take(out *strings.Builder, text string) {
	r.held = r.held[len(text):]
	if len(r.group) > 0 {
		rest := strings.TrimLeftFunc(text, between)
		r.gap += text[:len(text)-len(rest)]
		if rest == "" {
			return
		}
		out.WriteString(r.close())
		text = rest
	}
	out.WriteString(text)
	r.text.WriteString(text)
}

// between reports what may stand between the citations of a group.
func between(r rune) bool {
	return unicode.IsSpace(r) || r == ',' || r == ';' || r == '、' || r == '，'
}

func (r *reader) paragraph() { r.text.Reset(); r.claim = "" }

// cite adds a citation to the group.
func (r *reader) cite(n int) {
	if len(r.group) == 0 {
		if said := strings.TrimFunc(r.text.String(), between); strings.Trim(said, " .。!?！？:：") != "" {
			r.claim = claimOf(r.text.String())
		}
	}
	r.text.Reset()
	r.group = append(r.group, n)
}

// close judges the group and returns its mark, with what stood behind it.
func (r *reader) close() string {
	if len(r.group) == 0 {
		return ""
	}
	found := r.judge.judge(r.claim, r.group)
	gap, group := r.gap, r.group
	r.group, r.gap = nil, ""
	if len(found) == 0 {
		if !r.judge.sure(r.claim, group) {
			r.open = append(r.open, Claim{group, r.claim})
		}
		return gap
	}
	r.doubts = append(r.doubts, found...)
	return mark + gap
}

// claimOf is the part of a text that a citation behind it speaks for: its last sentence, or all of a quotation that ends
// there.
func claimOf(text string) string {
	list := prose.Sentences(strings.Join(strings.Fields(text), " "))
	if len(list) == 0 {
		return strings.TrimSpace(text)
	}
	claim := list[len(list)-1]
	for i := len(list) - 2; i >= 0; i-- {
		if strings.Count(claim, "”") <= strings.Count(claim, "“") && strings.Count(claim, "」") <= strings.Count(claim, "「") {
			break
		}
		claim = list[i] + " " + claim
	}
	return claim
}
