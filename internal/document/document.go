package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/byline"
)

// Format is a kind of file.
type Format string

// The formats that are read.
const (
	Markdown Format = "markdown"
	Text     Format = "text"
	Code     Format = "code"
	HTML     Format = "html"
	PDF      Format = "pdf"
	DOCX     Format = "docx"
	XLSX     Format = "xlsx"
	PPTX     Format = "pptx"
	EPUB     Format = "epub"
)

// Document is what a file says.
type Document struct {
	Format    Format
	Title     string // as the file itself names it; empty if it does not
	Author    string // as the file says; empty if it does not
	Date      string // when it was written, or last changed, as package byline spells it; empty if it does not say
	Sections  []Section
	Truncated bool // the file has more text than the limit
}

// Section is a part of a document that has a place of its own.
type Section struct {
	Place string // "page 3"; empty for a file that is one piece
	Text  string // Markdown; for [Code] and [Text] the file's own characters
}

// Markdown is the whole document for somebody who reads it in one piece. Code is put between fences.
func (d Document) Markdown() string {
	var b strings.Builder
	for i, s := range d.Sections {
		if i > 0 {
			b.WriteString("\n\n")
		}
		if s.Place != "" {
			fmt.Fprintf(&b, "<!-- %s -->\n\n", strings.ReplaceAll(s.Place, "--", "‐‐"))
		}
		if d.Format == Code {
			fence := "```"
			for strings.Contains(s.Text, fence) {
				fence += "`"
			}
			fmt.Fprintf(&b, "%s\n%s\n%s", fence, strings.TrimRight(s.Text, "\n"), fence)
			continue
		}
		b.WriteString(strings.TrimRight(s.Text, "\n"))
	}
	b.WriteByte('\n')
	return b.String()
}

// Limits bound what reading a file may cost. The zero value of each means its default.
type Limits struct {
	Size     int64 // bytes of the file; 32 MiB
	Text     int   // bytes of text that are returned; 8 MiB
	Expanded int64 // bytes that all compressed parts together may unpack to; 64 MiB
	Parts    int   // pages, slides, sheets, chapters; 5,000
}

func (l Limits) withDefaults() Limits {
	if l.Size == 0 {
		l.Size = 32 << 20
	}
	if l.Text == 0 {
		l.Text = 8 << 20
	}
	if l.Expanded == 0 {
		l.Expanded = 64 << 20
	}
	if l.Parts == 0 {
		l.Parts = 5000
	}
	return l
}

// Why says for what reason a file was not read.
type Why string

// The reasons.
const (
	Unknown   Why = "unknown format"
	TooLarge  Why = "too large"
	Protected Why = "protected"
	Damaged   Why = "damaged"
	Hostile   Why = "unsafe"
	Empty     Why = "without text"
)

// Error is why a file was not read. Its text is a sentence for people.
type Error struct {
	Why  Why
	Name string // of the file
	Says string // what is wrong and what to do
}

func (e *Error) Error() string { return fmt.Sprintf("read %s: %s", e.Name, e.Says) }

func refuse(why Why, format string, args ...any) error {
	return &Error{Why: why, Says: fmt.Sprintf(format, args...)}
}

// extensions are the names by which formats are known. Source code is read as it stands.
var extensions = func() map[string]Format {
	m := map[string]Format{}
	for f, list := range map[Format]string{
		Markdown: "md markdown mdx mdown",
		Text:     "txt text rst adoc asciidoc org log csv tsv tex",
		HTML:     "html htm xhtml",
		PDF:      "pdf", DOCX: "docx docm dotx", XLSX: "xlsx xlsm xltx", PPTX: "pptx pptm ppsx potx", EPUB: "epub",
		Code: `go py js mjs cjs ts tsx jsx java kt kts scala c h cc cpp cxx hpp hh cs rs rb php pl pm swift m mm lua r jl hs ml ex exs erl clj
			sh bash zsh fish ps1 bat sql proto graphql yaml yml toml ini cfg conf json jsonl xml css scss less vue svelte tf gradle cmake mk dockerfile vim el lisp dart zig nim`,
	} {
		for e := range strings.FieldsSeq(list) {
			m["."+e] = f
		}
	}
	return m
}()

// FormatOf is the format that a file's name promises, or "".
func FormatOf(name string) Format {
	base := strings.ToLower(path.Base(name))
	if f, ok := extensions[path.Ext(base)]; ok {
		return f
	}
	switch base {
	case "makefile", "dockerfile", "rakefile", "gemfile", "justfile":
		return Code
	case "readme", "license", "copying", "changelog", "authors", "notice", "news", "todo", "install", "contributing":
		return Text
	}
	return ""
}

