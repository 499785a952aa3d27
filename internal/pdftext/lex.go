package pdftext

import (
	"bytes"
	"strconv"
)

// Objects are nil, bool, float64, text, name, keyword, ref, array, *dict and *stream.
type (
	text    string // bytes in the encoding of whoever uses them
	name    string
	keyword string
	ref     int // the generation does not matter to who takes the last of each
	array   []any
	dict    struct{ at map[name]any }
	stream  struct {
		dict *dict
		raw  []byte
	}
)

func (d *dict) get(n name) any {
	if d == nil {
		return nil
	}
	return d.at[n]
}

// end is what comes after the last token.
const end = keyword("")

// lexer reads objects from bytes.
type lexer struct {
	data []byte
	pos  int
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isDelimiter(c byte) bool {
	return bytes.IndexByte([]byte("()<>[]{}/%"), c) >= 0
}

func (l *lexer) skip() {
	for l.pos < len(l.data) {
		switch c := l.data[l.pos]; {
		case isSpace(c):
			l.pos++
		case c == '%':
			for l.pos < len(l.data) && l.data[l.pos] != '\n' && l.data[l.pos] != '\r' {
				l.pos++
			}
		default:
			return
		}
	}
}

// token reads what is one in itself: everything but arrays, dictionaries and references, whose ends are keywords.
func (l *lexer) token() any {
	l.skip()
	if l.pos >= len(l.data) {
		return end
	}
	switch c := l.data[l.pos]; c {
	case '/':
		return l.name()
	case '(':
		return l.literal()
	case '<', '>':
		if l.pos+1 < len(l.data) && l.data[l.pos+1] == c {
			l.pos += 2
			return keyword([]byte{c, c})
		}
		if c == '<' {
			return l.hex()
		}
		l.pos++
		return keyword(">")
	case '[', ']', '{', '}', ')':
		l.pos++
		return keyword(c)
	}
	start := l.pos
	for l.pos < len(l.data) && !isSpace(l.data[l.pos]) && !isDelimiter(l.data[l.pos]) {
		l.pos++
	}
	word := l.data[start:l.pos]
	if c := word[0]; c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
		if n, ok := number(word); ok {
			return n
		}
	}
	switch string(word) {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	}
	return keyword(word)
}

// number reads a number, also as some programs write it: "--5", "1.2-3".
func number(word []byte) (float64, bool) {
	if len(word) > 40 {
		return 0, false
	}
	for len(word) > 1 && (word[0] == '-' || word[0] == '+') && (word[1] == '-' || word[1] == '+') {
		word = word[1:]
	}
	if i := bytes.IndexByte(word[1:], '-'); i >= 0 {
		word = word[:i+1]
	}
	for _, c := range word {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' {
			return 0, false
		}
	}
	n, err := strconv.ParseFloat(string(word), 64)
	return n, err == nil
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func (l *lexer) name() name {
	l.pos++
	var out []byte
	for l.pos < len(l.data) && !isSpace(l.data[l.pos]) && !isDelimiter(l.data[l.pos]) {
		c := l.data[l.pos]
		if c == '#' && l.pos+2 < len(l.data) {
			if hi, lo := unhex(l.data[l.pos+1]), unhex(l.data[l.pos+2]); hi >= 0 && lo >= 0 {
				c = byte(hi<<4 | lo)
				l.pos += 2
			}
		}
		out = append(out, c)
		l.pos++
	}
	return name(out)
}

func (l *lexer) literal() text {
	l.pos++
	var out []byte
	for depth := 1; l.pos < len(l.data); l.pos++ {
		c := l.data[l.pos]
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				l.pos++
				return text(out)
			}
		case '\\':
			if l.pos++; l.pos >= len(l.data) {
				return text(out)
			}
			switch c = l.data[l.pos]; c {
			case 'n':
				c = '\n'
			case 'r':
				c = '\r'
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			case 'f':
				c = '\f'
			case '\r':
				if l.pos+1 < len(l.data) && l.data[l.pos+1] == '\n' {
					l.pos++
				}
				continue
			case '\n':
				continue
			case '0', '1', '2', '3', '4', '5', '6', '7':
				v := 0
				for i := 0; i < 3 && l.pos < len(l.data) && l.data[l.pos] >= '0' && l.data[l.pos] <= '7'; i++ {
					v = v<<3 | int(l.data[l.pos]-'0')
					l.pos++
				}
				l.pos--
				c = byte(v)
			}
		}
		out = append(out, c)
	}
	return text(out)
}

func (l *lexer) hex() text {
	l.pos++
	var out []byte
	half := -1
	for ; l.pos < len(l.data); l.pos++ {
		c := l.data[l.pos]
		if c == '>' {
			l.pos++
			break
		}
		v := unhex(c)
		switch {
		case v < 0:
		case half < 0:
			half = v
		default:
			out = append(out, byte(half<<4|v))
			half = -1
		}
	}
	if half >= 0 {
		out = append(out, byte(half<<4))
	}
	return text(out)
}

// object reads a whole object. What is nested too deeply is read as null.
func (l *lexer) object(depth int) any {
	tok := l.token()
	kw, ok := tok.(keyword)
	if !ok {
		if n, ok := tok.(float64); ok {
			return l.reference(n)
		}
		return tok
	}
	if depth > mostDepth && (kw == "[" || kw == "<<") {
		return nil
	}
	switch kw {
	case "[":
		var a array
		for {
			v := l.object(depth + 1)
			if v == keyword("]") || v == end || v == keyword("endobj") || v == keyword("endstream") {
				return a
			}
			a = append(a, v)
		}
	case "<<":
		d := &dict{map[name]any{}}
		for {
			k := l.token()
			if k == keyword(">>") || k == end || k == keyword("endobj") || k == keyword("stream") {
				return d
			}
			key, ok := k.(name)
			if !ok {
				continue
			}
			v := l.object(depth + 1)
			if v == keyword(">>") {
				return d
			}
			d.at[key] = v
		}
	}
	return kw
}

// reference reads the rest of "12 0 R", if that is what it is.
func (l *lexer) reference(n float64) any {
	if n < 0 || n != float64(int(n)) || n > 1<<31 {
		return n
	}
	back := l.pos
	if g, ok := l.token().(float64); ok && g >= 0 && g <= 65535 && l.token() == keyword("R") {
		return ref(n)
	}
	l.pos = back
	return n
}
