package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	page := flag.String("page", "", "a page that must list the modules and their licences")
	write := flag.Bool("write", false, "write the list into the page")
	flag.Parse()
	if err := run(*page, *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(page string, write bool) error {
	modules, err := linked()
	if err != nil {
		return err
	}
	if wrong := Check(modules); len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	if page == "" {
		return nil
	}
	have, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	want, err := insert(string(have), table(modules))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", page, err)
	case write:
		return os.WriteFile(page, []byte(want), 0o644)
	case want != string(have):
		return fmt.Errorf("the licences in %s are not those that are linked; run make docs", page)
	}
	return nil
}

// folder is a package that is linked: where it is, and where its module begins.
type folder struct{ module, root, dir string }

// linked returns the modules that are linked, by path.
func linked() ([]Module, error) {
	all, err := list("-test", "./...")
	if err != nil {
		return nil, err
	}
	ours, err := names()
	if err != nil {
		return nil, err
	}
	shipped, err := list(ours...)
	if err != nil {
		return nil, err
	}
	ships := map[string]bool{}
	for _, f := range shipped {
		ships[f.module] = true
	}
	licences := map[string]map[string]bool{} // by module
	for _, f := range all {
		if licences[f.module] == nil {
			licences[f.module] = map[string]bool{}
		}
		for dir := f.dir; ; dir = filepath.Dir(dir) {
			if err := read(f.module, dir, licences[f.module]); err != nil {
				return nil, err
			}
			if dir == f.root || len(dir) < len(f.root) {
				break
			}
		}
	}
	var modules []Module
	for _, name := range slices.Sorted(maps.Keys(licences)) {
		modules = append(modules, Module{Path: name, Licences: slices.Sorted(maps.Keys(licences[name])), Tests: !ships[name]})
	}
	return modules, nil
}

// list returns the foreign packages that the named ones link.
func list(args ...string) ([]folder, error) {
	out, err := command(append([]string{"list", "-deps", "-json=Dir,Module"}, args...)...)
	if err != nil {
		return nil, err
	}
	var found []folder
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir    string
			Module *struct {
				Path, Dir string
				Main      bool
			}
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("what go list printed: %w", err)
		}
		if p.Module != nil && !p.Module.Main {
			found = append(found, folder{p.Module.Path, p.Module.Dir, p.Dir})
		}
	}
}

// names returns the packages of ours that ship.
func names() ([]string, error) {
	out, err := command("list", "./...")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(strings.Fields(string(out)), func(name string) bool {
		return slices.Contains(strings.Split(name, "/"), "internal") || strings.HasSuffix(path.Base(name), "test")
	}), nil
}

func command(args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64") // the list must not depend on whose machine wrote it
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.Bytes())
	}
	return out, nil
}

// read adds the licences that lie in a folder of a module.
func read(module, dir string, found map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := strings.ToLower(e.Name())
		if e.IsDir() || strings.HasSuffix(name, ".go") || NotLinked[module+"/"+e.Name()] != "" {
			continue
		}
		if !strings.HasPrefix(name, "license") && !strings.HasPrefix(name, "licence") && !strings.HasPrefix(name, "copying") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		for _, l := range Recognise(string(text)) {
			found[l] = true
		}
	}
	return nil
}

const begin, end = "<!-- licences: written by make docs -->\n", "<!-- end of licences -->"

// table lists modules as a page shows them.
func table(modules []Module) string {
	var b strings.Builder
	b.WriteString("\n| module | licence | linked by |\n|---|---|---|\n")
	for _, m := range modules {
		by := "the program"
		if m.Tests {
			by = "tests"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", m.Path, strings.Join(m.Licences, ", "), by)
	}
	b.WriteString("\n")
	return b.String()
}

// insert puts a list between the two marks of a page.
func insert(page, list string) (string, error) {
	before, rest, ok := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", errors.New("there is no place for the licences; it needs the two comments that internal/licences looks for")
	}
	return before + begin + list + end + after, nil
}
