package document

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	xunicode "golang.org/x/text/encoding/unicode"
)

// decodeText finds out how a text is encoded: by its mark, as UTF-8, as Chinese, else as the encoding of Western Windows.
func decodeText(data []byte) (string, error) {
	var enc encoding.Encoding
	switch {
	case bytes.HasPrefix(data, []byte{0xEF, 0xBB, 0xBF}):
		data = data[3:]
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}), bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		enc = xunicode.UTF16(xunicode.LittleEndian, xunicode.ExpectBOM)
	}
	if enc == nil {
		if bytes.IndexByte(data, 0) >= 0 {
			return "", refuse(Unknown, "it is not text: it has bytes that no text has")
		}
		if utf8.Valid(data) {
			return string(data), nil
		}
		if s, ok := chinese(data); ok {
			return s, nil
		}
		if mostlyUTF8(data) { // a few broken characters do not make it another encoding
			return strings.ToValidUTF8(string(data), "\uFFFD"), nil
		}
		enc = charmap.Windows1252
	}
	out, err := enc.NewDecoder().Bytes(data)
	if err != nil {
		return "", refuse(Damaged, "its text cannot be decoded; save it as UTF-8")
	}
	return string(out), nil
}

// chinese decodes GB 18030 if that gives Chinese characters and nothing that is none.
func chinese(data []byte) (string, bool) {
	out, err := simplifiedchinese.GB18030.NewDecoder().Bytes(data)
	if err != nil || bytes.ContainsRune(out, utf8.RuneError) {
		return "", false
	}
	han, other := 0, 0
	for _, r := range string(out) {
		switch {
		case r >= 0x4E00 && r <= 0x9FFF:
			han++
		case r > 0x7F && !unicode.IsPunct(r) && !unicode.IsSymbol(r) && !unicode.IsSpace(r):
			other++
		}
	}
	return string(out), han > 2*other
}

func mostlyUTF8(data []byte) bool {
	good, bad := 0, 0
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		data = data[n:]
	}
	return good > 4*bad
}
