package middleware

import "strings"

// simple is one command of a line of shell: its words without quotes, the operator before it, and what it redirects to.
type simple struct {
	words []string
	piped bool // it reads what the one before it wrote
	into  []string
}

// parseShell takes a line of shell apart, as far as telling its commands from each other needs it: quotes and backslashes are resolved, so
// that "r\m" is rm, and what stands in $(…), `…` or <(…) is returned as lines of their own.
func parseShell(line string) (commands []simple, inner []string) {
	var (
		cur    simple
		word   strings.Builder
		inWord bool
		redir  bool
		quote  byte
	)
	endWord := func() {
		if inWord {
			if redir {
				cur.into = append(cur.into, word.String())
			} else {
				cur.words = append(cur.words, word.String())
			}
			redir = false
		}
		word.Reset()
		inWord = false
	}
	endCommand := func(piped bool) {
		endWord()
		if len(cur.words) > 0 || len(cur.into) > 0 {
			commands = append(commands, cur)
		}
		cur = simple{piped: piped}
		redir = false
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		if quote != '\'' {
			if open, n := substitution(line[i:], quote); n > 0 {
				inner = append(inner, open)
				word.WriteString("$()")
				inWord = true
				i += n - 1
				continue
			}
		}
		switch {
		case quote == '\'' && c != '\'', quote == '"' && c != '"' && c != '\\':
			word.WriteByte(c)
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\':
			if i+1 < len(line) {
				i++
				if line[i] != '\n' {
					word.WriteByte(line[i])
					inWord = true
				}
			}
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ' || c == '\t':
			endWord()
		case c == '\n' || c == ';' || c == '(' || c == ')' || c == '{' && !inWord || c == '}' && !inWord:
			endCommand(false)
		case c == '|':
			// "||" is not a pipe.
			or := i+1 < len(line) && line[i+1] == '|'
			if or {
				i++
			}
			endCommand(!or)
		case c == '&':
			if i+1 < len(line) && line[i+1] == '>' || i > 0 && line[i-1] == '>' { // &> and >&
				continue
			}
			endCommand(false)
		case c == '>':
			endWord()
			redir = true
		case c == '<':
			endWord()
		case c == '#' && !inWord:
			for i+1 < len(line) && line[i+1] != '\n' {
				i++
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	endCommand(false)
	return commands, inner
}

// substitution returns what stands in a substitution that s begins with, and how long it is.
func substitution(s string, quote byte) (inner string, n int) {
	var open int
	switch {
	case strings.HasPrefix(s, "$("):
		open = 2
	case quote == 0 && (strings.HasPrefix(s, "<(") || strings.HasPrefix(s, ">(")):
		open = 2
	case s[0] == '`':
		end := strings.IndexByte(s[1:], '`')
		if end < 0 {
			return s[1:], len(s)
		}
		return s[1 : 1+end], end + 2
	default:
		return "", 0
	}
	depth := 1
	for i := open; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return s[open:i], i + 1
			}
		}
	}
	return s[open:], len(s)
}
