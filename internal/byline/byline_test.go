package byline_test

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/internal/byline"
)

func TestDatesAreSpelledInOneWay(t *testing.T) {
	for written, want := range map[string]string{
		"2024-05-31": "2024-05-31", "2024-05-31T10:00:00Z": "2024-05-31", "2024-5-1": "2024-05-01", "2024/05/31": "2024-05-31", "2024年5月31日": "2024-05-31",
		"D:20240531120000+02'00'": "2024-05-31", "D:20240531": "2024-05-31", "20240531": "2024-05-31", "2024-05": "2024-05", "2024": "2024", `"2024-05-31"`: "2024-05-31",
		"May 31, 2024": "2024-05-31", "31 May 2024": "2024-05-31", "May 2024": "2024-05", "Fri, 31 May 2024 10:00:00 GMT": "2024-05-31",
		"2024-13-01": "2024", "2024-02-31": "2024-02", "0001-01-01": "", "9999-01-01": "",
		"": "", "yesterday": "", "31": "", "2024 was a good year": "", strings.Repeat("2", 100): "",
	} {
		if got := byline.Date(written); got != want {
			t.Errorf("%q: got %q, want %q", written, got, want)
		}
	}
}

func TestAuthorsAreNames(t *testing.T) {
	for written, want := range map[string]string{
		"Jane Doe": "Jane Doe", "  By Jane\n Doe ": "Jane Doe", "[Jane Doe, Max Mustermann]": "Jane Doe, Max Mustermann", "王小明": "王小明",
		"admin": "", "Unknown": "", "python-docx": "", "12": "", "https://www.facebook.com/someone": "", "": "", "by ": "",
		strings.Repeat("a", 500): strings.Repeat("a", 120) + "…",
	} {
		if got := byline.Author(written); got != want {
			t.Errorf("%q: got %q, want %q", written, got, want)
		}
	}
}

func TestWhatCameOutGoesInAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`(D:)?[0-9]{4}[-/.年]?[0-9]{1,2}[-/.月]?[0-9]{0,2}.{0,5}`), rapid.StringMatching(`(by |BY )*["'\[a-zA-Z ]*`)).Draw(t, "text")
		if d := byline.Date(text); byline.Date(d) != d {
			t.Errorf("%q is the date %q, and that the date %q", text, d, byline.Date(d))
		}
		a := byline.Author(text)
		if again := byline.Author(a); again != a {
			t.Errorf("%q is the author %q, and that the author %q", text, a, again)
		}
		if strings.ContainsFunc(a, unicode.IsControl) || len([]rune(a)) > 121 {
			t.Errorf("%q is the author %q", text, a)
		}
	})
}
