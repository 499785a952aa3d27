package pdftext

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"
)

// mostCodes is how many codes of a font are understood. A font for all of Chinese has fewer.
const mostCodes = 200_000

// font says which characters the codes of a text stand for, and how wide they are.
type font struct {
	wide     bool // codes have two bytes
	runes    map[int]string
	widths   map[int]float64 // in thousandths of the size
	usual    float64         // width of what widths has not
	fallback func(byte) rune // of codes that runes has not; nil: they stand for nothing that is known
}

func sorted(m map[int]any) []int {
	keys := make([]int, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// font makes a font of its dictionary, once.
func (f *file) font(d *dict) (*font, error) {
	if known, ok := f.fonts[d]; ok {
		return known, nil
	}
	t := &font{runes: map[int]string{}, widths: map[int]float64{}, usual: 500}
	f.fonts[d] = t
	if d.get("Subtype") == name("Type0") {
		t.wide, t.usual = true, 1000
		if below := f.dict(f.first(d.get("DescendantFonts"))); below != nil {
			f.wideWidths(t, below)
		}
	} else {
		f.encoding(t, d)
		first := int(f.number(d.get("FirstChar")))
		for i, w := range f.array(d.get("Widths")) {
			if i > 255 {
				break
			}
			t.widths[first+i] = f.number(w)
		}
	}
	if s, ok := f.value(d.get("ToUnicode")).(*stream); ok {
		data, err := f.unpack(s)
		if err != nil {
			return nil, err
		}
		t.toUnicode(data)
	}
	return t, nil
}

// wideWidths reads "10 [500 600] 20 29 700".
func (f *file) wideWidths(t *font, d *dict) {
	if w, ok := f.value(d.get("DW")).(float64); ok {
		t.usual = w
	}
	list := f.array(d.get("W"))
	for i := 0; i+1 < len(list) && len(t.widths) < mostCodes; {
		from := int(f.number(list[i]))
		if each, ok := f.value(list[i+1]).(array); ok {
			for k, w := range each {
				t.widths[from+k] = f.number(w)
			}
			i += 2
			continue
		}
		if i+2 >= len(list) {
			return
		}
		to, w := int(f.number(list[i+1])), f.number(list[i+2])
		for c := from; c <= to && c <= 0xFFFF && c >= 0 && len(t.widths) < mostCodes; c++ {
			t.widths[c] = w
		}
		i += 3
	}
}

// encoding reads which characters the codes of a plain font stand for.
func (f *file) encoding(t *font, d *dict) {
	t.fallback = standard
	enc := f.value(d.get("Encoding"))
	differences, _ := enc.(*dict)
	if differences != nil {
		enc = f.value(differences.get("BaseEncoding"))
	}
	switch enc {
	case name("WinAnsiEncoding"):
		t.fallback = winAnsi
	case name("MacRomanEncoding"):
		t.fallback = charmap.Macintosh.DecodeByte
	case nil:
		if d.get("Subtype") == name("TrueType") {
			t.fallback = winAnsi
		}
	}
	code := 0
	for _, v := range f.array(differences.get("Differences")) {
		switch v := f.value(v).(type) {
		case float64:
			code = int(v)
		case name:
			if s := glyph(string(v)); s != "" {
				t.runes[code] = s
			}
			code++
		}
		if len(t.runes) > 256 {
			return
		}
	}
}

// toUnicode reads the table in which a font says what its codes stand for.
func (t *font) toUnicode(data []byte) {
	l := &lexer{data: data}
	var stack []any
	for {
		v := l.object(0)
		kw, ok := v.(keyword)
		if !ok {
			if stack = append(stack, v); len(stack) > mostCodes {
				return
			}
			continue
		}
		switch kw {
		case end:
			return
		case "endcodespacerange":
			if s, ok := last(stack).(text); ok {
				t.wide = len(s) > 1
			}
		case "endbfchar":
			for i := 0; i+1 < len(stack) && len(t.runes) < mostCodes; i += 2 {
				from, ok1 := stack[i].(text)
				to, ok2 := stack[i+1].(text)
				if ok1 && ok2 {
					t.runes[codeOf(from)] = units(to)
				}
			}
		case "endbfrange":
			for i := 0; i+2 < len(stack); i += 3 {
				t.span(stack[i], stack[i+1], stack[i+2])
			}
		}
		stack = stack[:0]
	}
}

func last(stack []any) any {
	if len(stack) == 0 {
		return nil
	}
	return stack[len(stack)-1]
}

// span takes in a range of codes that stand for a range of characters, or for those of a list.
func (t *font) span(from, to, dst any) {
	lo, ok1 := from.(text)
	hi, ok2 := to.(text)
	if !ok1 || !ok2 {
		return
	}
	first, final := codeOf(lo), codeOf(hi)
	switch dst := dst.(type) {
	case array:
		for i, v := range dst {
			if s, ok := v.(text); ok && first+i <= final && len(t.runes) < mostCodes {
				t.runes[first+i] = units(s)
			}
		}
	case text:
		start := []rune(units(dst))
		if len(start) == 0 {
			return
		}
		for c := first; c <= final && c-first <= 0xFFFF && len(t.runes) < mostCodes; c++ {
			s := slices.Clone(start)
			s[len(s)-1] += rune(c - first)
			t.runes[c] = string(s)
		}
	}
}

// codeOf is the number of a code; of a longer one, that of its end.
func codeOf(s text) int {
	n := 0
	for i := max(0, len(s)-3); i < len(s); i++ {
		n = n<<8 | int(s[i])
	}
	return n
}

// units reads characters in UTF-16.
func units(s text) string {
	if len(s) == 1 {
		return string(rune(s[0]))
	}
	var u []uint16
	for i := 0; i+1 < len(s) && len(u) < 32; i += 2 {
		u = append(u, uint16(s[i])<<8|uint16(s[i+1]))
	}
	return string(utf16.Decode(u))
}

// decode calls see for each code of a text: the characters, the width in thousandths, and whether it is the code of a space.
func (t *font) decode(s text, see func(chars string, width float64, space bool)) {
	step := 1
	if t.wide {
		step = 2
	}
	for i := 0; i+step <= len(s); i += step {
		code := int(s[i])
		if t.wide {
			code = code<<8 | int(s[i+1])
		}
		chars, ok := t.runes[code]
		if !ok && t.fallback != nil && !t.wide {
			chars = string(t.fallback(s[i]))
		}
		width, ok := t.widths[code]
		if !ok {
			width = t.usual
		}
		see(chars, width, step == 1 && code == ' ')
	}
}

func winAnsi(c byte) rune { return charmap.Windows1252.DecodeByte(c) }

// standard is the encoding of fonts that name none.
func standard(c byte) rune {
	switch c {
	case 0x27, 0xA9:
		return '’'
	case 0x60:
		return '‘'
	case 0xAA:
		return '“'
	case 0xAE:
		return 'ﬁ'
	case 0xAF:
		return 'ﬂ'
	case 0xB1:
		return '–'
	case 0xB7:
		return '•'
	case 0xBA:
		return '”'
	case 0xBC:
		return '…'
	case 0xD0:
		return '—'
	}
	return winAnsi(c)
}

// glyph is the characters that the name of a shape stands for; "" if nobody knows.
func glyph(n string) string {
	n, _, _ = strings.Cut(n, ".")
	if s, ok := glyphs[n]; ok {
		return s
	}
	if len(n) == 1 {
		return n
	}
	for prefix, digits := range map[string]int{"uni": 4, "u": 4} {
		if hex, ok := strings.CutPrefix(n, prefix); ok && len(hex) >= digits && len(hex) <= 6 {
			if v, err := strconv.ParseUint(hex, 16, 32); err == nil && v > 0 && v <= 0x10FFFF {
				return string(rune(v))
			}
		}
	}
	if parts := strings.Split(n, "_"); len(parts) > 1 && len(parts) < 5 {
		var all string
		for _, p := range parts {
			all += glyph(p)
		}
		return all
	}
	return ""
}
