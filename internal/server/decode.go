package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/run"
)

const (
	maxBody  = 10 << 20 // bytes of a request
	maxDepth = 64       // nested objects and lists
	maxKeys  = 20_000   // of all objects of a request together

	bodyTimeout = 30 * time.Second // for a body to arrive
)

// decode reads a JSON body into v. It refuses what could hurt later: too much, too deep, text that cannot
// be stored. An empty body reads as an empty object.
func decode(w http.ResponseWriter, r *http.Request, v any) error {
	_, err := decodeRaw(w, r, v)
	return err
}

// decodeRaw is decode for those who also want what was sent.
func decodeRaw(w http.ResponseWriter, r *http.Request, v any) (json.RawMessage, error) {
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}")
	}
	if err := checkJSON(body); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, v); err != nil {
		return nil, jsonProblem(err)
	}
	return body, nil
}

// readBody reads what a client sends, if it does so in time: half a body must not hold a connection for ever.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	rc := http.NewResponseController(w)
	if err := rc.SetReadDeadline(time.Now().Add(bodyTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &statusError{http.StatusRequestEntityTooLarge, "body", fmt.Sprintf("body: is larger than %d bytes", maxBody)}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &statusError{http.StatusRequestTimeout, "body", fmt.Sprintf("body: did not arrive within %v", bodyTimeout)}
	case err != nil:
		return nil, failure(http.StatusBadRequest, "the body could not be read")
	}
	// What follows may be a stream, which lasts, and hears through the connection that its reader has left.
	if err := rc.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	return body, nil
}

// jsonProblem says which field has the wrong type, in words of JSON and not of Go.
func jsonProblem(err error) error {
	var wrong *json.UnmarshalTypeError
	var invalid *run.InvalidError
	switch {
	case errors.As(err, &invalid):
		return err
	case errors.As(err, &wrong):
		field := outsideName(wrong.Field)
		if field == "" {
			field = "body"
		}
		return &statusError{http.StatusUnprocessableEntity, field, fmt.Sprintf("%s: got a %s where something else is expected", field, wrong.Value)}
	}
	return &statusError{http.StatusUnprocessableEntity, "body", "body: " + err.Error()}
}

// outsideName drops the names of our own embedded structs, which are no members of what was sent.
func outsideName(field string) string {
	for _, own := range []string{"page.", "runBody.", "itemName.", "answerTo."} {
		field = strings.TrimPrefix(field, own)
	}
	return field
}

// checkJSON walks the text once, before anything is built from it.
func checkJSON(body []byte) error {
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
	if !json.Valid(body) {
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
