// Package byline reads who wrote something and when, as files and pages say it of themselves.
//
// # Laws
//
//   - What comes out is one line: a name, or a date as in "2024-05-31", "2024-05" or "2024". What is neither is empty.
//   - What came out goes in again and stays as it is.
package byline

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/pattern"
)

// longestAuthor is how many characters are kept of those who wrote something.
const longestAuthor = 120

// Author is a name, or several, as somebody wrote them, on one line and without what programs put in the place of a name.
func Author(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	for before := ""; before != s; { // one may hide the other
		before = s
		if s = strings.Trim(s, `"',;[]{} `); len(s) > 3 && strings.EqualFold(s[:3], "by ") {
			s = s[3:]
		}
	}
	switch strings.ToLower(s) {
	case "", "by", "unknown", "anonymous", "admin", "administrator", "user", "author", "none", "null", "n/a", "-", "python-docx", "apache poi":
		return ""
	}
	if !strings.ContainsFunc(s, unicode.IsLetter) || strings.Contains(s, "://") { // a number, or an address
		return ""
	}
	if letters := []rune(s); len(letters) > longestAuthor {
		s = strings.TrimRight(string(letters[:longestAuthor]), " …") + "…"
	}
	return s
}

var (
	digits  = pattern.New(`^(?:D:)?(\d{4})(\d{2})(\d{2})(?:\d|Z|$)`)
	dashed  = pattern.New(`^(\d{4})(?:[-/.年](\d{1,2})(?:[-/.月](\d{1,2})(?:\D|$))?)?`)
	layouts = []string{"January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006", "January 2006", time.RFC1123, time.RFC1123Z, time.RFC850, time.ANSIC}
)

// Date spells a date that somebody wrote as in "2024-05-31", or less of it where less was written: "2024-05", "2024". It is empty
// for what is none, and for one before 1000 or after 2999.
func Date(s string) string {
	s = strings.Trim(strings.TrimSpace(s), `"'`)
	if len(s) > 64 {
		return ""
	}
	if m := digits.FindStringSubmatch(s); m != nil {
		return day(m[1], m[2], m[3])
	}
	if m := dashed.FindStringSubmatch(s); m != nil && (len(m[0]) == len(s) || m[2] != "") {
		return day(m[1], m[2], m[3])
	}
	for _, l := range layouts {
		if t, err := time.Parse(l, s); err == nil {
			if l == "January 2006" {
				return t.Format("2006-01")
			}
			return t.Format(time.DateOnly)
		}
	}
	return ""
}

// day puts a date together, as far as there is one.
func day(year, month, date string) string {
	if year < "1000" || year > "2999" {
		return ""
	}
	out := year
	for _, part := range []string{month, date} {
		if part == "" {
			return out
		}
		if len(part) == 1 {
			part = "0" + part
		}
		layout := "2006-01-02"[:len(out)+3]
		if _, err := time.Parse(layout, out+"-"+part); err != nil {
			return out // there is no such month or day
		}
		out += "-" + part
	}
	return out
}
