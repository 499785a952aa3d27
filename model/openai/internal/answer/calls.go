package answer

import (
	"encoding/json"
	"strings"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/payload"
)

// calls sorts the fragments of tool calls into calls. Servers differ in how they say which call a fragment
// belongs to:
//
//   - by an index; later fragments then carry no id, an empty one, or the same one again
//   - by an index that is 0 for all of them, each call with a name and perhaps an id of its own
//   - by the id alone, without an index
//   - not at all: each call comes whole, or its fragments follow each other
//
// Some send the name in pieces. A call is told as soon as its name is that of a tool, and no beginning of another's.
type calls struct {
	all   []call
	tools []string // that can be called; none if that is not known
}

type call struct {
	index    int // as the server numbers it; -1 if it does not
	id, name string
	begun    bool   // the first part has been handed out
	held     string // arguments that came before the name
	// signature came before the name, too.
	signature string
	args      []byte // so far: sometimes only that they are complete tells one call from the next
	half      payload.Halves
}

// whole reports that nothing can be missing of the arguments.
func (k *call) whole() bool { return json.Valid(k.args) }

// fragment is one piece of a call as it came.
type fragment struct {
	numbered bool
	index    int // if numbered
	id, name string
	args     string
	// signature is whole, and comes with one fragment of a call.
	signature string
}

// add hands out the part that a fragment is.
func (c *calls) add(f fragment, emit func(model.Part) bool) bool {
	i := c.find(f)
	if i < 0 {
		c.end(emit) // what came before has its name now
		index := -1
		if f.numbered {
			index = f.index
		}
		c.all = append(c.all, call{index: index, id: f.id})
		i = len(c.all) - 1
	}
	k := &c.all[i]
	f.args = k.half.Join(f.args)
	part := model.ToolCall{Index: i, Arguments: f.args, Signature: f.signature}
	if k.id == "" && f.id != "" {
		k.id = f.id
		part.ID = f.id
	}
	switch {
	case k.name == "":
		k.name = f.name
	case k.begun || f.name == k.name:
	case strings.HasPrefix(f.name, k.name) && c.whole(f.name): // all of it so far, in every fragment
		k.name = f.name
	default:
		k.name += f.name
	}
	k.args = append(k.args, f.args...)
	if !k.begun {
		k.held += f.args
		k.signature += f.signature
		if k.name == "" || len(k.held) == 0 && !c.whole(k.name) {
			return true
		}
		return c.begin(i, emit)
	}
	if part.ID == "" && part.Arguments == "" && part.Signature == "" {
		return true // says nothing new
	}
	return emit(part)
}

// begin hands out what is known of a call that was held back.
func (c *calls) begin(i int, emit func(model.Part) bool) bool {
	k := &c.all[i]
	part := model.ToolCall{Index: i, ID: k.id, Name: k.name, Arguments: k.held, Signature: k.signature}
	k.begun, k.held, k.signature = true, "", ""
	return emit(part)
}

// end hands out what was held back for the rest of a name that did not come.
func (c *calls) end(emit func(model.Part) bool) {
	for i := range c.all {
		if k := &c.all[i]; !k.begun && k.name != "" {
			c.begin(i, emit)
		}
	}
}

// whole reports that nothing can be missing of a tool's name.
func (c *calls) whole(name string) bool {
	known := len(c.tools) == 0
	for _, t := range c.tools {
		if t != name && strings.HasPrefix(t, name) {
			return false
		}
		known = known || t == name
	}
	return known
}

// find returns the number of the call that a fragment continues, or -1 if it begins one.
func (c *calls) find(f fragment) int {
	last := len(c.all) - 1
	if f.numbered {
		for i := last; i >= 0; i-- {
			if k := &c.all[i]; k.index == f.index {
				if k.over(f) {
					return -1 // the same index again for another call
				}
				return i
			}
		}
		return -1
	}
	if f.id != "" {
		for i := last; i >= 0; i-- {
			if c.all[i].id == f.id {
				return i
			}
		}
		if f.name == "" && last >= 0 { // a new id for every fragment
			return last
		}
		return -1
	}
	if f.name == "" || last < 0 {
		return last
	}
	// A name without id and index: another call, unless this one repeats its name over and over, or has it in pieces.
	if k := &c.all[last]; k.name == f.name && !k.whole() || !k.begun && k.name != f.name && k.name != "" {
		return last
	}
	return -1
}

// over reports that a fragment with the call's own number begins another call: one with a name, where this call has
// its name already and is complete or called otherwise. Some servers repeat the name, or make up a new id, with
// every fragment.
func (k *call) over(f fragment) bool {
	switch {
	case f.name == "" || k.name == "" || f.id != "" && f.id == k.id:
		return false
	case f.name != k.name:
		// The next piece of the name has neither an id of its own nor arguments before it.
		return k.begun || f.id != "" && k.id != "" || k.held != ""
	}
	another := f.id != "" && k.id != ""
	return another && len(k.args) == 0 || k.whole() && (another || f.args != "")
}

// nameless reports whether a call never got its name.
func (c *calls) nameless() bool {
	for _, k := range c.all {
		if !k.begun {
			return true
		}
	}
	return false
}
