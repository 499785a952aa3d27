package middleware

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/files"
)

// ImageOptions are settings of [ViewImages].
type ImageOptions struct {
	// Most is how many bytes a picture may have; zero means 5 MiB.
	Most int
}

// ViewedImage is a picture that a model was shown. Its bytes stay in the thread's folder.
type ViewedImage struct {
	MIME string `json:"mime_type"`
	Size int    `json:"size"`
}

// ViewedImagesField holds them in the state, by the names that models know. An empty object clears it.
var ViewedImagesField = graph.Merge[ViewedImage]("viewed_images")

const viewImage = "view_image"

// ViewImages gives models a tool with which they see pictures of the thread's folder. A picture is shown in the next request and in no
// later one. Models that say that they cannot see are not offered the tool.
func ViewImages(o ImageOptions) agent.Middleware {
	if o.Most <= 0 {
		o.Most = 5 << 20
	}
	look := imageTool{tool.FuncOfCall(viewImage, "Shows you a picture (PNG, JPEG, GIF or WebP) from your folders. You see it once, with the next message.", o.note)}
	return agent.Middleware{
		Name: "images", Fields: []graph.AnyField{ViewedImagesField},
		Tools: func(context.Context, *graph.Scope) ([]tool.Tool, error) { return []tool.Tool{look}, nil },
		Model: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
				if d, ok := c.Model.(model.Describer); ok && !d.Describe().Vision {
					c.Request.Tools = without(c.Request.Tools, viewImage)
					return next(ctx, c)
				}
				if blocks := o.blocks(c.Step); blocks != nil {
					c.Request.Messages = behind(c.Request.Messages, blocks...)
				}
				return next(ctx, c)
			}
		},
	}
}

// imageTool adds to a function what its description has besides.
type imageTool struct{ tool.Tool }

func (t imageTool) Spec() tool.Spec {
	s := t.Tool.Spec()
	s.Group, s.Risk, s.Repeatable = files.Group, tool.Reads, true
	return s
}

func without(tools []model.Tool, name string) []model.Tool {
	for i, t := range tools {
		if t.Name == name {
			return append(tools[:i:i], tools[i+1:]...)
		}
	}
	return tools
}

type imageArguments struct {
	Path string `json:"image_path" jsonschema:"the picture, as in /mnt/user-data/uploads/photo.png"`
}

func (o ImageOptions) note(_ context.Context, call tool.Call, in imageArguments) (string, error) {
	folder, err := call.Scope.Folder()
	if err != nil {
		return "", err
	}
	p, data, mime, err := o.read(folder, in.Path)
	if err != nil {
		return "", err
	}
	seen := map[string]ViewedImage{p.String(): {mime, len(data)}}
	return fmt.Sprintf("%s (%s, %d bytes) is shown to you with the next message.", p, mime, len(data)), call.Scope.Update(ViewedImagesField.Name(), seen)
}

// blocks are the pictures that the last answer wanted to see.
func (o ImageOptions) blocks(s *agent.Step) []item.Block {
	msgs := s.Messages
	at := len(msgs)
	for at > 0 && msgs[at-1].Role == item.Tool {
		at--
	}
	if at == 0 || at == len(msgs) {
		return nil
	}
	var out []item.Block
	for _, c := range msgs[at-1].ToolCalls {
		if c.Name != viewImage || !succeeded(msgs[at:], c.CallID) {
			continue
		}
		var in imageArguments
		if json.Unmarshal([]byte(c.Arguments), &in) != nil {
			continue
		}
		folder, err := s.Folder()
		if err != nil {
			continue // the tool has said so
		}
		p, data, mime, err := o.read(folder, in.Path)
		if err != nil {
			out = append(out, reminded("A picture cannot be shown any more: "+neutral(err.Error())))
			continue
		}
		out = append(out, reminded("The picture "+neutral(p.String())+":"),
			item.Block{Type: item.ImageBlock, MIME: mime, URL: "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(data)})
	}
	return out
}

func succeeded(results []item.Message, callID string) bool {
	for _, m := range results {
		if m.CallID == callID {
			return !m.Failed
		}
	}
	return false
}

// read returns a picture of the thread's folder.
func (o ImageOptions) read(folder *os.Root, written string) (p files.Path, data []byte, mime string, err error) {
	if p, err = files.ParsePath(written); err != nil {
		return p, nil, "", err
	}
	if p.Area == "" || p.Name == "." {
		return p, nil, "", fmt.Errorf("%s is a folder; name a picture", p)
	}
	root, err := area(folder, p.Area)
	if err != nil {
		return p, nil, "", fmt.Errorf("%s cannot be opened", p)
	}
	defer root.Close()
	f, err := root.OpenFile(filepath.FromSlash(p.Name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return p, nil, "", fmt.Errorf("there is no %s; ls and glob show what there is", p)
		}
		return p, nil, "", fmt.Errorf("%s cannot be opened", p) // not where it really is
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil || !info.Mode().IsRegular():
		return p, nil, "", fmt.Errorf("%s is not a file", p)
	case info.Size() > int64(o.Most):
		return p, nil, "", fmt.Errorf("%s has %d bytes; at most %d can be shown; make it smaller", p, info.Size(), o.Most)
	}
	if data, err = io.ReadAll(io.LimitReader(f, int64(o.Most)+1)); err != nil || len(data) > o.Most {
		return p, nil, "", fmt.Errorf("%s cannot be read", p)
	}
	if mime = picture(data); mime == "" {
		return p, nil, "", fmt.Errorf("%s is not a PNG, JPEG, GIF or WebP picture", p)
	}
	return p, data, mime, nil
}

// picture names the format by the first bytes; names of files prove nothing.
func picture(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		return "image/gif"
	case len(data) > 12 && bytes.HasPrefix(data, []byte("RIFF")) && string(data[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}
