package outbound

import (
	"compress/gzip"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/internal/outbound/outboundtest"
)

func TestPublicAddressesAreReached(t *testing.T) {
	for _, s := range []string{
		"1.1.1.1", "8.8.8.8", "93.184.216.34", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "172.15.0.1",
		"172.32.0.1", "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "::ffff:8.8.8.8",
		"64:ff9b::8.8.8.8", "2606:4700:4700::1111", "2a00:1450::1", "2001:4860:4860::8888", "2001:200::1",
	} {
		if kind := kindOf(netip.MustParseAddr(s)); kind != "" {
			t.Errorf("%s counts as %s", s, kind)
		}
	}
}

// However an IPv4 address is wrapped, it is judged as itself or not reached at all.
func TestNoWrappingMakesAnAddressPublic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := [4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "ipv4"))
		ip := netip.AddrFrom4(b)
		prefix := rapid.SampledFrom([]string{"::ffff:0:0", "::", "64:ff9b::", "64:ff9b:1::", "2002::", "2001::", "fec0::"}).Draw(t, "prefix")
		w := netip.MustParseAddr(prefix).As16()
		copy(w[12:], b[:])
		if prefix == "2002::" {
			copy(w[2:], b[:])
		}
		if kindOf(ip) != "" && kindOf(netip.AddrFrom16(w)) == "" {
			t.Errorf("%v is %s, but public as %v", ip, kindOf(ip), netip.AddrFrom16(w))
		}
		if std := ip; kindOf(ip) == "" && (std.IsPrivate() || std.IsLoopback() || std.IsMulticast() || std.IsLinkLocalUnicast() || std.IsUnspecified()) {
			t.Errorf("%v counts as public", ip)
		}
	})
}

func TestTheMachinesOwnPublicAddressesAreNotReached(t *testing.T) {
	before := ownAddresses
	defer func() { ownAddresses = before }()
	ownAddresses = func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.ParseIP("93.184.216.34"), Mask: net.CIDRMask(24, 32)}, &net.IPNet{IP: net.ParseIP("2606:4700::7"), Mask: net.CIDRMask(64, 128)}}, nil
	}
	c := New(Options{})
	for s, refused := range map[string]bool{"93.184.216.34": true, "::ffff:93.184.216.34": true, "64:ff9b::93.184.216.34": true, "2606:4700::7": true, "93.184.216.35": false, "2606:4700::8": false} {
		if err := c.reach(s, netip.MustParseAddr(s)); (err != nil) != refused {
			t.Errorf("%s: %v, want refused %v", s, err, refused)
		}
	}
}

func TestWhatCanBeAllowedIsSaidWhenItIsWrong(t *testing.T) {
	for _, s := range []string{"", "10.0.0.0/33", "http://x", "a b", "*.x", "10.0.0", "0x7f.1", "x:80", "user@x"} {
		if _, err := ParseAllow([]string{s}); err == nil || !strings.Contains(err.Error(), "hooks.internal") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// site is a server that the client may reach.
func site(t *testing.T, h http.HandlerFunc, opt Options) (*Client, string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	opt.Allow = allow(t, "127.0.0.1")
	return client(t, opt), s.URL
}

func TestAnEndlessBodyEnds(t *testing.T) {
	for _, large := range []string{"endless", "announced", "bomb"} {
		c, at := site(t, func(w http.ResponseWriter, r *http.Request) {
			var out io.Writer = w
			switch large {
			case "announced":
				w.Header().Set("Content-Length", "100000000")
			case "bomb":
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				defer z.Close()
				out = z
			}
			zeros := make([]byte, 64<<10)
			for r.Context().Err() == nil {
				if _, err := out.Write(zeros); err != nil {
					return
				}
			}
		}, Options{MaxBody: 1 << 20})
		res, err := c.Get(t.Context(), at)
		var n int64
		if err == nil {
			n, err = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		var tooLarge *TooLargeError
		if !errors.As(err, &tooLarge) || n > 1<<20 || large != "announced" && n != 1<<20 {
			t.Errorf("%s: read %d bytes, %v", large, n, err)
		}
	}
}

// A caller that asks for a compressed body does not get one past the count.
func TestTheCallersOwnCompressionIsNotUsed(t *testing.T) {
	c, at := site(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "gzip" {
			t.Errorf("the server is asked for %q", got)
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, "hello")
		_ = z.Close()
	}, Options{})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	req.Header.Set("Accept-Encoding", "br, gzip")
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); string(body) != "hello" || err != nil {
		t.Errorf("got %q, %v", body, err)
	}
	if req.Header.Get("Accept-Encoding") != "br, gzip" {
		t.Error("the caller's request was changed")
	}
}

func TestABodyOfJustTheLimitIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size, limit := rapid.IntRange(0, 40).Draw(t, "size"), rapid.IntRange(0, 40).Draw(t, "limit")
		b := &bounded{io.NopCloser(strings.NewReader(strings.Repeat("x", size))), int64(limit), int64(limit)}
		got, err := io.ReadAll(b)
		if len(got) != min(size, limit) || (err != nil) != (size > limit) {
			t.Errorf("of %d bytes with a limit of %d: got %d, %v", size, limit, len(got), err)
		}
		if _, again := b.Read(make([]byte, 9)); err != nil && again == nil {
			t.Error("the error goes away")
		}
	})
}

