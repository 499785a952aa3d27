package document

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"
)

// readPDF reads the pages of a PDF. The library that takes the file apart trusts it, so [guardPDF] looks at it first and
// a budget ends what goes in circles.
func readPDF(data []byte, limits Limits) (Document, error) {
	if i := bytes.Index(data, []byte("%PDF-")); i > 0 { // some programs write something before it, and count from there
		data = data[i:]
	}
	if i := bytes.LastIndex(data, []byte("%%EOF")); i >= 0 {
		data = data[:i+len("%%EOF")]
	} else {
		return Document{}, refuse(Damaged, "its end is missing; fetch or save it again")
	}
	if err := guardPDF(data, limits); err != nil {
		return Document{}, err
	}
	head := data
	if len(data) > 9 { // the library knows versions to 1.7, and 2.0 is read in the same way
		head = append([]byte("%PDF-1.7\n"), data[9:]...)
	}
	objects := bytes.Count(data, []byte(" obj"))
	src := &budget{r: bytes.NewReader(head), reads: 10_000 + 200*objects + len(data)/16, left: 64*int64(len(data)) + 256<<20}
	r, err := pdf.NewReader(src, int64(len(head)))
	if err != nil {
		return Document{}, refuse(Damaged, "it is damaged (%v); save it again with the program that made it", err)
	}
	doc := Document{Title: r.Trailer().Key("Info").Key("Title").Text()}
	pages := pagesOf(r.Trailer().Key("Root").Key("Pages"), limits.Parts)
	if len(pages) == limits.Parts {
		doc.Truncated = true
	}
	fonts := map[string]*face{}
	total := 0
	for i, p := range pages {
		lines := pageLines(p, fonts)
		text := layOut(lines)
		if total += len(text); total > limits.Text {
			doc.Truncated = true
			doc.Sections = append(doc.Sections, Section{fmt.Sprintf("page %d", i+1), text})
			break
		}
		doc.Sections = append(doc.Sections, Section{fmt.Sprintf("page %d", i+1), text})
	}
	return doc, nil
}

const mostFrames = 10_000

// budget gives the bytes of a file so often and no more. What reads on after that has lost its way.
type budget struct {
	r     *bytes.Reader
	reads int
	left  int64
}

func (b *budget) ReadAt(p []byte, off int64) (int, error) {
	b.reads--
	b.left -= int64(len(p))
	var pc [1]uintptr
	if b.reads < 0 || b.left < 0 || runtime.Callers(mostFrames, pc[:]) > 0 { // the last: before the stack ends the process
		panic("its objects refer to each other in circles")
	}
	return b.r.ReadAt(p, off)
}

// pagesOf lists the leaves of the tree of pages.
func pagesOf(root pdf.Value, most int) []pdf.Page {
	var out []pdf.Page
	var walk func(v pdf.Value, depth int)
	walk = func(v pdf.Value, depth int) {
		kids := v.Key("Kids")
		if kids.Kind() != pdf.Array {
			if v.Kind() == pdf.Dict {
				out = append(out, pdf.Page{V: v})
			}
			return
		}
		for i := 0; i < kids.Len() && len(out) < most && depth < 64; i++ {
			walk(kids.Index(i), depth+1)
		}
	}
	walk(root, 0)
	return out
}

// face is a font with what is asked of it for every character.
type face struct {
	enc    pdf.TextEncoding
	widths map[int]float64 // of simple fonts, in thousandths
}

func faceOf(v pdf.Value) *face {
	f := pdf.Font{V: v}
	out := &face{enc: f.Encoder()}
	if v.Key("Subtype").Name() != "Type0" {
		first := f.FirstChar()
		w := f.Widths()
		if first >= 0 && first < 1<<16 && len(w) < 1<<16 {
			out.widths = make(map[int]float64, len(w))
			for i, x := range w {
				out.widths[first+i] = x
			}
		}
	}
	return out
}

