package edge

import (
	"encoding/json"
	"iter"
	"reflect"
	"strings"
)

// lendBytes is the size from which a member is worth the trouble.
const lendBytes = 4 << 10

var rawType = reflect.TypeFor[json.RawMessage]()

// lend sets the large members of a checked object that v takes as raw JSON to where they stand in the body, and returns
// the object without them: encoding/json would copy each, and an input may have megabytes. The body belongs to v from then on.
// What it is not sure of it leaves to encoding/json.
func lend(body []byte, v any) []byte {
	target := reflect.ValueOf(v)
	if len(body) < lendBytes || target.Kind() != reflect.Pointer || target.Elem().Kind() != reflect.Struct {
		return body
	}
	fields := rawFields(target.Elem())
	if len(fields) == 0 {
		return body
	}
	lent := map[string][]byte{}
	seen := map[string]bool{}
	rest := []byte{'{'}
	for key, value := range members(body) {
		name := string(key[1 : len(key)-1])
		folded := strings.ToLower(name)
		if strings.ContainsRune(name, '\\') || seen[folded] {
			return body // of several members of a name the last counts
		}
		seen[folded] = true
		if _, raw := fields[name]; raw && len(value) >= lendBytes {
			lent[name] = value
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, key...), ':'), value...)
	}
	if len(seen) == 0 {
		return body // no object
	}
	for name, value := range lent {
		fields[name].SetBytes(value[:len(value):len(value)])
	}
	return append(rest, '}')
}

// rawFields are the fields of a struct, and of those that it embeds, that are raw JSON, by their names in JSON.
func rawFields(v reflect.Value) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Type != rawType || name == "" || name == "-" {
			continue
		}
		if field, err := v.FieldByIndexErr(f.Index); err == nil && field.CanSet() {
			fields[name] = field
		}
	}
	return fields
}

// members yields the members of an object that is known to be valid JSON, each with its key in quotes; nothing of anything else.
func members(body []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		at := space(body, 0)
		if body[at] != '{' {
			return
		}
		for at = space(body, at+1); body[at] == '"'; at = space(body, at+1) { // past the comma
			end := valueEnd(body, at)
			from := space(body, space(body, end)+1) // past the colon
			to := valueEnd(body, from)
			if !yield(body[at:end], body[from:to]) {
				return
			}
			if at = space(body, to); body[at] != ',' {
				return
			}
		}
	}
}

// space is where the next byte stands that is no white space.
func space(body []byte, at int) int {
	for at < len(body) && (body[at] == ' ' || body[at] == '\t' || body[at] == '\n' || body[at] == '\r') {
		at++
	}
	return at
}

// valueEnd is where the value ends that begins at a place of valid JSON.
func valueEnd(body []byte, at int) int {
	depth := 0
	for ; at < len(body); at++ {
		switch body[at] {
		case '"':
			for at++; body[at] != '"'; at++ {
				if body[at] == '\\' {
					at++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth > 0 {
				continue
			}
			for at+1 < len(body) && strings.IndexByte(",]} \t\n\r", body[at+1]) < 0 { // a number or a word
				at++
			}
		}
		if depth == 0 {
			return at + 1
		}
	}
	return at
}
