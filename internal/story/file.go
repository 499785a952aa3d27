package story

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/wire"
)

// Dir is the folder of the files.
func Dir() string {
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), "..", "..", "testdata", "runs")
}

// Names lists the stories that have a file.
func Names() ([]string, error) {
	files, err := filepath.Glob(filepath.Join(Dir(), "*.txtar"))
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".txtar")
	}
	slices.Sort(files)
	return files, err
}

func path(name string) string { return filepath.Join(Dir(), name+".txtar") }

// Load reads the recording of a story.
func Load(name string) (*Recording, error) {
	ar, err := txtar.ParseFile(path(name))
	if err != nil {
		return nil, err
	}
	rec, err := read(ar)
	if err != nil {
		return nil, fmt.Errorf("story %s: %w", name, err)
	}
	return rec, nil
}

func read(ar *txtar.Archive) (*Recording, error) {
	rec := &Recording{}
	events, err := readLines[event.Envelope](section(ar, "events"))
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	for _, env := range events {
		if n := len(rec.Runs); n == 0 || rec.Runs[n-1].ID != env.Run {
			rec.Runs = append(rec.Runs, Run{ID: env.Run})
		}
		r := &rec.Runs[len(rec.Runs)-1]
		r.Events = append(r.Events, env)
	}
	if rec.States, err = readLines[State](section(ar, "states")); err != nil {
		return nil, fmt.Errorf("states: %w", err)
	}
	if rec.Bases, err = readLines[Base](section(ar, "bases")); err != nil {
		return nil, fmt.Errorf("bases: %w", err)
	}
	return rec, nil
}

// section returns the text of a section; nil if the file has none of that name.
func section(ar *txtar.Archive, name string) []byte {
	i := slices.IndexFunc(ar.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return ar.Files[i].Data
}

func readLines[T any](text []byte) ([]T, error) {
	var out []T
	for line := range bytes.Lines(text) {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(out)+1, err)
		}
		out = append(out, v)
	}
	return out, nil
}

// write makes the file of a recording.
func write(prose string, rec *Recording) (*txtar.Archive, error) {
	ar := &txtar.Archive{Comment: []byte(prose)}
	events, err := eventLines(rec)
	if err != nil {
		return nil, err
	}
	ar.Files = append(ar.Files, txtar.File{Name: "events", Data: events})
	states, err := lines(rec.States)
	if err != nil {
		return nil, err
	}
	ar.Files = append(ar.Files, txtar.File{Name: "states", Data: states})
	if len(rec.Bases) > 0 {
		bases, err := lines(rec.Bases)
		if err != nil {
			return nil, err
		}
		ar.Files = append(ar.Files, txtar.File{Name: "bases", Data: bases})
	}
	projections, err := projected(rec)
	ar.Files = append(ar.Files, projections...)
	return ar, err
}

// projected makes the sections of the dialects.
func projected(rec *Recording) ([]txtar.File, error) {
	var out []txtar.File
	for _, d := range Dialects() {
		for i, r := range d.Streams(rec) {
			suffix := ""
			if i > 0 {
				suffix = " " + r.ID
			}
			frames, err := d.Project(rec, r)
			if err != nil {
				return nil, fmt.Errorf("%s of %s: %w", d.Name, r.ID, err)
			}
			out = append(out, txtar.File{Name: d.Name + suffix, Data: frameLines(slices.Concat(frames...))})
			if d.Name == "task" {
				out = append(out, txtar.File{Name: "task.final" + suffix, Data: append(final(r), '\n')})
			}
		}
	}
	return out, nil
}

func eventLines(rec *Recording) ([]byte, error) {
	var b []byte
	for _, r := range rec.Runs {
		for i := range r.Events {
			var err error
			if b, err = r.Events[i].AppendJSON(b); err != nil {
				return nil, err
			}
			b = append(b, '\n')
		}
	}
	return b, nil
}

func lines[T any](values []T) ([]byte, error) {
	var b []byte
	for _, v := range values {
		line, err := marshal(v)
		if err != nil {
			return nil, err
		}
		b = append(append(b, line...), '\n')
	}
	return b, nil
}

func frameLines(frames []wire.Frame) []byte {
	var b []byte
	for _, f := range frames {
		b = append(append(b, f.ID...), ' ')
		if f.Name != "" {
			b = append(append(b, f.Name...), ' ')
		}
		b = append(append(b, f.Data...), '\n')
	}
	return b
}

// save writes a story's file.
func save(name string, ar *txtar.Archive) error {
	return os.WriteFile(path(name), txtar.Format(ar), 0o644)
}
