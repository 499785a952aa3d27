package item

import (
	"encoding/json"
	"strings"
)

// BlockType names the kinds of [Block].
type BlockType string

const (
	TextBlock  BlockType = "text"
	ImageBlock BlockType = "image"
	FileBlock  BlockType = "file"
	// ForeignBlock is a part of a kind we do not know; it is kept and given back as it came.
	ForeignBlock BlockType = "foreign"
)

// Block is an element inside an item or a message. Which fields count depends on Type.
type Block struct {
	Type BlockType `json:"type"`
	Text string    `json:"text,omitempty"`
	// URL of an image or a file; "data:" URLs carry the bytes themselves.
	URL  string `json:"url,omitempty"`
	MIME string `json:"mime,omitempty"`
	Name string `json:"name,omitempty"`
	// Author and Date are of what a block quotes, as the source tells them: who wrote it, and when it was published or last
	// changed, as in "2024-05-31", "2024-05" or "2024".
	Author string `json:"author,omitempty"`
	Date   string `json:"date,omitempty"`
	// Ref is the block's number in the run's reference pool; 0 means that it cannot be cited.
	Ref         int          `json:"ref,omitempty"`
	Annotations []Annotation `json:"annotations,omitempty"`
	// Foreign is the whole part as a client gave it, where it says more than the fields above.
	Foreign json.RawMessage `json:"foreign,omitempty"`
}

// Annotation marks a stretch of a text block. Indices are half-open and count Unicode code points of
// that one block.
type Annotation struct {
	Type AnnotationType `json:"type"`
	// Ref is the number in the reference pool that a ReferenceToBlock points at.
	Ref   int `json:"ref,omitempty"`
	Start int `json:"start"`
	End   int `json:"end"`
	// URL and Title are those of a URLCitation, which a provider's own search made. Of a FileCitation, Title is the file's
	// name, and URL says where the provider has the file.
	URL   string `json:"url,omitempty"`
	Title string `json:"title,omitempty"`
	// Quote is the cited text where the provider gives it.
	Quote string `json:"quote,omitempty"`
}

// AnnotationType names the kinds of [Annotation].
type AnnotationType string

const (
	ReferenceToBlock AnnotationType = "reference_to_block"
	URLCitation      AnnotationType = "url_citation"
	FileCitation     AnnotationType = "file_citation"
)

// Text makes a list of one text block; for the empty string, no block at all.
func Text(s string) []Block {
	if s == "" {
		return nil
	}
	return []Block{{Type: TextBlock, Text: s}}
}

// JoinText concatenates the text blocks of a list.
func JoinText(blocks []Block) string {
	if len(blocks) == 1 && blocks[0].Type == TextBlock {
		return blocks[0].Text
	}
	var b strings.Builder
	for _, bl := range blocks {
		if bl.Type == TextBlock {
			b.WriteString(bl.Text)
		}
	}
	return b.String()
}
