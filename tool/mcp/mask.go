package mcp

import (
	"errors"
	"net/url"
	"strings"
)

// leastSecret is how many characters a value must have to be masked: shorter ones are words that a server may well say.
const leastSecret = 8

// masked stands for a value that a server was told in confidence.
const masked = "[secret]"

// mask hides, in what a server says, the values of its headers, of its address, and of its credentials: servers like to repeat what
// they were sent when they refuse it, and what they say is kept and read by others.
func (s *Server) mask(text string) string {
	var values []string
	for _, v := range s.Headers {
		values = append(values, v)
		if _, credentials, ok := strings.Cut(v, " "); ok { // Bearer, Basic
			values = append(values, credentials)
		}
	}
	if u, err := url.Parse(s.URL); err == nil {
		for pair := range strings.SplitSeq(u.RawQuery, "&") {
			_, v, _ := strings.Cut(pair, "=")
			values = append(values, v)
			if plain, err := url.QueryUnescape(v); err == nil {
				values = append(values, plain)
			}
		}
	}
	if s.OAuth != nil {
		values = append(values, s.OAuth.ClientSecret)
	}
	for _, v := range values {
		if len(v) >= leastSecret {
			text = strings.ReplaceAll(text, v, masked)
		}
	}
	return text
}

// plainError is an error as a model and a log may read it: without secrets and what nobody sees, and short.
func (s *Server) plainError(err error) error {
	text := short(visible(s.mask(err.Error())), maxError)
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

const maxError = 2000
