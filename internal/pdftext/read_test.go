package pdftext

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/ascii85"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// made is a PDF file of objects, which are numbered from 1; the first is the catalog.
func made(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	for i, o := range objects {
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R /Info << /Title (A \\(small\\) study of \\366tters) >> >>\nstartxref\n0\n%%%%EOF\n", len(objects)+1)
	return b.Bytes()
}

// streamOf is a stream object with a dictionary of its own.
func streamOf(dict, data string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(data), data)
}

func deflated(s string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write([]byte(s))
	_ = z.Close()
	return b.String()
}

func in85(s string) string {
	out := make([]byte, ascii85.MaxEncodedLen(len(s)))
	return string(out[:ascii85.Encode(out, []byte(s))]) + "~>"
}

const (
	catalog   = "<< /Type /Catalog /Pages 2 0 R >>"
	helvetica = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
)

// onePage is a file with one page that draws content, in a font.
func onePage(font, content string, more ...string) []byte {
	return made(append([]string{catalog, "<< /Type /Pages /Kids [3 0 R] /Count 1 /Resources << /Font << /F1 5 0 R >> /XObject << /X 6 0 R >> >> >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>", content, font}, more...)...)
}

func TestTextIsReadAsItIsDrawn(t *testing.T) {
	unicodeMap := streamOf("", "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange 2 beginbfchar <0001> <6C34> <0002> <00660069> endbfchar 1 beginbfrange <0010> <0012> <0041> endbfrange 1 beginbfrange <0020> <0021> [<0078> <0079>] endbfrange endcmap")
	for name, tt := range map[string]struct {
		file []byte
		want string
	}{
		"words that stand apart":  {onePage(helvetica, streamOf("", "BT /F1 10 Tf 72 700 Td [(Ot) 20 (ters) -333 (are) -280 (mam) 5 (mals.)] TJ ET")), "Otters are mammals."},
		"lines and paragraphs":    {onePage(helvetica, streamOf("", "BT /F1 10 Tf 12 TL 72 700 Td (one) Tj T* (two) Tj 0 -40 Td (three) Tj (four) ' ET")), "one\ntwo\n\nthree\nfour"},
		"placed word by word":     {onePage(helvetica, streamOf("", "BT /F1 10 Tf 1 0 0 1 72 700 Tm (sea) Tj 1 0 0 1 95 700 Tm (otter) Tj 1 0 0 1 120 700 Tm (s) Tj ET")), "sea otters"},
		"moved by the page":       {onePage(helvetica, streamOf("", "q 1 0 0 1 72 700 cm BT /F1 10 Tf (one) Tj ET Q q 1 0 0 1 72 650 cm BT /F1 10 Tf (two) Tj ET Q")), "one\n\ntwo"},
		"characters of Windows":   {onePage(helvetica, streamOf("", "BT /F1 10 Tf (na\\357ve caf\\351 \\200 5 \\223quoted\\224 \\(so\\)) Tj ET")), "naïve café € 5 “quoted” (so)"},
		"names of shapes":         {onePage("<< /Type /Font /Subtype /Type1 /Encoding << /Differences [1 /ffi /quoteright /uni6C34 /alpha /f_l] >> >>", streamOf("", "BT /F1 10 Tf (o\\001ce it\\002s \\003 \\004 \\005ow) Tj ET")), "office it’s 水 α flow"},
		"its own table":           {onePage("<< /Type /Font /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [<< /DW 1000 /W [16 [600 600 600]] >>] /ToUnicode 6 0 R >>", streamOf("", "BT /F1 10 Tf <00010002001000110012 00200021> Tj ET"), unicodeMap), "水fiABCxy"},
		"packed":                  {onePage(helvetica, streamOf("/Filter /FlateDecode", deflated("BT /F1 10 Tf (packed) Tj ET"))), "packed"},
		"packed twice":            {onePage(helvetica, streamOf("/Filter [/ASCII85Decode /FlateDecode]", in85(deflated("BT /F1 10 Tf (packed twice) Tj ET")))), "packed twice"},
		"in hexadecimal":          {onePage(helvetica, streamOf("/Filter /ASCIIHexDecode", "4254202F46312031302054662028686578292054 6A204554>")), "hex"},
		"a form":                  {onePage(helvetica, streamOf("", "/X Do"), streamOf("/Type /XObject /Subtype /Form", "BT /F1 10 Tf (in a form) Tj ET")), "in a form"},
		"an image between":        {onePage(helvetica, streamOf("", "BT /F1 10 Tf (before) Tj ET BI /W 1 /H 1 ID \x00(\xff\nEI BT /F1 10 Tf 0 -50 Td (after) Tj ET")), "before\n\nafter"},
		"a wrong length":          {onePage(helvetica, "<< /Length 3 >>\nstream\nBT /F1 10 Tf (whole) Tj ET\nendstream"), "whole"},
		"a length elsewhere":      {onePage(helvetica, "<< /Length 6 0 R >>\nstream\nBT /F1 10 Tf (whole) Tj ET\nendstream", "27"), "whole"},
		"several pieces":          {made(catalog, "<< /Kids [3 0 R] >>", "<< /Type /Page /Contents [4 0 R 6 0 R] /Resources << /Font << /F1 5 0 R >> >> >>", streamOf("", "BT /F1 10 Tf (one"+") Tj"), helvetica, streamOf("", "0 -50 Td (two) Tj ET")), "one\n\ntwo"},
		"changed later":           {append(onePage(helvetica, streamOf("", "BT /F1 10 Tf (old) Tj ET")), "\n4 0 obj\n"+streamOf("", "BT /F1 10 Tf (new) Tj ET")+"\nendobj\n"...), "new"},
		"without a list of pages": {made("<< /Type /Page /Contents 2 0 R /Resources << /Font << /F1 3 0 R >> >> >>", streamOf("", "BT /F1 10 Tf (found) Tj ET"), helvetica), "found"},
		"cut off":                 {made("<< /Type /Page /Contents 3 0 R /Resources << /Font << /F1 2 0 R >> >> >>", helvetica, streamOf("", "BT /F1 10 Tf (as far as it goes) Tj ET"))[:290], "as far as it goes"},
	} {
		doc, err := Read(t.Context(), tt.file, Limits{})
		if err != nil || doc.Text() != tt.want || doc.Cut {
			t.Errorf("%s: got %q, cut %v, %v, want %q", name, doc.Text(), doc.Cut, err, tt.want)
		}
	}
	doc, _ := Read(t.Context(), onePage(helvetica, streamOf("", "BT /F1 10 Tf (x) Tj ET")), Limits{})
	if want := "A (small) study of ötters"; doc.Title != want {
		t.Errorf("the title is %q, want %q", doc.Title, want)
	}
}

