package tasks

import (
	"errors"
	"net/http"

	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/feed"
	"github.com/tributary-ai/tributary/internal/server/socket"
)

// serveSocket is events over a WebSocket: one event per message. The client has nothing to say. How it ends is told in
// package socket.
func (s *Service) serveSocket(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	at, after, err := s.findPlace(w, r, who)
	if err != nil {
		return err
	}
	talk := socket.Talk{
		Terms: s.opt.Terms, Source: s.opt.Feeds.Reader(at.key(true), at.project, feed.Start{Last: after}),
		Ended: "the task has ended", Again: "connect again with after=",
	}
	if err = talk.Serve(w, r); errors.Is(err, journal.ErrLost) {
		return s.explainLost(w, r, at)
	}
	return err
}
