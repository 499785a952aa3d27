package export

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// slide is a heading and what is said under it.
type slide struct {
	title string
	first bool
	lines []slideLine
	shown *picture // instead of lines
	says  string   // of the picture
}

type slideLine struct {
	level int
	runs  []run
}

// mostLines is how much of a slide can be read from the last row, in lines of about lineLength letters.
const (
	mostLines  = 9
	lineLength = 70
)

// slides cuts a report at its headings; what is too much for one slide goes on on the next. A picture has one of its own.
func slides(doc document, o Options) []slide {
	all := []slide{{title: doc.title, first: true}}
	used := 0
	add := func(level int, runs []run) {
		last := &all[len(all)-1]
		need := 1 + len([]rune(plain(runs)))/lineLength
		if used > 0 && used+need > mostLines || last.first && len(all) > 1 {
			all = append(all, slide{title: last.title})
			last, used = &all[len(all)-1], 0
		}
		last.lines = append(last.lines, slideLine{level, runs})
		used += need
	}
	for _, b := range doc.blocks {
		switch b.kind {
		case heading:
			if title := plain(b.runs); b.level > 1 {
				all, used = append(all, slide{title: title}), 0
			} else if title != doc.title {
				all, used = append(all, slide{title: title}), 0
			}
		case table:
			for _, row := range b.rows {
				var cells []string
				for _, c := range row {
					cells = append(cells, plain(c))
				}
				add(0, []run{{text: strings.Join(cells, " · ")}})
			}
		case listItem:
			add(b.level, b.runs)
		case paragraph, code:
			rest, pictures := apart(b.runs, o)
			if len(rest) > 0 {
				add(0, rest)
			}
			for _, s := range pictures {
				s.title = all[len(all)-1].title
				all, used = append(all, s), mostLines // what comes next does not stand on it
			}
		case rule:
		}
	}
	for i, n := range doc.notes {
		if i == 0 {
			all, used = append(all, slide{title: doc.references}), 0
		}
		add(0, append([]run{{text: strconv.Itoa(i+1) + ". "}}, n...))
	}
	kept := all[:1]
	for _, s := range all[1:] {
		if len(s.lines) > 0 || s.shown != nil {
			kept = append(kept, s)
		}
	}
	return kept
}

// apart takes the pictures that can be shown out of a paragraph. What remains is empty if it says nothing.
func apart(runs []run, o Options) (rest []run, pictures []slide) {
	says := false
	for _, r := range runs {
		if r.picture != "" {
			if p, ok := o.picture(r.picture); ok {
				pictures = append(pictures, slide{shown: &p, says: r.text})
				continue
			}
		}
		rest = append(rest, r)
		says = says || r.picture != "" || r.note > 0 || strings.TrimSpace(r.text) != ""
	}
	if !says {
		return nil, pictures
	}
	return rest, pictures
}

