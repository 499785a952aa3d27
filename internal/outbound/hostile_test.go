package outbound

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// hostile are addresses that try to reach this machine or its network. PORT is the trap's.
var hostile = []string{
	// plainly
	"http://127.0.0.1:PORT/", "http://127.0.0.1:PORT", "https://127.0.0.1:PORT/", "http://localhost:PORT/", "http://LOCALHOST:PORT/",
	"http://localhost.:PORT/", "http://a.localhost:PORT/", "http://127.1.2.3:PORT/", "http://127.255.255.254:PORT/", "http://[::1]:PORT/",
	"http://0.0.0.0:PORT/", "http://[::]:PORT/", "http://0.1.2.3:PORT/",
	// other spellings of 127.0.0.1
	"http://2130706433:PORT/", "http://0x7f000001:PORT/", "http://0X7F000001:PORT/", "http://017700000001:PORT/", "http://127.1:PORT/",
	"http://127.0.1:PORT/", "http://0x7f.1:PORT/", "http://0x7f.0.0.1:PORT/", "http://0177.0.0.1:PORT/", "http://0177.0.0.01:PORT/",
	"http://127.0.0x0.1:PORT/", "http://0x7f.0x0.0x0.0x1:PORT/", "http://00000177.0.0.1:PORT/", "http://127.000.000.001:PORT/",
	"http://0:PORT/", "http://0x0:PORT/", "http://00:PORT/", "http://1:PORT/", "http://127.0.0.1.:PORT/", "http://6425673729:PORT/",
	"http://0x17f000001:PORT/", "http://383.0.0.1:PORT/", "http://0.0x7f000001:PORT/", "http://%31%32%37.0.0.1:PORT/",
	"http://127%2e0%2e0%2e1:PORT/", "http://①②⑦.⓪.⓪.①:PORT/", "http://１２７.0.0.1:PORT/", "http://127。0。0。1:PORT/",
	// v4 in v6
	"http://[::ffff:127.0.0.1]:PORT/", "http://[::ffff:7f00:1]:PORT/", "http://[0:0:0:0:0:ffff:127.0.0.1]:PORT/", "http://[::127.0.0.1]:PORT/",
	"http://[::7f00:1]:PORT/", "http://[64:ff9b::127.0.0.1]:PORT/", "http://[64:ff9b::a00:1]:PORT/", "http://[64:ff9b:1::7f00:1]:PORT/",
	"http://[2002:7f00:1::]:PORT/", "http://[2002:a00:1::1]:PORT/", "http://[2001:0:7f00:1::1]:PORT/", "http://[0:0:0:0:0:0:0:1]:PORT/",
	"http://[::ffff:0:127.0.0.1]:PORT/", "http://[::1%25lo]:PORT/", "http://[fe80::1%25lo]:PORT/", "http://[::ffff:169.254.169.254]:PORT/",
	// neighbours
	"http://10.0.0.1:PORT/", "http://172.16.0.1:PORT/", "http://172.31.255.255:PORT/", "http://192.168.1.1:PORT/", "http://169.254.169.254/latest/meta-data/",
	"http://[fd00:ec2::254]/latest/meta-data/", "http://100.100.100.200/latest/meta-data/", "http://192.0.0.192/opc/v2/", "http://168.63.129.16/machine",
	"http://100.64.0.1:PORT/", "http://198.18.0.1:PORT/", "http://198.19.255.255:PORT/", "http://192.0.2.1:PORT/", "http://198.51.100.1:PORT/",
	"http://203.0.113.1:PORT/", "http://192.88.99.1:PORT/", "http://224.0.0.1:PORT/", "http://239.255.255.250:1900/", "http://240.0.0.1:PORT/",
	"http://255.255.255.255:PORT/", "http://[fc00::1]:PORT/", "http://[fd12::1]:PORT/", "http://[fec0::1]:PORT/", "http://[fe80::1]:PORT/",
	"http://[ff02::1]:PORT/", "http://[2001:db8::1]:PORT/", "http://[3fff::1]:PORT/", "http://[100::1]:PORT/", "http://[2001:10::1]:PORT/", "http://[5f00::1]:PORT/",
	// a name and a port that are not what they look like
	"http://example.com@127.0.0.1:PORT/", "http://example.com:80@127.0.0.1:PORT/", "http://example.com%40127.0.0.1:PORT/", "http://user:pass@localhost:PORT/",
	"http://127.0.0.1:PORT#@example.com/", "http://127.0.0.1:PORT?@example.com/", "http://127.0.0.1:PORT\\@example.com/", "http://example.com\\@127.0.0.1:PORT/",
	"http:127.0.0.1:PORT/", "http:/127.0.0.1:PORT/", "http:///127.0.0.1:PORT/", "//127.0.0.1:PORT/", "127.0.0.1:PORT", "http://:PORT/", "http://@:PORT/",
	"http://127.0.0.1:PORT\r\nHost: example.com/", " http://127.0.0.1:PORT/", "http://127.0.0.1 :PORT/", "HTTP://127.0.0.1:PORT/", "hTtP://[::1]:PORT/",
	// names that stand for this machine or its network: the resolver says so
	"http://inside.test:PORT/", "http://inside6.test:PORT/", "http://mapped.test:PORT/", "http://both.test:PORT/", "http://private.test:PORT/",
	"http://metadata.google.internal/computeMetadata/v1/", "http://127.0.0.1.nip.test:PORT/", "http://0x7f000001.test:PORT/", "http://translated.test:PORT/",
	// other tongues
	"file:///etc/passwd", "file://localhost/etc/passwd", "gopher://127.0.0.1:PORT/_GET%20/", "ftp://127.0.0.1:PORT/", "dict://127.0.0.1:PORT/info",
	"ldap://127.0.0.1:PORT/", "ws://127.0.0.1:PORT/", "wss://127.0.0.1:PORT/", "unix:///var/run/docker.sock", "http+unix://%2Fvar%2Frun%2Fdocker.sock/", "jar:http://127.0.0.1:PORT!/",
	"data:text/plain,hello", "javascript:alert(1)", "netdoc:///etc/passwd", "tftp://127.0.0.1:PORT/x", "socks5://127.0.0.1:PORT/",
}

