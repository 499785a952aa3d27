package export_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"io"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/document"
	"github.com/tributary-ai/tributary/internal/export"
)

const report = `# How a reader *resumes*

A stream is **resumed** by its position[^1], with ` + "`Last-Event-ID`" + `[^2]. See [the docs](https://example.com/a?b=1&c=2), and again[^1].

- first item
  1. nested item

> a quotation

| name | value |
|---|---|
| alpha | 1.5 |

![a chart](/mnt/user-data/outputs/chart.png) ![lost](gone.png)

<script>alert(1)</script> [bad](javascript:alert(2))

[^1]: The guide, <https://example.com/guide>
[^2]: Another source
`

// words stand in every export, in this order.
var words = []string{"How a reader", "resumes", "resumed", "Last-Event-ID", "the docs", "first item", "nested item", "a quotation", "alpha", "1.5", "gone.png"}

func picture(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 40, 20))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func options(t testing.TB) export.Options {
	chart := picture(t)
	return export.Options{Locale: "en-US", Picture: func(address string) ([]byte, bool) {
		return chart, address == "/mnt/user-data/outputs/chart.png"
	}}
}

// text is what our own reader, which was tried on files of other programs, finds in an export.
func text(t *testing.T, name string, data []byte) string {
	t.Helper()
	doc, err := document.Read(name, bytes.NewReader(data), int64(len(data)), document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, s := range doc.Sections {
		b.WriteString(s.Text + "\n")
	}
	return b.String()
}

func inOrder(t *testing.T, got string) {
	t.Helper()
	rest := got
	for _, w := range words {
		_, after, ok := strings.Cut(rest, w)
		if !ok {
			t.Fatalf("%q is missing or out of order in\n%s", w, got)
		}
		rest = after
	}
	if strings.Contains(got, "alert") {
		t.Errorf("HTML of the text is shown:\n%s", got)
	}
}

// parts are the files of a word processor's document, each of which must be XML.
func parts(t testing.TB, data []byte) map[string]string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name] = string(raw)
		if strings.Contains(f.Name, "/media/") {
			continue
		}
		for dec := xml.NewDecoder(bytes.NewReader(raw)); ; {
			if _, err := dec.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v\n%s", f.Name, err, raw)
			}
		}
	}
	return out
}

func TestAReportIsADocumentWithFootnotes(t *testing.T) {
	data, err := export.DOCX(report, options(t))
	if err != nil {
		t.Fatal(err)
	}
	inOrder(t, text(t, "report.docx", data))
	got := parts(t, data)
	for part, wants := range map[string][]string{
		"word/document.xml":            {`<w:pStyle w:val="Heading1"/>`, `<w:footnoteReference w:id="1"/>`, `<w:footnoteReference w:id="2"/>`, `<w:t>1</w:t>`, `<w:tbl>`, `<a:blip r:embed=`},
		"word/footnotes.xml":           {"The guide", "Another source", "<w:hyperlink"},
		"word/_rels/document.xml.rels": {`Target="https://example.com/a?b=1&amp;c=2" TargetMode="External"`, "media/picture1.png"},
		"word/media/picture1.png":      {"PNG"},
		"docProps/core.xml":            {"How a reader"},
	} {
		for _, want := range wants {
			if !strings.Contains(got[part], want) {
				t.Errorf("%s lacks %s:\n%s", part, want, got[part])
			}
		}
	}
	if n := strings.Count(got["word/document.xml"], `<w:footnoteReference w:id="1"/>`); n != 1 {
		t.Errorf("a note hangs on %d places, want 1", n)
	}
	if all := fmt.Sprint(got); strings.Contains(all, "javascript:") || strings.Contains(all, "alert(1)") {
		t.Error("what is not ours is in the document")
	}
}

func TestAReportIsPages(t *testing.T) {
	data, err := export.PDF(report, options(t))
	if err != nil {
		t.Fatal(err)
	}
	inOrder(t, text(t, "report.pdf", data))
	for _, want := range []string{"%PDF-", "/URI (https://example.com/guide)", "/Dest"} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("the file lacks %s", want)
		}
	}
	if bytes.Contains(data, []byte("javascript:")) {
		t.Error("a link leads where it must not")
	}
}

func TestAReportIsSlides(t *testing.T) {
	data, err := export.PPTX(report+strings.Repeat("\n\nA paragraph that says something, and goes on for a little longer than one line of a slide.", 12), options(t))
	if err != nil {
		t.Fatal(err)
	}
	got := text(t, "report.pptx", data)
	inOrder(t, got)
	for _, want := range []string{"References", "The guide"} {
		if !strings.Contains(got, want) {
			t.Errorf("the slides lack %q:\n%s", want, got)
		}
	}
	all := parts(t, data)
	for part, n := 0, 1; n <= len(all); n++ { // the slide with the picture leads to it
		slide, leads := all[fmt.Sprintf("ppt/slides/slide%d.xml", n)], all[fmt.Sprintf("ppt/slides/_rels/slide%d.xml.rels", n)]
		if strings.Contains(slide, `descr="a chart"`) {
			part = n
			if want := fmt.Sprintf("media/picture%d.png", n); !strings.Contains(leads, "../"+want) || !strings.Contains(all["ppt/"+want], "PNG") {
				t.Errorf("the slide's picture is not %s: %s", want, leads)
			}
		}
		if n == len(all) && part == 0 {
			t.Errorf("no slide shows the picture")
		}
	}
	if n := strings.Count(fmt.Sprint(parts(t, data)), "<p:sldId "); n < 5 {
		t.Errorf("%d slides: what is too much for one does not go on on the next", n)
	}
}

