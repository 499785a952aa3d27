package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/tributary-ai/tributary/internal/export"
	"github.com/tributary-ai/tributary/internal/prose"
)

// largestPicture is as much of a picture as is read.
const largestPicture = 32 << 20

// render is a report in the format that the name of its file asks for. Pictures are looked for in the folder of that file.
func render(file, text, locale, font string) ([]byte, error) {
	if locale == "" && prose.Chinese(text) { // of a run that began before this command
		locale = "zh-CN"
	}
	o := export.Options{Locale: cmp.Or(locale, "en-US"), Picture: func(address string) ([]byte, bool) { return picture(filepath.Dir(file), address) }}
	switch strings.ToLower(filepath.Ext(file)) {
	case ".html", ".htm":
		return export.HTML(text, o.Locale)
	case ".docx":
		return export.DOCX(text, o)
	case ".pdf":
		return pages(text, o, font)
	case ".pptx":
		return export.PPTX(text, o)
	}
	return []byte(strings.TrimRight(text, "\n") + "\n"), nil
}

// picture reads a picture that lies in a folder or below it, and nowhere else.
func picture(folder, address string) ([]byte, bool) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, false
	}
	defer root.Close()
	if plain, err := url.PathUnescape(address); err == nil { // as in a link
		address = plain
	}
	f, err := root.Open(filepath.FromSlash(address))
	if err != nil {
		return nil, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, largestPicture))
	return data, err == nil && len(data) < largestPicture
}

// wideFonts are fonts that systems have for letters which the built-in one lacks.
var wideFonts = []string{
	"/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf",
	"/usr/share/fonts-droid-fallback/truetype/DroidSansFallback.ttf",
	"/System/Library/Fonts/Supplemental/Arial Unicode.ttf",
	`C:\Windows\Fonts\simhei.ttf`,
}

// pages makes a PDF, with the font that is asked for, or else the first that has all letters.
func pages(text string, o export.Options, font string) ([]byte, error) {
	fonts := append([]string{""}, wideFonts...)
	if font != "" {
		fonts = []string{font}
	}
	var lacking *export.FontError
	for _, file := range fonts {
		o.Font = nil
		if file != "" {
			data, err := os.ReadFile(file)
			if err != nil && font != "" {
				return nil, fmt.Errorf("read the font of the report: %w", err)
			}
			if err != nil {
				continue
			}
			o.Font = data
		}
		data, err := export.PDF(text, o)
		if !errors.As(err, &lacking) {
			return data, err
		}
	}
	return nil, remedied{lacking, "name a font with --font FILE.ttf (Debian: apt-get install fonts-droid-fallback has Chinese), or write .docx or .html"}
}
