package export

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gobolditalic"
	"golang.org/x/image/font/gofont/goitalic"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
)

// FontError says that a font has no form for a letter of the text.
type FontError struct{ Letter rune }

func (e *FontError) Error() string {
	return fmt.Sprintf("the font has no form for the letter %q; choose a TrueType font that has", e.Letter)
}

const (
	body  = "text"
	fixed = "code"

	margin   = 25.0 // of a page, in millimetres
	line     = 5.6  // the height of a line of text
	textSize = 11.0
)

// headings are their sizes.
var headings = []float64{0, 20, 15, 12.5, 11.5, 11, 11}

// PDF is a report as pages. Citations lead to the notes at its end, and back. A text with letters for which there is no form is a [*FontError].
func PDF(text string, o Options) ([]byte, error) {
	w, err := newPDF(o)
	if err != nil {
		return nil, err
	}
	doc := read(text)
	w.SetTitle(doc.title, true)
	w.SetLang(o.Locale)
	w.AddPage()
	w.links = make([]notePlace, len(doc.notes))
	for i := range w.links {
		w.links[i] = notePlace{w.AddLink(), 0}
	}
	for _, b := range doc.blocks {
		w.block(b)
	}
	w.notes(doc.notes)
	if w.missing != 0 {
		return nil, &FontError{w.missing}
	}
	var out bytes.Buffer
	if err := w.Output(&out); err != nil {
		return nil, fmt.Errorf("make pages of a report: %w", err)
	}
	return out.Bytes(), nil
}

// pdf writes pages.
type pdf struct {
	*fpdf.Fpdf
	opt      Options
	face     *sfnt.Font
	buf      sfnt.Buffer
	missing  rune // a letter that the font does not have
	links    []notePlace
	pictures int
	pixels   int // of all pictures
}

// notePlace is where a note is, and where it was cited first.
type notePlace struct{ note, cited int }

func newPDF(o Options) (*pdf, error) {
	w := &pdf{Fpdf: fpdf.New("P", "mm", "A4", ""), opt: o}
	fonts := map[string][]byte{"": goregular.TTF, "B": gobold.TTF, "I": goitalic.TTF, "BI": gobolditalic.TTF}
	if o.Font != nil {
		fonts = map[string][]byte{"": o.Font, "B": o.Font, "I": o.Font, "BI": o.Font}
	}
	face, err := sfnt.Parse(fonts[""])
	if err != nil {
		return nil, fmt.Errorf("the font cannot be read; it must be a TrueType font (.ttf): %w", err)
	}
	w.face = face
	for style, data := range fonts {
		w.AddUTF8FontFromBytes(body, style, bytes.Clone(data))
	}
	mono := gomono.TTF
	if o.Font != nil {
		mono = o.Font
	}
	w.AddUTF8FontFromBytes(fixed, "", bytes.Clone(mono))
	if err := w.Error(); err != nil {
		return nil, fmt.Errorf("the font cannot be used: %w", err)
	}
	w.SetMargins(margin, margin, margin)
	w.SetAutoPageBreak(true, margin)
	w.AliasNbPages("")
	w.SetFooterFunc(func() {
		w.SetY(-15)
		w.SetFont(body, "", 9)
		w.SetTextColor(120, 120, 120)
		w.CellFormat(0, 8, fmt.Sprintf("%d / {nb}", w.PageNo()), "", 0, "C", false, 0, "")
	})
	return w, nil
}

// known leaves out of a text what the font cannot show, and notes the first letter of it.
func (w *pdf) known(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if i, err := w.face.GlyphIndex(&w.buf, r); err == nil && i != 0 {
			return r
		}
		switch {
		case unicode.IsLetter(r) && w.missing == 0:
			w.missing = r
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Mn, r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.So, r):
			return -1
		}
		return '?'
	}, text)
}

func (w *pdf) block(b block) {
	left := margin + 6*float64(b.quotes)
	size, height := textSize, line
	grey := 30
	switch b.kind {
	case table:
		w.table(b)
		return
	case rule:
		y := w.GetY() + 2
		w.SetDrawColor(190, 190, 190)
		w.Line(margin, y, 210-margin, y)
		w.Ln(6)
		return
	case heading:
		size = headings[min(b.level, 6)]
		height = size * 0.5
		w.Ln(size * 0.25)
		for i := range b.runs {
			b.runs[i].bold = true
		}
	case listItem:
		left += 6 * float64(b.level+1)
	case code:
		size, height = 9, 4.6
		left += 3
	case paragraph:
		if b.quotes > 0 {
			grey = 90
		}
	}
	w.SetLeftMargin(left)
	w.SetX(left)
	w.SetTextColor(grey, grey, grey)
	if b.mark != "" {
		w.SetFont(body, "", size)
		w.SetX(left - 6)
		w.CellFormat(6, height, w.known(b.mark), "", 0, "L", false, 0, "")
	}
	for _, r := range b.runs {
		w.run(r, size, height, grey)
	}
	w.Ln(height)
	w.SetLeftMargin(margin)
	if b.kind == listItem {
		w.Ln(1)
	} else {
		w.Ln(2.4)
	}
}

