package research

import (
	"maps"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/internal/pattern"
	"github.com/tributary-ai/tributary/internal/prose"
)

var notFound = pattern.New(`(?i)\b(?:(?:was|were|is|are|could|has|have) (?:not|nowhere)(?: be| been)? (?:found|mentioned|stated)|not found in the sources|found nothing|no (?:source|passage|document)s? (?:says?|mentions?|states?|gives?))|未找到|没有找到|没有提到|未提及`)

// mayDeny is false of a sentence that notFound cannot match, which is most of them.
func mayDeny(s string) bool {
	for _, part := range []string{"no", "No", "NO", "nO", "未", "没"} {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

const mostUnknown = 12

// unknown writes what a program can tell of what is still not known: what the steps say they did not find, and the words of
// the question that nothing has that was read. It compares words, so it speaks of what is missing and never of what is there.
func unknown(b *strings.Builder, question string, res map[string]Result, all map[string]Source) {
	var lines []string
	add := func(line string) {
		if line = firstWords(marker.ReplaceAllString(line, ""), 200); !slices.Contains(lines, line) && len(lines) < mostUnknown {
			lines = append(lines, line)
		}
	}
	for _, id := range sortedKeys(res) {
		for _, s := range prose.Sentences(res[id].Text) {
			if mayDeny(s) && notFound.MatchString(s) && !strings.ContainsAny(s, "“”") { // a quotation is somebody else's
				add(s)
			}
		}
	}
	if words := unread(question, all); len(words) > 0 {
		add("No passage that was read mentions: " + strings.Join(words, ", "))
	}
	if len(lines) > 0 {
		tag(b, "unknown", "", strings.Join(lines, "\n"))
	}
}

// unread are the words of a question that no passage has. Of passages in another language nothing can be told.
func unread(question string, all map[string]Source) []string {
	words, missing, sameScript := prose.Content(question), map[string]bool{}, false
	for _, word := range words {
		maps.Copy(missing, prose.Keys(word))
	}
	for _, src := range all {
		if sameScript && len(missing) == 0 {
			return nil // the rest need not be read
		}
		text := src.Title + "\n" + src.Passage()
		sameScript = sameScript || prose.Chinese(text) == prose.Chinese(question)
		for k := range prose.Keys(text) {
			delete(missing, k)
		}
	}
	if len(all) > 0 && !sameScript {
		return nil
	}
	return slices.DeleteFunc(words, func(word string) bool {
		for k := range prose.Keys(word) {
			if missing[k] {
				return false
			}
		}
		return true
	})
}

func sortedKeys(res map[string]Result) []string {
	var ids []string
	for id := range res {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