// width is how far the text moves the pen, in thousandths of the size of the font.
func (f *face) width(raw, text string) float64 {
	sum := 0.0
	if f != nil && len(f.widths) > 0 {
		for i := range len(raw) {
			sum += f.widths[int(raw[i])]
		}
		return sum
	}
	for _, r := range text {
		switch {
		case r >= 0x2E80:
			sum += 1000
		case strings.ContainsRune("iljtf.,:;'|!()[] ", r):
			sum += 290
		default:
			sum += 520
		}
	}
	return sum
}

// run is a stretch of text at a place.
type run struct {
	x, y, end, size float64
	text            string
}

// line is what stands at one height.
type line struct {
	y, size float64
	text    string
}

const mostRuns = 200_000 // on a page

// pageLines reads what a page shows, in the order of the lines.
func pageLines(p pdf.Page, known map[string]*face) (out []line) {
	content := p.V.Key("Contents")
	if k := content.Kind(); k != pdf.Stream && k != pdf.Array {
		return nil
	}
	fonts := p.Resources().Key("Font")
	local := map[string]*face{}
	st := state{scale: 1, tm: [6]float64{1, 0, 0, 1, 0, 0}, ctm: [6]float64{1, 0, 0, 1, 0, 0}}
	var saved []state
	var runs []run
	show := func(raw string) {
		if len(runs) >= mostRuns {
			return
		}
		text := raw
		if st.font != nil && st.font.enc != nil {
			text = st.font.enc.Decode(raw)
		}
		m := mul(st.tm, st.ctm)
		size := st.size * math.Hypot(m[2], m[3])
		w := (st.font.width(raw, text)/1000*st.size + st.spacing*float64(utf8.RuneCountInString(text))) * st.scale
		st.tm[4] += w * st.tm[0]
		st.tm[5] += w * st.tm[1]
		if text = clean(text); text != "" {
			end := mul(st.tm, st.ctm)
			runs = append(runs, run{m[4], m[5], end[4], size, text})
		}
	}
	newline := func(tx, ty float64) {
		st.tlm = mul([6]float64{1, 0, 0, 1, tx, ty}, st.tlm)
		st.tm = st.tlm
	}
	pdf.Interpret(content, func(stk *pdf.Stack, op string) {
		args := make([]pdf.Value, min(stk.Len(), 8))
		for i := len(args) - 1; i >= 0; i-- {
			args[i] = stk.Pop()
		}
		for stk.Len() > 0 {
			stk.Pop()
		}
		num := func(i int) float64 {
			if i < len(args) {
				return args[i].Float64()
			}
			return 0
		}
		switch op {
		case "q":
			if len(saved) < 256 {
				saved = append(saved, st)
			}
		case "Q":
			if n := len(saved); n > 0 {
				st, saved = saved[n-1], saved[:n-1]
			}
		case "cm":
			st.ctm = mul([6]float64{num(0), num(1), num(2), num(3), num(4), num(5)}, st.ctm)
		case "BT":
			st.tm = [6]float64{1, 0, 0, 1, 0, 0}
			st.tlm = st.tm
		case "Tm":
			st.tm = [6]float64{num(0), num(1), num(2), num(3), num(4), num(5)}
			st.tlm = st.tm
		case "Td":
			newline(num(0), num(1))
		case "TD":
			st.leading = -num(1)
			newline(num(0), num(1))
		case "T*":
			newline(0, -st.leading)
		case "TL":
			st.leading = num(0)
		case "Tc":
			st.spacing = num(0)
		case "Tz":
			st.scale = num(0) / 100
		case "Tf":
			if len(args) < 2 {
				return
			}
			name := args[0].Name()
			if local[name] == nil {
				v := fonts.Key(name)
				key := v.String() // equal dictionaries are the same font on every page
				if known[key] == nil {
					known[key] = faceOf(v)
				}
				local[name] = known[key]
			}
			st.font, st.size = local[name], num(1)
		case "'", "\"":
			newline(0, -st.leading)
			fallthrough
		case "Tj":
			if len(args) > 0 {
				show(args[len(args)-1].RawString())
			}
		case "TJ":
			if len(args) == 0 {
				return
			}
			list := args[len(args)-1]
			for i := range list.Len() {
				x := list.Index(i)
				if x.Kind() == pdf.String {
					show(x.RawString())
					continue
				}
				w := -x.Float64() / 1000 * st.size * st.scale
				st.tm[4] += w * st.tm[0]
				st.tm[5] += w * st.tm[1]
			}
		}
	})
	return lines(runs)
}

