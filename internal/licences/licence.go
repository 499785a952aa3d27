package main

import (
	"slices"
	"strings"
)

// Allowed are the licences of what ships. What is in the public domain, as SQLite is, needs none.
var Allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "public domain"}

// NotLinked are files that look like licences and are about something that we do not link. A person has read them.
var NotLinked = map[string]string{
	"modernc.org/memory/LICENSE-LOGO":         "of the picture on its page",
	"modernc.org/sqlite/LICENSE-3RD-PARTY.md": "lists its whole module graph; what of that is linked is looked at by itself",
}

// InTests are those that are allowed besides where only tests link a module.
var InTests = []string{"MPL-2.0"}

// Unknown is the licence of a text that nobody taught us to recognise.
const Unknown = "unknown"

// signs are sentences that occur in one licence and not in others, in lower case with single spaces.
var signs = []struct {
	licence string
	all     []string
	not     string
}{
	{"MPL-2.0", []string{"mozilla public license version 2.0"}, ""},
	{"MPL-2.0", []string{"mozilla public license, version 2.0"}, ""},
	{"Apache-2.0", []string{"apache license version 2.0, january 2004"}, ""},
	{"Apache-2.0", []string{"licensed under the apache license, version 2.0"}, ""},
	{"MIT", []string{"permission is hereby granted, free of charge, to any person obtaining a copy", "this permission notice shall be included in all copies"}, ""},
	{"ISC", []string{"permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted"}, ""},
	{"ISC", []string{"permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted"}, ""},
	{"BSD-4-Clause", []string{"redistribution and use in source and binary forms", "all advertising materials"}, ""},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "may be used to endorse or promote products"}, "all advertising materials"},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms"}, "may be used to endorse or promote products"},
	{"public domain", []string{"has been dedicated to the public domain by the authors"}, ""},
	// Mozilla's speaks of these as licences that a work may be combined with.
	{"AGPL", []string{"gnu affero general public license"}, "mozilla public license"},
	{"LGPL", []string{"gnu lesser general public license"}, "mozilla public license"},
	{"GPL", []string{"gnu general public license"}, "mozilla public license"},
}

// Recognise returns the licences that a text consists of, sorted: more than one where a file holds several.
func Recognise(text string) []string {
	text = strings.Join(strings.Fields(strings.ToLower(text)), " ")
	var found []string
	for _, s := range signs {
		missing := func(part string) bool { return !strings.Contains(text, part) }
		if slices.ContainsFunc(s.all, missing) || s.not != "" && strings.Contains(text, s.not) || slices.Contains(found, s.licence) {
			continue
		}
		found = append(found, s.licence)
	}
	if found == nil {
		return []string{Unknown}
	}
	slices.Sort(found)
	return found
}

// Module is one that is linked.
type Module struct {
	Path     string
	Licences []string
	Tests    bool // only tests link it
}

// Check returns a sentence for every module that must not be linked.
func Check(modules []Module) []string {
	var wrong []string
	for _, m := range modules {
		may := Allowed
		if m.Tests {
			may = slices.Concat(Allowed, InTests)
		}
		if len(m.Licences) == 0 {
			wrong = append(wrong, m.Path+" has no licence file; nobody may give it away: use another module")
		}
		for _, l := range m.Licences {
			switch {
			case slices.Contains(may, l):
			case l == Unknown:
				wrong = append(wrong, m.Path+" has a licence that is not recognised; read it, then teach internal/licences its words or use another module")
			default:
				wrong = append(wrong, m.Path+" is under "+l+", which an Apache-2.0 library must not link; may be linked: "+strings.Join(may, ", "))
			}
		}
	}
	return wrong
}
