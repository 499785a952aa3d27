package scripted

// Sizes, in runes, of the pieces that words and arguments are cut into, one after another. Any fixed mixture
// would do; these leave hardly a word, a number or a citation mark in one piece.
var (
	wordSizes     = [...]int{3, 2, 1, 4, 2}
	argumentSizes = [...]int{1, 4, 2, 5, 3}
)

// words cuts before every space that follows something else, so that a piece keeps its leading spaces.
func words(s string) []string {
	var out []string
	start, inWord := 0, false
	for i, r := range s {
		space := r == ' ' || r == '\n' || r == '\t'
		if space && inWord {
			out = append(out, s[start:i])
			start = i
		}
		inWord = !space
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

// subwords cuts into words and those into groups of runes. A leading space stays with the first group.
func subwords(s string) []string {
	var out []string
	for _, word := range words(s) {
		out = cut(out, word, wordSizes[:])
	}
	return out
}

// fragments cuts a tool call's arguments without regard for what they mean.
func fragments(s string) []string { return cut(nil, s, argumentSizes[:]) }

// cut appends the groups of s to out; which size a group has depends on how many there were before.
func cut(out []string, s string, sizes []int) []string {
	start, n := 0, 0
	for i := range s {
		if n == sizes[len(out)%len(sizes)] {
			out = append(out, s[start:i])
			start, n = i, 0
		}
		n++
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}
