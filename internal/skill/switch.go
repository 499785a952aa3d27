package skill

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// offNote is the note in which an owner's skills are named that are off.
const offNote = "off"

// off lists the skills that an owner has switched off.
func (s *Skills) off(owner string) (names []string, err error) {
	raw, err := s.custom.Note(owner, offNote)
	if err != nil || len(raw) == 0 {
		return nil, err
	}
	if err := json.Unmarshal(raw, &names); err != nil {
		return nil, errors.New("the list of skills that are off cannot be read; it must be JSON, as in [\"report\"]")
	}
	return names, nil
}

// Switch switches a skill on or off for an owner, and returns it as it is then; [ErrNone] if there is none.
func (s *Skills) Switch(owner, name string, on bool) (Skill, error) {
	k, err := s.Get(owner, name)
	if err != nil || k.Off == !on {
		return k, err
	}
	err = s.custom.SetNote(owner, offNote, func(old []byte) ([]byte, error) {
		var names []string
		if len(old) > 0 {
			if err := json.Unmarshal(old, &names); err != nil {
				return nil, fmt.Errorf("switch skill %s: %w", name, err)
			}
		}
		names = slices.DeleteFunc(names, func(n string) bool { return n == name })
		if !on {
			names = append(names, name)
		}
		slices.Sort(names)
		return json.Marshal(names)
	})
	k.Off = !on
	return k, err
}
