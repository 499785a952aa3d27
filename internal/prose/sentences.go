package prose

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentences are the stretches of a passage that can be quoted on their own: sentences of prose and of list
// items, and rows of tables. Each is a substring of the passage.
func Sentences(text string) []string {
	var out []string
	fenced := false
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			fenced = !fenced
			continue
		}
		if fenced || line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "<") {
			continue
		}
		if strings.HasPrefix(line, "|") { // a row of a table stands for itself, without its outer bars
			if row := strings.TrimSpace(strings.Trim(line, "|")); row != "" {
				out = append(out, row)
			}
			continue
		}
		out = append(out, splitSentences(withoutMarker(line))...)
	}
	return out
}

// withoutMarker drops the bullet, number or angle bracket that a line of Markdown begins with.
func withoutMarker(line string) string {
	for {
		before := line
		for _, marker := range []string{"- ", "* ", "+ ", "> "} {
			line = strings.TrimPrefix(line, marker)
		}
		digits := strings.TrimLeft(line, "0123456789")
		if len(digits) < len(line) && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") ")) {
			line = digits[2:]
		}
		if line = strings.TrimSpace(line); line == before {
			return line
		}
	}
}

// abbreviations end with a full stop that ends no sentence.
var abbreviations = set("e.g. i.e. etc. vs. cf. no. approx. fig. dr. mr. mrs. ms. st.")

// splitSentences cuts after a full stop, a question or an exclamation mark that is followed by space and
// something other than a small letter, and after the Chinese marks, which need no space.
func splitSentences(line string) []string {
	var out []string
	start := 0
	take := func(end int) {
		if s := strings.TrimSpace(line[start:end]); s != "" {
			out = append(out, s)
		}
		start = end
	}
	for i, r := range line {
		if i < start {
			continue // a quotation mark or a bracket that was taken with its sentence
		}
		switch r {
		case '。', '！', '？':
			take(behind(line, i+utf8.RuneLen(r), "”’）」』)"))
		case '.', '!', '?':
			end := behind(line, i+1, `"')*_`+"`")
			next := line[end:]
			if next == "" || next[0] != ' ' || len(next) > 1 && next[1] >= 'a' && next[1] <= 'z' {
				continue
			}
			if !abbreviations[strings.ToLower(strings.TrimLeft(lastWord(line[start:i+1]), "(*_"))] {
				take(end)
			}
		}
	}
	take(len(line))
	return out
}

// behind is the first place from some on at which none of the marks stands.
func behind(line string, from int, marks string) int {
	return len(line) - len(strings.TrimLeft(line[from:], marks))
}

// lastWord is what a text has behind its last space.
func lastWord(text string) string {
	return text[len(strings.TrimRightFunc(text, func(r rune) bool { return !unicode.IsSpace(r) })):]
}
