// Package eventdoc writes docs/events.md, the reference of our events, from the doc comments of package event and
// from one sample of each kind. So the page cannot say something else than the code; a test fails when it
// is out of date, and "make docs" writes it anew.
//
// What it relies on: every kind of event is a struct whose comment says what it tells and whose fields have their
// JSON names in their tags. A sample with a key that no field explains is an error.
package eventdoc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/event/eventtest"
)

// Page returns the text of docs/events.md. root is the folder of the module.
func Page(root string) ([]byte, error) {
	events, err := load(filepath.Join(root, "event"), "event")
	if err != nil {
		return nil, err
	}
	items, err := load(filepath.Join(root, "item"), "item")
	if err != nil {
		return nil, err
	}
	w := &writer{sources: map[string]*source{"event": events, "item": items}}
	w.printf("# Events\n\n<!-- Written by internal/eventdoc from the comments in package event: change those, then run make docs. -->\n\n")
	w.comment(events.pkg.Doc)
	if err := w.envelope(); err != nil {
		return nil, err
	}
	if err := w.kinds(eventtest.Samples()); err != nil {
		return nil, err
	}
	if err := w.types(); err != nil {
		return nil, err
	}
	return w.out.Bytes(), nil
}

// source is a package as it is written.
type source struct {
	pkg  *doc.Package
	fset *token.FileSet
}

func load(dir, name string) (*source, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	s := &source{fset: token.NewFileSet()}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(s.fset, path, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if s.pkg, err = doc.NewFromFiles(s.fset, files, name); err != nil {
		return nil, fmt.Errorf("read package %s: %w", name, err)
	}
	return s, nil
}

// typ finds a type of the package by name.
func (s *source) typ(name string) (*doc.Type, error) {
	i := slices.IndexFunc(s.pkg.Types, func(t *doc.Type) bool { return t.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("package %s has no type %s", s.pkg.Name, name)
	}
	return s.pkg.Types[i], nil
}

// field is a row of a table.
type field struct {
	json, typ, text string
	optional        bool
}

// fields lists those of a struct, nil for any other type. Fields without a tag have the names that keys gives.
func fields(t *doc.Type, keys map[string]string) []field {
	spec := t.Decl.Specs[0].(*ast.TypeSpec)
	st, ok := spec.Type.(*ast.StructType)
	if !ok {
		return nil
	}
	var all []field
	for _, f := range st.Fields.List {
		for _, name := range f.Names {
			row := field{json: keys[name.Name], typ: typeName(f.Type), text: f.Doc.Text() + " " + f.Comment.Text()}
			if f.Tag != nil {
				tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json")
				key, options, _ := strings.Cut(tag, ",")
				row.json, row.optional = key, options != ""
			}
			all = append(all, row)
		}
	}
	return all
}

// typeName spells a type for people who read JSON.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		switch e.Name {
		case "int", "int64", "uint64":
			return "number"
		case "bool":
			return "true or false"
		}
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.ArrayType:
		return "list of " + typeName(e.Elt)
	case *ast.SelectorExpr:
		switch pkg := e.X.(*ast.Ident).Name; pkg {
		case "json":
			return "any JSON"
		case "time":
			return "number"
		default:
			return pkg + "." + e.Sel.Name
		}
	}
	return fmt.Sprintf("%T", e)
}

