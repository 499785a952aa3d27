package answer

import (
	"encoding/json"

	"github.com/tributary-ai/tributary/model"
)

// calls sorts the fragments of tool calls into calls. Servers differ in how they say which call a fragment
// belongs to:
//
//   - by an index; later fragments then carry no id, an empty one, or the same one again
//   - by an index that is 0 for all of them, each call with a name and perhaps an id of its own
//   - by the id alone, without an index
//   - not at all: each call comes whole, or its fragments follow each other
type calls struct{ all []call }

type call struct {
	index    int // as the server numbers it; -1 if it does not
	id, name string
	begun    bool   // the first part has been handed out
	held     string // arguments that came before the name
	// signature came before the name, too.
	signature string
	args      []byte // so far: sometimes only that they are complete tells one call from the next
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
		index := -1
		if f.numbered {
			index = f.index
		}
		c.all = append(c.all, call{index: index, id: f.id})
		i = len(c.all) - 1
	}
	k := &c.all[i]
	part := model.ToolCall{Index: i, Arguments: f.args, Signature: f.signature}
	if k.id == "" && f.id != "" {
		k.id = f.id
		part.ID = f.id
	}
	if k.name == "" {
		k.name = f.name
	}
	k.args = append(k.args, f.args...)
	if !k.begun {
		if k.name == "" {
			k.held += f.args
			k.signature += f.signature
			return true
		}
		part.ID, part.Name, part.Arguments = k.id, k.name, k.held+f.args
		part.Signature = k.signature + f.signature
		k.begun, k.held = true, ""
	} else if part.ID == "" && part.Arguments == "" && part.Signature == "" {
		return true // says nothing new
	}
	return emit(part)
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
	// A name without id and index: another call, unless this one repeats its name over and over.
	if k := &c.all[last]; k.name == f.name && !k.whole() {
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
		return true
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
