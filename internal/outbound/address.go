package outbound

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// special lists the addresses that are not public, with what they are. IANA's registries of special-purpose addresses
// are the source, and two addresses that clouds use for services of the machine's own.
var special = []struct {
	prefix netip.Prefix
	kind   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this machine"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "a carrier's or a cloud's own"},
	{netip.MustParsePrefix("127.0.0.0/8"), "this machine"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud's own service"}, // Azure's, for the machine alone
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},              // with the clouds' metadata
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved"}, // with Oracle's metadata
	{netip.MustParsePrefix("192.0.2.0/24"), "for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a relay to IPv6"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{netip.MustParsePrefix("198.18.0.0/15"), "for measurements"},
	{netip.MustParsePrefix("198.51.100.0/24"), "for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "for documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},

	{netip.MustParsePrefix("::/127"), "this machine"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a translation to a private network"},
	{netip.MustParsePrefix("2001::/32"), "a tunnel to another address"}, // Teredo
	{netip.MustParsePrefix("2001::/23"), "reserved"},
	{netip.MustParsePrefix("2001:db8::/32"), "for documentation"},
	{netip.MustParsePrefix("2002::/16"), "a tunnel to another address"}, // 6to4
	{netip.MustParsePrefix("3fff::/20"), "for documentation"},
	{netip.MustParsePrefix("fc00::/7"), "private"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("fec0::/10"), "private"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

var (
	unicast    = netip.MustParsePrefix("2000::/3")     // all of IPv6 that is given out to networks
	translated = netip.MustParsePrefix("64:ff9b::/96") // NAT64: networks without IPv4 reach the rest so
	compatible = netip.MustParsePrefix("::/96")
)

// meant is the address that packets to ip end at, where ip only stands for it.
func meant(ip netip.Addr) netip.Addr {
	ip = ip.Unmap().WithZone("")
	b := ip.As16()
	inside := netip.AddrFrom4([4]byte(b[12:]))
	if ip.Is6() && (translated.Contains(ip) || compatible.Contains(ip) && b[12] != 0) {
		return inside
	}
	return ip
}

// kindOf says what an address is that is not public; "" for one that is.
func kindOf(ip netip.Addr) string {
	ip = meant(ip)
	for _, s := range special {
		if s.prefix.Contains(ip) {
			return s.kind
		}
	}
	if ip.Is6() && !unicast.Contains(ip) {
		return "reserved"
	}
	return ""
}

// ownAddresses are those of this machine's interfaces, as they are now. A variable for tests.
var ownAddresses = net.InterfaceAddrs

func isOwn(ip netip.Addr) (bool, error) {
	addrs, err := ownAddresses()
	if err != nil {
		return false, fmt.Errorf("list this machine's own addresses: %w", err)
	}
	return slices.ContainsFunc(addrs, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		if !ok {
			return false
		}
		own, ok := netip.AddrFromSlice(n.IP)
		return ok && own.Unmap() == meant(ip)
	}), nil
}

// Allow is what may be reached although it is not public. The zero value is nothing.
type Allow struct {
	prefixes []netip.Prefix
	hosts    []string
}

// ParseAllow reads what may be reached: ranges ("10.1.0.0/16"), addresses ("127.0.0.1") and names of hosts
// ("hooks.internal"), whatever addresses these have.
func ParseAllow(list []string) (Allow, error) {
	var a Allow
	for _, s := range list {
		if p, err := netip.ParsePrefix(s); err == nil {
			a.prefixes = append(a.prefixes, p.Masked())
			continue
		}
		if ip, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
			ip = ip.Unmap().WithZone("")
			a.prefixes = append(a.prefixes, netip.PrefixFrom(ip, ip.BitLen()))
			continue
		}
		if s == "" || strings.ContainsAny(s, "/:@*? ") || numeric(s) {
			return Allow{}, fmt.Errorf("%q is no range (10.1.0.0/16), no address (127.0.0.1) and no name of a host (hooks.internal)", s)
		}
		a.hosts = append(a.hosts, plain(s))
	}
	return a, nil
}

func (a Allow) host(name string) bool { return slices.Contains(a.hosts, plain(name)) }

func (a Allow) address(ip netip.Addr) bool {
	return slices.ContainsFunc(a.prefixes, func(p netip.Prefix) bool {
		return p.Contains(ip.WithZone("")) || p.Contains(meant(ip))
	})
}

// plain is a name of a host as it is compared.
func plain(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// numeric reports a name whose last part is a number. Browsers and some resolvers read such names as addresses
// (0x7f.1, 2130706433, 0177.0.0.1); there is no host that is called so.
func numeric(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" {
		return true
	}
	if hex, ok := strings.CutPrefix(strings.ToLower(last), "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// AddressError is returned for a request to an address that may not be reached.
type AddressError struct {
	Host    string     // as it was asked for
	Address netip.Addr // what it stands for
	Kind    string     // what that is
	Setting string     // that would allow it
}

func (e *AddressError) Error() string {
	subject := e.Host
	if subject != e.Address.String() {
		subject += " (" + e.Address.String() + ")"
	}
	return fmt.Sprintf("%s is not a public address but %s; if it may be reached, add the address, its range or the host to %s", subject, e.Kind, e.Setting)
}

// reach decides about an address that a connection is about to be made to.
func (c *Client) reach(host string, ip netip.Addr) error {
	if c.opt.Allow.host(host) || c.opt.Allow.address(ip) {
		return nil
	}
	kind := kindOf(ip)
	if kind == "" {
		own, err := isOwn(ip)
		if err != nil {
			return err
		}
		if !own {
			return nil
		}
		kind = "this machine"
	}
	return &AddressError{Host: host, Address: ip, Kind: kind, Setting: c.opt.Setting}
}
