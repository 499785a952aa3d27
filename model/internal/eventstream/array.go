package eventstream

import (
	"errors"
	"io"
)

// ErrNotArray is returned by [Array] for a source that is neither a JSON array nor a JSON object.
var ErrNotArray = errors.New("the stream is not a JSON array")

// Array reads the elements of one JSON array that arrives in pieces, as Gemini streams it without alt=sse.
// A source that is a single object, as errors are, is read as an array of that one element.
type Array struct {
	in window
	at arrayState
}

type arrayState int

const (
	beforeArray  arrayState = iota
	beforeFirst             // an element or the end
	afterElement            // a comma or the end
	beforeNext              // an element
	afterArray
)

// NewArray returns an Array of r.
func NewArray(r io.Reader) *Array { return &Array{in: window{src: r}} }

// Limit is [Reader.Limit] of one element.
func (a *Array) Limit(n int) *Array {
	a.in.setMax(n)
	return a
}

// Next returns the next element as soon as its last byte is in; a number or a bare word ends with the byte
// after it. It is valid until the next call. [io.EOF] is returned after the closing bracket, without reading
// on; a source that ends before it gives [io.ErrUnexpectedEOF]. Whether an element is valid JSON beyond
// its brackets and strings is for the caller to find out.
func (a *Array) Next() ([]byte, error) {
	for a.at != afterArray {
		c, err := a.peek()
		if err != nil {
			return nil, err
		}
		switch {
		case a.at == beforeArray && c == '[':
			a.at = beforeFirst
			a.in.lo++
		case a.at == beforeArray && c == '{':
			return a.element(afterArray)
		case (a.at == beforeFirst || a.at == afterElement) && c == ']':
			a.at = afterArray
			a.in.lo++
		case a.at == afterElement && c == ',':
			a.at = beforeNext
			a.in.lo++
		case (a.at == beforeFirst || a.at == beforeNext) && c != ',' && c != ']' && c != '}':
			return a.element(afterElement)
		default:
			return nil, a.fail(ErrNotArray)
		}
	}
	return nil, io.EOF
}

// fail makes err what every later call returns.
func (a *Array) fail(err error) error {
	a.in.err, a.in.hi = err, a.in.lo
	return err
}

// peek skips white space and returns the byte after it.
func (a *Array) peek() (byte, error) {
	for {
		a.in.start()
		for ; a.in.begun && a.in.lo < a.in.hi; a.in.lo++ {
			switch c := a.in.buf[a.in.lo]; c {
			case ' ', '\t', '\r', '\n':
			default:
				return c, nil
			}
		}
		if !a.in.fill() {
			return 0, a.ended()
		}
	}
}

// ended is the error of a source that stops inside the array.
func (a *Array) ended() error {
	if a.in.err == io.EOF {
		a.in.err = io.ErrUnexpectedEOF
	}
	return a.in.err
}

// element reads one value, which begins at the window's first byte, and then goes on to the given state.
func (a *Array) element(then arrayState) ([]byte, error) {
	var depth, n int // n bytes of the element have been looked at
	var inString, escaped bool
	for {
		for ; a.in.lo+n < a.in.hi; n++ {
			c := a.in.buf[a.in.lo+n]
			switch {
			case escaped:
				escaped = false
			case inString && c == '\\':
				escaped = true
			case c == '"':
				inString = !inString
				if !inString && depth == 0 {
					return a.take(n+1, then)
				}
			case inString:
			case c == '{' || c == '[':
				depth++
			case (c == '}' || c == ']') && depth > 0:
				if depth--; depth == 0 {
					return a.take(n+1, then)
				}
			case depth == 0 && (c == ',' || c == ']' || c == '}' || c == ' ' || c == '\t' || c == '\r' || c == '\n'):
				return a.take(n, then)
			}
		}
		if !a.in.fill() {
			return nil, a.ended()
		}
	}
}

func (a *Array) take(n int, then arrayState) ([]byte, error) {
	if n > a.in.limit() {
		return nil, a.fail(a.in.tooLarge())
	}
	el := a.in.buf[a.in.lo : a.in.lo+n]
	a.in.lo += n
	a.at = then
	return el, nil
}