// Read reads a file of which the name, the bytes and the size are given.
func Read(name string, r io.ReaderAt, size int64, limits Limits) (doc Document, err error) {
	limits = limits.withDefaults()
	defer func() {
		if x := recover(); x != nil { // a library met bytes that its author did not think of
			err = refuse(Damaged, "it is damaged (%v); save it again with the program that made it", x)
		}
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				e = &Error{Why: Damaged, Says: fmt.Sprintf("it is damaged (%v); save it again with the program that made it", err)}
			}
			doc, err = Document{}, &Error{e.Why, name, e.Says}
		}
	}()
	if size > limits.Size {
		return doc, refuse(TooLarge, "it has %d bytes, and at most %d are read; split it", size, limits.Size)
	}
	data := make([]byte, size)
	if n, err := r.ReadAt(data, 0); err != nil && !(errors.Is(err, io.EOF) && int64(n) == size) {
		return doc, err
	}
	format, err := detect(name, data)
	if err != nil {
		return doc, err
	}
	switch format {
	case HTML:
		doc, err = readHTML(data)
	case PDF:
		doc, err = readPDF(data, limits)
	case DOCX, XLSX, PPTX, EPUB:
		var a *archive
		if a, err = openArchive(data, limits); err == nil {
			switch format {
			case DOCX:
				doc, err = readDOCX(a)
			case XLSX:
				doc, err = readXLSX(a, limits)
			case PPTX:
				doc, err = readPPTX(a, limits)
			case EPUB:
				doc, err = readEPUB(a, limits)
			}
		}
	default:
		var text string
		if text, err = decodeText(data); err == nil {
			doc.Sections = []Section{{Text: text}}
		}
	}
	if err != nil {
		return doc, err
	}
	doc.Format = format
	return doc.finish(limits)
}

// finish cuts what is too long and leaves out what is empty.
func (d Document) finish(limits Limits) (Document, error) {
	d.Title = strings.Join(strings.Fields(strings.ToValidUTF8(d.Title, "")), " ")
	d.Author, d.Date = byline.Author(d.Author), byline.Date(d.Date)
	room := limits.Text
	kept := d.Sections[:0]
	for _, s := range d.Sections {
		if !utf8.ValidString(s.Text) {
			s.Text = strings.ToValidUTF8(s.Text, "\uFFFD")
		}
		if strings.TrimSpace(s.Text) == "" {
			continue
		}
		if len(s.Text) > room {
			cut := room
			for cut > 0 && !utf8.RuneStart(s.Text[cut]) {
				cut--
			}
			s.Text, d.Truncated = s.Text[:cut], true
			if cut > 0 {
				kept = append(kept, s)
			}
			break
		}
		room -= len(s.Text)
		kept = append(kept, s)
	}
	d.Sections = kept
	if len(kept) == 0 {
		if d.Format == PDF {
			return d, refuse(Empty, "it has no text: its pages are pictures; run a text recognition over it first")
		}
		return d, refuse(Empty, "it has no text")
	}
	return d, nil
}

// detect looks at the first bytes where they tell, and at the name where they do not: a renamed file is read for what it is.
func detect(name string, data []byte) (Format, error) {
	promised := FormatOf(name)
	switch {
	case bytes.Contains(data[:min(len(data), 1024)], []byte("%PDF-")) && (promised == PDF || bytes.HasPrefix(data, []byte("%PDF-"))):
		return PDF, nil
	case bytes.HasPrefix(data, []byte{0xD0, 0xCF, 0x11, 0xE0}):
		if bytes.Contains(data, utf16le("EncryptedPackage")) {
			return "", refuse(Protected, withPassword)
		}
		return "", refuse(Unknown, "it is in the format of Office before 2007; save it as .docx, .xlsx or .pptx")
	case bytes.HasPrefix(data, []byte("PK\x03\x04")), bytes.HasPrefix(data, []byte("PK\x05\x06")):
		return detectZip(data)
	case promised == "":
		return "", refuse(Unknown, "its format is not known; Markdown, text, code, HTML, PDF, DOCX, XLSX, PPTX and EPUB are read")
	case promised == PDF || promised == DOCX || promised == XLSX || promised == PPTX || promised == EPUB:
		if len(data) == 0 {
			return "", refuse(Empty, "it is empty")
		}
		return "", refuse(Damaged, "it is no %s, whatever its name says", strings.ToUpper(string(promised)))
	}
	return promised, nil
}

func utf16le(s string) []byte {
	var out []byte
	for _, c := range []byte(s) {
		out = append(out, c, 0)
	}
	return out
}
