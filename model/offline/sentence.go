package offline

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/pattern"
	"github.com/tributary-ai/tributary/internal/prose"
)

// lengthy is what a sentence loses that is not read at a glance.
func lengthy(s string) float64 {
	const easy = 160
	return 0.0006 * float64(max(0, utf8.RuneCountInString(s)-easy))
}

var (
	parameter = pattern.New("^`[^`]+` \\{")                                                                // of a function, in its reference
	elsewhere = pattern.New(`(?i)^(?:see|refer to|for more|for details|read more)\b|\bis in \[[^\]]*\]\(`) // it only says where to read on
)

// whole reports a sentence that says something by itself: it begins and ends as one does, and it neither asks nor leads up to anything.
func whole(s string) bool {
	const fewWords = 4
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s, "*_`\"')）」』’"))
	if !strings.ContainsRune(".!。！；;", last) || strings.HasPrefix(s, "//") || parameter.MatchString(s) || elsewhere.MatchString(s) {
		return false
	}
	if !prose.Chinese(s) && len(prose.Content(s)) < fewWords {
		return false
	}
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, "*_`\"'(（「『‘[/"))
	return unicode.IsUpper(first) || unicode.IsDigit(first) || unicode.Is(unicode.Han, first) || strings.HasPrefix(s, "`") || strings.HasPrefix(s, "*")
}

// pointers begin a sentence that is not understood without the one before it.
var pointers = []string{"It ", "They ", "This ", "That ", "These ", "Those ", "Its ", "Their ", "He ", "She ", "So ", "But ", "Then ", "Otherwise", "However", "它", "这", "那", "其", "但", "因此", "所以"}

// withWhatItPointsAt is a sentence with the one before, where it points at that and the two are not too long.
func withWhatItPointsAt(s string, before []line, text string) string {
	if len(before) == 0 || !dangling(s) {
		return s
	}
	previous := before[len(before)-1].text
	for _, between := range []string{" ", ""} {
		joined := previous + between + s
		if strings.Contains(text, joined) && quotable(joined) && whole(previous) {
			return joined
		}
	}
	return s
}

// dangling reports a sentence that is not understood without another.
func dangling(s string) bool {
	return slices.ContainsFunc(pointers, func(p string) bool { return strings.HasPrefix(s, p) })
}
