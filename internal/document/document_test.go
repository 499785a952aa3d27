package document

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

func read(t testing.TB, name string, data []byte) (Document, error) {
	t.Helper()
	return Read(name, bytes.NewReader(data), int64(len(data)), Limits{})
}

func sample(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The files were made by LibreOffice 7.4 and Chromium.
func TestFilesOfOtherProgramsAreRead(t *testing.T) {
	for name, want := range map[string]struct {
		title  string
		places string
		says   []string
		not    []string
	}{
		"guide.html": {"Harbour guide", "", []string{"# Harbour guide\n", "## Berths\n", "- Water is free of charge", "| 10 metres | 25 euros |", "## 潮汐", "退潮时请在外面等待"}, []string{"<p>", "<h1>"}},
		"guide.docx": {"Harbour guide", "", []string{"# Harbour guide\n", "## Berths\n", "- Water is free of charge", "| 10 metres | 25 euros |", "## 潮汐", "退潮时请在外面等待"}, nil},
		"guide.epub": {"", "chapter 1", []string{"Harbour guide", "A berth is reserved for two nights at most.", "退潮时请在外面等待"}, nil},
		"fees.xlsx":  {"", "sheet fees", []string{"## fees", "| Month | Ships | Income |", "| January | 12 | 340.5 |", "| 七月 | 77 | 2040.25 |"}, nil},
		"voyage.docx": {"Voyage log", "", []string{
			"# Voyage log\n", "We left Genoa", "From the old pier.", "## Provisions\n", "- Water\n", "  - forty barrels below deck", `| Harbour | Days \| nights |`, "Malaga", "three inside",
			"### 航线\n", "绕过岬角之后向西南航行。", "the chart",
		}, nil},
		"ledger.xlsx": {"", "sheet Crew,sheet Stores", []string{
			"## Crew", "| Name | Hired | Pay | Share |", "| Ana & Luis | 2024-03-09 | 120 |", "| 船长 |", "| 300 |", "Below deck", "| Rope | 1234.5 |",
		}, []string{"C2*2.5", "Empty"}},
		"report.pptx":     {"", "slide 1,slide 2", []string{"## Harbour report", "Seventy-seven ships in July", "## 明年计划", "The crane will be replaced in spring"}, nil},
		"libreoffice.pdf": {"Harbour guide", "page 1", []string{"# Harbour guide", "Ships report to the harbour master before they enter.", "Berths", "Power costs four euros"}, nil},
		"chromium.pdf":    {"Harbour guide", "page 1", []string{"# Harbour guide", "Ships report to the harbour master before they enter.", "Berths", "Power costs four euros"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := read(t, name, sample(t, name))
			if err != nil {
				t.Fatal(err)
			}
			var places []string
			for _, s := range doc.Sections {
				if s.Place != "" {
					places = append(places, s.Place)
				}
			}
			if want.title != "" && doc.Title != want.title {
				t.Errorf("title %q, want %q", doc.Title, want.title)
			}
			if got := strings.Join(places, ","); got != want.places {
				t.Errorf("places %q, want %q", got, want.places)
			}
			text := doc.Markdown()
			for _, s := range want.says {
				if !strings.Contains(text, s) {
					t.Errorf("%q is not in\n%s", s, text)
				}
			}
			for _, s := range want.not {
				if strings.Contains(text, s) {
					t.Errorf("%q is in\n%s", s, text)
				}
			}
			// A file is read for what it is, whatever its name says.
			if f := FormatOf(name); f != HTML {
				if again, err := read(t, "renamed.md", sample(t, name)); err != nil || again.Format != f {
					t.Errorf("renamed: %v, %v", again.Format, err)
				}
			}
		})
	}
}

func TestTextsAreDecoded(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"utf8.txt":  {"Größe 日志", "Größe 日志"},
		"bom.md":    {"\xef\xbb\xbf# T", "# T"},
		"utf16.txt": {"\xff\xfeh\x00i\x00\xe5\x65", "hi日"},
		"gbk.txt":   {"\xc8\xd5\xd6\xbe\xca\xc7\xd3\xd0\xd0\xf2\xb5\xc4\xca\xc2\xbc\xfe", "日志是有序的事件"},
		"win.txt":   {"caf\xe9 \x93quoted\x94", "café “quoted”"},
		"gbk.html":  {"<meta charset=gbk><p>\xc8\xd5\xd6\xbe", "日志"},
		"main.go":   {"package main\n", "package main\n"},
	} {
		doc, err := read(t, name, []byte(c.data))
		if err != nil || len(doc.Sections) != 1 || doc.Sections[0].Text != c.want {
			t.Errorf("%s: %+v, %v; want %q", name, doc, err, c.want)
		}
	}
	doc, err := read(t, "main.go", []byte("a := \"```\"\n"))
	if err != nil || doc.Markdown() != "````\na := \"```\"\n````\n" {
		t.Errorf("code with fences: %q, %v", doc.Markdown(), err)
	}
}