func TestObjectsInStreamsAreFound(t *testing.T) {
	inside := []string{catalog, "<< /Type /Pages /Kids [3 0 R] >>", "<< /Type /Page /Contents 9 0 R /Resources << /Font << /F1 4 0 R >> >> >>", helvetica}
	var head, body strings.Builder
	for i, o := range inside {
		fmt.Fprintf(&head, "%d %d ", i+1, body.Len())
		body.WriteString(o + "\n")
	}
	dict := fmt.Sprintf("/Type /ObjStm /N %d /First %d /Filter /FlateDecode", len(inside), head.Len())
	file := "%PDF-1.7\n8 0 obj\n" + streamOf(dict, deflated(head.String()+body.String())) + "\nendobj\n9 0 obj\n" + streamOf("", "BT /F1 10 Tf (from a stream) Tj ET") +
		"\nendobj\n10 0 obj\n" + streamOf("/Type /XRef /Root 1 0 R /Size 99999999999 /W [1 999999999 1]", "junk") + "\nendobj\nstartxref\n0\n%%EOF"
	if doc, err := Read(t.Context(), []byte(file), Limits{}); err != nil || doc.Text() != "from a stream" {
		t.Errorf("got %q, %v", doc.Text(), err)
	}
}

// Each of these would cost a reader that believes a file its memory or its time.
func TestAFileIsNotBelieved(t *testing.T) {
	small := Limits{Unpacked: 1 << 20, Text: 10_000, Operators: 10_000}
	bomb := deflated(strings.Repeat("\x00", small.Unpacked+1))
	var kids strings.Builder
	for range 10 {
		kids.WriteString("/X Do ")
	}
	long := strings.Repeat("(0123456789) Tj 0 -12 Td ", 1000)
	for name, tt := range map[string]struct {
		file []byte
		ok   func(Document, error) bool
	}{
		"unpacks to too much":       {onePage(helvetica, streamOf("/Filter /FlateDecode", bomb)), func(_ Document, err error) bool { return errors.Is(err, ErrTooMuch) }},
		"unpacks to too much twice": {onePage(helvetica, streamOf("/Filter [/FlateDecode /FlateDecode]", deflated(bomb))), func(_ Document, err error) bool { return errors.Is(err, ErrTooMuch) }},
		"pages in a circle":         {made(catalog, "<< /Type /Pages /Kids [2 0 R 3 0 R] /Parent 2 0 R >>", "<< /Kids [2 0 R] >>"), func(_ Document, err error) bool { return errors.Is(err, ErrNoPages) }},
		"references in a circle":    {made("1 0 R", "3 0 R", "2 0 R"), func(_ Document, err error) bool { return errors.Is(err, ErrNoPages) }},
		"a form that draws itself":  {onePage(helvetica, streamOf("", "BT /F1 10 Tf (x) Tj ET "+kids.String()), streamOf("/Subtype /Form", "q "+kids.String()+"Q")), func(d Document, err error) bool { return err == nil && strings.HasPrefix(d.Text(), "x") && d.Cut }},
		"a table of many":           {onePage("<< /Subtype /Type0 /ToUnicode 6 0 R >>", streamOf("", "BT /F1 10 Tf <0001> Tj ET"), streamOf("", "9999999999 beginbfchar <0001> <0041> endbfchar 1 beginbfrange <000000> <FFFFFF> <0042> endbfrange")), func(d Document, err error) bool { return err == nil && d.Text() == "C" }},
		"widths of many":            {onePage("<< /Subtype /Type0 /ToUnicode 6 0 R /DescendantFonts [<< /W [0 999999999999 500] >>] >>", streamOf("", "BT /F1 10 Tf <0001> Tj ET"), streamOf("", "1 beginbfchar <0001> <0041> endbfchar")), func(d Document, err error) bool { return err == nil && d.Text() == "A" }},
		"rows of any width":         {onePage(helvetica, streamOf("/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 9999999999 >>", deflated("BT /F1 10 Tf (x) Tj ET"))), func(d Document, err error) bool { return err == nil && d.Text() == "x" }},
		"lists in lists":            {onePage(helvetica, streamOf("", strings.Repeat("[", 5_000)+" BT /F1 10 Tf (x) Tj ET")), func(_ Document, err error) bool { return err == nil }},
		"dictionaries in lists":     {made(strings.Repeat("<</A[", 5_000)), func(_ Document, err error) bool { return err != nil }},
		"more text than is read":    {onePage(helvetica, streamOf("", "BT /F1 10 Tf "+strings.Repeat(long, 5)+"ET")), func(d Document, err error) bool { return err == nil && d.Cut && len(d.Text()) < small.Text+100 }},
		"encrypted":                 {bytes.Replace(onePage(helvetica, streamOf("", "")), []byte("/Root"), []byte("/Encrypt 9 0 R /Root"), 1), func(_ Document, err error) bool { return errors.Is(err, ErrEncrypted) }},
		"nothing":                   {nil, func(_ Document, err error) bool { return err != nil }},
	} {
		t.Run(name, func(t *testing.T) {
			if doc, err := Read(t.Context(), tt.file, small); !tt.ok(doc, err) {
				t.Errorf("got %.80q of %d bytes, cut %v, %v", doc.Text(), len(doc.Text()), doc.Cut, err)
			}
		})
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(stopped, onePage(helvetica, streamOf("", "BT ET")), Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("who was stopped gets %v", err)
	}
}

func TestMutatedFilesCrashNothing(t *testing.T) {
	file := onePage("<< /Type /Font /Subtype /Type0 /DescendantFonts [<< /W [16 [600 600 600] 20 30 500] >>] /ToUnicode 6 0 R >>", streamOf("/Filter /FlateDecode", deflated("BT /F1 10 Tf 12 TL <00100011> Tj [(ab) -300 (c)] TJ T* ET /X Do")),
		streamOf("", "1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfrange <0010> <0012> <0041> endbfrange"))
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		broken := bytes.Clone(file)
		for range 1 + random.IntN(6) {
			at := random.IntN(len(broken))
			switch random.IntN(3) {
			case 0:
				broken[at] = byte(random.IntN(256))
			case 1:
				broken = append(broken[:at], broken[min(len(broken), at+random.IntN(30)):]...)
			case 2:
				broken = append(broken[:at:at], append([]byte([]string{"<<", "]", "9999999999999", "stream\n", "endobj", "-1", "1 0 R", "/Kids"}[random.IntN(8)]), broken[at:]...)...)
			}
			if len(broken) == 0 {
				broken = []byte("%")
			}
		}
		_, _ = Read(context.Background(), broken, Limits{})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(onePage(helvetica, streamOf("/Filter /FlateDecode", deflated("BT /F1 10 Tf [(Ot) 20 (ters) -333 (are)] TJ ET"))))
	f.Add(onePage("<< /Subtype /Type0 /DescendantFonts [<< /W [0 [1 2] 3 4 5] >>] /ToUnicode 6 0 R >>", streamOf("", "BT /F1 10 Tf <0001> Tj ET"), streamOf("", "1 beginbfrange <00> <FF> [<41>] endbfrange")))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := Read(t.Context(), data, Limits{})
		if err != nil && doc.Text() != "" {
			t.Error("an error comes with text")
		}
	})
}
