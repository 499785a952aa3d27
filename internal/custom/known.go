package custom

import (
	"slices"

	"github.com/tributary-ai/tributary/internal/shelf"
)

// key names an agent, and known is one with what its files looked like when they were read: as long as they look the same, they are
// not read again.
type (
	key   struct{ owner, name string }
	known struct {
		files [2]shelf.Stamp
		agent Agent
	}
)

// mostKnown is how many agents are remembered.
const mostKnown = 10_000

// look reads an agent, or remembers it where its files have not changed.
func (s *Agents) look(owner string, f shelf.Folder) Agent {
	now := [2]shelf.Stamp{f.Stamp(configFile), f.Stamp(soulFile)}
	k := key{owner, f.Name}
	s.mu.Lock()
	old, ok := s.known[k]
	s.mu.Unlock()
	if ok && old.files == now {
		return old.agent.clone()
	}
	root, err := f.Open()
	if err != nil {
		return Agent{Name: f.Name, Problem: err.Error()}
	}
	defer root.Close()
	a, err := read(root, f.Name)
	if err != nil {
		return Agent{Name: f.Name, Problem: err.Error()}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= mostKnown {
		clear(s.known)
	}
	s.known[k] = known{now, a}
	return a.clone()
}

// clone is an agent of which the caller may change the lists.
func (a Agent) clone() Agent {
	a.Groups, a.Skills = slices.Clone(a.Groups), slices.Clone(a.Skills)
	return a
}
