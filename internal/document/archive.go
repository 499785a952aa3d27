package document

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/internal/byline"
)

// archive is a zip file whose parts together unpack to no more than is allowed. Sizes that the file claims are not
// believed: what comes out is counted.
type archive struct {
	files map[string]*zip.File
	room  int64
}

const mostEntries = 20_000

func openArchive(data []byte, limits Limits) (*archive, error) {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, refuse(Damaged, "its archive is damaged (%v); save it again with the program that made it", err)
	}
	if len(r.File) > mostEntries {
		return nil, refuse(Hostile, "it has %d parts, and no honest file has more than %d", len(r.File), mostEntries)
	}
	a := &archive{files: map[string]*zip.File{}, room: limits.Expanded}
	for _, f := range r.File {
		name := strings.TrimPrefix(path.Clean("/"+f.Name), "/")
		if _, twice := a.files[name]; !twice {
			a.files[name] = f
		}
	}
	return a, nil
}

// errNoPart is for a part that is not there, which many files can do without.
var errNoPart = errors.New("part is missing")

func (a *archive) read(name string) ([]byte, error) {
	f := a.files[strings.TrimPrefix(path.Clean("/"+name), "/")]
	if f == nil {
		return nil, fmt.Errorf("%s: %w", name, errNoPart)
	}
	if f.Flags&1 != 0 {
		return nil, refuse(Protected, withPassword)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer r.Close()
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(r, a.room+1))
	if n > a.room {
		return nil, refuse(Hostile, "it unpacks to more than is safe to read; split it")
	}
	a.room -= n
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b.Bytes(), nil
}

// detectZip tells the formats that are zip files apart by what is in them.
func detectZip(data []byte) (Format, error) {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return "", refuse(Damaged, "its archive is damaged (%v); save it again with the program that made it", err)
	}
	for _, f := range r.File {
		switch strings.TrimPrefix(f.Name, "/") {
		case "word/document.xml":
			return DOCX, nil
		case "xl/workbook.xml":
			return XLSX, nil
		case "ppt/presentation.xml":
			return PPTX, nil
		case "META-INF/container.xml":
			return EPUB, nil
		}
	}
	if a, err := openArchive(data, Limits{Expanded: 1 << 20}); err == nil && a.files["content.xml"] != nil {
		if manifest, err := a.read("META-INF/manifest.xml"); err == nil && bytes.Contains(manifest, []byte("encryption-data")) {
			return "", refuse(Protected, withPassword)
		} else if err == nil {
			return "", refuse(Unknown, "it is in the format of OpenDocument; save it as .docx, .xlsx or .pptx")
		}
	}
	return "", refuse(Unknown, "it is an archive and no document; unpack it")
}

// withPassword is what is said of a file that only its owner can open.
const withPassword = "it is locked with a password; save a copy without one"

// each calls start for every element that begins, end for every one that ends and text for what stands between; any of
// them may be nil. Entities that a file declares itself are not expanded but refused, so that none can grow.
func each(data []byte, start func(xml.StartElement), end func(name string), text func(string)) error {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = func(label string, in io.Reader) (io.Reader, error) { return in, nil }
	depth := 0
	for {
		t, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return refuse(Damaged, "its XML is damaged (%v); save it again with the program that made it", err)
		}
		switch t := t.(type) {
		case xml.Directive:
			if bytes.Contains(t, []byte("ENTITY")) {
				return refuse(Hostile, "it declares entities of its own, which no office program does")
			}
		case xml.StartElement:
			if depth++; depth > 2000 {
				return refuse(Hostile, "its elements are nested deeper than any program nests them")
			}
			if start != nil {
				start(t)
			}
		case xml.EndElement:
			depth--
			if end != nil {
				end(t.Name.Local)
			}
		case xml.CharData:
			if text != nil {
				text(string(t))
			}
		}
	}
}

func attribute(e xml.StartElement, local string) string {
	for _, a := range e.Attr {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// relations are the targets of a part's relations by their ids, as paths in the archive.
func (a *archive) relations(part string) (targets map[string]relation, err error) {
	dir, file := path.Split(part)
	data, err := a.read(dir + "_rels/" + file + ".rels")
	if errors.Is(err, errNoPart) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	targets = map[string]relation{}
	err = each(data, func(e xml.StartElement) {
		if e.Name.Local != "Relationship" || attribute(e, "TargetMode") == "External" {
			return
		}
		target := attribute(e, "Target")
		if !strings.HasPrefix(target, "/") {
			target = dir + target
		}
		targets[attribute(e, "Id")] = relation{path.Base(attribute(e, "Type")), strings.TrimPrefix(path.Clean("/"+target), "/")}
	}, nil, nil)
	return targets, err
}

type relation struct{ kind, target string }

// core is what the properties of an office file say of it: a document without sections.
func (a *archive) core() Document {
	data, err := a.read("docProps/core.xml")
	if err != nil {
		return Document{}
	}
	said := properties(data)
	return Document{Title: said["title"], Author: said["creator"], Date: cmp.Or(byline.Date(said["modified"]), said["created"])}
}

// properties are the texts of elements by their names, the first of each.
func properties(data []byte) map[string]string {
	said := map[string]string{}
	in := ""
	_ = each(data, func(e xml.StartElement) { // what a file says of itself is no reason to fail
		if in = e.Name.Local; said[in] != "" {
			in = ""
		}
	}, func(string) { in = "" }, func(s string) {
		if in != "" && len(said[in]) < 2000 {
			said[in] += s
		}
	})
	return said
}

// cells writes rows as a table of Markdown. Rows need not be equally long.
func cells(b *strings.Builder, rows [][]string) {
	width := 0
	for _, r := range rows {
		width = max(width, len(r))
	}
	if width == 0 {
		return
	}
	for i, r := range rows {
		for c := range width {
			b.WriteString("| ")
			if c < len(r) {
				b.WriteString(strings.NewReplacer("|", `\|`, "\n", " ", "\r", "").Replace(strings.TrimSpace(r[c])))
			}
			b.WriteByte(' ')
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", width) + "|\n")
		}
	}
	b.WriteByte('\n')
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