// PPTX is a report as slides: one for each heading, and more where there is more to say than fits.
func PPTX(text string, o Options) ([]byte, error) {
	doc := read(text)
	doc.references = "References"
	if strings.HasPrefix(o.Locale, "zh") {
		doc.references = "参考文献"
	}
	all := slides(doc, o)
	var ids, parts, rels strings.Builder
	for i := range all {
		n := i + 1
		fmt.Fprintf(&ids, `<p:sldId id="%d" r:id="s%d"/>`, 256+i, n)
		fmt.Fprintf(&parts, `<Override PartName="/ppt/slides/slide%d.xml" ContentType="application/vnd.openxmlformats-officedocument.presentationml.slide+xml"/>`, n)
		fmt.Fprintf(&rels, `<Relationship Id="s%d" Type="%s/slide" Target="slides/slide%d.xml"/>`, n, officeRels, n)
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	type file struct{ name, data string }
	files := []file{
		{"[Content_Types].xml", fmt.Sprintf(slideTypes, parts.String())},
		{"_rels/.rels", fmt.Sprintf(relsFrame, `<Relationship Id="r1" Type="`+officeRels+`/officeDocument" Target="ppt/presentation.xml"/>`)},
		{"ppt/presentation.xml", fmt.Sprintf(presentation, ids.String())},
		{"ppt/_rels/presentation.xml.rels", fmt.Sprintf(relsFrame, `<Relationship Id="m1" Type="`+officeRels+`/slideMaster" Target="slideMasters/slideMaster1.xml"/>`+rels.String())},
		{"ppt/slideMasters/slideMaster1.xml", slideMaster},
		{"ppt/slideMasters/_rels/slideMaster1.xml.rels", fmt.Sprintf(relsFrame, `<Relationship Id="l1" Type="`+officeRels+`/slideLayout" Target="../slideLayouts/slideLayout1.xml"/><Relationship Id="t1" Type="`+officeRels+`/theme" Target="../theme/theme1.xml"/>`)},
		{"ppt/slideLayouts/slideLayout1.xml", slideLayout},
		{"ppt/slideLayouts/_rels/slideLayout1.xml.rels", fmt.Sprintf(relsFrame, `<Relationship Id="m1" Type="`+officeRels+`/slideMaster" Target="../slideMasters/slideMaster1.xml"/>`)},
		{"ppt/theme/theme1.xml", slideTheme},
	}
	for i, s := range all {
		leads := `<Relationship Id="l1" Type="` + officeRels + `/slideLayout" Target="../slideLayouts/slideLayout1.xml"/>`
		if s.shown != nil {
			name := fmt.Sprintf("media/picture%d.%s", i+1, s.shown.format)
			leads += `<Relationship Id="p1" Type="` + officeRels + `/image" Target="../` + name + `"/>`
			files = append(files, file{"ppt/" + name, string(s.shown.data)})
		}
		files = append(files,
			file{fmt.Sprintf("ppt/slides/slide%d.xml", i+1), s.xml(o.Locale)},
			file{fmt.Sprintf("ppt/slides/_rels/slide%d.xml.rels", i+1), fmt.Sprintf(relsFrame, leads)})
	}
	for _, f := range files {
		if err := add(z, f.name, []byte(f.data)); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// xml is a slide: a box for the title, and one for what is said.
func (s slide) xml(locale string) string {
	var b strings.Builder
	title := box{id: 2, kind: "title", x: 600000, y: 360000, width: 10990000, height: 1000000, size: 3200}
	if s.first {
		title.y, title.height, title.size = 1800000, 2000000, 4400
	}
	title.write(&b, []slideLine{{0, []run{{text: s.title, bold: true}}}}, locale)
	if len(s.lines) > 0 {
		text := box{id: 3, kind: "body", x: 600000, y: 1500000, width: 10990000, height: 4900000, size: 2000, marks: true}
		if s.first {
			text.y, text.height, text.marks = 3900000, 2500000, false
		}
		text.write(&b, s.lines, locale)
	}
	if p := s.shown; p != nil { // as large as fits below the title, in the middle
		const left, top, wide, high = 600000, 1500000, 10990000, 4900000
		width, height := wide, wide*p.height/p.width
		if height > high {
			width, height = high*p.width/p.height, high
		}
		fmt.Fprintf(&b, slidePicture, escape(s.says), left+(wide-width)/2, top+(high-height)/2, width, height)
	}
	return fmt.Sprintf(slideXML, b.String())
}

// box is a rectangle with text.
type box struct {
	id                  int
	kind                string
	x, y, width, height int
	size                int // of letters, in hundredths of a point
	marks               bool
}

func (b box) write(out *strings.Builder, lines []slideLine, locale string) {
	fmt.Fprintf(out, `<p:sp><p:nvSpPr><p:cNvPr id="%d" name="%s"/><p:cNvSpPr/><p:nvPr><p:ph type="%s"%s/></p:nvPr></p:nvSpPr><p:spPr><a:xfrm><a:off x="%d" y="%d"/><a:ext cx="%d" cy="%d"/></a:xfrm></p:spPr><p:txBody><a:bodyPr wrap="square"><a:normAutofit/></a:bodyPr><a:lstStyle/>`,
		b.id, b.kind, b.kind, map[bool]string{true: "", false: ` idx="1"`}[b.kind == "title"], b.x, b.y, b.width, b.height)
	for _, l := range lines {
		if b.marks {
			fmt.Fprintf(out, `<a:p><a:pPr marL="%d" indent="-285750"><a:spcAft><a:spcPts val="600"/></a:spcAft><a:buChar char="•"/></a:pPr>`, 285750*(l.level+1))
		} else {
			out.WriteString(`<a:p><a:pPr marL="0" indent="0"><a:buNone/></a:pPr>`)
		}
		for _, r := range l.runs {
			b.run(out, r, locale)
		}
		out.WriteString("</a:p>")
	}
	out.WriteString(`</p:txBody></p:sp>`)
}

func (b box) run(out *strings.Builder, r run, locale string) {
	text, raised := r.text, ""
	if r.note > 0 {
		text, raised = strconv.Itoa(r.note), ` baseline="30000"`
	}
	if r.picture != "" {
		text = mention(r).text
	}
	for _, p := range []struct {
		on   bool
		name string
	}{{r.bold, "b"}, {r.italic, "i"}} {
		if p.on {
			raised += fmt.Sprintf(` %s="1"`, p.name)
		}
	}
	fmt.Fprintf(out, `<a:r><a:rPr lang="%s" sz="%d"%s/><a:t>%s</a:t></a:r>`, escape(locale), b.size, raised, escape(strings.ReplaceAll(text, "\n", " ")))
}
