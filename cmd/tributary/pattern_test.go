package main

import (
	"regexp"
	"testing"

	"github.com/tributary-ai/tributary/internal/pattern"
)

// Patterns are compiled when they are needed, and all that the program has are known here.
func TestEveryPatternCompiles(t *testing.T) {
	all := pattern.All()
	if len(all) < 40 {
		t.Errorf("the program has %d patterns; those of search, research, memory and the offline model are missing", len(all))
	}
	for _, p := range all {
		if _, err := regexp.Compile(p.String()); err != nil {
			t.Error(err)
		}
	}
}