func (w *pdf) run(r run, size, height float64, grey int) {
	switch {
	case r.note > 0 && r.note <= len(w.links):
		w.SetFont(body, "", size)
		w.SetTextColor(11, 87, 208)
		if p := &w.links[r.note-1]; p.cited == 0 {
			p.cited = w.AddLink()
			w.SetLink(p.cited, w.GetY(), w.PageNo())
		}
		w.SubWrite(height, fmt.Sprint(r.note), size*0.65, size*0.35, w.links[r.note-1].note, "")
		w.SetTextColor(grey, grey, grey)
		return
	case r.note > 0:
		return
	case r.picture != "":
		if w.picture(r) {
			return
		}
		r = mention(r)
	}
	family, style := body, ""
	if r.mono {
		family = fixed
	} else {
		if r.bold {
			style += "B"
		}
		if r.italic {
			style += "I"
		}
	}
	w.SetFont(family, style, size)
	text := w.known(r.text)
	if r.link != "" {
		w.SetTextColor(11, 87, 208)
		w.WriteLinkString(height, text, r.link)
		w.SetTextColor(grey, grey, grey)
		return
	}
	w.Write(height, text)
}

// picture puts a picture on a line of its own.
func (w *pdf) picture(r run) bool {
	p, ok := w.opt.picture(r.picture)
	if !ok || w.pixels+p.width*p.height > allPixels {
		return false
	}
	w.pixels += p.width * p.height
	data, format, err := p.flat()
	if err != nil {
		return false
	}
	w.pictures++
	name := fmt.Sprintf("picture%d", w.pictures)
	w.RegisterImageOptionsReader(name, fpdf.ImageOptions{ImageType: format}, bytes.NewReader(data))
	if w.Err() {
		w.ClearError()
		return false
	}
	// As wide as it is, unless the page is narrower or not as high.
	width := min(210-2*margin, float64(p.width)*25.4/96, (297-3*margin)*float64(p.width)/float64(p.height))
	w.Ln(line)
	w.ImageOptions(name, w.GetX(), w.GetY(), width, 0, true, fpdf.ImageOptions{ImageType: format}, 0, "")
	w.Ln(2)
	return true
}

// table draws a grid. Cells are as wide as each other; what is in them is one size, and links are not led anywhere.
func (w *pdf) table(b block) {
	const size, height, pad = 9.5, 4.8, 1.2
	columns := 0
	for _, row := range b.rows {
		columns = max(columns, len(row))
	}
	if columns == 0 {
		return
	}
	width := (210 - 2*margin) / float64(columns)
	w.SetDrawColor(190, 190, 190)
	w.SetTextColor(30, 30, 30)
	for i, row := range b.rows {
		style := ""
		if i == 0 {
			style = "B"
		}
		w.SetFont(body, style, size)
		most := 1
		cells := make([][]string, columns)
		for c, cell := range row {
			cells[c] = w.SplitText(w.known(plain(cell)), width-2*pad)
			most = max(most, len(cells[c]))
		}
		tall := float64(most)*height + 2*pad
		if w.GetY()+tall > 297-margin {
			w.AddPage()
			w.SetFont(body, style, size)
		}
		x, y := margin, w.GetY()
		for _, lines := range cells {
			w.Rect(x, y, width, tall, "D")
			for n, text := range lines {
				w.SetXY(x+pad, y+pad+float64(n)*height)
				w.CellFormat(width-2*pad, height, text, "", 0, "L", false, 0, "")
			}
			x += width
		}
		w.SetXY(margin, y+tall)
	}
	w.Ln(4)
}

// plain is the text of runs.
func plain(runs []run) string {
	var b strings.Builder
	for _, r := range runs {
		if r.note > 0 {
			fmt.Fprintf(&b, " [%d]", r.note)
			continue
		}
		b.WriteString(r.text)
	}
	return b.String()
}

// notes writes what the citations lead to.
func (w *pdf) notes(notes [][]run) {
	if len(notes) == 0 {
		return
	}
	w.Ln(4)
	for i, n := range notes {
		const size, height = 9, 4.6
		w.SetLeftMargin(margin + 9)
		w.SetX(margin)
		w.SetLink(w.links[i].note, w.GetY(), w.PageNo())
		w.SetFont(body, "", size)
		w.SetTextColor(11, 87, 208)
		w.CellFormat(9, height, fmt.Sprintf("%d.", i+1), "", 0, "L", false, w.links[i].cited, "")
		w.SetTextColor(60, 60, 60)
		for _, r := range n {
			w.run(r, size, height, 60)
		}
		w.Ln(height + 1)
	}
	w.SetLeftMargin(margin)
}
