package export_test

import (
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/export"
)

func TestAReportIsAPageWhoseCitationsAreLinks(t *testing.T) {
	page, err := export.HTML("# The *Nile*\n\nIt is long[^7].\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n## References\n\n[^7]: About it, <https://example.com/nile>\n", export.Options{Locale: "en-US"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<html lang="en-US">`, "<title>The *Nile*</title>", `href="#fn:1"`, `id="fn:1"`, `<a href="https://example.com/nile">`, "<td>1</td>", "<em>Nile</em>"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

// Whatever a source made a model write, the page runs nothing and loads nothing.
func TestAReportCannotBringScripts(t *testing.T) {
	text := "# <script>alert(1)</script>\n\n<img src=x onerror=alert(2)> [a](javascript:alert(3)) ![b](https://evil.example/x.png) <b onclick=alert(4)>c</b>\n\n<iframe src=\"//evil\"></iframe>\n"
	page, err := export.HTML(text, export.Options{Locale: `en"><script>`})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "onerror=alert", "javascript:", "<iframe", "onclick=alert"} {
		if strings.Contains(string(page), bad) {
			t.Errorf("the page has %q:\n%s", bad, page)
		}
	}
	if !strings.Contains(string(page), "default-src 'none'") {
		t.Error("the page does not forbid a browser to load anything")
	}
}

func FuzzHTML(f *testing.F) {
	f.Add("# a\n\nb[^1]\n\n[^1]: c")
	f.Add("<script>x</script>\n\n| a |\n|-|\n| [x](javascript:y) |")
	f.Fuzz(func(t *testing.T, text string) {
		page, err := export.HTML(text, export.Options{Locale: "en"})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ToLower(string(page)), "<script") {
			t.Errorf("a script in %q", text)
		}
	})
}
