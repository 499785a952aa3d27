package outbound

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/outbound/outboundtest"
)

// hostile are addresses that try to reach this machine or its network. PORT is the trap's.
var hostile = outboundtest.Hostile

func hostileNames(t *testing.T) Options {
	return Options{Setting: "fetch.allow", Resolver: outboundtest.Resolver(t, map[string][][]string{
		"":                {{"127.0.0.1", "::1"}}, // whatever else is asked for, also spellings that are names here
		"inside6.test":    {{"::1"}},
		"mapped.test":     {{"::ffff:127.0.0.1"}},
		"both.test":       {{"127.0.0.1", "10.0.0.1", "::1", "fd00::1"}},
		"private.test":    {{"10.0.0.1"}},
		"translated.test": {{"64:ff9b::7f00:1"}},
	})}
}

func TestNoHostileAddressReachesThisMachine(t *testing.T) {
	if len(hostile) < 80 {
		t.Fatalf("only %d addresses", len(hostile))
	}
	passed := sealed(t)
	trap := outboundtest.NewTrap(t)
	c := client(t, hostileNames(t))
	for _, address := range hostile {
		address = strings.ReplaceAll(address, "PORT", trap.Port)
		res, err := c.Get(t.Context(), address)
		if err == nil {
			res.Body.Close()
			t.Errorf("%s is answered with %s", address, res.Status)
		}
		if n := trap.Hits.Swap(0); n > 0 {
			t.Errorf("%s reached the trap", address)
		}
		if passed.Swap(0) > 0 {
			t.Errorf("%s counts as public", address)
		}
		var refused *AddressError
		if errors.As(err, &refused) && !strings.Contains(refused.Error(), "fetch.allow") {
			t.Errorf("%s: %q does not say what to change", address, refused)
		}
	}
}

// The trap is one: it is reached where the settings allow it.
func TestWhatIsAllowedIsReached(t *testing.T) {
	trap := outboundtest.NewTrap(t)
	for address, allowed := range map[string]string{
		"http://127.0.0.1:PORT/":          "127.0.0.0/8",
		"http://127.0.0.1:PORT/x":         "127.0.0.1",
		"http://inside.test:PORT/":        "Inside.Test.",
		"http://INSIDE.test:PORT/":        "127.0.0.1",
		"http://[::ffff:127.0.0.1]:PORT/": "127.0.0.1",
	} {
		opt := hostileNames(t)
		opt.Allow = allow(t, "192.0.2.7", allowed)
		c := client(t, opt)
		res, err := c.Get(t.Context(), strings.ReplaceAll(address, "PORT", trap.Port))
		if err != nil {
			t.Errorf("%s with %s: %v", address, allowed, err)
			continue
		}
		res.Body.Close()
		if trap.Hits.Swap(0) != 1 {
			t.Errorf("%s did not reach the trap", address)
		}
	}
	opt := hostileNames(t)
	opt.Allow = allow(t, "10.0.0.0/8", "other.test")
	if _, err := client(t, opt).Get(t.Context(), "http://inside.test:"+trap.Port); err == nil || trap.Hits.Load() > 0 {
		t.Errorf("what was not allowed was reached: %v", err)
	}
}

func TestNoRedirectReachesThisMachine(t *testing.T) {
	trap := outboundtest.NewTrap(t)
	passed := sealed(t)
	var to string
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hops := r.URL.Query().Get("hops"); hops != "" {
			http.Redirect(w, r, "/?hops="+hops[1:], http.StatusFound)
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
		for _, from := range []string{start, start + "?hops=xx"} {
			res, err := c.Get(t.Context(), from)
			if err == nil {
				res.Body.Close()
			}
			if trap.Hits.Swap(0) > 0 || passed.Swap(0) > 0 {
				t.Errorf("a redirect to %s was followed", to)
			}
		}
	}
}

func TestAResolverThatChangesItsMindIsFoundOut(t *testing.T) {
	passed := sealed(t)
	trap := outboundtest.NewTrap(t)
	c := client(t, Options{Resolver: outboundtest.Resolver(t, map[string][][]string{
		"rebind.test": {{"93.184.216.34"}, {"127.0.0.1"}},
		"mixed.test":  {{"93.184.216.34", "127.0.0.1", "::1"}},
	})})
	_, err := c.Get(t.Context(), "http://rebind.test:"+trap.Port)
	if !errors.Is(err, errStopped) || passed.Swap(0) != 1 {
		t.Errorf("the public address is not tried: %v", err)
	}
	_, err = c.Get(t.Context(), "http://rebind.test:"+trap.Port)
	var refused *AddressError
	if !errors.As(err, &refused) || refused.Address.String() != "127.0.0.1" {
		t.Errorf("got %v, want that 127.0.0.1 is refused", err)
	}
	if _, err = c.Get(t.Context(), "http://mixed.test:"+trap.Port); err == nil {
		t.Error("one of several addresses was reached")
	}
	if n := trap.Hits.Load(); n > 0 {
		t.Errorf("the trap was reached %d times", n)
	}
}

func ExampleAddressError() {
	_, err := New(Options{Setting: "webhooks.allow"}).Get(context.Background(), "http://10.1.2.3/hook")
	fmt.Println(errors.Unwrap(err))
	// Output: 10.1.2.3 is not a public address but private; if it may be reached, add the address, its range or the host to webhooks.allow
}
