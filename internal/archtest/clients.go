package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
)

// Caller is code that may make HTTP requests without package internal/outbound.
type Caller struct {
	Files string // a file or a pattern of packages below the module, as in [Rule]
	Why   string
}

// Callers lists them. Whoever makes requests because somebody outside asked for them is not among them: an address that
// is not the operator's own goes through internal/outbound, which looks where it leads.
var Callers = []Caller{
	{"internal/outbound", "it is the client"},
	{"model/internal/eventstream", "providers' addresses are the operator's"},
	{"model/internal/providertest", "it tests providers, on this machine"},
	{"cmd/tributary/remote.go", "chat asks our own server"},
	{"internal/bench/...", "it measures our own server"},
	{"internal/conformance/...", "it drives our own server"},
}

// CheckClients returns a sentence for each place in a file that makes an HTTP client of its own or uses the one that
// everybody shares. File is a path below the module, with slashes.
func CheckClients(file, folder string, source []byte, callers []Caller) ([]string, error) {
	if slices.ContainsFunc(callers, func(c Caller) bool { return c.Files == file || match(c.Files, folder) }) {
		return nil, nil
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	name := httpName(f)
	if name == "" {
		return nil, nil
	}
	var wrong []string
	pointed := map[ast.Expr]bool{} // *http.Client is what somebody else made
	ast.Inspect(f, func(n ast.Node) bool {
		if star, ok := n.(*ast.StarExpr); ok {
			pointed[star.X] = true
		}
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); !ok || x.Name != name {
			return true
		}
		switch s.Sel.Name {
		case "Client", "Transport":
			if pointed[s] {
				return true
			}
		case "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm":
		default:
			return true
		}
		wrong = append(wrong, fmt.Sprintf("%s uses http.%s; requests go through internal/outbound, which looks where they lead, or internal/archtest/clients.go says why not",
			set.Position(s.Pos()), s.Sel.Name))
		return true
	})
	return wrong, nil
}

// httpName is what a file calls net/http; "" if it does not know it.
func httpName(f *ast.File) string {
	for _, imp := range f.Imports {
		if path, err := strconv.Unquote(imp.Path.Value); err != nil || path != "net/http" {
			continue
		}
		if imp.Name != nil {
			return imp.Name.Name
		}
		return "http"
	}
	return ""
}
