package server

import (
	"net/url"

	"github.com/tributary-ai/tributary/internal/run"
)

// wantWebhook checks the address to which the end of a run is told. Whether it may be reached is decided when it
// is: names can change what they stand for in between.
func (s *Server) wantWebhook(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || len(text) > 2048 {
		return run.Invalidf("webhook", "must be an http or https address without a password")
	}
	return nil
}
