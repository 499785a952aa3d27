package offline

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
)

// vocabulary is loaded once, by the first call that needs it: it takes some 20 ms and several megabytes that
// a server with a real provider never has to spend. It is named directly, and not through the library's own
// table of vocabularies, because that would link all of them: 20 MB more of binary.
var vocabulary = sync.OnceValue(codec.NewO200kBase)

// encode cuts text into the tokens of the vocabulary. Joined, they are the text.
func encode(text string) ([]string, error) {
	_, tokens, err := vocabulary().Encode(text)
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

// countBytes is how much of a text is counted. Counting takes a hundred times the text's memory, and seconds for some megabytes.
const countBytes = 64 << 10

// Tokens counts the tokens of a text. Of a longer one than 64 KiB it counts the beginning, and takes the rest to be like it.
func Tokens(text string) (int, error) {
	if len(text) <= countBytes {
		return vocabulary().Count(text)
	}
	head := beginning(text, countBytes)
	n, err := vocabulary().Count(head)
	return int(float64(n) * float64(len(text)) / float64(len(head))), err
}
