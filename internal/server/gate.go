package server

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/page"
)

// hostAllowed keeps DNS rebinding out: a web page can make a name of its own point here, but then the request
// carries that name.
func (s *Server) hostAllowed(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	if name == "" || strings.EqualFold(name, "localhost") || net.ParseIP(name) != nil {
		return true
	}
	for _, h := range s.opt.Hosts {
		if h == "*" || strings.EqualFold(h, name) {
			return true
		}
	}
	return false
}

// exposed are the headers that scripts of other origins may read; LangGraph's client reconnects by them.
const exposed = "Content-Location, Location, X-Pagination-Total, X-Pagination-Next, X-Thread-Id"

// cross answers what browsers ask before they let a page call us. It reports whether to go on.
func (s *Server) cross(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || origin == "null" && r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, page.Folder) {
		return true // a frame of the page has no origin, and the page's files are no secret
	}
	if !s.originAllowed(origin) {
		s.routes.Fail(w, r, edge.Refuse(http.StatusForbidden, "calls from the origin "+origin+" are not allowed; name it in the configuration"))
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", exposed)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return true
	}
	h.Set("Access-Control-Allow-Methods", "GET,HEAD,PUT,POST,DELETE,PATCH")
	h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return false
}

func (s *Server) originAllowed(origin string) bool {
	for _, o := range s.opt.Origins {
		if o == "*" || strings.EqualFold(o, origin) {
			return true
		}
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
