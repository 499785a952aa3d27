package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/internal/jsonline"
)

// partialArg is a piece of one argument: a JSON path, and a value or the next piece of a string.
type partialArg struct {
	Path      string          `json:"jsonPath"`
	String    *string         `json:"stringValue"`
	Number    json.RawMessage `json:"numberValue"`
	Bool      *bool           `json:"boolValue"`
	Null      json.RawMessage `json:"nullValue"`
	Continues bool            `json:"willContinue"`
}

var errOrder = errors.New("arguments arrive in an order that is no JSON")

// writer turns arguments that arrive by path into the JSON text that they grow into. Models write arguments
// from left to right, so every piece either extends the open string or follows everything before it.
type writer struct {
	stack    []container // from the root to the value written last
	inString string      // path of a string that is still open
	buf      []byte
}

// container is an object or an array that is still open.
type container struct {
	array bool
	keys  []string // written so far, of an object
	n     int      // elements written so far, of an array
	at    step     // the member written last
}

// step is one step of a path: into a key, or to an index.
type step struct {
	key   string
	index int // -1 for a key
}

// write returns what a piece adds to the text.
func (w *writer) write(p partialArg) (string, error) {
	w.buf = w.buf[:0]
	if w.inString != "" {
		if w.inString == p.Path && p.String != nil {
			return w.string(p)
		}
		w.buf = append(w.buf, '"') // whoever goes on elsewhere has finished here
		w.inString = ""
	}
	path, err := parsePath(p.Path)
	if err != nil {
		return "", err
	}
	if len(w.stack) == 0 {
		w.open(path[0])
	}
	same := 0 // steps that lead into containers which are open
	for same < len(path)-1 && same < len(w.stack)-1 && w.stack[same].at == path[same] {
		same++
	}
	for len(w.stack) > same+1 {
		w.closeLast()
	}
	for i := same; i < len(path)-1; i++ {
		if err := w.member(path[i]); err != nil {
			return "", err
		}
		w.open(path[i+1])
	}
	if err := w.member(path[len(path)-1]); err != nil {
		return "", err
	}
	return w.value(p)
}

func (w *writer) value(p partialArg) (string, error) {
	switch {
	case len(p.Number) > 0:
		w.buf = append(w.buf, p.Number...)
	case p.Bool != nil:
		w.buf = strconv.AppendBool(w.buf, *p.Bool)
	case p.Null != nil:
		w.buf = append(w.buf, "null"...)
	default:
		w.buf = append(w.buf, '"')
		return w.string(p)
	}
	return string(w.buf), nil
}

// string writes the next piece of a string that is open.
func (w *writer) string(p partialArg) (string, error) {
	if p.String != nil {
		w.buf = jsonline.AppendEscaped(w.buf, *p.String)
	}
	w.inString = p.Path
	if !p.Continues {
		w.inString = ""
		w.buf = append(w.buf, '"')
	}
	return string(w.buf), nil
}

// open begins the container that the step leads into.
func (w *writer) open(into step) {
	array := into.index >= 0
	if array {
		w.buf = append(w.buf, '[')
	} else {
		w.buf = append(w.buf, '{')
	}
	w.stack = append(w.stack, container{array: array})
}

// member begins a member of the innermost container.
func (w *writer) member(s step) error {
	c := &w.stack[len(w.stack)-1]
	if c.array != (s.index >= 0) {
		return errOrder
	}
	if c.n > 0 {
		w.buf = append(w.buf, ',')
	}
	if c.array {
		if s.index != c.n {
			return errOrder
		}
	} else {
		if slices.Contains(c.keys, s.key) {
			return errOrder
		}
		w.buf = append(jsonline.AppendString(w.buf, s.key), ':')
		c.keys = append(c.keys, s.key)
	}
	c.n++
	c.at = s
	return nil
}

func (w *writer) closeLast() {
	last := len(w.stack) - 1
	if w.stack[last].array {
		w.buf = append(w.buf, ']')
	} else {
		w.buf = append(w.buf, '}')
	}
	w.stack = w.stack[:last]
}

// close returns what completes the text.
func (w *writer) close() string {
	w.buf = w.buf[:0]
	if w.inString != "" {
		w.buf = append(w.buf, '"')
		w.inString = ""
	}
	if len(w.stack) == 0 {
		return "{}"
	}
	for len(w.stack) > 0 {
		w.closeLast()
	}
	return string(w.buf)
}

// maxDepth bounds what a path may nest; nobody's arguments are that deep.
const maxDepth = 100

// parsePath reads the JSON paths of single values: $.a.b[0]['a key'].
func parsePath(path string) ([]step, error) {
	bad := func() ([]step, error) {
		return nil, fmt.Errorf("the path %.100q of an argument cannot be read", path)
	}
	rest, ok := strings.CutPrefix(path, "$")
	if !ok {
		return bad()
	}
	var steps []step
	for rest != "" {
		switch {
		case len(steps) == maxDepth:
			return bad()
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[") + 1
			if end == 0 {
				end = len(rest)
			}
			if end == 1 {
				return bad()
			}
			steps = append(steps, step{rest[1:end], -1})
			rest = rest[end:]
		case strings.HasPrefix(rest, "['"), strings.HasPrefix(rest, `["`):
			key, after, ok := quotedKey(rest[1:])
			if !ok {
				return bad()
			}
			steps = append(steps, step{key, -1})
			rest = after
		case rest[0] == '[':
			digits, after, ok := strings.Cut(rest[1:], "]")
			n, err := strconv.Atoi(digits)
			if !ok || err != nil || n < 0 {
				return bad()
			}
			steps = append(steps, step{index: n})
			rest = after
		default:
			return bad()
		}
	}
	if len(steps) == 0 || steps[0].index >= 0 { // arguments are an object
		return bad()
	}
	return steps, nil
}

// quotedKey reads 'key'] or "key"] and returns what follows.
func quotedKey(s string) (key, rest string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case s[i] == s[0]:
			rest, ok = strings.CutPrefix(s[i+1:], "]")
			return b.String(), rest, ok
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}
