package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool/files"
)

// UploadOptions are settings of [Uploads].
type UploadOptions struct {
	// Most is how many files are told of with one message; zero means 50. The others are counted.
	Most int
}

// UploadedFile is a file that a person gave.
type UploadedFile struct {
	Name     string `json:"filename"`
	Size     int64  `json:"size"`
	Path     string `json:"path"` // as models know it
	Modified int64  `json:"modified"`
	Message  string `json:"message"` // that brought it
}

// UploadedFilesField holds all of them in the state, and uploadsSeen the last message for which it was looked.
var (
	UploadedFilesField = graph.LastValue[[]UploadedFile]("uploaded_files")
	uploadsSeen        = graph.LastValue[string]("uploads_seen")
)

// Uploads tells models which files a message of the person brought: those in uploads that were not there before, and those that the
// message names.
func Uploads(o UploadOptions) agent.Middleware {
	if o.Most <= 0 {
		o.Most = 50
	}
	views, notes := map[string]memo[attached]{}, map[string]memo[uploadNotes]{}
	for _, told := range []string{pictureShown, pictureHidden} { // models of one run may differ in it
		views[told], notes[told] = newMemo[attached](), newMemo[uploadNotes]()
	}
	return agent.Middleware{
		Name: "uploads", Fields: []graph.AnyField{UploadedFilesField, uploadsSeen},
		Before: agent.Hook{
			Due: func(s *agent.Step) bool {
				m, ok := asked(s.Messages)
				return ok && uploadsSeen.Get(s.Scope) != m.ID
			},
			Do: o.look,
		},
		Model: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
				if list := UploadedFilesField.Get(c.Step.Scope); len(list) > 0 {
					told := sight(c)
					n := notes[told].of(c.Step.Scope)
					c.Request.Messages = views[told].of(c.Step.Scope).shown(c.Request.Messages, n.of(list, o.Most, told), all)
				}
				return next(ctx, c)
			}
		},
	}
}

func (o UploadOptions) look(_ context.Context, s *agent.Step) (graph.Command, error) {
	m, _ := asked(s.Messages)
	seen := uploadsSeen.Set(m.ID)
	old := UploadedFilesField.Get(s.Scope)
	there := uploaded(s.Scope)
	named := namedFiles(m)
	list := slices.Clone(old)
	for _, f := range there {
		f.Message = m.ID
		// Of a file that was known, the entry with its first message stays: what was shown with that does not change.
		known := slices.ContainsFunc(old, func(k UploadedFile) bool { return k.Name == f.Name && k.Size == f.Size && k.Modified == f.Modified })
		if !known || slices.Contains(named, f.Name) {
			list = append(list, f)
		}
	}
	if len(list) == len(old) {
		return graph.Update(seen), nil
	}
	return graph.Update(seen, UploadedFilesField.Set(list)), nil
}

// uploaded lists the plain files in uploads. Where there is no folder there are none.
func uploaded(s *graph.Scope) []UploadedFile {
	folder, err := s.Folder()
	if err != nil {
		return nil
	}
	if _, err := folder.Lstat(files.Uploads); err != nil {
		return nil
	}
	root, err := area(folder, files.Uploads)
	if err != nil {
		return nil
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil
	}
	var out []UploadedFile
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		p := files.Path{Area: files.Uploads, Name: e.Name()}
		out = append(out, UploadedFile{Name: e.Name(), Size: info.Size(), Path: p.String(), Modified: info.ModTime().UnixMilli()})
	}
	return out
}

// namedFiles are the files that a client says the message brings.
func namedFiles(m item.Message) []string {
	var kwargs struct {
		Files []struct {
			Name string `json:"filename"`
		} `json:"files"`
	}
	if len(m.Kwargs) == 0 || json.Unmarshal(m.Kwargs, &kwargs) != nil {
		return nil
	}
	var names []string
	for _, f := range kwargs.Files {
		names = append(names, f.Name)
	}
	return names
}

// What a model is told of a picture. It does not say whether there is that tool, which may change from one call to the next: what was
// told once stays as it was.
const (
	pictureShown  = "a picture; " + viewImage + " shows it, if you have that tool"
	pictureHidden = "a picture, which you cannot see"
)

// sight is what the model that is called is told of pictures.
func sight(c *agent.ModelCall) string {
	if d, ok := c.Model.(model.Describer); ok && !d.Describe().Vision {
		return pictureHidden
	}
	return pictureShown
}

// uploadNotes are what is told of a list of files, made once for each list.
type uploadNotes struct {
	growing
	list  []UploadedFile
	notes []Note
}

func (n *uploadNotes) of(list []UploadedFile, most int, pictures string) []Note {
	n.mu.Lock()
	defer n.mu.Unlock()
	if sameList(n.list, list) {
		return n.notes
	}
	n.list, n.notes = list, nil
	for i := 0; i < len(list); {
		end := i
		for end < len(list) && list[end].Message == list[i].Message {
			end++
		}
		n.notes = append(n.notes, Note{list[i].Message, announce(list[i:end], most, pictures)})
		i = end
	}
	return n.notes
}

func announce(list []UploadedFile, most int, pictures string) string {
	var b strings.Builder
	hidden := false
	b.WriteString("With this message the person uploaded:\n")
	for _, f := range list[:min(len(list), most)] {
		name := f.Path
		if p, err := files.ParsePath(name); err != nil || p.String() != name {
			name = fmt.Sprintf("%q", name)
		}
		if !isPicture(f.Name) {
			fmt.Fprintf(&b, "- %s (%d bytes)\n", neutral(name), f.Size)
			continue
		}
		fmt.Fprintf(&b, "- %s (%d bytes, %s)\n", neutral(name), f.Size, pictures)
		hidden = hidden || pictures == pictureHidden
	}
	if more := len(list) - most; more > 0 {
		fmt.Fprintf(&b, "- and %d more; ls shows them\n", more)
	}
	b.WriteString("Read what you need of them before you answer.")
	if hidden {
		b.WriteString(" Say so where an answer depends on what is to be seen in a picture: you cannot see it.")
	}
	return b.String()
}

// isPicture goes by the name of a file; who looks at it goes by its bytes.
func isPicture(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		return true
	}
	return false
}
