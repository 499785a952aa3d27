package export

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/draw"
	_ "image/gif" // pictures of these kinds
	_ "image/jpeg"
	"image/png"
	"os"
	"strings"
	"unicode"
)

// Options say what an export needs besides the text.
type Options struct {
	// Locale is as in zh-CN; empty for what the text looks like.
	Locale string
	// Picture finds the bytes of a picture by its address in the text; nil for none. What is not found is mentioned.
	Picture func(address string) ([]byte, bool)
	// Font is a TrueType font for a PDF; nil for one that knows European letters, or one of this machine where that lacks a letter.
	Font []byte
}

// Types are the formats, by the endings of their files, and what each is called on the web.
var Types = map[string]string{
	"html": "text/html; charset=utf-8",
	"docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"pdf":  "application/pdf",
	"pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}

// As is a report in one of the formats of [Types].
func As(format, text string, o Options) ([]byte, error) {
	if o.Locale == "" {
		o.Locale = localeOf(text)
	}
	switch format {
	case "html":
		return HTML(text, o)
	case "docx":
		return DOCX(text, o)
	case "pdf":
		return pages(text, o)
	case "pptx":
		return PPTX(text, o)
	}
	return nil, fmt.Errorf("make a file of a report: there is no format %q; choose html, docx, pdf or pptx", format)
}

// localeOf tells Chinese texts, which may have English names and quotations in them, from others, which may have Chinese ones.
func localeOf(text string) string {
	letters, han := 0, 0
	for _, r := range text {
		if unicode.Is(unicode.Han, r) {
			han++
		}
		if unicode.IsLetter(r) {
			letters++
		}
	}
	if 5*han > letters {
		return "zh-CN"
	}
	return "en-US"
}

// wideFonts are fonts that systems have for letters which the built-in one lacks.
var wideFonts = []string{
	"/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf",
	"/usr/share/fonts-droid-fallback/truetype/DroidSansFallback.ttf",
	"/System/Library/Fonts/Supplemental/Arial Unicode.ttf",
	`C:\Windows\Fonts\simhei.ttf`,
}

// pages makes a PDF, with the font that is asked for, or else the first that has all letters.
func pages(text string, o Options) ([]byte, error) {
	data, err := PDF(text, o)
	var lacking *FontError
	if o.Font != nil || !errors.As(err, &lacking) {
		return data, err
	}
	for _, file := range wideFonts {
		if o.Font, err = os.ReadFile(file); err != nil {
			continue
		}
		data, err := PDF(text, o)
		if !errors.As(err, &lacking) {
			return data, err
		}
	}
	return nil, lacking
}

// A small file can say that it is a huge picture, and decoding it takes what it says.
const (
	mostPixels = 16 << 20 // of one picture
	allPixels  = 64 << 20 // of those that one file makes us decode
)

// picture is one that can be put into a file.
type picture struct {
	data          []byte
	format        string // png, jpeg or gif
	width, height int
}

// picture finds a picture that every format can show.
func (o Options) picture(address string) (picture, bool) {
	data, ok := o.bytes(address)
	if !ok {
		return picture{}, false
	}
	size, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || size.Width <= 0 || size.Height <= 0 || size.Width > mostPixels/size.Height {
		return picture{}, false
	}
	return picture{data, format, size.Width, size.Height}, true
}

func (o Options) bytes(address string) ([]byte, bool) {
	if o.Picture == nil {
		return nil, false
	}
	return o.Picture(address)
}

// flat is a picture as the library that makes pages can certainly read it: without layers, interlacing and see-through parts,
// and written by ourselves. It takes damaged files of others apart less carefully than the standard library does.
func (p picture) flat() ([]byte, string, error) {
	if p.format == "jpeg" {
		return p.data, p.format, nil // goes into the file as it is
	}
	img, _, err := image.Decode(bytes.NewReader(p.data))
	if err != nil {
		return nil, "", err
	}
	on := image.NewRGBA(img.Bounds())
	draw.Draw(on, on.Bounds(), image.White, image.Point{}, draw.Src)
	draw.Draw(on, on.Bounds(), img, img.Bounds().Min, draw.Over)
	var out bytes.Buffer
	if err := png.Encode(&out, on); err != nil {
		return nil, "", err
	}
	return out.Bytes(), "png", nil
}

// mention stands for a picture that cannot be shown.
func mention(r run) run {
	return run{text: "[" + strings.TrimSpace(r.text+" "+r.picture) + "]", italic: true}
}
