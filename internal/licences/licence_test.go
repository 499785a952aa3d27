package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	mit = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software … The above copyright
		notice and this permission notice shall be included in all copies or substantial portions of the Software.`
	apache = "Apache License\n  Version 2.0, January 2004\n http://www.apache.org/licenses/"
	bsd2   = "Redistribution and use in source and binary forms, with or without modification, are permitted provided that"
	bsd3   = bsd2 + " … Neither the name of X nor the names of its contributors may be used to endorse or promote products derived"
	bsd4   = bsd3 + " All advertising materials mentioning features must display"
	isc    = "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted"
	gpl    = "GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007\n Everyone is permitted to copy and distribute verbatim copies"
	agpl   = "GNU AFFERO GENERAL PUBLIC LICENSE\n Version 3, 19 November 2007"
	mpl    = "Mozilla Public License Version 2.0 … \"Secondary License\" means either the GNU General Public License, Version 2.0"
)

func TestLicencesAreRecognisedByTheirWords(t *testing.T) {
	for text, want := range map[string][]string{
		mit: {"MIT"}, apache: {"Apache-2.0"}, bsd2: {"BSD-2-Clause"}, bsd3: {"BSD-3-Clause"}, bsd4: {"BSD-4-Clause"}, isc: {"ISC"},
		gpl: {"GPL"}, agpl: {"AGPL"}, mpl: {"MPL-2.0"}, "": {Unknown}, "do what you like": {Unknown},
		mit + apache: {"Apache-2.0", "MIT"}, mit + gpl: {"GPL", "MIT"},
	} {
		if got := Recognise(text); !slices.Equal(got, want) {
			t.Errorf("%.40q is %v, want %v", text, got, want)
		}
	}
}

func TestWhatMustNotBeLinkedIsNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		module Module
		want   string // in the one sentence; empty if all is well
	}{
		"MIT":                {Module{"m", Recognise(mit), false}, ""},
		"GPL":                {Module{"m", Recognise(gpl), false}, "m is under GPL"},
		"GPL in tests":       {Module{"m", Recognise(gpl), true}, "m is under GPL"},
		"GPL beside MIT":     {Module{"m", Recognise(mit + gpl), false}, "m is under GPL"},
		"Mozilla's":          {Module{"m", Recognise(mpl), false}, "m is under MPL-2.0"},
		"Mozilla's in tests": {Module{"m", Recognise(mpl), true}, ""},
		"none":               {Module{"m", nil, false}, "m has no licence file"},
		"anything else":      {Module{"m", Recognise("ask me first"), true}, "not recognised"},
	} {
		got := strings.Join(Check([]Module{tc.module}), "\n")
		if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestEveryLicenceFileOfAFolderCounts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"LICENSE": mit, "COPYING.txt": gpl, "license.go": agpl, "README": apache} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := map[string]bool{}
	if err := read("m", dir, found); err != nil || len(found) != 2 || !found["MIT"] || !found["GPL"] {
		t.Errorf("found %v (%v), want MIT and GPL", found, err)
	}
}

func TestThePageHasTheListBetweenItsMarks(t *testing.T) {
	page := "a\n" + begin + "old\n" + end + "\nb\n"
	list := table([]Module{{"m", []string{"MIT"}, false}, {"n", []string{"MPL-2.0"}, true}})
	got, err := insert(page, list)
	if err != nil || !strings.Contains(got, "| m | MIT | the program |\n| n | MPL-2.0 | tests |") || strings.Contains(got, "old") {
		t.Errorf("got %q, %v", got, err)
	}
	if again, _ := insert(got, list); again != got || !strings.HasPrefix(got, "a\n") || !strings.HasSuffix(got, "\nb\n") {
		t.Errorf("written twice: %q", again)
	}
	if _, err := insert("no marks", list); err == nil {
		t.Error("a page without marks was taken")
	}
}
