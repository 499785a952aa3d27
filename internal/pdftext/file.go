package pdftext

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/ascii85"
	"io"
	"unicode/utf16"
)

// file is a PDF file with its objects.
type file struct {
	ctx      context.Context
	most     Limits
	data     []byte
	objects  map[int]any
	trailers []*dict
	unpacked map[*stream][]byte // so that what many pages draw is unpacked once
	bytes    int                // unpacked so far
	fonts    map[*dict]*font
	ops      int
	more     bool // pages were left out
}

// scan finds all objects where they stand. The last of a number counts: that is how files are changed.
func (f *file) scan() error {
	for pos := 0; ; {
		if f.ctx.Err() != nil {
			return f.ctx.Err()
		}
		next := bytes.Index(f.data[pos:], []byte("obj"))
		if t := bytes.Index(f.data[pos:min(len(f.data), pos+max(next, 0)+1)], []byte("trailer")); t >= 0 {
			l := &lexer{f.data, pos + t + len("trailer")}
			if d, ok := l.object(0).(*dict); ok {
				f.trailers = append(f.trailers, d)
			}
		}
		if next < 0 {
			break
		}
		at := pos + next
		pos = at + len("obj")
		number, ok := heading(f.data, at)
		if !ok || len(f.objects) >= mostObjects {
			continue
		}
		l := &lexer{f.data, pos}
		v := l.object(0)
		pos = max(pos, l.pos)
		if d, ok := v.(*dict); ok {
			back := l.pos
			if l.token() == keyword("stream") {
				s := &stream{dict: d}
				s.raw, pos = f.body(l.pos, d)
				f.objects[number] = s
				if err := f.contained(s); err != nil {
					return err
				}
				continue
			}
			l.pos = back
		}
		if _, ok := v.(keyword); !ok {
			f.objects[number] = v
		}
	}
	// After the last object there may be a trailer that has no "obj" behind it.
	if i := bytes.LastIndex(f.data, []byte("trailer")); i >= 0 {
		l := &lexer{f.data, i + len("trailer")}
		if d, ok := l.object(0).(*dict); ok {
			f.trailers = append(f.trailers, d)
		}
	}
	for _, t := range f.trailers {
		if t.get("Encrypt") != nil {
			return ErrEncrypted
		}
	}
	return nil
}

// heading reads the "12 0 " before "obj", backwards.
func heading(data []byte, at int) (number int, ok bool) {
	i := at - 1
	spaces := func() bool {
		from := i
		for i >= 0 && isSpace(data[i]) {
			i--
		}
		return i < from
	}
	digits := func() (n int, ok bool) {
		for scale := 1; i >= 0 && data[i] >= '0' && data[i] <= '9' && scale <= 1e9; scale *= 10 {
			n += int(data[i]-'0') * scale
			i--
			ok = true
		}
		return n, ok
	}
	if !spaces() {
		return 0, false
	}
	if _, ok := digits(); !ok || !spaces() {
		return 0, false
	}
	return digits()
}

// body is the data of a stream, and where the file goes on behind it.
func (f *file) body(pos int, d *dict) ([]byte, int) {
	if pos < len(f.data) && f.data[pos] == '\r' {
		pos++
	}
	if pos < len(f.data) && f.data[pos] == '\n' {
		pos++
	}
	ending := []byte("endstream")
	if n, ok := d.get("Length").(float64); ok && n >= 0 && n <= float64(len(f.data)-pos) {
		if rest := f.data[pos+int(n):]; bytes.HasPrefix(bytes.TrimLeft(rest[:min(len(rest), 16)], "\r\n \t"), ending) {
			return f.data[pos : pos+int(n)], pos + int(n)
		}
	}
	if i := bytes.Index(f.data[pos:], ending); i >= 0 {
		return f.data[pos : pos+i], pos + i
	}
	return f.data[pos:], len(f.data)
}

// contained takes in what a stream has in it that belongs to the file: objects, and a trailer.
func (f *file) contained(s *stream) error {
	switch s.dict.get("Type") {
	case name("XRef"):
		f.trailers = append(f.trailers, s.dict)
	case name("ObjStm"):
		if len(f.trailers) > 0 && f.trailers[len(f.trailers)-1].get("Encrypt") != nil {
			return ErrEncrypted
		}
		data, err := f.unpack(s)
		if err != nil {
			return err
		}
		n, _ := s.dict.get("N").(float64)
		first, _ := s.dict.get("First").(float64)
		if n < 0 || first < 0 || first > float64(len(data)) {
			return nil
		}
		l := &lexer{data: data[:int(first)]}
		for i := 0; i < int(min(n, mostObjects)) && len(f.objects) < mostObjects; i++ {
			number, ok1 := l.token().(float64)
			offset, ok2 := l.token().(float64)
			if !ok1 || !ok2 {
				break
			}
			if at := first + offset; offset >= 0 && at < float64(len(data)) && number >= 0 && number < 1<<31 {
				f.objects[int(number)] = (&lexer{data, int(at)}).object(0)
			}
		}
	}
	return nil
}

// value follows references, as far as that makes sense.
func (f *file) value(v any) any {
	for range 10 {
		r, ok := v.(ref)
		if !ok {
			return v
		}
		v = f.objects[int(r)]
	}
	return nil
}

func (f *file) dict(v any) *dict {
	switch v := f.value(v).(type) {
	case *dict:
		return v
	case *stream:
		return v.dict
	}
	return nil
}

func (f *file) array(v any) array {
	switch v := f.value(v).(type) {
	case array:
		return v
	case nil:
		return nil
	default:
		return array{v}
	}
}

