package prose

import "strings"

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
	r := []rune(line)
	take := func(end int) {
		if s := strings.TrimSpace(string(r[start:end])); s != "" {
			out = append(out, s)
		}
		start = end
	}
	for i := 0; i < len(r); i++ {
		switch r[i] {
		case '。', '！', '？':
			end := i + 1
			for end < len(r) && strings.ContainsRune("”’）」』)", r[end]) {
				end++
			}
			take(end)
			i = end - 1
		case '.', '!', '?':
			end := i + 1
			for end < len(r) && strings.ContainsRune(`"')*_`+"`", r[end]) {
				end++
			}
			if end == len(r) || r[end] != ' ' || end+1 < len(r) && r[end+1] >= 'a' && r[end+1] <= 'z' {
				continue
			}
			if fields := strings.Fields(string(r[start : i+1])); len(fields) > 0 && abbreviations[strings.ToLower(strings.TrimLeft(fields[len(fields)-1], "(*_"))] {
				continue
			}
			take(end)
			i = end - 1
		}
	}
	take(len(r))
	return out
}
