package search

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/byline"
	"github.com/tributary-ai/tributary/internal/document"
	"github.com/tributary-ai/tributary/internal/pattern"
)

// Sizes of passages in characters. Paragraphs of a section are put together up to comfortable; a single one is
// cut only above longest. A passage is then long enough to be understood and short enough to be quoted.
const (
	comfortable = 900
	longest     = 1500
)

// Split cuts a document into passages. Their paths are the given one. It never fails: what is not Markdown is
// paragraphs.
func Split(file, text string) []Passage {
	return passagesOf(file, document.Document{Format: document.Markdown, Sections: []document.Section{{Text: text}}})
}

// passagesOf cuts what was read from a file into passages. Headings and anchors go on from section to section.
func passagesOf(file string, doc document.Document) []Passage {
	d := &splitter{path: file, title: doc.Title, author: doc.Author, date: doc.Date, slugs: map[string]int{}}
	for _, s := range doc.Sections {
		text := s.Text
		if !utf8.ValidString(text) { // which is known much sooner than it is mended
			text = strings.ToValidUTF8(text, "\uFFFD")
		}
		text = strings.TrimPrefix(text, "\ufeff")
		text = strings.ReplaceAll(text, "\r\n", "\n")
		d.lines, d.at, d.place = strings.Split(text, "\n"), 0, s.Place
		if doc.Format == document.Code {
			d.source()
		} else {
			d.lines = uncommented(d.lines)
			d.frontMatter()
			for d.at < len(d.lines) {
				d.block()
			}
		}
		d.flush()
		d.list = false
	}
	if d.title == "" {
		d.title = path.Base(file)
		if doc.Format != document.Code {
			d.title = strings.TrimSuffix(d.title, path.Ext(file))
		}
	}
	for i := range d.passages {
		d.passages[i].Title, d.passages[i].Author, d.passages[i].Date = d.title, d.author, d.date
	}
	return d.passages
}

// source cuts code where lines are blank, as its author parted it.
func (d *splitter) source() {
	for d.at < len(d.lines) {
		for d.at < len(d.lines) && strings.TrimSpace(d.lines[d.at]) == "" {
			d.at++
		}
		start := d.at
		for d.at < len(d.lines) && strings.TrimSpace(d.lines[d.at]) != "" {
			d.at++
		}
		d.add(start, strings.TrimRight(strings.Join(d.lines[start:d.at], "\n"), " \t"))
	}
}

// uncommented blanks out the comments of HTML, which no reader of the page sees, and keeps those in code. One that is
// never closed is no comment.
func uncommented(lines []string) []string {
	if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "<!--") }) {
		return lines
	}
	out := slices.Clone(lines)
	mark := "" // of the fence that is open
	for i := 0; i < len(out); i++ {
		if f := fence(out[i]); mark == "" && f != "" {
			mark = f
			continue
		} else if mark != "" {
			if t := strings.TrimSpace(out[i]); strings.HasPrefix(t, mark) && strings.Trim(t, mark[:1]) == "" {
				mark = ""
			}
			continue
		}
		for from := 0; ; {
			at := strings.Index(out[i][from:], "<!--")
			if at < 0 {
				break
			}
			at += from
			if strings.Count(out[i][:at], "`")%2 == 1 { // it is quoted
				from = at + 4
				continue
			}
			if end := strings.Index(out[i][at+4:], "-->"); end >= 0 {
				out[i] = out[i][:at] + out[i][at+4+end+3:]
				from = at
				continue
			}
			last := i + 1
			for last < len(out) && !strings.Contains(out[last], "-->") {
				last++
			}
			if last == len(out) {
				break
			}
			out[i] = out[i][:at]
			for j := i + 1; j < last; j++ {
				out[j] = ""
			}
			_, out[last], _ = strings.Cut(out[last], "-->")
			i = last - 1
			break
		}
	}
	return out
}

// splitter cuts one document.
type splitter struct {
	path  string
	place string // of the section
	lines []string
	at    int // the line to be read next

	title    string
	author   string
	date     string
	titled   bool // the first heading has been seen
	headings [7]string
	anchor   string
	slugs    map[string]int // how often an anchor has been given

	text     strings.Builder // of the passage being gathered
	size     int             // its characters
	line     int             // where it began
	list     bool            // the block before was a list
	passages []Passage
}

