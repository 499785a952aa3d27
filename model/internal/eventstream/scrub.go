package eventstream

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
)

const mask = "***"

// Key is a secret that prints as ***, whichever verb, encoder or logger it meets. The zero Key is no key.
type Key struct{ s *string } // a pointer, because fmt prints unexported strings without asking anyone

// NewKey makes a Key of a secret; of the empty string, the zero Key.
func NewKey(secret string) Key {
	if secret == "" {
		return Key{}
	}
	return Key{&secret}
}

// Reveal returns the secret. Whoever calls it must neither print nor store it.
func (k Key) Reveal() string {
	if k.s == nil {
		return ""
	}
	return *k.s
}

// IsZero reports that there is no key.
func (k Key) IsZero() bool { return k.s == nil }

// String returns three stars, or nothing for the zero Key.
func (k Key) String() string {
	if k.IsZero() {
		return ""
	}
	return mask
}

// Format writes the same as String for every verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// MarshalText writes the same as String.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// LogValue logs the same as String.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// KeysIn finds what people hide in a URL: its password and the values of its query.
func KeysIn(u *url.URL) []Key {
	var keys []Key
	if password, ok := u.User.Password(); ok {
		keys = append(keys, NewKey(password))
	}
	for _, values := range u.Query() {
		for _, v := range values {
			keys = append(keys, NewKey(v))
		}
	}
	return keys
}

// scrub returns a message without the given secrets, in which whatever looks like a key is masked too:
// providers quote the request, proxies quote the URL.
func scrub(msg string, secrets ...string) string {
	for _, s := range secrets {
		if len(s) < 4 { // masking "a" would eat the message, and is no secret
			continue
		}
		msg = strings.ReplaceAll(msg, s, mask)
		if q := url.QueryEscape(s); q != s {
			msg = strings.ReplaceAll(msg, q, mask)
		}
		if q, err := json.Marshal(s); err == nil && len(q) != len(s)+2 {
			msg = strings.ReplaceAll(msg, string(q[1:len(q)-1]), mask)
		}
	}
	for _, p := range keyLike {
		msg = p.ReplaceAllString(msg, "${1}"+mask)
	}
	return msg
}

// The first group of each pattern stays.
var keyLike = []*regexp.Regexp{
	regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=*-]{6,}`),
	regexp.MustCompile(`((?:^|[^A-Za-z0-9]))(?:sk|pk|rk|xai|gsk|hf|r8|nvapi|fw|pplx|csk|tvly|ghp)[-_][A-Za-z0-9_*.-]{6,}`),
	regexp.MustCompile(`((?:^|[^A-Za-z0-9]))(?:AIza[A-Za-z0-9_*-]{6,}|ya29\.[A-Za-z0-9._*-]{6,}|AKIA[A-Z0-9]{12,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*)`),
	regexp.MustCompile(`(?i)((?:^|[^A-Za-z])(?:x-)?(?:goog-)?(?:api[-_ ]?key|access[-_]?token|client[-_]?secret|authorization|password|secret|key|token|sig)["']?\s?[=:]\s?["']?)[A-Za-z0-9._~+/%*-]{8,}`),
	regexp.MustCompile(`(://)[^/\s@"']+(?:@)`),
}
