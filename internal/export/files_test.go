package export_test

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
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
		if strings.HasPrefix(f.Name, "word/media/") {
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
