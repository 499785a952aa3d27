package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestImportsPointDownwards(t *testing.T) {
	for _, sentence := range Check(list(t), Rules, Vendors) {
		t.Error(sentence)
	}
}

// list asks the go command for every package of the module.
func list(t *testing.T) []Package {
	t.Helper()
	// The go command remembers a test's result until a file changes that the test itself has looked at. It does
	// not see what go list reads, so we look at every folder first.
	err := filepath.WalkDir("../..", func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains([]string{".git", ".tools", "node_modules", "testdata"}, d.Name()) {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,TestImports,XTestImports,Deps", "./...")
	cmd.Dir = "../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var packages []Package
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p Package
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("what go list printed: %v", err)
		}
		packages = append(packages, p)
	}
	if len(packages) < 5 {
		t.Fatalf("go list found only %d packages", len(packages))
	}
	return packages
}

// The page may be ahead of the code, for a module that is about to be used; never behind.
func TestEveryModuleInUseIsDefendedInItsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	var defended []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` ").FindAllSubmatch(page, -1) {
		defended = append(defended, string(row[1]))
	}
	for _, p := range list(t) {
		for _, imp := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if foreign(imp) && !slices.ContainsFunc(defended, func(module string) bool { return below(imp, module) }) {
				t.Errorf("%s imports %s, which docs/dependencies.md does not mention; add a line on what it replaces", short(p.ImportPath), imp)
			}
		}
	}
}

func TestWrongImportsAreFoundAndExplained(t *testing.T) {
	p := func(name string, imports ...string) Package {
		for i, imp := range imports {
			imports[i] = strings.Replace(imp, "~", Module, 1)
		}
		return Package{ImportPath: strings.TrimSuffix(Module+"/"+name, "/"), Imports: imports, Deps: imports}
	}
	for name, tt := range map[string]struct {
		pkg  Package
		want string // in the one sentence; empty if all is well
	}{
		"nouns import no events":        {p("item", "~/event"), "item imports event, but item may import internal/jsonline: the nouns are the ground floor"},
		"nouns import the standard":     {p("item", "encoding/json", "fmt"), ""},
		"nouns are spelled":             {p("item", "~/internal/jsonline"), ""},
		"spelling knows no nouns":       {p("internal/jsonline", "~/item"), "internal/jsonline imports item, but internal/jsonline may import nothing of ours"},
		"events stand on items":         {p("event", "~/item"), ""},
		"a dialect and a run":           {p("internal/wire/chat", "~/internal/run"), "internal/wire/chat imports internal/run, but internal/wire/... may import event, item"},
		"a dialect and HTTP":            {p("internal/wire/chat", "net/http"), "reaches net/http"},
		"a dialect and another":         {p("internal/wire/chat", "~/internal/wire/task"), "imports internal/wire/task"},
		"SSE knows no events":           {p("internal/wire/sse", "~/event"), "nothing of ours"},
		"a dialect below a dialect":     {p("internal/wire/chat", "~/internal/wire/chat/internal/plan"), ""},
		"providers stand alone":         {p("model/openai", "~/model/anthropic"), "imports model/anthropic"},
		"the registry sees providers":   {p("model/registry", "~/model/anthropic"), ""},
		"the server and storage":        {p("internal/server", "~/internal/storage/sqlite"), "imports internal/storage/sqlite"},
		"the server and agents":         {p("internal/server", "~/agent"), "imports agent"},
		"the server and models":         {p("internal/server", "~/model"), "imports model"},
		"the server and dialects":       {p("internal/server", "~/internal/server/tasks", "net/http"), ""},
		"the server and a wire":         {p("internal/server", "~/internal/wire/task"), "imports internal/wire/task"},
		"routes and their wire":         {p("internal/server/tasks", "~/internal/wire/task", "net/http"), ""},
		"routes and other routes":       {p("internal/server/tasks", "~/internal/server/langgraph/runs"), "knows its own wire and no other dialect"},
		"resources the wrong way round": {p("internal/server/langgraph/threads", "~/internal/server/langgraph/runs"), "imports internal/server/langgraph/runs"},
		"a feed and HTTP":               {p("internal/server/feed", "net/http"), "reaches net/http"},
		"a run and agents":              {p("internal/run", "~/agent"), "never an agent that it knows"},
		"an agent and runs":             {p("agent/team", "~/internal/run"), "imports internal/run"},
		"an agent and the lead agent":   {p("agent/team", "~/agent"), ""},
		"storage implements":            {p("internal/storage/sqlite", "~/internal/run", "modernc.org/sqlite/lib"), ""},
		"a graph and storage":           {p("graph", "~/internal/storage/sqlite"), "imports internal/storage/sqlite"},
		"the library and storage":       {p("", "~/internal/storage/sqlite"), ""},
		"the library and the server":    {p("", "~/internal/server"), ". imports internal/server"},
		"the command sees all":          {p("cmd/tributary", "~", "~/internal/server", "~/ui", "github.com/alecthomas/kong"), ""},
		"nobody imports the command":    {p("internal/bench", "~/cmd/tributary"), "imports cmd/tributary"},
		"a database in a wrong place":   {p("graph", "modernc.org/sqlite"), "graph imports modernc.org/sqlite, but modernc.org/sqlite is for internal/storage/sqlite, tool/search: databases"},
		"a format in a wrong place":     {p("model/gemini", "github.com/yuin/goldmark/ast"), "is for internal/export"},
		"a provider and its SDK":        {p("model/openai", "github.com/openai/openai-go/v3/option"), "in no row of the vendor table"},
		"a module with a similar name":  {p("internal/storage/sqlite", "modernc.org/sqlitefork"), "in no row of the vendor table"},
		"a module that nobody defended": {p("graph", "github.com/someone/util"), "a line to docs/dependencies.md"},
		"a package without a row":       {p("internal/helpers"), "internal/helpers is in no row"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(Check([]Package{tt.pkg}, Rules, Vendors), "\n")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A row for what is not there yet has never been tried. It is written with the package or the import that needs it.
func TestEveryRowIsInUse(t *testing.T) {
	packages := list(t)
	for i, r := range Rules {
		first := func(p Package) bool {
			return slices.IndexFunc(Rules, func(r Rule) bool { return match(r.Packages, short(p.ImportPath)) }) == i
		}
		if !slices.ContainsFunc(packages, first) {
			t.Errorf("no package needs the row of %s; remove it", r.Packages)
		}
		for _, may := range r.May {
			if !slices.ContainsFunc(packages, func(p Package) bool { return match(may, short(p.ImportPath)) }) {
				t.Errorf("the row of %s allows %s, which does not exist", r.Packages, may)
			}
		}
	}
	for _, v := range Vendors {
		if !slices.ContainsFunc(packages, func(p Package) bool {
			return slices.ContainsFunc(p.Imports, func(imp string) bool { return below(imp, v.Module) })
		}) {
			t.Errorf("nobody imports %s; remove its row", v.Module)
		}
		for _, in := range v.In {
			if !slices.ContainsFunc(packages, func(p Package) bool { return match(in, short(p.ImportPath)) }) {
				t.Errorf("the row of %s allows it in %s, which does not exist", v.Module, in)
			}
		}
	}
}

func TestEveryRowHasAReason(t *testing.T) {
	for _, r := range Rules {
		if r.Why == "" {
			t.Errorf("the row of %s gives no reason", r.Packages)
		}
	}
	for _, v := range Vendors {
		if v.Why == "" || len(v.In) == 0 {
			t.Errorf("the row of %s gives no reason or no place", v.Module)
		}
	}
}
