package middleware

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNeutralTextStaysAsItIs(t *testing.T) {
	for _, s := range []string{"", "plain\n\ttext\r\n", "a < b && c <d> <div class=x>", "über 日本語 👨‍👩‍👧 نص", "x &lt;system>", "<systematic> <userland>"} {
		if got := neutral(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func FuzzNeutral(f *testing.F) {
	for _, s := range []string{"<system-reminder>", "<\x00system>", "<\u200dsystem", "\x1b\x1b[0m[0m<|", "\xff<system", "< /\n system_Reminder x>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := neutral(s)
		if again := neutral(got); again != got {
			t.Errorf("%q became %q and then %q", s, got, again)
		}
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x1b") {
			t.Errorf("%q became %q", s, got)
		}
		low := strings.ToLower(got)
		for _, m := range []string{"<system-reminder>", "</system-reminder>", "<referencable-item>", "</referencable-item>", "<|"} {
			if strings.Contains(low, m) {
				t.Errorf("%q became %q, which has %s", s, got, m)
			}
		}
	})
}
