package payload

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/jsonline"
)

// errSyntax says that a payload is no JSON.
var errSyntax = errors.New("not valid JSON")

// maxDepth bounds how deep values may be nested; nobody's are.
const maxDepth = 1000

// Reader stands before a value of a document. Each method but Kind and Null consumes it.
type Reader struct {
	data []byte
	at   int
	err  error
	buf  []byte // of strings that are not as they stand
}

// Reset makes the Reader stand before another document. It keeps the data and does not change it.
func (r *Reader) Reset(data []byte) {
	r.data, r.at, r.err = data, 0, nil
	r.space()
}

// End returns nil if one document was read and nothing but white space follows it.
func (r *Reader) End() error {
	if r.err == nil && r.at < len(r.data) {
		r.fail()
	}
	return r.err
}

func (r *Reader) fail() {
	r.err = errSyntax
	r.at = len(r.data)
}

// Kind tells the value by its first byte: '{', '[', '"', 't', 'f', 'n', a digit or a minus; 0 if there is none.
func (r *Reader) Kind() byte {
	if r.at < len(r.data) {
		return r.data[r.at]
	}
	return 0
}

// Null reports that the value is null. It does not consume it.
func (r *Reader) Null() bool { return r.Kind() == 'n' }

// space passes over white space.
func (r *Reader) space() {
	for r.at < len(r.data) {
		switch r.data[r.at] {
		case ' ', '\t', '\r', '\n':
			r.at++
		default:
			return
		}
	}
}

// take passes over the byte c and the space behind it, and reports whether it stood there.
func (r *Reader) take(c byte) bool {
	if r.Kind() != c {
		return false
	}
	r.at++
	r.space()
	return true
}

// Object calls yield with each name of an object, the Reader standing before its value. A value that yield leaves
// alone is passed over:
//
//	for name := range r.Object {
//		switch string(name) {
//		case "text":
//			text = r.Text()
//		}
//	}
func (r *Reader) Object(yield func(name []byte) bool) {
	if r.Kind() != '{' {
		r.Skip()
		return
	}
	r.take('{')
	if r.take('}') {
		return
	}
	wanted := true
	for {
		name := r.key()
		if r.err != nil {
			return
		}
		before := r.at
		wanted = wanted && yield(name)
		if r.at == before {
			r.Skip()
		}
		if r.take(',') {
			continue
		}
		if !r.take('}') {
			r.fail()
		}
		return
	}
}

// key reads a name and its colon.
func (r *Reader) key() []byte {
	if r.Kind() != '"' {
		r.fail()
		return nil
	}
	raw, plain := r.quoted()
	if !plain {
		raw = r.meant(nil, raw) // a name must outlive the strings in its value
	}
	if !r.take(':') {
		r.fail()
	}
	return raw
}

// Array calls yield for each element of an array, the Reader standing before it. An element that yield leaves alone is
// passed over.
func (r *Reader) Array(yield func(i int) bool) {
	if r.Kind() != '[' {
		r.Skip()
		return
	}
	r.take('[')
	if r.take(']') {
		return
	}
	wanted := true
	for i := 0; ; i++ {
		before := r.at
		wanted = wanted && yield(i)
		if r.at == before {
			r.Skip()
		}
		if r.take(',') {
			continue
		}
		if !r.take(']') {
			r.fail()
		}
		return
	}
}

// Text reads a string.
func (r *Reader) Text() string { return string(r.Word()) }

// Same reads a string that is most often the one that it was before, and then makes none.
func (r *Reader) Same(was string) string {
	if w := r.Word(); string(w) != was {
		return string(w)
	}
	return was
}

// Word reads a string for a look at it; it is overwritten by the next one.
func (r *Reader) Word() []byte {
	if r.Kind() != '"' {
		r.Skip()
		return nil
	}
	raw, plain := r.quoted()
	if plain {
		return raw
	}
	r.buf = r.meant(r.buf[:0], raw)
	return r.buf
}

// meant appends what stands between the quotes of a string.
func (r *Reader) meant(dst, raw []byte) []byte {
	dst, ok := jsonline.AppendText(dst, raw)
	if !ok {
		r.fail()
		return nil
	}
	return dst
}