// A letter that the font cannot show is told, and not left out.
func TestPagesSayWhichLetterTheirFontLacks(t *testing.T) {
	_, err := export.PDF("# 流\n", export.Options{Locale: "zh-CN"})
	var font *export.FontError
	if !errors.As(err, &font) || font.Letter != '流' {
		t.Errorf("got %v", err)
	}
	if _, err := export.PDF("# Größe, Ωμέγα, Привет — „1 €“ … ☑ ✓ 🎉\n", export.Options{}); err != nil {
		t.Errorf("what is no letter is left out: %v", err)
	}
	if _, err := export.PDF("# a\n", export.Options{Font: []byte("no font")}); err == nil {
		t.Error("what is no font passes")
	}
}

// A name that is found is not all: what it leads to may be no picture, or one that would take all memory.
func TestPicturesThatCannotBeShownAreMentioned(t *testing.T) {
	huge := picture(t)
	copy(huge[16:], []byte{0, 1, 0, 0, 0, 1, 0, 0}) // 65,536 by 65,536, as its head says
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	if size, err := png.DecodeConfig(bytes.NewReader(huge)); err != nil || size.Width != 65536 {
		t.Fatalf("the picture of this test: %v %v", size, err)
	}
	for _, data := range [][]byte{huge, []byte("no picture"), nil, picture(t)[:40]} {
		o := export.Options{Picture: func(string) ([]byte, bool) { return data, true }}
		for format := range export.Types {
			if format == "html" { // a browser takes care of itself
				continue
			}
			file, err := export.As(format, "# A report\n\nwith ![a chart](x.png)\n", o)
			if err != nil {
				t.Fatalf("%s: %v", format, err)
			}
			if got := text(t, "report."+format, file); len(data) != 40 && !strings.Contains(got, "[a chart x.png]") {
				t.Errorf("%s with %.20q: got %s", format, data, got)
			}
		}
	}
}

func TestAPageHasItsPicturesInside(t *testing.T) {
	o := options(t)
	page, err := export.As("html", report+"\n![drawn](d.svg)\n", export.Options{Picture: func(address string) ([]byte, bool) {
		if address == "d.svg" {
			return []byte("<svg/>"), true
		}
		return o.Picture(address)
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<img src="data:image/png;base64,iVBOR`, `<img src="data:image/svg+xml;base64,PHN2Zy8+"`, `src="gone.png"`, `lang="en-US"`} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %s:\n%s", want, page)
		}
	}
}

func TestTheLanguageIsThatOfMostOfTheText(t *testing.T) {
	for text, want := range map[string]string{
		"# 流的续读\n\n读者用 `Last-Event-ID` 续读。":               `lang="zh-CN"`,
		"# How a stream is resumed\n\nSee 流, and others.": `lang="en-US"`,
	} {
		page, err := export.As("html", text, export.Options{})
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("want %s, got %v\n%.200s", want, err, page)
		}
	}
	if _, err := export.As("odt", "a", export.Options{}); err == nil || !strings.Contains(err.Error(), "choose html, docx, pdf or pptx") {
		t.Errorf("a format that is not there: %v", err)
	}
}

// Bytes of others never stop the making of a file.
func FuzzPictures(f *testing.F) {
	f.Add(picture(f))
	f.Add([]byte("GIF89a\x01\x00\x01\x00\x80\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for format := range export.Types {
			if _, err := export.As(format, "![a](b)", export.Options{Picture: func(string) ([]byte, bool) { return data, true }}); err != nil {
				t.Fatalf("%s: %v", format, err)
			}
		}
	})
}

func FuzzFiles(f *testing.F) {
	f.Add(report)
	f.Add("| a |\n|-|\n|\n\n1. \n   > - x\x00y \xff[^1]\n\n[^1]: \n\n![](a)")
	f.Fuzz(func(t *testing.T, text string) {
		data, err := export.DOCX(text, export.Options{})
		if err != nil {
			t.Fatal(err)
		}
		parts(t, data)
		if data, err = export.PPTX(text, export.Options{}); err != nil {
			t.Fatal(err)
		}
		parts(t, data)
		var font *export.FontError
		if _, err := export.PDF(text, export.Options{}); err != nil && !errors.As(err, &font) {
			t.Fatal(err)
		}
	})
}
