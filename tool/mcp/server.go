package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/tributary-ai/tributary/tool"
)

// Transport is how a server is spoken to.
type Transport string

const (
	Stdio Transport = "stdio" // a process, over its input and output
	HTTP  Transport = "http"  // streamable HTTP
	SSE   Transport = "sse"   // HTTP as it was before
)

// Share says who has a session in common.
type Share string

const (
	ByThread Share = "thread" // the runs of one thread, which is the default
	ByOwner  Share = "owner"  // all that belongs to one owner
	ByAll    Share = "server" // everybody: for servers that keep nothing between calls
)

// Server says where an MCP server is and what is wanted of it.
type Server struct {
	Name string
	// Type is how it is spoken to; empty: stdio for one with a command, and http for one with a URL.
	Type Transport

	// Command is started with Args, in the folder Dir. Env is what it gets beside [CleanEnv], as "NAME=value".
	Command string
	Args    []string
	Env     []string
	Dir     string

	// URL is where it is, and Headers what is sent along. OAuth, where set, gets a token as a client of its own.
	URL     string
	Headers map[string]string
	OAuth   *OAuth

	// Tools are the names of those that are offered, as the server calls them; nil for all.
	Tools []string
	// Agents are the names of the agents that have them; nil for all.
	Agents []string
	// Risk is what calls can do; zero means reads, writes and leaves, since nobody knows.
	Risk tool.Risk
	// Timeout bounds one call, and Start how long it may take until the server is ready. Default 1 min and 20 s.
	Timeout, Start time.Duration
	Share          Share
}

// OAuth are the credentials of a client that acts for itself.
type OAuth struct{ ClientID, ClientSecret string }

// ErrCommand refuses a server that comes with a request and wants a process.
var ErrCommand = errors.New("a request cannot bring a command; servers that are started belong into the configuration")

const (
	usualTimeout = time.Minute
	usualStart   = 20 * time.Second
	maxServer    = 24 // characters of a server's name, so that its tools have room for theirs
	maxHeaders   = 32
)

// check completes the settings and says what is wrong with them.
func (s *Server) check() error {
	if !validServer(s.Name) {
		return fmt.Errorf("MCP server %.40q: a name has 1 to %d letters, digits, - or single _", s.Name, maxServer)
	}
	fail := func(format string, args ...any) error {
		return fmt.Errorf("MCP server %s: %s", s.Name, fmt.Sprintf(format, args...))
	}
	if (s.Command == "") == (s.URL == "") {
		return fail("give a command to start, or the url where it is")
	}
	usual := HTTP
	if s.Command != "" {
		usual = Stdio
	}
	s.Type = cmp.Or(s.Type, usual)
	switch {
	case s.Type != Stdio && s.Type != HTTP && s.Type != SSE:
		return fail("its type must be stdio, http or sse, not %.40q", s.Type)
	case (s.Type == Stdio) != (s.Command != ""):
		return fail("the type %s does not fit: stdio has a command, http and sse have a url", s.Type)
	case s.Timeout < 0 || s.Start < 0:
		return fail("a time-out must not be negative")
	}
	s.Timeout, s.Start = cmp.Or(s.Timeout, usualTimeout), cmp.Or(s.Start, usualStart)
	s.Share = cmp.Or(s.Share, ByThread)
	if !slices.Contains([]Share{ByThread, ByOwner, ByAll}, s.Share) {
		return fail("its session must be by thread, owner or server, not %.40q", s.Share)
	}
	s.Risk = cmp.Or(s.Risk, tool.Reads|tool.Writes|tool.Leaves)
	if s.Type == Stdio {
		if len(s.Headers) > 0 || s.OAuth != nil {
			return fail("headers and oauth are for servers with a url")
		}
		return nil
	}
	return s.checkURL(fail)
}

func (s *Server) checkURL(fail func(string, ...any) error) error {
	u, err := url.Parse(s.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fail("its url must be an address that begins with https:// or http://")
	case u.User != nil:
		return fail("its url must not hold a name and a password; send them as a header")
	case len(s.Args)+len(s.Env) > 0 || s.Dir != "":
		return fail("args, env and dir are for servers with a command")
	case len(s.Headers) > maxHeaders:
		return fail("it has more than %d headers", maxHeaders)
	}
	for name, value := range s.Headers {
		if name == "" || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return fail("%.40q is no name of a header", name)
		}
		if strings.ContainsFunc(value, unicode.IsControl) || len(value) > 8<<10 {
			return fail("the header %s has a value that cannot be sent", name)
		}
	}
	return nil
}

// validServer keeps names such that server__tool says which server it is.
func validServer(s string) bool {
	return s != "" && len(s) <= maxServer && !strings.Contains(s, "__") && strings.Trim(s, nameRunes) == "" && s[0] != '_' && s[len(s)-1] != '_'
}

const nameRunes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// offers reports that an agent has the server's tools.
func (s *Server) offers(who Who) bool {
	return s.Agents == nil && !who.Named || slices.Contains(s.Agents, who.Agent)
}

// scope names those who have a session in common.
func (s *Server) scope(owner, thread string) string {
	switch s.Share {
	case ByAll:
		return ""
	case ByOwner:
		return owner
	}
	return owner + "\x00" + thread
}
