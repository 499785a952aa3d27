package outbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Options are a client's settings; the zero value reaches what is public, with the bounds that are told here.
type Options struct {
	// Allow is what may be reached beside public addresses, and Setting what the person who can change that calls it.
	Allow   Allow
	Setting string
	// Timeout bounds a request from its beginning to the last byte of the answer, redirects included. Default 30 s;
	// negative for none, where an answer is a stream.
	Timeout time.Duration
	// Begin is how long the beginning of an answer may take. Default 30 s.
	Begin time.Duration
	// MaxBody bounds the body of an answer, after decompression. Default 10 MiB; negative for none.
	MaxBody int64
	// MaxRedirects is how many redirects are followed. Default 5; negative for none: the redirect is the answer then.
	MaxRedirects int
	// Proxy is asked in place of the host, if there is one.
	Proxy *url.URL
	// Single makes a connection for each request. Who makes few needs no Close then.
	Single bool
	// Resolver finds the addresses of names. Default: the system's.
	Resolver *net.Resolver
}

// Client makes requests. It is safe for concurrent use.
type Client struct {
	opt       Options
	transport *http.Transport
	client    *http.Client
}

const (
	dialTimeout   = 10 * time.Second
	headerTimeout = 30 * time.Second
	maxHeader     = 64 << 10
)

// New makes a client.
func New(opt Options) *Client {
	if opt.Setting == "" {
		opt.Setting = "Options.Allow"
	}
	if opt.Timeout == 0 {
		opt.Timeout = 30 * time.Second
	}
	if opt.Begin == 0 {
		opt.Begin = headerTimeout
	}
	if opt.MaxBody == 0 {
		opt.MaxBody = 10 << 20
	}
	if opt.MaxRedirects == 0 {
		opt.MaxRedirects = 5
	}
	c := &Client{opt: opt}
	c.transport = &http.Transport{
		Proxy:                  nil,
		DialContext:            c.dial,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    dialTimeout,
		ResponseHeaderTimeout:  opt.Begin,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        30 * time.Second,
		DisableKeepAlives:      opt.Single,
	}
	if opt.Proxy != nil {
		c.transport.Proxy = http.ProxyURL(opt.Proxy)
	}
	c.client = &http.Client{Transport: roundTripper{c}, Timeout: max(opt.Timeout, 0), CheckRedirect: c.redirect}
	return c
}

// Do sends a request. The answer's body must be closed.
func (c *Client) Do(req *http.Request) (*http.Response, error) { return c.client.Do(req) }

// Get asks for an address. The answer's body must be closed.
func (c *Client) Get(ctx context.Context, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	return c.Do(req)
}

// HTTP is the client as libraries want it. Its Transport carries all checks but the number of redirects and the time of
// the whole request, which are the client's.
func (c *Client) HTTP() *http.Client { return c.client }

// Close closes connections that wait for another request.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// dial connects to a host. Each of its addresses is looked at when it is tried, after all resolving is done.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout, Resolver: c.opt.Resolver}
	if c.opt.Proxy != nil {
		return d.DialContext(ctx, network, address) // only the proxy is ever dialled, and the operator named it
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d.Control = func(_, to string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(to)
		if err != nil {
			return fmt.Errorf("address %s of %s: %w", to, host, err)
		}
		return c.reach(host, at.Addr())
	}
	return d.DialContext(ctx, network, address)
}

// harmless are the headers that say nothing about who asks.
var harmless = []string{"Accept", "Accept-Language", "Content-Length", "Content-Type", "If-Modified-Since", "If-None-Match", "Range", "Referer", "User-Agent"}

func (c *Client) redirect(req *http.Request, via []*http.Request) error {
	if c.opt.MaxRedirects < 0 {
		return http.ErrUseLastResponse
	}
	if len(via) > c.opt.MaxRedirects {
		return fmt.Errorf("redirected more than %d times", c.opt.MaxRedirects)
	}
	// net/http copies headers anew for each hop, from the first request.
	if first := via[0].URL; !strings.EqualFold(first.Host, req.URL.Host) || first.Scheme != req.URL.Scheme {
		for name := range req.Header {
			if !slices.Contains(harmless, name) {
				delete(req.Header, name)
			}
		}
	}
	return nil
}

// roundTripper is the transport with what must hold for every hop.
type roundTripper struct{ c *Client }

func (t roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.c.checkURL(req.URL); err != nil {
		if req.Body != nil {
			err = errors.Join(err, req.Body.Close())
		}
		return nil, err
	}
	if req.Header.Get("Accept-Encoding") != "" && req.Header.Get("Range") == "" {
		// What the caller decompresses would not be counted.
		req = req.Clone(req.Context())
		req.Header.Del("Accept-Encoding")
	}
	res, err := t.c.transport.RoundTrip(req)
	if err != nil || t.c.opt.MaxBody < 0 || res.StatusCode == http.StatusSwitchingProtocols {
		return res, err
	}
	if req.Method != http.MethodHead && res.ContentLength > t.c.opt.MaxBody {
		return nil, errors.Join(&TooLargeError{t.c.opt.MaxBody}, res.Body.Close())
	}
	res.Body = &bounded{res.Body, t.c.opt.MaxBody, t.c.opt.MaxBody}
	return res, nil
}

// checkURL refuses what no connection should be tried for.
func (c *Client) checkURL(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("the scheme %q is not spoken here; give an address that begins with https:// or http://", u.Scheme)
	}
	host := u.Hostname()
	if host == "" {
		return errors.New("the address names no host")
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return c.reach(host, ip)
	}
	if numeric(host) {
		return fmt.Errorf("the host %q looks like an address and is none; write it as in 192.0.2.1", host)
	}
	if name := plain(host); (name == "localhost" || strings.HasSuffix(name, ".localhost")) && c.opt.Proxy != nil {
		return c.reach(host, netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	return nil
}

// TooLargeError is returned by the body of an answer that is larger than the client takes.
type TooLargeError struct{ Max int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the answer is larger than %d bytes", e.Max)
}

// bounded is a body of which no more than left bytes come.
type bounded struct {
	io.ReadCloser
	left, max int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, &TooLargeError{b.max}
	}
	// One byte more than is left tells a body that ends there from one that goes on.
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) <= b.left {
		b.left -= int64(n)
		return n, err
	}
	n = int(b.left)
	b.left = -1
	return n, &TooLargeError{b.max}
}
