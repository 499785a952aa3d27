package outbound

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/outbound/outboundtest"
	"github.com/tributary-ai/tributary/tool/mcp"
)

// asked opens an MCP server at an address, as a request that brings one does.
func asked(t *testing.T, c *Client, kind mcp.Transport, address string) (tools int) {
	t.Helper()
	hub, err := mcp.Open(mcp.Options{HTTP: c.HTTP()})
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	found, _ := hub.Tools(t.Context(), mcp.Who{Owner: "anna"}, mcp.Server{Name: "x", Type: kind, URL: address, Start: 10 * time.Second})
	return len(found)
}

func TestNoHostileAddressOfAnMCPServerReachesThisMachine(t *testing.T) {
	passed := sealed(t)
	trap := outboundtest.NewTrap(t)
	c := client(t, hostileNames(t))
	for _, kind := range []mcp.Transport{mcp.HTTP, mcp.SSE} {
		for _, address := range hostile {
			address = strings.ReplaceAll(address, "PORT", trap.Port)
			if n := asked(t, c, kind, address); n > 0 {
				t.Errorf("%s offers %d tools", address, n)
			}
			if trap.Hits.Swap(0) > 0 || passed.Swap(0) > 0 {
				t.Errorf("%s over %s reached the trap, or counts as public", address, kind)
			}
		}
	}
}

// The trap is one for MCP servers too: it is reached where the settings allow it.
func TestAnMCPServerThatIsAllowedIsReached(t *testing.T) {
	for _, kind := range []mcp.Transport{mcp.HTTP, mcp.SSE} {
		trap := outboundtest.NewTrap(t)
		opt := hostileNames(t)
		opt.Allow = allow(t, "inside.test")
		asked(t, client(t, opt), kind, "http://inside.test:"+trap.Port)
		if trap.Hits.Load() == 0 {
			t.Errorf("the trap was not reached over %s", kind)
		}
	}
}

// A server that may be reached leads to one that may not: by a redirect, and by the address that the older transport gives.
func TestNoMCPServerLeadsToThisMachine(t *testing.T) {
	passed := sealed(t)
	trap := outboundtest.NewTrap(t)
	var to string
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/events" {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("event: endpoint\ndata: " + to + "\n\n"))
			return
		}
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	defer site.Close()
	opt := hostileNames(t)
	opt.Allow = allow(t, "site.test") // stands for what is public
	c := client(t, opt)
	start := strings.Replace(site.URL, "127.0.0.1", "site.test", 1)
	for _, address := range hostile {
		to = strings.ReplaceAll(address, "PORT", trap.Port)
		if strings.ContainsAny(to, "\r\n") {
			continue // no header can say this
		}
		for path, kind := range map[string]mcp.Transport{"/": mcp.HTTP, "/events": mcp.SSE} {
			asked(t, c, kind, start+path)
			if trap.Hits.Swap(0) > 0 || passed.Swap(0) > 0 {
				t.Errorf("%s was reached by way of %s", to, path)
			}
		}
	}
}
