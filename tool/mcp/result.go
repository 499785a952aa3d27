package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tributary-ai/tributary/item"
)

const (
	maxText   = 100_000 // bytes of text in a result
	maxImages = 8 << 20 // bytes of pictures in a result
)

// resultOf makes blocks of what a server answered. What models cannot be shown is mentioned, so that they know of it.
func resultOf(res *mcp.CallToolResult, mask func(string) string) item.ToolResult {
	b := builder{text: maxText, images: maxImages, mask: mask}
	for _, c := range res.Content {
		b.add(c)
	}
	if len(b.blocks) == 0 && res.StructuredContent != nil {
		if raw, err := json.Marshal(res.StructuredContent); err == nil { // it was JSON before
			b.say(string(raw))
		}
	}
	if b.cut {
		b.blocks = append(b.blocks, item.Block{Type: item.TextBlock, Text: "\n[The result was longer and has been cut here.]"})
	}
	return item.ToolResult{Content: b.blocks, Error: res.IsError}
}

// builder gathers blocks as long as there is room.
type builder struct {
	blocks       []item.Block
	text, images int // what is left
	mask         func(string) string
	cut          bool
}

func (b *builder) add(c mcp.Content) {
	switch c := c.(type) {
	case *mcp.TextContent:
		b.say(c.Text)
	case *mcp.ImageContent:
		b.show(c.Data, c.MIMEType, "image")
	case *mcp.AudioContent:
		b.say(fmt.Sprintf("[A recording of type %s and %d bytes, which cannot be shown here.]", mention(c.MIMEType), len(c.Data)))
	case *mcp.ResourceLink:
		line := "[" + mention(firstOf(c.Title, c.Name)) + "](" + mention(c.URI) + ")"
		if c.Description != "" {
			line += ": " + mention(c.Description)
		}
		b.say(line)
	case *mcp.EmbeddedResource:
		if c.Resource == nil {
			return
		}
		if c.Resource.Blob != nil {
			b.show(c.Resource.Blob, c.Resource.MIMEType, mention(c.Resource.URI))
			return
		}
		b.say(mention(c.Resource.URI) + ":\n" + c.Resource.Text)
	}
}

// say adds text, a block of its own.
func (b *builder) say(text string) {
	text = printable(b.mask(text))
	if n := len(b.blocks); n > 0 && b.blocks[n-1].Type == item.TextBlock && text != "" {
		text = "\n" + text // models read the blocks as one text
	}
	if len(text) > b.text {
		text, b.cut = head(text, b.text), true
	}
	b.text -= len(text)
	if text != "" {
		b.blocks = append(b.blocks, item.Block{Type: item.TextBlock, Text: text})
	}
}

// pictures are the types that models and browsers can show.
var pictures = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// show adds a picture; other files are mentioned.
func (b *builder) show(data []byte, mime, name string) {
	mime, _, _ = strings.Cut(strings.ToLower(mime), ";")
	switch {
	case !pictures[mime]:
		b.say(fmt.Sprintf("[%s: a file of type %s and %d bytes, which cannot be shown here.]", name, mention(mime), len(data)))
	case len(data) > b.images:
		b.say(fmt.Sprintf("[%s: a picture of %d bytes, which is too large.]", name, len(data)))
	default:
		b.images -= len(data)
		b.blocks = append(b.blocks, item.Block{Type: item.ImageBlock, MIME: mime, URL: "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(data)})
	}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// mention is somebody else's text in the middle of ours.
func mention(s string) string {
	s = strings.NewReplacer("\n", " ", "]", " ", "[", " ").Replace(short(visible(s), maxMention))
	if s == "" {
		return "unknown"
	}
	return s
}

// visible is a text without what nobody sees: control characters but line ends and tabs, marks that change the direction
// of what follows, and characters that hide a message from people and not from models.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == utf8.RuneError, unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs), r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0000 && r <= 0xE0FFF:
			return -1
		}
		return r
	}, s)
}

// printable is the text of a result: data, of which only what would break a terminal or a reader is taken away.
func printable(s string) string {
	return strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' || r >= 0xE0000 && r <= 0xE0FFF {
			return -1
		}
		return r
	}, s), "�")
}

// short is a text of at most n characters.
func short(s string, n int) string {
	s = strings.TrimSpace(s)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// head is a text of at most n bytes.
func head(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}