type state struct {
	font           *face
	size, leading  float64
	spacing, scale float64
	tm, tlm, ctm   [6]float64
}

func mul(a, b [6]float64) [6]float64 {
	return [6]float64{
		a[0]*b[0] + a[1]*b[2], a[0]*b[1] + a[1]*b[3],
		a[2]*b[0] + a[3]*b[2], a[2]*b[1] + a[3]*b[3],
		a[4]*b[0] + a[5]*b[2] + b[4], a[4]*b[1] + a[5]*b[3] + b[5],
	}
}

// clean drops what no reader sees.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u00a0' || r == '\t' || r == '\n' || r == '\r':
			return ' '
		case r == '\u00ad' || unicode.IsControl(r) || r == utf8.RuneError || r >= 0xE000 && r <= 0xF8FF:
			return -1
		}
		return r
	}, s)
}

// lines puts the runs together that stand at one height, in the order in which the file shows them: columns stay columns.
func lines(runs []run) []line {
	var out []line
	var last run
	for i, r := range runs {
		size := max(r.size, 1)
		if i > 0 && math.Abs(r.y-last.y) < 0.4*size && r.x > last.x-0.5*size && len(out) > 0 {
			l := &out[len(out)-1]
			gap := r.x - last.end
			if gap > 0.18*size && !strings.HasSuffix(l.text, " ") && !strings.HasPrefix(r.text, " ") {
				l.text += " "
			}
			l.text += r.text
			l.size = max(l.size, r.size)
			last = r
			continue
		}
		out = append(out, line{r.y, r.size, r.text})
		last = r
	}
	return out
}

// layOut writes lines as paragraphs, and those in larger type as headings.
func layOut(ls []line) string {
	kept := ls[:0]
	for _, l := range ls {
		if l.text = strings.Join(strings.Fields(l.text), " "); l.text != "" {
			kept = append(kept, l)
		}
	}
	body := bodySize(kept)
	var b strings.Builder
	for i, l := range kept {
		heading := l.size > 1.15*body && utf8.RuneCountInString(l.text) <= 120
		if i > 0 {
			prev := kept[i-1]
			gap := prev.y - l.y
			prevHeading := prev.size > 1.15*body && utf8.RuneCountInString(prev.text) <= 120
			switch {
			case heading && prevHeading && math.Abs(prev.size-l.size) < 0.5 && gap > 0 && gap < 1.6*l.size: // a heading of two lines
				b.WriteString(" " + l.text)
				continue
			case heading || prevHeading || gap < 0 || gap > 1.75*max(l.size, 1):
				b.WriteString("\n\n")
			default:
				b.WriteByte('\n')
			}
		}
		if heading {
			level := 3
			switch {
			case l.size > 1.7*body:
				level = 1
			case l.size > 1.35*body:
				level = 2
			}
			b.WriteString(strings.Repeat("#", level) + " ")
		}
		b.WriteString(l.text)
	}
	return b.String()
}

// bodySize is the size in which most characters are set.
func bodySize(ls []line) float64 {
	count := map[int]int{}
	for _, l := range ls {
		count[int(math.Round(l.size*2))] += len(l.text)
	}
	sizes := make([]int, 0, len(count))
	for s := range count {
		sizes = append(sizes, s)
	}
	sort.Ints(sizes)
	best := 0
	for _, s := range sizes {
		if best == 0 || count[s] > count[best] {
			best = s
		}
	}
	return max(float64(best)/2, 1)
}
