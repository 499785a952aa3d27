package edge

import (
	"reflect"
	"strings"

	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

// Doc says of a route what its callers want to know. Types are said by values of them, so that what is described is the
// very type that is read or written. The tags of a struct's fields say more than Go's types do:
//
//	required:"true"   a request without it is refused; a PATCH leaves what is absent as it is
//	enum:"a,b"        the words that it may be
//	type:"object"     what raw JSON must be
//	format:"uuid"     what a text must be
//	doc:"…"           what it means
type Doc struct {
	Summary string
	// Query are the parameters of the query, each with a value of its type.
	Query jsonvalue.Object
	// Body is a value of the type that the body is decoded into.
	Body any
	// Status are the statuses of success; 200 if it is nil. A route that never succeeds has an empty list.
	Status []int
	// Answer is a value of what is answered as JSON; nil where nothing is.
	Answer any
	// Stream says that the answer is, or can be, a stream of server-sent events.
	Stream bool
	// Fails are the refusals that follow neither from an identity, nor from parameters, nor from a body.
	Fails []int
}

// Shaped is a type that is read or written otherwise than its Go type says. Shape is its JSON Schema.
type Shaped interface{ Shape() jsonvalue.Object }

// Named is a struct that is described under another name than its Go type's. One that embeds another needs a name of its own.
type Named interface{ SchemaName() string }

// Word is a parameter of a query that must be one of some words.
type Word []string

// Text is a parameter of a query of which more is to be said.
type Text string

// Field is a member of a JSON object that a struct is read from or written as.
type Field struct {
	reflect.StructField
	Name      string
	OmitEmpty bool
}

// Fields lists the members of a struct in their order, those of embedded structs among them.
func Fields(t reflect.Type) []Field {
	var all []Field
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		if at, ok := t.FieldByName(f.Name); ok && len(at.Index) < len(f.Index) {
			continue // hidden by one of the outer struct
		}
		all = append(all, Field{f, name, options == "omitempty" || options == "omitzero"})
	}
	return all
}

// Members names the members of a struct.
func Members[T any]() []string {
	var names []string
	for _, f := range Fields(reflect.TypeFor[T]()) {
		names = append(names, f.Name)
	}
	return names
}

// Shape says which words.
func (w Word) Shape() jsonvalue.Object {
	return jsonvalue.Object{{"type", "string"}, {"enum", []string(w)}}
}

// Shape says what it means.
func (t Text) Shape() jsonvalue.Object {
	return jsonvalue.Object{{"type", "string"}, {"description", string(t)}}
}
