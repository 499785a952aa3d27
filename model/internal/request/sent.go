package request

import (
	"context"
	"io"
	"net/http"
)

type sentKey struct{}

// Telling notes in a context who wants to know what is sent; see model.Request.
func Telling(ctx context.Context, sent func(body []byte)) context.Context {
	if sent == nil {
		return ctx
	}
	return context.WithValue(ctx, sentKey{}, sent)
}

// Tell tells of a request that is about to go out, with the body as it goes.
func Tell(req *http.Request) {
	sent, ok := req.Context().Value(sentKey{}).(func([]byte))
	if !ok || req.GetBody == nil {
		return
	}
	copied, err := req.GetBody()
	if err != nil {
		return
	}
	defer copied.Close()
	if body, err := io.ReadAll(copied); err == nil {
		sent(body)
	}
}
