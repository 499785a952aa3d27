package mcp

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// guardedOAuth is the SDK's handler for several requests at once: one gets the token, the others wait for it.
type guardedOAuth struct {
	mu      sync.Mutex
	handler auth.OAuthHandler
}

// newOAuth gets tokens with a client's own credentials. Where, the server says; the requests go through the hub's client.
func newOAuth(o *OAuth, client *http.Client) (auth.OAuthHandler, error) {
	h, err := extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{
		Credentials: &oauthex.ClientCredentials{ClientID: o.ClientID, ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: o.ClientSecret}},
		HTTPClient:  client,
	})
	if err != nil {
		return nil, fmt.Errorf("oauth: %w", err)
	}
	return &guardedOAuth{handler: h}, nil
}

func (g *guardedOAuth) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.handler.TokenSource(ctx)
}

func (g *guardedOAuth) Authorize(ctx context.Context, req *http.Request, res *http.Response) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.handler.Authorize(ctx, req, res)
}