func TestSlidesHaveTitles(t *testing.T) {
	doc, err := read(t, "a.pptx", pack(t, map[string]string{
		"ppt/presentation.xml":            `<p xmlns:r="r"><sldIdLst><sldId id="256" r:id="r1"/></sldIdLst></p>`,
		"ppt/_rels/presentation.xml.rels": `<R><Relationship Id="r1" Type="x/slide" Target="slides/s.xml"/></R>`,
		"ppt/slides/s.xml":                `<s><sp><ph type="title"/><p><t>Plans</t></p></sp><sp><ph/><p><t>first</t></p><p><pPr lvl="1"/><t>below</t></p></sp><sp><ph type="sldNum"/><p><t>7</t></p></sp></s>`,
		"ppt/slides/_rels/s.xml.rels":     `<R><Relationship Id="n" Type="x/notesSlide" Target="../notesSlides/n.xml"/></R>`,
		"ppt/notesSlides/n.xml":           `<s><sp><ph type="body"/><p><t>Say hello.</t></p></sp></s>`,
	}))
	if want := "## Plans\n\n\n- first\n  - below\n\n\nSay hello.\n\n\n"; err != nil || doc.Sections[0].Text != want {
		t.Errorf("got %q, %v, want %q", doc.Sections, err, want)
	}
}

