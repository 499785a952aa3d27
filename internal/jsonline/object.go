package jsonline

import "strconv"

// Object writes an object member by member. Open it with [Begin]. Names of members are ours and need no escapes.
type Object struct {
	buf   []byte
	first int // where the inside begins
	err   error
}

// Begin opens an object at the end of dst.
func Begin(dst []byte) Object {
	dst = append(dst, '{')
	return Object{buf: dst, first: len(dst)}
}

// End closes the object and returns the buffer; after an error, the buffer as it was before [Begin].
func (o *Object) End() ([]byte, error) {
	if o.err != nil {
		return o.buf[:o.first-1], o.err
	}
	return append(o.buf, '}'), nil
}

func (o *Object) key(name string) {
	if len(o.buf) > o.first {
		o.buf = AppendKey(o.buf, name)
		return
	}
	o.buf = append(append(append(o.buf, '"'), name...), '"', ':')
}

// String writes a member.
func (o *Object) String(name, value string) {
	o.key(name)
	o.buf = AppendString(o.buf, value)
}

// OptString writes a member that is left out where it is empty.
func (o *Object) OptString(name, value string) {
	if value != "" {
		o.String(name, value)
	}
}

// Int writes a member.
func (o *Object) Int(name string, value int64) {
	o.key(name)
	o.buf = strconv.AppendInt(o.buf, value, 10)
}

// OptInt writes a member that is left out where it is zero.
func (o *Object) OptInt(name string, value int64) {
	if value != 0 {
		o.Int(name, value)
	}
}

// OptTrue writes a member that is left out where it is false.
func (o *Object) OptTrue(name string, value bool) {
	if value {
		o.key(name)
		o.buf = append(o.buf, "true"...)
	}
}

// Raw writes a member whose value somebody else wrote; see [AppendRaw].
func (o *Object) Raw(name string, value []byte) {
	o.key(name)
	o.keep(AppendRaw(o.buf, value))
}

// OptRaw writes a member that is left out where it is empty.
func (o *Object) OptRaw(name string, value []byte) {
	if len(value) > 0 {
		o.Raw(name, value)
	}
}

// OptStrings writes a list that is left out where it is empty.
func (o *Object) OptStrings(name string, values []string) {
	if len(values) == 0 {
		return
	}
	o.key(name)
	o.buf = AppendStrings(o.buf, values)
}

// Member writes a member whose value another function appends.
func (o *Object) Member(name string, value func(dst []byte) ([]byte, error)) {
	o.key(name)
	o.keep(value(o.buf))
}

// List writes a list, each element of which another function appends.
func List[T any](o *Object, name string, values []T, element func(v T, dst []byte) ([]byte, error)) {
	o.key(name)
	o.keep(AppendList(o.buf, values, element))
}

// AppendList writes a list, each element of which another function appends. Nil is null.
func AppendList[T any](dst []byte, values []T, element func(v T, dst []byte) ([]byte, error)) ([]byte, error) {
	if values == nil {
		return append(dst, "null"...), nil
	}
	start := len(dst)
	dst = append(dst, '[')
	for i := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = element(values[i], dst); err != nil {
			return dst[:start], err
		}
	}
	return append(dst, ']'), nil
}

func (o *Object) keep(buf []byte, err error) {
	if o.err == nil {
		o.err = err
	}
	o.buf = buf
}
