// Package archtest holds the direction of imports: which of our packages may import which, and where modules of
// other people may be used. The tables are in table.go, with a reason for each row; its test reads the
// program with "go list" and compares.
//
// What holds:
//
//   - A package that no row names is an error: a new package says where it stands before it is used.
//   - Only what a row allows may be imported. Nothing is allowed because it happens to compile.
//   - A package other than the root may always import what lies in its own internal folder; the compiler
//     keeps others out.
//   - HTTP requests are made with internal/outbound; who else may make some is listed in clients.go.
//   - Imports of _test.go files are free: a test may look at its package from any side, and the compiler
//     refuses cycles.
package archtest

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Module is the import path of the root package.
const Module = "github.com/tributary-ai/tributary"

// Package is what "go list -json" says of a package.
type Package struct {
	ImportPath string
	Imports    []string // direct
	Deps       []string // direct and indirect

	TestImports, XTestImports []string // of _test.go files, inside and outside of the package
}

// Rule says what the packages of a pattern may import. Patterns are paths below the module: "." is the root
// package, "model/*" its children one level down, "agent/..." that package and all below it.
type Rule struct {
	Packages string
	May      []string // our packages, as patterns
	Never    []string // packages, also of the standard library, that must not be reached even indirectly
	Why      string
}

// Vendor says which packages may import a module of other people.
type Vendor struct {
	Module string // a prefix of import paths
	In     []string
	Why    string
}

// Check compares packages with the tables and returns a sentence for each import that should not be. Of rules
// that match a package, the first counts.
func Check(packages []Package, rules []Rule, vendors []Vendor) []string {
	var wrong []string
	for _, p := range packages {
		name := short(p.ImportPath)
		i := slices.IndexFunc(rules, func(r Rule) bool { return match(r.Packages, name) })
		if i < 0 {
			wrong = append(wrong, fmt.Sprintf("%s is in no row of the import table; add one to internal/archtest/table.go that says what it may import, and why", name))
			continue
		}
		rule := rules[i]
		for _, imp := range p.Imports {
			switch {
			case ours(imp):
				if s := checkOurs(name, short(imp), rule); s != "" {
					wrong = append(wrong, s)
				}
			case foreign(imp):
				if s := checkVendor(name, imp, vendors); s != "" {
					wrong = append(wrong, s)
				}
			}
		}
		for _, dep := range p.Deps {
			if slices.Contains(rule.Never, dep) {
				wrong = append(wrong, fmt.Sprintf("%s reaches %s, which %s must not: %s", name, dep, rule.Packages, rule.Why))
			}
		}
	}
	return wrong
}

func checkOurs(name, imp string, rule Rule) string {
	if name != "." && match(name+"/internal/...", imp) { // the root's internal folder is the whole program
		return ""
	}
	if slices.ContainsFunc(rule.May, func(p string) bool { return match(p, imp) }) {
		return ""
	}
	may := strings.Join(rule.May, ", ")
	return fmt.Sprintf("%s imports %s, but %s may import %s: %s", name, imp, rule.Packages, cmp.Or(may, "nothing of ours"), rule.Why)
}

func checkVendor(name, imp string, vendors []Vendor) string {
	i := slices.IndexFunc(vendors, func(v Vendor) bool { return below(imp, v.Module) })
	if i < 0 {
		return fmt.Sprintf("%s imports %s, a module in no row of the vendor table; add one to internal/archtest/table.go and a line to docs/dependencies.md that says what it replaces", name, imp)
	}
	v := vendors[i]
	if slices.ContainsFunc(v.In, func(p string) bool { return match(p, name) }) {
		return ""
	}
	return fmt.Sprintf("%s imports %s, but %s is for %s: %s", name, imp, v.Module, strings.Join(v.In, ", "), v.Why)
}

func ours(imp string) bool { return below(imp, Module) }

// foreign reports that a path is neither ours nor the standard library's, whose paths have no host.
func foreign(imp string) bool {
	host, _, _ := strings.Cut(imp, "/")
	return strings.Contains(host, ".") && !ours(imp)
}

func below(imp, module string) bool { return imp == module || strings.HasPrefix(imp, module+"/") }

// short is a path below the module; the root package is ".".
func short(imp string) string {
	if imp == Module {
		return "."
	}
	return strings.TrimPrefix(imp, Module+"/")
}

func match(pattern, name string) bool {
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == base || strings.HasPrefix(name, base+"/")
	}
	ok, err := path.Match(pattern, name)
	if err != nil {
		panic(fmt.Sprintf("pattern %q: %v", pattern, err)) // a mistake in the table
	}
	return ok
}
