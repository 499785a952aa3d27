package document

import (
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// mostColumns bounds a row: a cell in the last column of an otherwise empty sheet must not make it 16,384 cells wide.
const mostColumns = 200

// readXLSX reads each sheet as a table of what its cells show.
func readXLSX(a *archive, limits Limits) (Document, error) {
	data, err := a.read("xl/workbook.xml")
	if err != nil {
		return Document{}, err
	}
	rels, err := a.relations("xl/workbook.xml")
	if err != nil {
		return Document{}, err
	}
	type sheet struct{ name, part string }
	var sheets []sheet
	date1904 := false
	err = each(data, func(e xml.StartElement) {
		switch e.Name.Local {
		case "sheet":
			for _, at := range e.Attr { // r:id, beside sheetId
				if r, ok := rels[at.Value]; ok && at.Name.Local == "id" {
					sheets = append(sheets, sheet{attribute(e, "name"), r.target})
				}
			}
		case "workbookPr":
			v := attribute(e, "date1904")
			date1904 = v == "1" || v == "true"
		}
	}, nil, nil)
	if err != nil {
		return Document{}, err
	}
	book := &workbook{text: limits.Text, date1904: date1904}
	if book.strings, err = sharedStrings(a); err != nil {
		return Document{}, err
	}
	if book.dates, err = dateStyles(a); err != nil {
		return Document{}, err
	}
	doc := a.core()
	for i, s := range sheets {
		if i == limits.Parts || book.text <= 0 {
			doc.Truncated = true
			break
		}
		data, err := a.read(s.part)
		if errors.Is(err, errNoPart) {
			continue
		}
		if err != nil {
			return Document{}, err
		}
		rows, cut, err := book.rows(data)
		if err != nil {
			return Document{}, err
		}
		doc.Truncated = doc.Truncated || cut
		if len(rows) == 0 {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "## %s\n\n", s.name)
		cells(&b, rows)
		doc.Sections = append(doc.Sections, Section{"sheet " + s.name, b.String()})
	}
	return doc, nil
}

type workbook struct {
	strings  []string
	dates    map[int]bool // styles of cells that show a date
	date1904 bool
	text     int // how much more may be taken
}

func sharedStrings(a *archive) ([]string, error) {
	data, err := a.read("xl/sharedStrings.xml")
	if errors.Is(err, errNoPart) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	var b strings.Builder
	visible, phonetic := false, false
	err = each(data, func(e xml.StartElement) {
		switch e.Name.Local {
		case "si":
			b.Reset()
		case "rPh": // how to pronounce it
			phonetic = true
		case "t":
			visible = !phonetic
		}
	}, func(name string) {
		switch name {
		case "si":
			out = append(out, b.String())
		case "rPh":
			phonetic = false
		case "t":
			visible = false
		}
	}, func(s string) {
		if visible {
			b.WriteString(s)
		}
	})
	return out, err
}

// dateStyles are the styles of cells whose number is a day.
func dateStyles(a *archive) (map[int]bool, error) {
	data, err := a.read("xl/styles.xml")
	if errors.Is(err, errNoPart) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	custom := map[int]bool{}
	dates := map[int]bool{}
	in, n := false, 0
	err = each(data, func(e xml.StartElement) {
		switch e.Name.Local {
		case "numFmt":
			code := strings.ToLower(attribute(e, "formatCode"))
			custom[number(attribute(e, "numFmtId"))] = strings.Contains(code, "yy") || strings.Contains(code, "d") && strings.Contains(code, "m") && !strings.Contains(code, "red")
		case "cellXfs":
			in = true
		case "xf":
			if in {
				id := number(attribute(e, "numFmtId"))
				dates[n] = id >= 14 && id <= 17 || id == 22 || id >= 27 && id <= 36 || id >= 50 && id <= 58 || custom[id]
				n++
			}
		}
	}, func(name string) { in = in && name != "cellXfs" }, nil)
	return dates, err
}

// rows are the cells of a sheet; cut reports that there are more.
func (w *workbook) rows(data []byte) (out [][]string, cut bool, err error) {
	var row []string
	var kind string
	var style, column int
	var b strings.Builder
	visible := false
	err = each(data, func(e xml.StartElement) {
		switch e.Name.Local {
		case "row":
			row = nil
		case "c":
			kind, style, column = attribute(e, "t"), number(attribute(e, "s")), len(row)
			if n := columnOf(attribute(e, "r")); n >= len(row) {
				column = n
			}
			b.Reset()
		case "v", "t":
			visible = true
		}
	}, func(name string) {
		switch name {
		case "v", "t":
			visible = false
		case "c":
			v := w.shown(kind, style, b.String())
			if v == "" || column >= mostColumns {
				cut = cut || v != ""
				return
			}
			for len(row) <= column {
				row = append(row, "")
			}
			row[column] = v
			w.text -= len(v)
		case "row":
			if len(row) > 0 && w.text > 0 {
				out = append(out, row)
			}
			cut = cut || w.text <= 0
		}
	}, func(s string) {
		if visible {
			b.WriteString(s)
		}
	})
	return out, cut, err
}

// shown is what a cell shows.
func (w *workbook) shown(kind string, style int, v string) string {
	switch kind {
	case "s":
		if i, err := strconv.Atoi(v); err == nil && i >= 0 && i < len(w.strings) {
			return w.strings[i]
		}
		return ""
	case "b":
		return map[string]string{"1": "TRUE", "0": "FALSE"}[v]
	case "", "n":
		n, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return v
		}
		if w.dates[style] && n > 0 && n < 2_958_466 {
			first := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
			if w.date1904 {
				first = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
			}
			day, part := math.Modf(n)
			at := first.AddDate(0, 0, int(day)).Add(time.Duration(math.Round(part*86400)) * time.Second)
			if part == 0 {
				return at.Format("2006-01-02")
			}
			return at.Format("2006-01-02 15:04")
		}
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return v
}

// columnOf is the column, from 0, of a cell's name such as BC7; -1 without one.
func columnOf(ref string) int {
	n := 0
	for _, c := range ref {
		if c < 'A' || c > 'Z' || n > 1<<20 {
			break
		}
		n = n*26 + int(c-'A') + 1
	}
	return n - 1
}
