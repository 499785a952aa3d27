package edge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/run"
)

const (
	// MaxBody is how many bytes a request may have, and a message of a socket.
	MaxBody = 10 << 20

	maxDepth = 64     // nested objects and lists
	maxKeys  = 20_000 // of all objects of a request together

	bodyTimeout = 30 * time.Second // for a body to arrive
)

// Decode reads a JSON body into v. It refuses what could hurt later: too much, too deep, text that cannot
// be stored. An empty body reads as an empty object.
func Decode(w http.ResponseWriter, r *http.Request, v any) error {
	_, err := DecodeRaw(w, r, v)
	return err
}

// DecodeRaw is Decode for those who also want what was sent, or, with nil for v, want nothing else.
func DecodeRaw(w http.ResponseWriter, r *http.Request, v any) (json.RawMessage, error) {
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}")
	}
	if err := CheckJSON(body); err != nil {
		return nil, err
	}
	if v == nil {
		return body, nil
	}
	return body, Unmarshal(lend(body, v), v)
}

// DecodeStrict is Decode for objects of which every key is known: a misspelt one must not be ignored.
func DecodeStrict(w http.ResponseWriter, r *http.Request, v any) error {
	raw, err := DecodeRaw(w, r, nil)
	if err != nil {
		return err
	}
	if bytes.TrimSpace(raw)[0] != '{' {
		return run.Invalidf("body", "must be an object")
	}
	dec := json.NewDecoder(bytes.NewReader(lend(raw, v)))
	dec.DisallowUnknownFields()
	err = dec.Decode(v)
	if err == nil {
		return nil
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok { // the package has no type for it
		name = strings.Trim(name, `"`)
		return run.Invalidf(name, "is not a field of this request")
	}
	return jsonProblem(err, v)
}

// Unmarshal reads JSON that was checked. Its error names the field that is wrong.
func Unmarshal(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return jsonProblem(err, v)
	}
	return nil
}

// readBody reads what a client sends, if it does so in time: half a body must not hold a connection for ever.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if err := wantJSON(r); err != nil {
		return nil, err
	}
	tooMuch := &statusError{http.StatusRequestEntityTooLarge, "body", fmt.Sprintf("body: is larger than %d bytes", MaxBody)}
	if r.ContentLength > MaxBody {
		return nil, tooMuch // before anything of it is read
	}
	rc := http.NewResponseController(w)
	if err := rc.SetReadDeadline(time.Now().Add(bodyTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	body, err := readAll(http.MaxBytesReader(w, r.Body, MaxBody), r.ContentLength)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, tooMuch
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &statusError{http.StatusRequestTimeout, "body", fmt.Sprintf("body: did not arrive within %v", bodyTimeout)}
	case err != nil:
		return nil, Refuse(http.StatusBadRequest, "the body could not be read")
	}
	// What follows may be a stream, which lasts, and hears through the connection that its reader has left.
	if err := rc.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	return body, nil
}

// readAll reads a body of a length that was announced, or of an unknown one, which is negative. The memory for a large one is
// taken when some of it is there, since to announce costs nothing, and at once, since growing would take it several times.
func readAll(r io.Reader, length int64) ([]byte, error) {
	const some = 64 << 10
	first := int64(some)
	if length >= 0 {
		first = min(length, some)
	}
	body := make([]byte, 0, first+1) // one more byte finds the end
	for {
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			return body, nil
		}
		if err != nil {
			return body, err
		}
		if len(body) == cap(body) {
			grown := 2 * int64(cap(body))
			if length >= int64(len(body)) {
				grown = length + 1
			}
			body = append(make([]byte, 0, grown), body...)
		}
	}
}

// wantJSON refuses a body that says it is something else. Not so one that says nothing, or that it is text, as LangGraph's server
// takes it, or a form, which is what curl -d says of everything.
func wantJSON(r *http.Request) error {
	said := r.Header.Get("Content-Type")
	if said == "" || r.ContentLength == 0 {
		return nil
	}
	media, _, err := mime.ParseMediaType(said)
	switch {
	case err != nil:
	case media == "application/json", media == "text/plain", media == "application/x-www-form-urlencoded", strings.HasSuffix(media, "+json"):
		return nil
	}
	return RefuseField(http.StatusUnsupportedMediaType, "Content-Type", fmt.Sprintf("Content-Type: must be application/json, not %q", Clip(said)))
}

