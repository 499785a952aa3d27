package answer

import (
	"encoding/json"

	"github.com/tributary-ai/tributary/model"
)

// calls sorts the fragments of tool calls into calls. Servers differ in how they say which call a fragment
// belongs to:
//
//   - by an index; later fragments then carry no id, an empty one, or the same one again
//   - by an index that is 0 for all of them, each call with an id and a name of its own
//   - by the id alone, without an index
//   - not at all: each call comes whole, or its fragments follow each other
type calls struct{ all []call }

type call struct {
	index    int // as the server numbers it; -1 if it does not
	id, name string
	begun    bool   // the first part has been handed out
	held     string // arguments that came before the name
	args     []byte // only kept where nothing but their completeness tells one call from the next
}

// fragment is one piece of a call as it came.
type fragment struct {
	index    *int
	id, name string
	args     string
}

// add hands out the part that a fragment is.
func (c *calls) add(f fragment, emit func(model.Part) bool) bool {
	i := c.find(f)
	if i < 0 {
		index := -1
		if f.index != nil {
			index = *f.index
		}
		c.all = append(c.all, call{index: index, id: f.id})
		i = len(c.all) - 1
	}
	k := &c.all[i]
	part := model.ToolCall{Index: i, Arguments: f.args}
	if k.id == "" && f.id != "" {
		k.id = f.id
		part.ID = f.id
	}
	if k.name == "" {
		k.name = f.name
	}
	if k.index < 0 && k.id == "" {
		k.args = append(k.args, f.args...)
	}
	if !k.begun {
		if k.name == "" {
			k.held += f.args
			return true
		}
		part.ID, part.Name, part.Arguments = k.id, k.name, k.held+f.args
		k.begun, k.held = true, ""
	} else if part.ID == "" && part.Arguments == "" {
		return true // says nothing new
	}
	return emit(part)
}

// find returns the number of the call that a fragment continues, or -1 if it begins one.
func (c *calls) find(f fragment) int {
	last := len(c.all) - 1
	if f.index != nil {
		for i := last; i >= 0; i-- {
			if k := &c.all[i]; k.index == *f.index {
				if f.id != "" && k.id != "" && f.id != k.id && f.name != "" {
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
	if k := &c.all[last]; k.name == f.name && !json.Valid(k.args) {
		return last
	}
	return -1
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
