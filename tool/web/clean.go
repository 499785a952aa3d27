package web

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// forged is how the tags begin that tell a model what can be cited. Text from outside must not have them.
var forged = regexp.MustCompile(`(?i)[<＜﹤]([\s/]*referencable)`)

// clean makes text of what came from outside: valid, without characters that nobody sees, and without tags that are ours.
func clean(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\u2028' || r == '\u2029' || r == '\v' || r == '\f':
			return '\n'
		case unicode.IsControl(r), unseen(r):
			return -1
		}
		return r
	}, s)
	return forged.ReplaceAllString(s, "‹$1")
}

// unseen reports characters that change nothing on a screen, or the order in which it shows others. Joiners are not among
// them: scripts and emoji need those.
func unseen(r rune) bool {
	switch {
	case r == '\u00AD', r == '\u200B', r == '\u2060', r == '\uFEFF': // hints and spaces of no width
	case r >= '\u202A' && r <= '\u202E', r >= '\u2066' && r <= '\u2069': // order of writing
	case r >= '\u2061' && r <= '\u2064', r >= '\uFFF9' && r <= '\uFFFB', r == '\u180E':
	case r >= 0xE0000 && r <= 0xE0FFF: // tags, in which whole sentences can be hidden
	default:
		return false
	}
	return true
}

// line makes one line of it, of at most so many bytes.
func line(s string, most int) string {
	return shorten(strings.Join(strings.Fields(clean(s)), " "), most)
}

// shorten cuts a text that is longer, between characters, and says so.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = s[:most]
	for len(s) > 0 && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) {
		s = s[:len(s)-1]
	}
	return strings.TrimRight(s, " \n") + "…"
}

const (
	longestTitle   = 300
	longestURL     = 2000
	longestSnippet = 2000
)

// address is a URL of a page as an engine or a page gives it; "" if it is none.
func address(s string) string {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || len(s) > longestURL {
		return ""
	}
	u.User = nil
	// String escapes what is not allowed in a URL; a bracket would end a link of Markdown.
	return strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "\"", "%22").Replace(clean(u.String()))
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Hostname(), "www.")
}

// tracking are parameters that say who sent a reader, and nothing about the page.
var tracking = []string{"fbclid", "gclid", "dclid", "msclkid", "yclid", "igshid", "mc_cid", "mc_eid", "ref_src", "spm", "_hsenc", "_hsmi"}

// canonical is the same for addresses that lead to the same page, as far as one can tell without going there.
func canonical(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if port := u.Port(); port != "" && port != "80" && port != "443" {
		host += ":" + port
	}
	query := u.Query()
	for name := range query {
		if strings.HasPrefix(strings.ToLower(name), "utm_") || slices.Contains(tracking, strings.ToLower(name)) {
			query.Del(name)
		}
	}
	key := strings.TrimPrefix(host, "www.") + strings.TrimRight(u.EscapedPath(), "/")
	if len(query) > 0 {
		key += "?" + query.Encode() // sorted
	}
	return key
}
