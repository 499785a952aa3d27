package jsonline

import "strconv"

// AppendKey writes the name of a member that is not the first of its object: the comma, the name and the colon. It is for frames
// that begin with what many of them have in common; an [Object] minds the commas itself. Names are ours and need no escapes.
func AppendKey(dst []byte, name string) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

// AppendField writes a member that is not the first.
func AppendField(dst []byte, name, value string) []byte {
	return AppendString(AppendKey(dst, name), value)
}

// AppendOptField is AppendField, but leaves out what is empty.
func AppendOptField(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return AppendField(dst, name, value)
}

// AppendIntField writes a member that is not the first.
func AppendIntField(dst []byte, name string, value int) []byte {
	return strconv.AppendInt(AppendKey(dst, name), int64(value), 10)
}

// AppendStrings writes a list. Nil is an empty one.
func AppendStrings(dst []byte, values []string) []byte {
	dst = append(dst, '[')
	for i, s := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, s)
	}
	return append(dst, ']')
}

// AppendForeign is AppendRaw with null in place of what is no JSON.
func AppendForeign(dst, raw []byte) []byte {
	dst, err := AppendRaw(dst, raw)
	if err != nil {
		return append(dst, "null"...)
	}
	return dst
}