// jsonProblem says which field of v has the wrong type, in words of JSON and not of Go.
func jsonProblem(err error, v any) error {
	var wrong *json.UnmarshalTypeError
	var invalid *run.InvalidError
	switch {
	case errors.As(err, &invalid):
		return err
	case errors.As(err, &wrong):
		field := outsideName(reflect.TypeOf(v), wrong.Field)
		if field == "" {
			field = "body"
		}
		return RefuseField(http.StatusUnprocessableEntity, field, fmt.Sprintf("%s: got a %s where something else is expected", field, wrong.Value))
	}
	return RefuseField(http.StatusUnprocessableEntity, "body", "body: "+err.Error())
}

// outsideName drops the names of our own embedded structs from the path of a field: they are no members of what was
// sent.
func outsideName(t reflect.Type, path string) string {
	var parts []string
	for part := range strings.SplitSeq(path, ".") {
		f, embedded := embeddedIn(t, part)
		if embedded {
			t = f.Type
			continue
		}
		parts = append(parts, part)
		t = memberOf(t, part)
	}
	return strings.Join(parts, ".")
}

// structOf is the struct that a value of the type is, points to or has as elements; nil if there is none.
func structOf(t reflect.Type) reflect.Type {
	for t != nil {
		switch t.Kind() {
		case reflect.Struct:
			return t
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			t = t.Elem()
		default:
			return nil
		}
	}
	return nil
}

// embeddedIn finds a struct that is embedded under that name and has none in JSON.
func embeddedIn(t reflect.Type, name string) (reflect.StructField, bool) {
	t = structOf(t)
	if t == nil {
		return reflect.StructField{}, false
	}
	f, ok := t.FieldByName(name)
	return f, ok && f.Anonymous && f.Tag.Get("json") == ""
}

// memberOf is the type of the field that has a name in JSON; nil if there is none.
func memberOf(t reflect.Type, name string) reflect.Type {
	t = structOf(t)
	if t == nil {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			return f.Type
		}
	}
	return nil
}

// CheckJSON walks a text once, before anything is built from it, and refuses what is no JSON or could hurt later.
func CheckJSON(body []byte) error {
	bad := func(msg string) error { return &statusError{http.StatusBadRequest, "body", "body: " + msg} }
	if !utf8.Valid(body) {
		return bad("is not valid UTF-8")
	}
	if bytes.IndexByte(body, 0) >= 0 || hasEscape(body, "0000") {
		return bad("contains a NUL character")
	}
	if hasLoneSurrogate(body) {
		return bad("contains half of a surrogate pair")
	}
	depth, keys := 0, 0
	inString, escaped := false, false
	for _, c := range body {
		if inString {
			switch {
			case escaped:
				escaped = false
			case c == '\\':
				escaped = true
			case c == '"':
				inString = false
			}
			continue
		}
		switch c {
		case '"':
			inString = true
		case '{', '[':
			if depth++; depth > maxDepth {
				return bad(fmt.Sprintf("is nested deeper than %d levels", maxDepth))
			}
		case '}', ']':
			depth--
		case ':':
			if keys++; keys > maxKeys {
				return bad(fmt.Sprintf("has more than %d keys", maxKeys))
			}
		}
	}
	if !jsonline.Valid(body) {
		return bad("is not valid JSON")
	}
	return nil
}

// hasEscape reports whether \uXXXX stands in the text, not itself escaped.
func hasEscape(body []byte, hex string) bool {
	return eachEscape(body, func(h string, _ []byte) bool { return strings.EqualFold(h, hex) })
}

func hasLoneSurrogate(body []byte) bool {
	low := false // the next escape is the second half of a pair
	return eachEscape(body, func(h string, rest []byte) bool {
		h = strings.ToLower(h)
		switch {
		case h >= "d800" && h <= "dbff":
			low = len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' && isLow(string(rest[2:6]))
			return !low
		case h >= "dc00" && h <= "dfff":
			ok := low
			low = false
			return !ok
		}
		return false
	})
}

func isLow(h string) bool {
	h = strings.ToLower(h)
	return h >= "dc00" && h <= "dfff"
}

// eachEscape calls found for every \u escape with its digits and what follows, until it returns true.
func eachEscape(body []byte, found func(hex string, rest []byte) bool) bool {
	for i := 0; i+1 < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		i++ // the escaped character
		if body[i] == 'u' && i+5 <= len(body) && found(string(body[i+1:min(i+5, len(body))]), body[min(i+5, len(body)):]) {
			return true
		}
	}
	return false
}
