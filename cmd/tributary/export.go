package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/tributary-ai/tributary/internal/export"
)

// largestPicture is as much of a picture as is read.
const largestPicture = 32 << 20

// render is a report in the format that the name of its file asks for. Pictures are looked for in the folder of that file.
func render(file, text, locale, font string) ([]byte, error) {
	format := strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")
	if format == "htm" {
		format = "html"
	}
	if export.Types[format] == "" {
		return []byte(strings.TrimRight(text, "\n") + "\n"), nil
	}
	o := export.Options{Locale: locale, Picture: func(address string) ([]byte, bool) { return picture(filepath.Dir(file), address) }}
	if font != "" {
		var err error
		if o.Font, err = os.ReadFile(font); err != nil {
			return nil, fmt.Errorf("read the font of the report: %w", err)
		}
	}
	data, err := export.As(format, text, o)
	if errors.As(err, new(*export.FontError)) {
		return nil, remedied{err, "name a font with --font FILE.ttf (Debian: apt-get install fonts-droid-fallback has Chinese), or write .docx or .html"}
	}
	return data, err
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
