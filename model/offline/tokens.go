package offline

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"
)

// vocabulary is loaded once, by the first call that needs it: it takes some 20 ms and several megabytes that
// a server with a real provider never has to spend.
var vocabulary = sync.OnceValues(func() (tokenizer.Codec, error) { return tokenizer.Get(tokenizer.O200kBase) })

// encode cuts text into the tokens of the vocabulary. Joined, they are the text.
func encode(text string) ([]string, error) {
	codec, err := vocabulary()
	if err != nil {
		return nil, err
	}
	_, tokens, err := codec.Encode(text)
	return tokens, err
}

// pieces cuts text at token boundaries, except at those inside a rune: the tokens around such a boundary are
// one piece. The text must be valid UTF-8.
func pieces(text string) ([]string, error) {
	tokens, err := encode(text)
	if err != nil {
		return nil, err
	}
	var out []string
	var held strings.Builder
	for _, tok := range tokens {
		if held.Len() == 0 && utf8.ValidString(tok) {
			out = append(out, tok)
			continue
		}
		held.WriteString(tok)
		if utf8.ValidString(held.String()) {
			out = append(out, held.String())
			held.Reset()
		}
	}
	if held.Len() > 0 {
		out = append(out, held.String())
	}
	return out, nil
}

// Tokens counts the tokens of a text. For text beyond any sensible size, use an estimate instead.
func Tokens(text string) (int, error) {
	codec, err := vocabulary()
	if err != nil {
		return 0, err
	}
	return codec.Count(text)
}
