package middleware

import (
	"strings"
	"unicode/utf8"
)

// marks are the tags with which the program speaks to models, and those that models are trained to obey.
var marks = []string{
	"system-reminder", "system", "referencable-item", "conversation-summary", "conversation", "uploaded-files", "skill", "memory",
	"assistant", "human", "user", "instructions",
}

// neutral returns text that cannot pass for the program's: without control characters and invisible ones that change how text is
// read, and with the tags of [marks] and of more told as text. What is neutral stays as it is.
func neutral(s string, more ...string) string { return unmarked(printable(s), more) }

// printable takes out what cannot be seen and is not meant to be: control characters, escape sequences of terminals, overrides of
// the direction of writing, letters of Unicode's invisible alphabet, bytes that are not UTF-8. Line ends and tabs stay,
// and so do the joiners that some scripts and pictures need.
func printable(s string) string {
	i := 0
	for i < len(s) && (s[i] >= ' ' && s[i] < 0x7f || s[i] == '\n' || s[i] == '\t') {
		i++
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	from, changed := 0, false
	drop := func(to, next int) {
		if !changed {
			b.Grow(len(s))
			changed = true
		}
		b.WriteString(s[from:to])
		from = next
	}
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == '\x1b' {
			n = escape(s[i:])
		}
		if r == utf8.RuneError && n == 1 || invisible(r) {
			drop(i, i+n)
		}
		i += n
	}
	if !changed {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// escape is the length of the escape sequence that s begins with.
func escape(s string) int {
	if len(s) < 2 || s[1] != '[' {
		return 1
	}
	for i := 2; i < len(s) && i < 64; i++ {
		switch {
		case s[i] >= '@' && s[i] <= '~':
			return i + 1
		case s[i] < ' ' || s[i] > '?':
			return 1
		}
	}
	return 1
}

func invisible(r rune) bool {
	switch {
	case r == '\n', r == '\t', r == '\r':
		return false
	case r < ' ', r >= 0x7f && r < 0xa0: // C0, DEL, C1
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // direction
		return true
	case r == 0x200b, r == 0x2060, r == 0xfeff: // nothing at all
		return true
	}
	return r >= 0xe0000 && r <= 0xe007f
}

// unmarked writes the first bracket of tags as &lt;.
func unmarked(s string, more []string) string {
	at := strings.IndexByte(s, '<')
	if at < 0 {
		return s
	}
	var b strings.Builder
	from := 0
	for i := at; i < len(s); i++ {
		if s[i] != '<' || !mark(s[i+1:], more) {
			continue
		}
		b.WriteString(s[from:i])
		b.WriteString("&lt;")
		from = i + 1
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// mark reports that what follows a bracket makes it a tag of the program's, or a sign of a model's own format (<|im_start|>).
func mark(rest string, more []string) bool {
	if strings.HasPrefix(rest, "|") {
		return true
	}
	var name [32]byte
	n := 0
	for _, r := range rest {
		switch {
		case r == 0x200c, r == 0x200d: // seen by nobody
		case n == 0 && (r == ' ' || r == '/' || r == '\t' || r == '\n' || r == '\r'):
		case r == '_':
			name[n] = '-'
			n++
		case r >= 'A' && r <= 'Z':
			name[n] = byte(r - 'A' + 'a')
			n++
		case r == '-', r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			name[n] = byte(r)
			n++
		default:
			return known(name[:n], more)
		}
		if n == len(name) {
			return false
		}
	}
	return known(name[:n], more)
}

func known(name []byte, more []string) bool {
	for _, list := range [2][]string{marks, more} {
		for _, m := range list {
			if string(name) == m {
				return true
			}
		}
	}
	return false
}
