package main

import (
	"io"

	"github.com/tributary-ai/tributary/internal/document"
)

// markdownOf is the text of an uploaded file that models cannot read themselves. What is text already needs none.
func markdownOf(name string, file io.ReaderAt, size int64) (markdown string, ok bool, err error) {
	switch document.FormatOf(name) {
	case document.PDF, document.DOCX, document.XLSX, document.PPTX, document.EPUB:
		doc, err := document.Read(name, file, size, document.Limits{})
		return doc.Markdown(), err == nil, err
	default:
		return "", false, nil
	}
}