func TestRedirectsAreCountedAndCarryNoKeys(t *testing.T) {
	var seen http.Header
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header }))
	defer other.Close()
	c, at := site(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case "/near":
			http.Redirect(w, r, "/here", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		default:
			seen = r.Header
		}
	}, Options{MaxRedirects: 3})
	get := func(c *Client, path string) (*http.Response, error) {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, at+path, nil)
		req.Header.Set("X-Api-Key", "secret")
		req.Header.Set("Authorization", "secret")
		req.Header.Set("Accept", "text/html")
		res, err := c.Do(req)
		if err == nil {
			res.Body.Close()
		}
		return res, err
	}
	if _, err := get(c, "/away"); err != nil || seen.Get("X-Api-Key")+seen.Get("Authorization") != "" || seen.Get("Accept") != "text/html" {
		t.Errorf("another host saw %v, %v", seen, err)
	}
	if _, err := get(c, "/near"); err != nil || seen.Get("X-Api-Key") != "secret" {
		t.Errorf("the same host saw %v, %v", seen, err)
	}
	if _, err := get(c, "/loop"); err == nil || !strings.Contains(err.Error(), "more than 3 times") {
		t.Errorf("a loop: %v", err)
	}
	never, _ := site(t, nil, Options{MaxRedirects: -1})
	if res, err := get(never, "/near"); err != nil || res.StatusCode != http.StatusFound {
		t.Errorf("without redirects: %v, %v", res, err)
	}
}

func TestAnAnswerThatDoesNotComeIsGivenUp(t *testing.T) {
	stop := make(chan struct{})
	c, at := site(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.(http.Flusher).Flush()
		}
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	}, Options{Timeout: 50 * time.Millisecond})
	defer close(stop)
	for _, path := range []string{"/header", "/body"} {
		res, err := c.Get(t.Context(), at+path)
		if err == nil {
			_, err = io.ReadAll(res.Body)
			res.Body.Close()
		}
		var late interface{ Timeout() bool }
		if !errors.As(err, &late) || !late.Timeout() {
			t.Errorf("%s: %v, want a time-out", path, err)
		}
	}
}

func TestAHugeHeaderIsRefused(t *testing.T) {
	c, at := site(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X", strings.Repeat("x", 200<<10))
	}, Options{})
	if res, err := c.Get(t.Context(), at); err == nil {
		res.Body.Close()
		t.Error("a header of 200 KiB was taken")
	}
}

func TestOnlyAConfiguredProxyIsUsed(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.Host) }))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	passed := sealed(t)
	c := client(t, Options{Resolver: outboundtest.Resolver(t, map[string][][]string{"": {{"93.184.216.34"}}})})
	if _, err := c.Get(t.Context(), "http://public.test/"); !errors.Is(err, errStopped) || passed.Load() != 1 || asked != nil {
		t.Errorf("the environment's proxy was asked for %v, %v", asked, err)
	}
	at, _ := url.Parse(proxy.URL)
	c = client(t, Options{Proxy: at})
	for _, inside := range []string{"http://127.0.0.1/", "http://localhost/", "http://2130706433/", "http://[::ffff:10.0.0.1]/"} {
		if _, err := c.Get(t.Context(), inside); err == nil {
			t.Errorf("the proxy was asked for %s", inside)
		}
	}
	res, err := c.Get(t.Context(), "http://public.test/")
	if err != nil || len(asked) != 1 || asked[0] != "public.test" {
		t.Fatalf("the proxy was asked for %v, %v", asked, err)
	}
	res.Body.Close()
}

// What the settings allow can be reached, and nothing else that could not be reached without them: webhooks to private addresses are
// allowed one range at a time.
func TestAnAllowedRangeOpensItselfAndNothingElse(t *testing.T) {
	before := ownAddresses
	defer func() { ownAddresses = before }()
	ownAddresses = func() ([]net.Addr, error) { return nil, nil }
	near := rapid.Custom(func(t *rapid.T) netip.Addr { // mostly what is not public
		b := [4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "ipv4"))
		b[0] = rapid.SampledFrom([]byte{10, 127, 169, 172, 192, b[0]}).Draw(t, "first")
		if b[0] == 172 {
			b[1] = 16 + b[1]%16
		}
		return netip.AddrFrom4(b)
	})
	rapid.Check(t, func(t *rapid.T) {
		allowed, err := near.Draw(t, "allowed").Prefix(rapid.IntRange(8, 32).Draw(t, "bits"))
		if err != nil {
			t.Fatal(err)
		}
		list, err := ParseAllow([]string{allowed.String()})
		if err != nil {
			t.Fatal(err)
		}
		ip := near.Draw(t, "ip")
		if rapid.Bool().Draw(t, "inside") { // of the range
			b, in := ip.As4(), allowed.Addr().As4()
			for i := range allowed.Bits() {
				b[i/8] = b[i/8]&^(0x80>>(i%8)) | in[i/8]&(0x80>>(i%8))
			}
			ip = netip.AddrFrom4(b)
		}
		plain, opened := New(Options{}), New(Options{Allow: list})
		defer plain.Close()
		defer opened.Close()
		want := plain.reach(ip.String(), ip) == nil || allowed.Contains(ip)
		if err := opened.reach(ip.String(), ip); (err == nil) != want {
			t.Fatalf("%v with %v allowed: %v, want reached %v", ip, allowed, err, want)
		}
	})
}