func hostileNames(t *testing.T) Options {
	return Options{Setting: "fetch.allow", Resolver: resolver(t, map[string][][]string{
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
	trap := newTrap(t)
	c := client(t, hostileNames(t))
	for _, address := range hostile {
		address = strings.ReplaceAll(address, "PORT", trap.port)
		res, err := c.Get(t.Context(), address)
		if err == nil {
			res.Body.Close()
			t.Errorf("%s is answered with %s", address, res.Status)
		}
		if n := trap.hits.Swap(0); n > 0 {
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
	trap := newTrap(t)
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
		res, err := c.Get(t.Context(), strings.ReplaceAll(address, "PORT", trap.port))
		if err != nil {
			t.Errorf("%s with %s: %v", address, allowed, err)
			continue
		}
		res.Body.Close()
		if trap.hits.Swap(0) != 1 {
			t.Errorf("%s did not reach the trap", address)
		}
	}
	opt := hostileNames(t)
	opt.Allow = allow(t, "10.0.0.0/8", "other.test")
	if _, err := client(t, opt).Get(t.Context(), "http://inside.test:"+trap.port); err == nil || trap.hits.Load() > 0 {
		t.Errorf("what was not allowed was reached: %v", err)
	}
}

func TestNoRedirectReachesThisMachine(t *testing.T) {
	trap := newTrap(t)
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
		to = strings.ReplaceAll(address, "PORT", trap.port)
		if strings.ContainsAny(to, "\r\n") {
			continue // no header can say this
		}
		for _, from := range []string{start, start + "?hops=xx"} {
			res, err := c.Get(t.Context(), from)
			if err == nil {
				res.Body.Close()
			}
			if trap.hits.Swap(0) > 0 || passed.Swap(0) > 0 {
				t.Errorf("a redirect to %s was followed", to)
			}
		}
	}
}

func TestAResolverThatChangesItsMindIsFoundOut(t *testing.T) {
	passed := sealed(t)
	trap := newTrap(t)
	c := client(t, Options{Resolver: resolver(t, map[string][][]string{
		"rebind.test": {{"93.184.216.34"}, {"127.0.0.1"}},
		"mixed.test":  {{"93.184.216.34", "127.0.0.1", "::1"}},
	})})
	_, err := c.Get(t.Context(), "http://rebind.test:"+trap.port)
	if !errors.Is(err, errStopped) || passed.Swap(0) != 1 {
		t.Errorf("the public address is not tried: %v", err)
	}
	_, err = c.Get(t.Context(), "http://rebind.test:"+trap.port)
	var refused *AddressError
	if !errors.As(err, &refused) || refused.Address.String() != "127.0.0.1" {
		t.Errorf("got %v, want that 127.0.0.1 is refused", err)
	}
	if _, err = c.Get(t.Context(), "http://mixed.test:"+trap.port); err == nil {
		t.Error("one of several addresses was reached")
	}
	if n := trap.hits.Load(); n > 0 {
		t.Errorf("the trap was reached %d times", n)
	}
}

func ExampleAddressError() {
	_, err := New(Options{Setting: "webhooks.allow"}).Get(context.Background(), "http://10.1.2.3/hook")
	fmt.Println(errors.Unwrap(err))
	// Output: 10.1.2.3 is not a public address but private; if it may be reached, add the address, its range or the host to webhooks.allow
}