// quoted reads a string without taking it apart. It is plain if what stands between the quotes is what it means.
func (r *Reader) quoted() (raw []byte, plain bool) {
	start := r.at + 1
	ascii, escapes := true, false
	for i := start; i < len(r.data); i++ {
		switch c := r.data[i]; {
		case c == '"':
			raw = r.data[start:i]
			r.at = i + 1
			r.space()
			return raw, !escapes && (ascii || utf8.Valid(raw))
		case c == '\\':
			escapes = true
			i++
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	r.fail()
	return nil, true
}

// Int reads a whole number; of others, what stands before the point. What is too large for a float64 to be exact is 0.
func (r *Reader) Int() int {
	c := r.Kind()
	if c != '-' && (c < '0' || c > '9') {
		r.Skip()
		return 0
	}
	start := r.at
	n := 0
	for r.at < len(r.data) && r.data[r.at] >= '0' && r.data[r.at] <= '9' && r.at-start < 15 {
		n = 10*n + int(r.data[r.at]-'0')
		r.at++
	}
	switch r.Kind() {
	case ',', '}', ']', 0, ' ', '\t', '\r', '\n':
		if r.at > start {
			r.space()
			return n
		}
	}
	r.at = start
	f := r.Float()
	if f > 1<<53 || f < -1<<53 {
		return 0
	}
	return int(f)
}

// Float reads a number.
func (r *Reader) Float() float64 {
	if c := r.Kind(); c != '-' && (c < '0' || c > '9') {
		r.Skip()
		return 0
	}
	f, err := strconv.ParseFloat(string(r.Raw()), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return 0
	}
	return f
}

// Bool reads true; all else is false.
func (r *Reader) Bool() bool {
	yes := r.Kind() == 't'
	r.Skip()
	return yes
}

// Raw returns the value as it stands in the payload.
func (r *Reader) Raw() []byte {
	start := r.at
	r.Skip()
	if r.err != nil {
		return nil
	}
	return bytes.TrimRight(r.data[start:r.at], " \t\r\n")
}

// Rest is what has not been read yet.
func (r *Reader) Rest() []byte { return r.data[r.at:] }

// Skip passes over the value.
func (r *Reader) Skip() { r.skip(0) }

func (r *Reader) skip(depth int) {
	switch c := r.Kind(); {
	case depth > maxDepth:
		r.fail()
	case c == '"':
		r.skipString()
	case c == '{':
		r.skipObject(depth)
	case c == '[':
		r.skipArray(depth)
	case c == 't':
		r.word("true")
	case c == 'f':
		r.word("false")
	case c == 'n':
		r.word("null")
	case c == 'N':
		r.word("NaN")
	case c == 'I':
		r.word("Infinity")
	default:
		r.skipNumber()
	}
}

func (r *Reader) word(w string) {
	if !bytes.HasPrefix(r.data[r.at:], []byte(w)) {
		r.fail()
		return
	}
	r.at += len(w)
	r.space()
}

func (r *Reader) skipNumber() {
	if r.Kind() == '-' {
		r.at++
		if r.Kind() == 'I' {
			r.word("Infinity")
			return
		}
	}
	r.digits()
	if r.Kind() == '.' {
		r.at++
		r.digits()
	}
	if c := r.Kind(); c == 'e' || c == 'E' {
		r.at++
		if c := r.Kind(); c == '+' || c == '-' {
			r.at++
		}
		r.digits()
	}
	r.space()
}

// digits passes over at least one.
func (r *Reader) digits() {
	start := r.at
	for r.at < len(r.data) && r.data[r.at] >= '0' && r.data[r.at] <= '9' {
		r.at++
	}
	if r.at == start {
		r.fail()
	}
}

// skipString looks for the quote that no backslash makes a part of the string. Long strings, such as pictures and what
// a search found, are passed over about as fast as memory is read.
func (r *Reader) skipString() {
	first := r.at + 1
	for i := first; ; i++ {
		next := bytes.IndexByte(r.data[min(i, len(r.data)):], '"')
		if next < 0 {
			r.fail()
			return
		}
		i += next
		slashes := 0
		for i-slashes > first && r.data[i-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			r.at = i + 1
			r.space()
			return
		}
	}
}

func (r *Reader) skipObject(depth int) {
	r.take('{')
	if r.take('}') {
		return
	}
	for r.err == nil {
		if r.Kind() != '"' {
			break
		}
		r.skipString()
		if !r.take(':') {
			break
		}
		r.skip(depth + 1)
		if r.take('}') {
			return
		}
		if !r.take(',') {
			break
		}
	}
	r.fail()
}

func (r *Reader) skipArray(depth int) {
	r.take('[')
	if r.take(']') {
		return
	}
	for r.err == nil {
		r.skip(depth + 1)
		if r.take(']') {
			return
		}
		if !r.take(',') {
			break
		}
	}
	r.fail()
}