func TestHeadingsOfPagesKeepTheirAnchors(t *testing.T) {
	doc, err := read(t, "a.html", []byte(`<title>T</title><script>alert(1)</script><!-- hidden --><nav>menu</nav><h2 id="fees">What it costs</h2><p>snake_case & more</p>`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := doc.Sections[0].Text, "## What it costs {#fees}\n\nsnake_case & more"; strings.TrimSpace(got) != want || doc.Title != "T" {
		t.Errorf("got %q of %q, want %q", got, doc.Title, want)
	}
}

func TestFilesSayWhoWroteThemAndWhen(t *testing.T) {
	const core = `<c xmlns:dc="d" xmlns:dcterms="t"><dc:title>Fees</dc:title><dc:creator>Maria Huber</dc:creator><dcterms:created>2023-01-02T03:04:05Z</dcterms:created><dcterms:modified>2024-05-31T10:00:00Z</dcterms:modified></c>`
	for name, data := range map[string][]byte{
		"a.docx": pack(t, map[string]string{"word/document.xml": `<d><body><p><r><t>Text.</t></r></p></body></d>`, "docProps/core.xml": core}),
		"a.html": []byte(`<title>Fees</title><meta name="Author" content="Maria Huber"><meta property="article:published_time" content="2024-05-31T10:00:00+02:00"><meta name="date" content="1999-01-01"><p>Text.</p>`),
		"a.pdf":  pdfOf([]string{catalog, onePage, page, streamOf("", hello), font}, "/Info << /Title (Fees) /Author (Maria Huber) /CreationDate (D:20240531100000+02'00') >>"),
		"a.epub": pack(t, map[string]string{
			"mimetype": "application/epub+zip", "META-INF/container.xml": `<c><rootfiles><rootfile full-path="b.opf"/></rootfiles></c>`,
			"b.opf":  `<p xmlns:dc="d"><metadata><dc:title>Fees</dc:title><dc:creator>Maria Huber</dc:creator><dc:creator>Somebody Else</dc:creator><dc:date>2024-05-31</dc:date></metadata><manifest><item id="i" href="c.html" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="i"/></spine></p>`,
			"c.html": "<p>Text.</p>",
		}),
	} {
		doc, err := read(t, name, data)
		if err != nil || doc.Title != "Fees" || doc.Author != "Maria Huber" || doc.Date != "2024-05-31" {
			t.Errorf("%s: got %q by %q of %q, %v; want Fees by Maria Huber of 2024-05-31", name, doc.Title, doc.Author, doc.Date, err)
		}
	}
}

// pack makes an archive.
func pack(t testing.TB, parts map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range parts {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pdfOf is a file of the given objects, with a table that finds them.
func pdfOf(objects []string, trailer string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	var at []int
	for i, o := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, a := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", a)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, trailer, start)
	return b.Bytes()
}

func deflated(s string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write([]byte(s)) // to memory
	_ = w.Close()
	return b.String()
}

func streamOf(dict, data string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(data), data)
}

const (
	catalog = "<< /Type /Catalog /Pages 2 0 R >>"
	onePage = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
	page    = "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>"
	font    = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
	hello   = "BT /F 12 Tf 50 700 Td (Hello there) Tj ET"
)

func TestASmallPDFIsRead(t *testing.T) {
	for name, content := range map[string]string{
		"plain":      streamOf("", hello),
		"compressed": streamOf("/Filter /FlateDecode", deflated(hello)),
	} {
		data := pdfOf([]string{catalog, onePage, page, content, font}, "")
		for _, d := range [][]byte{data, append([]byte("junk\n"), data...)[5:], bytes.Replace(data, []byte("%PDF-1.4"), []byte("%PDF-2.0"), 1)} {
			if doc, err := read(t, "a.pdf", d); err != nil || doc.Sections[0].Text != "Hello there" {
				t.Errorf("%s: %+v, %v", name, doc, err)
			}
		}
	}
}

// What a PDF says of itself is not believed, so these are read although others stop at them.
func TestAPDFIsReadAsFarAsItGoes(t *testing.T) {
	plain := []string{catalog, onePage, page, streamOf("", hello), font}
	circle := pdfOf(plain, "/Prev 0000000000")
	for name, data := range map[string][]byte{
		"earlier tables in a circle": bytes.Replace(circle, []byte("/Prev 0000000000"), fmt.Appendf(nil, "/Prev %010d", bytes.Index(circle, []byte("xref\n0"))), 1),
		"rows of any width":          pdfOf([]string{catalog, onePage, page, streamOf("/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 9999999999 >>", deflated(hello)), font}, ""),
		"a wrong table":              bytes.Replace(pdfOf(plain, ""), []byte("xref\n0 6"), []byte("xref\n999999999 6"), 1),
		"without its end":            pdfOf(plain, "")[:bytes.Index(pdfOf(plain, ""), []byte("xref"))],
		"in a form": pdfOf([]string{catalog, onePage, strings.Replace(page, "/Font", "/XObject << /X 6 0 R >> /Font", 1), streamOf("", "/X Do"), font,
			streamOf("/Subtype /Form", hello)}, ""),
	} {
		if doc, err := read(t, "a.pdf", data); err != nil || doc.Markdown() == "" || doc.Sections[0].Text != "Hello there" {
			t.Errorf("%s: %+v, %v", name, doc, err)
		}
	}
}

// Whatever is wrong with a file: a sentence says so, and reading it costs little.
func TestBadFilesGiveASentence(t *testing.T) {
	doc := func(body string) map[string]string { return map[string]string{"word/document.xml": body} }
	deep := strings.Repeat("[", 200_000)
	bomb := strings.Repeat("\x00", 6<<20)
	entities := `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><x>&b;</x>`
	table := func(rows string) []byte { // a table of objects that is a stream
		var b bytes.Buffer
		b.WriteString("%PDF-1.5\n")
		at := b.Len()
		fmt.Fprintf(&b, "9 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF\n", streamOf("/Type /XRef /Size 20 /W [1 2 1] /Index [5 1] /Root 5 0 R", rows), at)
		return b.Bytes()
	}
	for name, c := range map[string]struct {
		data []byte
		why  Why
	}{
		"empty.pdf":     {nil, Empty},
		"not.pdf":       {[]byte("hello"), Damaged},
		"cut.pdf":       {sample(t, "libreoffice.pdf")[:9000], Damaged},
		"locked.pdf":    {sample(t, "locked.pdf"), Protected},
		"picture.pdf":   {pdfOf([]string{catalog, onePage, page, streamOf("", "q Q"), font}, ""), Empty},
		"cut.docx":      {sample(t, "guide.docx")[:3000], Damaged},
		"locked.docx":   {append([]byte{0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1}, utf16le("EncryptedPackage")...), Protected},
		"voyage.doc":    {sample(t, "voyage.doc"), Unknown},
		"old.doc":       {append([]byte{0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1}, utf16le("WordDocument")...), Unknown},
		"photo.png":     {[]byte("\x89PNG"), Unknown},
		"binary.txt":    {[]byte("a\x00b"), Unknown},
		"any.zip":       {pack(t, map[string]string{"a.txt": "x"}), Unknown},
		"empty.docx":    {pack(t, doc(`<w:document xmlns:w="w"><w:body/></w:document>`)), Empty},
		"entities.docx": {pack(t, doc(entities)), Hostile},
		"bomb.docx":     {pack(t, doc(bomb)), Hostile},
		"deep.docx":     {pack(t, doc(strings.Repeat("<a>", 100_000))), Hostile},
		"bomb.xlsx":     {pack(t, map[string]string{"xl/workbook.xml": "<x/>", "xl/sharedStrings.xml": bomb}), Hostile},
		"deep.html":     {[]byte(strings.Repeat("<div>", 200_000)), Damaged},
		"drm.epub": {pack(t, map[string]string{
			"META-INF/container.xml":  `<c><rootfile full-path="o.opf"/></c>`,
			"o.opf":                   `<p><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></p>`,
			"META-INF/encryption.xml": `<e><CipherReference URI="a.xhtml"/></e>`, "a.xhtml": "xx",
		}), Protected},

		"pages in a circle.pdf":   {pdfOf([]string{catalog, "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 9 >>"}, ""), Damaged},
		"parents in a circle.pdf": {pdfOf([]string{catalog, onePage, "<< /Type /Page /Parent 3 0 R /Contents 4 0 R >>", streamOf("", hello)}, ""), Empty},
		"huge size.pdf":           {bytes.Replace(pdfOf([]string{catalog}, ""), []byte("/Size 2"), []byte("/Size 99999999999"), 1), Damaged},
		"escaped size.pdf":        {bytes.Replace(pdfOf([]string{catalog}, ""), []byte("/Size 2"), []byte("/Si#7ae 99999999999"), 1), Damaged},
		"huge table.pdf":          {bytes.Replace(pdfOf([]string{catalog}, ""), []byte("xref\n0 2"), []byte("xref\n999999999 2"), 1), Damaged},
		"nested.pdf":              {pdfOf([]string{catalog, onePage, page, streamOf("/Filter /FlateDecode", deflated(deep)), font}, ""), Empty},
		"nested plain.pdf":        {pdfOf([]string{catalog, deep}, ""), Damaged},
		"bomb.pdf":                {pdfOf([]string{catalog, onePage, page, streamOf("/Filter /FlateDecode", deflated(bomb)), font}, ""), Hostile},
		"twice.pdf":               {pdfOf([]string{catalog, onePage, page, streamOf("/Filter [/FlateDecode /FlateDecode]", deflated(deflated(bomb))), font}, ""), Hostile},
		"inside itself.pdf":       {table("\x02\x00\x05\x00"), Damaged},
		"own length.pdf":          {pdfOf([]string{catalog, onePage, page, "<< /Length 4 0 R >>\nstream\nx\nendstream", font}, ""), Empty},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			_, err := Read(name, bytes.NewReader(c.data), int64(len(c.data)), Limits{Expanded: 1 << 20})
			runtime.ReadMemStats(&after)
			var e *Error
			if !errors.As(err, &e) || e.Why != c.why {
				t.Fatalf("got %v, want %s", err, c.why)
			}
			if e.Name != name || len(e.Says) < 10 || len(e.Says) > 300 || !utf8.ValidString(e.Says) {
				t.Errorf("sentence %q", e.Says)
			}
			if got := int64(after.TotalAlloc - before.TotalAlloc); got > 128<<20 {
				t.Errorf("%d MB were allocated", got>>20)
			}
		})
	}
}

// The office files were made by LibreOffice 7.4, with the password "secret", and the first PDF too; the second by qpdf 11, with AES of 256 bits.
func TestFilesThatOtherProgramsLockedSaySo(t *testing.T) {
	for _, name := range []string{"locked.docx", "locked.xlsx", "locked.pptx", "locked.odt", "locked.pdf", "locked-aes256.pdf"} {
		data := sample(t, name)
		for _, as := range []string{name, "renamed.txt"} {
			doc, err := read(t, as, data)
			var e *Error
			if !errors.As(err, &e) || e.Why != Protected || !strings.Contains(err.Error(), as) || !strings.Contains(err.Error(), "is locked with a password") {
				t.Errorf("%s as %s: got %v, want a sentence about its password", name, as, err)
			}
			if len(doc.Sections) > 0 {
				t.Errorf("%s as %s: text %q", name, as, doc.Markdown())
			}
		}
	}
	open := pack(t, map[string]string{"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": "<x/>", "META-INF/manifest.xml": "<manifest/>"})
	if _, err := read(t, "open.odt", open); err == nil || !strings.Contains(err.Error(), "save it as .docx") {
		t.Errorf("a file of OpenDocument that is not locked: %v", err)
	}
}

func TestLongFilesAreCut(t *testing.T) {
	text := strings.Repeat("日志 ", 1000)
	doc, err := Read("a.txt", strings.NewReader(text), int64(len(text)), Limits{Text: 100})
	if err != nil || !doc.Truncated || len(doc.Sections[0].Text) > 100 || !utf8.ValidString(doc.Sections[0].Text) {
		t.Errorf("%+v, %v", doc, err)
	}
	if _, err := Read("a.txt", strings.NewReader(text), int64(len(text)), Limits{Size: 100}); err == nil || err.(*Error).Why != TooLarge {
		t.Errorf("got %v, want %s", err, TooLarge)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"guide.html", "guide.docx", "guide.epub", "fees.xlsx", "report.pptx", "libreoffice.pdf"} {
		f.Add(name, sample(f, name))
	}
	f.Add("a.pdf", pdfOf([]string{catalog, onePage, page, streamOf("", hello), font}, ""))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		doc, err := Read(name, bytes.NewReader(data), int64(len(data)), Limits{Text: 1 << 20, Expanded: 4 << 20})
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("error %v is no sentence", err)
		}
		if !utf8.ValidString(doc.Markdown()) {
			t.Fatal("text is not UTF-8")
		}
	})
}