func (f *file) number(v any) float64 {
	n, _ := f.value(v).(float64)
	return n
}

// unpack is the data of a stream as it was before it was packed; nil if it is packed in a way that text is not.
func (f *file) unpack(s *stream) ([]byte, error) {
	if data, ok := f.unpacked[s]; ok {
		return data, nil
	}
	data := s.raw
	for _, filter := range f.array(s.dict.get("Filter")) {
		var r io.Reader
		switch f.value(filter) {
		case name("FlateDecode"), name("Fl"):
			z, err := zlib.NewReader(bytes.NewReader(data))
			if err != nil {
				data = nil
				continue
			}
			r = z
		case name("ASCII85Decode"), name("A85"):
			data, _, _ = bytes.Cut(data, []byte("~>"))
			r = ascii85.NewDecoder(bytes.NewReader(data))
		case name("ASCIIHexDecode"), name("AHx"):
			r = bytes.NewReader([]byte((&lexer{data: append([]byte{'<'}, data...)}).hex()))
		default:
			data = nil
			continue
		}
		left := f.most.Unpacked - f.bytes
		out, err := io.ReadAll(io.LimitReader(r, int64(left)+1))
		if len(out) > left {
			return nil, ErrTooMuch
		}
		_ = err // what came before a damage is worth reading
		f.bytes += len(out)
		data = out
	}
	if parms := f.dict(f.first(s.dict.get("DecodeParms"))); parms != nil && f.number(parms.get("Predictor")) >= 10 {
		data = unpredict(data, f.number(parms.get("Columns")), f.number(parms.get("Colors")), f.number(parms.get("BitsPerComponent")))
	}
	f.unpacked[s] = data
	return data, nil
}

// first is the only element of a list that may be none.
func (f *file) first(v any) any {
	if a := f.array(v); len(a) > 0 {
		return a[0]
	}
	return nil
}

// unpredict undoes PNG's filters of rows, with which tables are made easier to pack.
func unpredict(data []byte, columns, colors, bits float64) []byte {
	width := int(max(columns, 1)*max(colors, 1)*max(bits, 8)) / 8
	if width <= 0 || width > len(data) {
		return data
	}
	pixel := max(1, int(max(colors, 1)*max(bits, 8))/8)
	var out []byte
	above := make([]byte, width)
	for len(data) > width {
		kind, row := data[0], bytes.Clone(data[1:1+width])
		data = data[1+width:]
		for i := range row {
			var left, corner byte
			if i >= pixel {
				left, corner = row[i-pixel], above[i-pixel]
			}
			switch kind {
			case 1:
				row[i] += left
			case 2:
				row[i] += above[i]
			case 3:
				row[i] += byte((int(left) + int(above[i])) / 2)
			case 4:
				row[i] += paeth(left, above[i], corner)
			}
		}
		out, above = append(out, row...), row
	}
	return out
}

func paeth(a, b, c byte) byte {
	abs := func(n int) int { return max(n, -n) }
	p := int(a) + int(b) - int(c)
	pa, pb, pc := abs(p-int(a)), abs(p-int(b)), abs(p-int(c))
	switch {
	case pa <= pb && pa <= pc:
		return a
	case pb <= pc:
		return b
	}
	return c
}

// page is what a page draws, with what it needs for that.
type page struct {
	contents  array
	resources *dict
}

// pages lists the pages in their order; those that stand about, where no list of them can be read.
func (f *file) pages() []page {
	var out []page
	seen := map[*dict]bool{}
	var walk func(v any, resources *dict, depth int)
	walk = func(v any, resources *dict, depth int) {
		d := f.dict(v)
		if d == nil || seen[d] || depth > mostDepth {
			return
		}
		if len(out) >= f.most.Pages {
			f.more = true
			return
		}
		seen[d] = true
		if own := f.dict(d.get("Resources")); own != nil {
			resources = own
		}
		if kids, ok := f.value(d.get("Kids")).(array); ok {
			for _, k := range kids {
				walk(k, resources, depth+1)
			}
			return
		}
		out = append(out, page{f.array(d.get("Contents")), resources})
	}
	for i := len(f.trailers) - 1; i >= 0 && len(out) == 0; i-- {
		if root := f.dict(f.trailers[i].get("Root")); root != nil {
			walk(root.get("Pages"), nil, 0)
		}
	}
	if len(out) == 0 {
		for _, n := range sorted(f.objects) {
			if d := f.dict(f.objects[n]); d.get("Type") == name("Page") {
				walk(d, nil, 0)
			}
		}
	}
	return out
}

// says is what the file says of itself.
func (f *file) says(key name) string {
	for i := len(f.trailers) - 1; i >= 0; i-- {
		if s, ok := f.value(f.dict(f.trailers[i].get("Info")).get(key)).(text); ok && len(s) > 0 && len(s) < 2000 {
			return spelled(string(s))
		}
	}
	return ""
}

// spelled reads a text of the file's own, which is in UTF-16 if it says so, and else in an encoding that is like Latin-1.
func spelled(s string) string {
	if len(s) >= 2 && s[0] == 0xFE && s[1] == 0xFF {
		var units []uint16
		for i := 2; i+1 < len(s); i += 2 {
			units = append(units, uint16(s[i])<<8|uint16(s[i+1]))
		}
		return string(utf16.Decode(units))
	}
	if len(s) >= 3 && s[:3] == "\xEF\xBB\xBF" {
		return s[3:]
	}
	out := make([]rune, 0, len(s))
	for i := range len(s) {
		out = append(out, winAnsi(s[i]))
	}
	return string(out)
}
