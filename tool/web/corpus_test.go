package web

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode"

	"golang.org/x/net/html"
)

// published are the pages with which Mozilla's readability and its ports are tested: a page, and the article that is in it. They come
// with the module that finds articles, and are read where Go keeps it: none of them is ours to hand on.
var published = sync.OnceValues(func() (map[string]testPage, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "codeberg.org/readeck/go-readability").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "test-pages")
	folders, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	pages := map[string]testPage{}
	for _, f := range folders {
		if !f.IsDir() {
			continue
		}
		var p testPage
		if p.source, err = os.ReadFile(filepath.Join(root, f.Name(), "source.html")); err != nil {
			return nil, err
		}
		if p.article, err = os.ReadFile(filepath.Join(root, f.Name(), "expected.html")); err != nil {
			return nil, err
		}
		if len(p.source) <= largestPage {
			pages[f.Name()] = p
		}
	}
	return pages, nil
})

// largestPage keeps the time of these tests small: three of five pages are not larger.
const largestPage = 160 << 10

type testPage struct{ source, article []byte }

func corpus(t testing.TB) map[string]testPage {
	t.Helper()
	pages, err := published()
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 80 {
		t.Fatalf("only %d pages", len(pages))
	}
	return pages
}

var somewhere = &url.URL{Scheme: "http", Host: "fakehost", Path: "/test/page.html"}

// words counts the words of a text; characters of scripts without spaces are words of their own.
func words(text string) map[string]int {
	count := map[string]int{}
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if strings.ContainsFunc(w, func(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }) {
			for _, r := range w {
				count[string(r)]++
			}
			continue
		}
		count[w]++
	}
	return count
}

// recall is how much of the words of an article is in a text.
func recall(article []byte, text string) float64 {
	doc, err := html.Parse(bytes.NewReader(article))
	if err != nil {
		return 0
	}
	var b strings.Builder
	for n := range doc.Descendants() {
		if n.Type == html.TextNode && n.Parent.Data != "style" && n.Parent.Data != "script" {
			b.WriteString(n.Data + " ")
		}
	}
	have, found, all := words(text), 0, 0
	for w, n := range words(b.String()) {
		all += n
		found += min(n, have[w])
	}
	if all == 0 {
		return 1
	}
	return float64(found) / float64(all)
}

func TestArticlesOfThePublishedPagesAreFound(t *testing.T) {
	sum, n := 0.0, 0
	for name, p := range corpus(t) {
		page, err := read(t.Context(), p.source, "text/html; charset=utf-8", somewhere)
		r := recall(p.article, page.Text)
		if err != nil || r < 0.5 {
			t.Logf("%s: recall %.3f, %v, note %q", name, r, err, page.Note)
		}
		sum += r
		n++
	}
	mean := sum / float64(n)
	t.Logf("mean recall of %d pages: %.4f", n, mean)
	if mean < 0.95 {
		t.Errorf("mean recall of %d pages is %.4f, want at least 0.95", n, mean)
	}
}

func TestMutatedPagesCrashNothing(t *testing.T) {
	pages := corpus(t)
	var small [][]byte
	for _, name := range sortedKeys(pages) {
		if p := pages[name]; len(p.source) < 24<<10 {
			small = append(small, p.source)
		}
	}
	if len(small) < 10 {
		t.Fatalf("only %d small pages", len(small))
	}
	random := rand.New(rand.NewPCG(14, 500))
	for i := range 500 {
		page := mutated(random, small[i%len(small)], small[random.IntN(len(small))])
		p, err := read(context.Background(), page, "text/html", somewhere)
		if err == nil {
			harmless(t, p)
		}
	}
}

// mutated is a page with something wrong with it.
func mutated(r *rand.Rand, page, other []byte) []byte {
	page = bytes.Clone(page)
	strange := []string{"<", ">", "</div>", "<table>", "<tr>", "</p", "<!--", "<script>", "\x00", "\xff\xfe", "<svg><style>", "<a href='", "&#x110000;", "<template>", "</referencable-item>", "<base href='http://['>", "<select><option>", "\U000E0041", strings.Repeat("<b>", 600)}
	for range 1 + r.IntN(8) {
		at := r.IntN(len(page))
		switch r.IntN(5) {
		case 0: // a piece less
			page = append(page[:at], page[min(len(page), at+r.IntN(400)):]...)
		case 1: // bytes that are wrong
			for k := at; k < min(len(page), at+1+r.IntN(20)); k++ {
				page[k] ^= byte(1 << r.IntN(8))
			}
		case 2: // something strange
			page = append(page[:at:at], append([]byte(strange[r.IntN(len(strange))]), page[at:]...)...)
		case 3: // a piece of another page
			from := r.IntN(len(other))
			page = append(page[:at:at], append(bytes.Clone(other[from:min(len(other), from+r.IntN(2000))]), page[at:]...)...)
		case 4: // the end is missing
			page = page[:max(1, at)]
		}
		if len(page) == 0 {
			return []byte("<")
		}
	}
	return page
}