var (
	atx       = pattern.New(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	underline = pattern.New(`^ {0,3}(=+|-{2,})[ \t]*$`)
	listItem  = pattern.New(`^\s*(?:[-*+]|\d{1,9}[.)])\s`)
	ruler     = pattern.New(`^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$`)
	headingID = pattern.New(`[ \t]*\{:?[ \t]*#([^\s{}]+)[^{}]*\}[ \t]*$`)
	named     = pattern.New(`<a\s+(?:id|name)="([^"\s]+)"\s*/?>(?:</a>)?`)
	tags      = pattern.New(`</?[A-Za-z][^<>]*>`)
	link      = pattern.New(`!?\[([^\]]*)\]\([^)]*\)`)
)

// begins reports that a line has one of these characters first. Most lines do not, and need not be matched.
func begins(line, with string) bool {
	t := strings.TrimLeft(line, " \t\n\f\r")
	return t != "" && strings.IndexByte(with, t[0]) >= 0
}

func isRuler(line string) bool   { return begins(line, "*-_") && ruler.MatchString(line) }
func isHeading(line string) bool { return begins(line, "#") && atx.MatchString(line) }
func isItem(line string) bool    { return begins(line, "-*+0123456789") && listItem.MatchString(line) }

// frontMatter skips the settings at the top that many generators want, and takes the title, the author and the date from them.
func (d *splitter) frontMatter() {
	if len(d.lines) == 0 || strings.TrimRight(d.lines[0], " ") != "---" {
		return
	}
	said := map[string]string{}
	key := ""
	for i := 1; i < len(d.lines); i++ {
		l := strings.TrimRight(d.lines[i], " \r")
		if l == "---" || l == "..." {
			d.at = i + 1
			d.title = cmp.Or(d.title, strings.Trim(said["title"], `"'`))
			d.author = cmp.Or(d.author, byline.Author(strings.NewReplacer(`"`, "", "'", "").Replace(cmp.Or(said["author"], said["authors"]))))
			d.date = cmp.Or(d.date, byline.Date(said["date"]), byline.Date(said["published"]), byline.Date(said["updated"]))
			return
		}
		if one, ok := strings.CutPrefix(strings.TrimLeft(l, " "), "- "); ok && (key == "author" || key == "authors") {
			one = strings.TrimSpace(strings.TrimPrefix(one, "name: "))
			said[key] = strings.TrimPrefix(said[key]+", "+one, ", ")
			continue
		}
		if name, value, ok := strings.Cut(l, ":"); ok && !strings.HasPrefix(l, " ") {
			key = strings.ToLower(name)
			said[key] = strings.TrimSpace(value)
		}
	}
	// never closed: it was a ruler after all
}

// block reads one heading, paragraph, list, table or code.
func (d *splitter) block() {
	line := d.lines[d.at]
	switch {
	case strings.TrimSpace(line) == "":
		d.at++
	case isRuler(line): // the author parts what is before from what is after
		d.flush()
		d.list = false
		d.at++
	case isHeading(line):
		m := atx.FindStringSubmatch(line)
		d.at++
		d.heading(len(m[1]), m[2])
	case d.at+1 < len(d.lines) && begins(d.lines[d.at+1], "=-") && underline.MatchString(d.lines[d.at+1]) && !special(line):
		level := 2
		if strings.Contains(d.lines[d.at+1], "=") {
			level = 1
		}
		d.at += 2
		d.heading(level, line)
	case fence(line) != "":
		d.add(d.code())
		d.list = false
	default:
		start := d.at
		text, list := d.paragraph()
		d.add(start, text)
		d.list = list
	}
}

// special reports lines that are not prose: they keep their line breaks.
func special(line string) bool {
	t := strings.TrimSpace(line)
	return t != "" && strings.ContainsRune("|>", rune(t[0])) || strings.HasPrefix(t, "<") || fence(line) != ""
}

// fence is the mark that begins a block of code, or "".
func fence(line string) string {
	t := strings.TrimLeft(line, " \t")
	for _, c := range []string{"`", "~"} {
		if n := len(t) - len(strings.TrimLeft(t, c)); n >= 3 && !strings.Contains(t[n:], "`") {
			return t[:n]
		}
	}
	return ""
}

// code reads to the closing fence, or to the end where there is none.
func (d *splitter) code() (start int, text string) {
	start = d.at
	mark := fence(d.lines[d.at])
	for d.at++; d.at < len(d.lines); d.at++ {
		t := strings.TrimSpace(d.lines[d.at])
		if strings.HasPrefix(t, mark) && strings.Trim(t, mark[:1]) == "" {
			d.at++
			break
		}
	}
	return start, strings.TrimRight(strings.Join(d.lines[start:d.at], "\n"), "\n ")
}

// paragraph reads to the next blank line or other block. Lines of prose become one; items of a list, rows of a
// table and indented code stay apart.
func (d *splitter) paragraph() (text string, list bool) {
	var b strings.Builder
	indentedCode := !d.list && strings.HasPrefix(strings.ReplaceAll(d.lines[d.at], "\t", "    "), "    ")
	list = isItem(d.lines[d.at])
	for first := true; d.at < len(d.lines); d.at++ {
		line := d.lines[d.at]
		if strings.TrimSpace(line) == "" || !first && (isHeading(line) || fence(line) != "" || isRuler(line) && !indentedCode) {
			break
		}
		switch {
		case first:
			b.WriteString(strings.TrimRight(line, " \t"))
		case indentedCode || special(line) || special(d.lines[d.at-1]) || isItem(line) || strings.HasSuffix(d.lines[d.at-1], "  "):
			b.WriteString("\n" + strings.TrimRight(line, " \t"))
		default:
			soft(&b, strings.TrimSpace(line))
		}
		first = false
	}
	return b.String(), list
}

// soft joins two lines of prose.
func soft(b *strings.Builder, next string) {
	last, _ := utf8.DecodeLastRuneInString(b.String())
	first, _ := utf8.DecodeRuneInString(next)
	if !unspaced(last) || !unspaced(first) {
		b.WriteByte(' ')
	}
	b.WriteString(next)
}

// unspaced reports characters between which a line break is no space.
func unspaced(r rune) bool {
	return wide(r) || r >= 0x3000 && r <= 0x303F || r >= 0xFF00 && r <= 0xFFEF
}

// heading ends the section before it.
func (d *splitter) heading(level int, text string) {
	d.flush()
	d.list = false
	id := ""
	if strings.ContainsAny(text, "{<[`*") { // most headings are words alone
		if m := headingID.FindStringSubmatch(text); m != nil { // ## Heading {#id}
			id, text = m[1], headingID.ReplaceAllString(text, "")
		} else if m := named.FindStringSubmatch(text); m != nil { // ## <a id="id"></a>Heading
			id = m[1]
		}
		text = tags.ReplaceAllString(text, "")
		text = strings.NewReplacer("`", "", "**", "").Replace(link.ReplaceAllString(text, "$1"))
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	if d.anchor = id; id == "" {
		d.anchor = d.slug(text)
	}
	for i := level; i < len(d.headings); i++ {
		d.headings[i] = ""
	}
	if !d.titled && level == 1 && (d.title == "" || d.title == text) {
		d.title = text // and not part of the trail, which stands under the title
	} else {
		d.headings[level] = text
	}
	d.titled = true
}

// slug is the heading's anchor as the usual renderers make it.
func (d *splitter) slug(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	s := b.String()
	n := d.slugs[s]
	d.slugs[s]++
	if n > 0 {
		s += "-" + strconv.Itoa(n)
	}
	return s
}

// add puts a block into the passage being gathered, or begins a new one where it would grow too long. A block
// that is too long by itself becomes several passages.
func (d *splitter) add(start int, text string) {
	n := utf8.RuneCountInString(text)
	if d.size > 0 && d.size+n > comfortable {
		d.flush()
	}
	for n > longest {
		head := text[:cutAt(text)]
		if piece := strings.TrimSpace(head); piece != "" {
			d.line, d.size = start+1, len(piece)
			d.text.WriteString(piece)
			d.flush()
		}
		start += strings.Count(head, "\n")
		text = strings.TrimLeft(text[len(head):], " ")
		n = utf8.RuneCountInString(text)
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	if d.size == 0 {
		d.line = start + 1
	} else {
		d.text.WriteString("\n\n")
	}
	d.text.WriteString(text)
	d.size += n + 2 // with the blank line that parts blocks
}

// cutAt finds where to cut a text that is too long: after the last line, else sentence, else word that ends
// within the limit, else at the limit.
func cutAt(text string) int {
	limit := 0
	for i := range text { // the byte at which the comfortable size is reached
		if limit == comfortable {
			limit = i
			break
		}
		limit++
	}
	head := text[:limit]
	for _, end := range []string{"\n", ". ", "。", "! ", "? ", "！", "？", " "} {
		if i := strings.LastIndex(head, end); i > limit/3 {
			return i + len(end)
		}
	}
	return limit
}

// flush ends the passage being gathered.
func (d *splitter) flush() {
	if d.size > 0 {
		var trail []string
		for _, h := range d.headings {
			if h != "" {
				trail = append(trail, h)
			}
		}
		d.passages = append(d.passages, Passage{Trail: trail, Path: d.path, Anchor: d.anchor, Line: d.line, Place: d.place, Text: d.text.String()})
	}
	d.text.Reset()
	d.size = 0
}
