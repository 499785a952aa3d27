package middleware

import (
	"unicode/utf8"

	"github.com/tributary-ai/tributary/item"
)

// perImage is what a picture counts for; providers charge between some hundred and some thousand tokens.
const perImage = 1000

// Tokens estimates how many tokens a message is to a model, within about a third for most languages: four letters of the Latin
// alphabet are one, a character of any other script is one.
func Tokens(m item.Message) int {
	n := 4 // for the role and the frame
	for _, b := range m.Content {
		switch b.Type {
		case item.ImageBlock:
			n += perImage
		case item.FileBlock:
			n += perImage
		case item.TextBlock, item.ForeignBlock:
			n += tokensOf(b.Text) + len(b.Foreign)/4
		}
	}
	for _, r := range m.Reasoning {
		for _, b := range r.Summary {
			n += tokensOf(b.Text)
		}
		n += len(r.Encrypted) / 4
	}
	for _, c := range m.ToolCalls {
		n += 8 + tokensOf(c.Name) + tokensOf(c.Arguments)
	}
	return n
}

func tokensOf(s string) int {
	plain := 0
	for i := range len(s) {
		if s[i] < utf8.RuneSelf {
			plain++
		}
	}
	other := 0
	if plain < len(s) {
		other = utf8.RuneCountInString(s) - plain
	}
	return (plain+3)/4 + other
}
