package item

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/tributary-ai/tributary/internal/jsonline"
)

// wirePart is an element of a message's content in LangChain's and OpenAI's form.
type wirePart struct {
	Type     string          `json:"type"`
	Text     any             `json:"text,omitempty"` // a string, in parts of ours
	ImageURL json.RawMessage `json:"image_url,omitempty"`
	URL      string          `json:"url,omitempty"`
	MIME     string          `json:"mime_type,omitempty"`
	Name     string          `json:"filename,omitempty"`
	Ref      int             `json:"ref,omitempty"`
	Notes    []Annotation    `json:"annotations,omitempty"`
}

// appendContent writes a list of parts, or a string where the content is no more than that.
func (m Message) appendContent(dst []byte) ([]byte, error) {
	if !m.Parts && (len(m.Content) == 0 || len(m.Content) == 1 && plainText(m.Content[0])) {
		return jsonline.AppendString(dst, JoinText(m.Content)), nil
	}
	if text, ok := m.shownText(); ok {
		return jsonline.AppendString(dst, text), nil
	}
	if len(m.Content) == 0 {
		return append(dst, "[]"...), nil
	}
	return jsonline.AppendList(dst, m.Content, Block.appendPart)
}

func plainText(b Block) bool {
	return b.Type == TextBlock && b.Ref == 0 && len(b.Annotations) == 0 && b.Foreign == nil
}

// appendPart writes an element of a message's content in LangChain's and OpenAI's form.
func (b Block) appendPart(dst []byte) ([]byte, error) {
	if b.Foreign != nil {
		return jsonline.AppendRaw(dst, b.Foreign)
	}
	o := jsonline.Begin(dst)
	switch b.Type {
	case ImageBlock:
		o.String("type", "image_url")
		o.Member("image_url", func(dst []byte) ([]byte, error) {
			url := jsonline.Begin(dst)
			url.String("url", b.URL)
			return url.End()
		})
		o.OptString("mime_type", b.MIME)
	case FileBlock:
		o.String("type", "file")
		o.OptString("url", b.URL)
		o.OptString("mime_type", b.MIME)
		o.OptString("filename", b.Name)
	case TextBlock:
		o.String("type", "text")
		o.String("text", b.Text)
	default:
		return dst, fmt.Errorf("block of unknown type %q", b.Type)
	}
	o.OptInt("ref", int64(b.Ref))
	if b.Type == TextBlock {
		optList(&o, "annotations", b.Annotations, Annotation.append)
	}
	return o.End()
}

func unmarshalContent(raw json.RawMessage) (blocks []Block, parts bool, err error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, false, nil
	}
	switch raw[0] {
	case '"':
		if s, ok := jsonline.Text(raw); ok {
			return Text(s), false, nil
		}
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, false, err
		}
		return Text(s), false, nil
	case '[':
	default:
		return nil, false, errors.New("message: content must be a string or a list of parts")
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, false, err
	}
	for _, one := range list {
		b, err := unmarshalPart(one)
		if err != nil {
			return nil, false, err
		}
		blocks = append(blocks, b)
	}
	return blocks, true, nil
}

// unmarshalPart reads one part. What we would not write back as it came (parts of other kinds, cache hints and
// provider extras beside a text) is kept whole.
func unmarshalPart(raw json.RawMessage) (Block, error) {
	switch raw[0] {
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return Block{Type: TextBlock, Text: s}, err
	case '{':
	default:
		return Block{}, errors.New("message: a content part must be an object or a string")
	}
	var p wirePart
	var misfit *json.UnmarshalTypeError
	// A key of ours with another shape is no error: the rest of the part is read all the same.
	if err := json.Unmarshal(raw, &p); err != nil && !errors.As(err, &misfit) {
		return Block{}, fmt.Errorf("message: content part: %w", err)
	}
	b := p.block()
	if p.Type == "text" && b.Type != TextBlock {
		return Block{}, errors.New("message: a text part needs a text")
	}
	if ours, err := b.appendPart(nil); err != nil || !sameJSON(ours, raw) {
		b.Foreign = compact(raw)
		b.Annotations = nil // another program's annotations count differently
	}
	return b, nil
}

func (p wirePart) block() Block {
	switch p.Type {
	case "text":
		if text, ok := p.Text.(string); ok {
			return Block{Type: TextBlock, Text: text, Ref: p.Ref, Annotations: p.Notes}
		}
	case "image_url":
		if url, ok := imageURL(p.ImageURL); ok {
			return Block{Type: ImageBlock, URL: url, MIME: p.MIME, Ref: p.Ref}
		}
	case "file":
		if p.URL != "" {
			return Block{Type: FileBlock, URL: p.URL, MIME: p.MIME, Name: p.Name, Ref: p.Ref}
		}
	}
	return Block{Type: ForeignBlock}
}

// imageURL accepts {"url": u} and, as some clients send it, a bare string.
func imageURL(raw json.RawMessage) (string, bool) {
	var url string
	if json.Unmarshal(raw, &url) == nil {
		return url, true
	}
	var obj struct {
		URL string `json:"url"`
	}
	return obj.URL, json.Unmarshal(raw, &obj) == nil && obj.URL != ""
}

// sameJSON reports that two JSON texts mean the same. Most often they are the same text.
func sameJSON(ours, raw json.RawMessage) bool {
	if bytes.Equal(ours, raw) {
		return true
	}
	var a, b any
	return json.Unmarshal(ours, &a) == nil && json.Unmarshal(raw, &b) == nil && reflect.DeepEqual(a, b)
}
