package main

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func shownAs(pieces ...string) string {
	var b strings.Builder
	m := &markdown{to: &b}
	for _, p := range pieces {
		m.write(p)
	}
	m.end()
	return b.String()
}

func TestMarkdownOnATerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n":                  "plain\n",
		"a **b** c":                "a \x1b[1mb\x1b[22m c",
		"## Head\ntext":            "\x1b[1mHead\x1b[22m\ntext",
		"#hash":                    "#hash",
		"use `go test` now":        "use \x1b[36mgo test\x1b[39m now",
		"2**3 and 4 ** 5":          "2**3 and 4 ** 5",
		"* one\n* **two**\n":       "* one\n* \x1b[1mtwo\x1b[22m\n",
		"```go\na := `**x**`\n```": "\x1b[36m```go\x1b[39m\n\x1b[36ma := `**x**`\x1b[39m\n\x1b[36m```\x1b[39m",
		"**never closed\nnext":     "\x1b[1mnever closed\x1b[22m\nnext",
		"`**not bold**`":           "\x1b[36m**not bold**\x1b[39m",
	} {
		if got := shownAs(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// What is shown does not depend on how the text came, and nothing is lost but marks.
func TestMarkdownIsShownTheSameHoweverItIsCut(t *testing.T) {
	styles := regexp.MustCompile("\x1b\\[[0-9]+m")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("a漢 *`#\n-"))).Draw(t, "text")
		whole := shownAs(text)
		cut := rapid.SliceOf(rapid.IntRange(0, len(text))).Draw(t, "cuts")
		var pieces []string
		at := 0
		for _, c := range cut {
			if c > at {
				pieces = append(pieces, text[at:c])
				at = c
			}
		}
		if got := shownAs(append(pieces, text[at:])...); got != whole {
			t.Fatalf("cut at %v: got %q, want %q", cut, got, whole)
		}
		without := strings.NewReplacer("*", "", "`", "", "#", "", " ", "").Replace
		if got := without(styles.ReplaceAllString(whole, "")); got != without(text) {
			t.Fatalf("got %q, want %q", got, without(text))
		}
	})
}
