package export

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// DOCX is a report as a document for word processors. Citations are footnotes.
func DOCX(text string, o Options) ([]byte, error) {
	doc := read(text)
	w := &docx{opt: o, cited: map[int]bool{}, rels: []relation{
		{"styles", "styles.xml", false}, {"footnotes", "footnotes.xml", false},
	}}
	for _, b := range doc.blocks {
		w.block(&w.body, b)
	}
	body := w.body.String()
	notes := w.notes(doc.notes)

	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, part := range []struct{ name, data string }{
		{"[Content_Types].xml", contentTypes},
		{"_rels/.rels", packageRels},
		{"docProps/core.xml", fmt.Sprintf(coreProperties, escape(doc.title), escape(o.Locale))},
		{"word/styles.xml", fmt.Sprintf(styles, escape(o.Locale), escape(eastAsian(o.Locale)))},
		{"word/footnotes.xml", notes.text},
		{"word/_rels/footnotes.xml.rels", notes.rels},
		{"word/document.xml", fmt.Sprintf(documentXML, body)},
		{"word/_rels/document.xml.rels", relations(w.rels)},
	} {
		if err := add(z, part.name, []byte(part.data)); err != nil {
			return nil, err
		}
	}
	for i, p := range w.pictures {
		if err := add(z, fmt.Sprintf("word/media/picture%d.%s", i+1, p.format), p.data); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func add(z *zip.Writer, name string, data []byte) error {
	f, err := z.Create(name)
	if err == nil {
		_, err = f.Write(data)
	}
	return err
}

func eastAsian(locale string) string {
	if strings.HasPrefix(locale, "zh") || strings.HasPrefix(locale, "ja") || strings.HasPrefix(locale, "ko") {
		return locale
	}
	return "zh-CN"
}

// docx writes the parts of a document.
type docx struct {
	opt      Options
	body     strings.Builder
	rels     []relation
	pictures []picture
	cited    map[int]bool // notes
}

// relation leads from one part to another, or out of the document. Its id is its place in the list.
type relation struct {
	kind, target string
	external     bool
}

func relations(all []relation) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8" standalone="yes"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`)
	for i, r := range all {
		mode := ""
		if r.external {
			mode = ` TargetMode="External"`
		}
		fmt.Fprintf(&b, `<Relationship Id="r%d" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s" Target="%s"%s/>`, i+1, r.kind, escape(r.target), mode)
	}
	b.WriteString(`</Relationships>`)
	return b.String()
}

func (w *docx) relate(kind, target string, external bool) string {
	for i, r := range w.rels {
		if r == (relation{kind, target, external}) {
			return "r" + strconv.Itoa(i+1)
		}
	}
	w.rels = append(w.rels, relation{kind, target, external})
	return "r" + strconv.Itoa(len(w.rels))
}

// block writes a paragraph or a table.
func (w *docx) block(out *strings.Builder, b block) {
	indent := 360 * b.quotes
	style := ""
	switch b.kind {
	case heading:
		style = "Heading" + strconv.Itoa(min(b.level, 6))
	case code:
		style = "Code"
	case table:
		w.table(out, b)
		return
	case rule:
		out.WriteString(`<w:p><w:pPr><w:pBdr><w:bottom w:val="single" w:sz="6" w:space="1" w:color="999999"/></w:pBdr></w:pPr></w:p>`)
		return
	case listItem:
		indent += 360 * (b.level + 1)
	case paragraph:
		if b.quotes > 0 {
			style = "Quote"
		}
	}
	out.WriteString("<w:p><w:pPr>")
	if style != "" {
		fmt.Fprintf(out, `<w:pStyle w:val="%s"/>`, style)
	}
	hanging := ""
	if b.mark != "" {
		fmt.Fprintf(out, `<w:tabs><w:tab w:val="left" w:pos="%d"/></w:tabs>`, indent)
		hanging = ` w:hanging="360"`
	}
	if b.kind == listItem {
		out.WriteString(`<w:spacing w:after="60"/>`)
	}
	if indent > 0 {
		fmt.Fprintf(out, `<w:ind w:left="%d"%s/>`, indent, hanging)
	}
	out.WriteString("</w:pPr>")
	if b.mark != "" {
		fmt.Fprintf(out, `<w:r><w:t>%s</w:t></w:r><w:r><w:tab/></w:r>`, escape(b.mark))
	}
	w.runs(out, b.runs)
	out.WriteString("</w:p>")
}

func (w *docx) table(out *strings.Builder, b block) {
	out.WriteString(`<w:tbl><w:tblPr><w:tblStyle w:val="Grid"/><w:tblW w:w="0" w:type="auto"/></w:tblPr><w:tblGrid>`)
	for range b.rows[0] {
		out.WriteString(`<w:gridCol/>`)
	}
	out.WriteString(`</w:tblGrid>`)
	for _, row := range b.rows {
		out.WriteString("<w:tr>")
		for _, cell := range row {
			out.WriteString(`<w:tc><w:tcPr><w:tcW w:w="0" w:type="auto"/></w:tcPr><w:p>`)
			w.runs(out, cell)
			out.WriteString("</w:p></w:tc>")
		}
		out.WriteString("</w:tr>")
	}
	out.WriteString("</w:tbl><w:p/>")
}

func (w *docx) runs(out *strings.Builder, runs []run) {
	for _, r := range runs {
		switch {
		case r.note > 0 && w.cited[r.note]: // a note hangs on one place; others show its number
			fmt.Fprintf(out, `<w:r><w:rPr><w:rStyle w:val="NoteMark"/></w:rPr><w:t>%d</w:t></w:r>`, r.note)
		case r.note > 0:
			w.cited[r.note] = true
			fmt.Fprintf(out, `<w:r><w:rPr><w:rStyle w:val="NoteMark"/></w:rPr><w:footnoteReference w:id="%d"/></w:r>`, r.note)
		case r.picture != "":
			w.picture(out, r)
		case r.link != "":
			fmt.Fprintf(out, `<w:hyperlink r:id="%s">`, w.relate("hyperlink", r.link, true))
			w.run(out, r)
			out.WriteString("</w:hyperlink>")
		default:
			w.run(out, r)
		}
	}
}

func (w *docx) run(out *strings.Builder, r run) {
	out.WriteString("<w:r><w:rPr>")
	if r.link != "" {
		out.WriteString(`<w:rStyle w:val="Link"/>`)
	}
	if r.mono {
		out.WriteString(`<w:rFonts w:ascii="Consolas" w:hAnsi="Consolas" w:cs="Consolas"/>`)
	}
	for _, p := range []struct {
		on   bool
		name string
	}{{r.bold, "b"}, {r.italic, "i"}, {r.struck, "strike"}} {
		if p.on {
			fmt.Fprintf(out, "<w:%s/>", p.name)
		}
	}
	out.WriteString("</w:rPr>")
	for i, line := range strings.Split(r.text, "\n") {
		if i > 0 {
			out.WriteString("<w:br/>")
		}
		fmt.Fprintf(out, `<w:t xml:space="preserve">%s</w:t>`, escape(line))
	}
	out.WriteString("</w:r>")
}

// emu is how many units of a drawing a pixel is; pageWidth, how many fit beside each other.
const (
	emu       = 9525
	pageWidth = 5760000
)

func (w *docx) picture(out *strings.Builder, r run) {
	p, ok := w.opt.picture(r.picture)
	if !ok {
		w.run(out, mention(r))
		return
	}
	w.pictures = append(w.pictures, p)
	n := len(w.pictures)
	id := w.relate("image", fmt.Sprintf("media/picture%d.%s", n, p.format), false)
	width := min(p.width*emu, pageWidth)
	height := width * p.height / p.width
	fmt.Fprintf(out, drawing, width, height, n, escape(r.text), n, n, id, width, height)
}

// part is one part of a document and where it leads.
type part struct{ text, rels string }

// notes writes the footnotes, whose links are their own part's.
func (w *docx) notes(notes [][]run) part {
	own := &docx{cited: map[int]bool{}}
	var b strings.Builder
	b.WriteString(notesHead)
	for i, n := range notes {
		fmt.Fprintf(&b, `<w:footnote w:id="%d"><w:p><w:pPr><w:pStyle w:val="NoteText"/></w:pPr><w:r><w:rPr><w:rStyle w:val="NoteMark"/></w:rPr><w:footnoteRef/></w:r><w:r><w:t xml:space="preserve"> </w:t></w:r>`, i+1)
		own.runs(&b, n)
		b.WriteString("</w:p></w:footnote>")
	}
	b.WriteString("</w:footnotes>")
	return part{b.String(), relations(own.rels)}
}

// escape writes text for XML. What XML cannot hold is replaced.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes everything
	return b.String()
}