// kindName is the Go name of a kind: run_started is RunStarted.
func kindName(kind string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(kind, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

type writer struct {
	out     bytes.Buffer
	sources map[string]*source
	// mentioned are types that some field has, in the order of appearance: "item.Usage", "event.Error".
	mentioned []string
}

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(&w.out, format, args...) }

// comment writes a doc comment as Markdown, with its headings below those of the page.
func (w *writer) comment(text string) {
	// Links to Go symbols become plain words: what the page has of them, its tables link to.
	p := comment.Parser{LookupSym: func(string, string) bool { return true }}
	printer := comment.Printer{
		HeadingLevel: 2,
		HeadingID:    func(*comment.Heading) string { return "" },
		DocLinkURL:   func(*comment.DocLink) string { return "" },
	}
	w.out.Write(printer.Markdown(p.Parse(text)))
	w.printf("\n")
}

func (w *writer) envelope() error {
	t, err := w.sources["event"].typ("Envelope")
	if err != nil {
		return err
	}
	w.printf("## Envelope\n\n")
	w.comment(t.Doc)
	w.printf("Its JSON form is one object on one line. Fields that are empty are left out.\n\n")
	keys := map[string]string{"Event": "kind, data"}
	for _, name := range []string{"Seq", "Epoch", "Run", "Thread", "Task", "NS", "Node", "Step", "At"} {
		keys[name] = strings.ToLower(name)
	}
	rows := fields(t, keys)
	for i := range rows {
		switch rows[i].json {
		case "at":
			rows[i].text = "when it was written, in microseconds since 1970"
		case "kind, data":
			rows[i].typ, rows[i].text = "string, object", "which event it is, and what it says: see below"
		}
	}
	w.table("event", rows)
	return nil
}

func (w *writer) kinds(samples []event.Envelope) error {
	w.printf("## Kinds\n\nFields marked ? are left out when they are empty, zero or false.\n\n| kind | says |\n|---|---|\n")
	for _, kind := range event.Kinds() {
		t, err := w.sources["event"].typ(kindName(kind))
		if err != nil {
			return err
		}
		w.printf("| [%s](#%s) | %s |\n", kind, kind, cell(w.sources["event"].pkg.Synopsis(t.Doc)))
	}
	w.printf("\n")
	for i, kind := range event.Kinds() {
		if i >= len(samples) || samples[i].Event.Kind() != kind {
			return fmt.Errorf("eventtest.Samples has no %s in the place of event.Kinds", kind)
		}
		if err := w.kind(kind, samples[i]); err != nil {
			return err
		}
	}
	unknown, err := w.sources["event"].typ("Unknown")
	if err != nil {
		return err
	}
	w.printf("### Unknown\n\n")
	w.comment(unknown.Doc)
	return nil
}

func (w *writer) kind(kind string, sample event.Envelope) error {
	t, err := w.sources["event"].typ(kindName(kind))
	if err != nil {
		return err
	}
	line, err := sample.AppendJSON(nil)
	if err != nil {
		return err
	}
	var parts struct {
		Data map[string]json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(line, &parts); err != nil {
		return err
	}
	w.printf("### %s\n\n", kind)
	w.comment(t.Doc)
	rows := fields(t, nil)
	for key := range parts.Data {
		if !slices.ContainsFunc(rows, func(f field) bool { return f.json == key }) {
			return fmt.Errorf("the sample of %s has the key %q, which no field of %s explains", kind, key, t.Name)
		}
	}
	w.table("event", rows)
	w.printf("```json\n%s\n```\n\n", line)
	return nil
}

// types explains the types that were mentioned, and those that they mention.
func (w *writer) types() error {
	w.printf("## Types\n\n")
	for i := 0; i < len(w.mentioned); i++ { // the list grows while we go
		pkg, name, _ := strings.Cut(w.mentioned[i], ".")
		t, err := w.sources[pkg].typ(name)
		if err != nil {
			return err
		}
		w.printf("### %s\n\n", w.mentioned[i])
		w.comment(t.Doc)
		if rows := fields(t, nil); len(rows) > 0 {
			w.table(pkg, rows)
		}
		w.values(t)
		if w.mentioned[i] == "item.Item" {
			w.printf("In JSON it is an object with a `type`, one of item.Type, and a `value` of the type of that name.\n\n")
			for _, kind := range []string{"item.Type", "item.Reasoning", "item.ToolCall", "item.ToolResult", "item.Message"} {
				w.mention(kind)
			}
		}
	}
	return nil
}

// values lists the constants of a type.
func (w *writer) values(t *doc.Type) {
	var rows []string
	for _, group := range t.Consts {
		for _, s := range group.Decl.Specs {
			spec := s.(*ast.ValueSpec)
			value, ok := spec.Values[0].(*ast.BasicLit)
			if !ok {
				continue
			}
			rows = append(rows, fmt.Sprintf("| `%s` | %s |\n", strings.Trim(value.Value, `"`), cell(spec.Doc.Text()+" "+spec.Comment.Text())))
		}
	}
	if len(rows) > 0 {
		w.printf("| value | meaning |\n|---|---|\n%s\n", strings.Join(rows, ""))
	}
}

// table writes the fields of a struct of package pkg.
func (w *writer) table(pkg string, rows []field) {
	// A type whose fields have no JSON names, as item.Message, has a form of its own, which its comment tells.
	rows = slices.DeleteFunc(rows, func(f field) bool { return f.json == "" || f.json == "-" })
	if len(rows) == 0 {
		return
	}
	w.printf("| field | type | |\n|---|---|---|\n")
	for _, f := range rows {
		mark := ""
		if f.optional {
			mark = " ?"
		}
		w.printf("| `%s`%s | %s | %s |\n", f.json, mark, w.link(pkg, f.typ), cell(f.text))
	}
	w.printf("\n")
}

// link points from a type's name to its place on the page, and notes that it needs one.
func (w *writer) link(pkg, typ string) string {
	prefix := ""
	if rest, ok := strings.CutPrefix(typ, "list of "); ok {
		prefix, typ = "list of ", rest
	}
	name := typ
	if !strings.Contains(name, ".") {
		name = pkg + "." + typ
	}
	from, base, _ := strings.Cut(name, ".")
	src, ok := w.sources[from]
	if !ok {
		return prefix + typ
	}
	if _, err := src.typ(base); err != nil {
		return prefix + typ // a word of JSON
	}
	w.mention(name)
	return fmt.Sprintf("%s[%s](#%s)", prefix, base, strings.ToLower(strings.ReplaceAll(name, ".", "")))
}

func (w *writer) mention(name string) {
	if !slices.Contains(w.mentioned, name) {
		w.mentioned = append(w.mentioned, name)
	}
}

// cell makes a comment fit into a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}
