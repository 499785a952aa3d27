package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// tavily is https://docs.tavily.com.
type tavily struct{ *endpoint }

type tavilyAnswer struct {
	Results []struct {
		Title, URL, Content string
		PublishedDate       string `json:"published_date"`
	}
	Images []tavilyImage
}

// tavilyImage is an address, or an object where descriptions were asked for.
type tavilyImage struct{ URL, Description string }

func (i *tavilyImage) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(raw, []byte{'"'}) {
		return json.Unmarshal(raw, &i.URL)
	}
	type plain tavilyImage
	return json.Unmarshal(raw, (*plain)(i))
}

func (e tavily) search(ctx context.Context, query string, limit int, images bool) (tavilyAnswer, error) {
	var a tavilyAnswer
	body := map[string]any{"query": query, "max_results": min(limit, 20), "include_images": images, "include_image_descriptions": images}
	return a, e.post(ctx, "/search", body, map[string]string{"Authorization": "Bearer " + e.key}, &a, nil)
}

func (e tavily) Search(ctx context.Context, query string, limit int) ([]Result, error) {
	a, err := e.search(ctx, query, limit, false)
	var out []Result
	for _, r := range a.Results {
		out = append(out, Result{r.Title, r.URL, r.Content, day(r.PublishedDate)})
	}
	return out, err
}

func (e tavily) Images(ctx context.Context, query string, limit int) ([]Image, error) {
	a, err := e.search(ctx, query, limit, true)
	var out []Image
	for _, i := range a.Images {
		out = append(out, Image{Title: i.Description, URL: i.URL})
	}
	return out, err
}

// brave is https://api-dashboard.search.brave.com/documentation.
type brave struct{ *endpoint }

// verdict: a wrong key is answered with 422, as a wrong parameter is.
func (e brave) verdict(status int, body []byte) error {
	if status == http.StatusUnprocessableEntity && (bytes.Contains(body, []byte("SUBSCRIPTION_TOKEN")) || bytes.Contains(bytes.ToLower(body), []byte("x-subscription-token"))) {
		return e.wrongKey()
	}
	return nil
}

func (e brave) Search(ctx context.Context, query string, limit int) ([]Result, error) {
	var a struct {
		Web struct {
			Results []struct {
				Title, URL, Description string
				PageAge                 string   `json:"page_age"`
				Extra                   []string `json:"extra_snippets"`
			}
		}
	}
	q := url.Values{"q": {query}, "count": {strconv.Itoa(min(limit, 20))}, "text_decorations": {"false"}}
	if err := e.get(ctx, "/res/v1/web/search", q, map[string]string{"X-Subscription-Token": e.key}, &a, e.verdict); err != nil {
		return nil, err
	}
	var out []Result
	for _, r := range a.Web.Results {
		out = append(out, Result{markless(r.Title), r.URL, markless(strings.Join(append([]string{r.Description}, r.Extra...), "\n")), day(r.PageAge)})
	}
	return out, nil
}

func (e brave) Images(ctx context.Context, query string, limit int) ([]Image, error) {
	var a struct {
		Results []struct {
			Title, URL string
			Properties struct {
				URL           string
				Width, Height int
			}
			Thumbnail struct{ Src string }
		}
	}
	q := url.Values{"q": {query}, "count": {strconv.Itoa(min(limit, 100))}}
	if err := e.get(ctx, "/res/v1/images/search", q, map[string]string{"X-Subscription-Token": e.key}, &a, e.verdict); err != nil {
		return nil, err
	}
	var out []Image
	for _, r := range a.Results {
		at := r.Properties.URL
		if at == "" {
			at = r.Thumbnail.Src
		}
		out = append(out, Image{markless(r.Title), at, r.URL, r.Properties.Width, r.Properties.Height})
	}
	return out, nil
}

// serper is https://serper.dev.
type serper struct{ *endpoint }

// verdict: an account without credits is answered with 400.
func (e serper) verdict(status int, body []byte) error {
	if status == http.StatusBadRequest && bytes.Contains(bytes.ToLower(body), []byte("credits")) {
		return e.quota()
	}
	return nil
}

func (e serper) Search(ctx context.Context, query string, limit int) ([]Result, error) {
	var a struct {
		Organic []struct{ Title, Link, Snippet, Date string }
	}
	if err := e.post(ctx, "/search", map[string]any{"q": query, "num": min(limit, 100)}, map[string]string{"X-API-KEY": e.key}, &a, e.verdict); err != nil {
		return nil, err
	}
	var out []Result
	for _, r := range a.Organic {
		out = append(out, Result{r.Title, r.Link, r.Snippet, day(r.Date)})
	}
	return out, nil
}

func (e serper) Images(ctx context.Context, query string, limit int) ([]Image, error) {
	var a struct {
		Images []struct {
			Title, Link             string
			ImageURL                string `json:"imageUrl"`
			ImageWidth, ImageHeight int
		}
	}
	if err := e.post(ctx, "/images", map[string]any{"q": query, "num": min(limit, 100)}, map[string]string{"X-API-KEY": e.key}, &a, e.verdict); err != nil {
		return nil, err
	}
	var out []Image
	for _, r := range a.Images {
		out = append(out, Image{r.Title, r.ImageURL, r.Link, r.ImageWidth, r.ImageHeight})
	}
	return out, nil
}

// exa is https://exa.ai/docs.
type exa struct{ *endpoint }

func (e exa) Search(ctx context.Context, query string, limit int) ([]Result, error) {
	var a struct {
		Results []struct {
			Title, URL    string
			PublishedDate string `json:"publishedDate"`
			Highlights    []string
			Text          string
		}
	}
	body := map[string]any{"query": query, "numResults": min(limit, 25), "contents": map[string]any{"highlights": true}}
	if err := e.post(ctx, "/search", body, map[string]string{"x-api-key": e.key}, &a, nil); err != nil {
		return nil, err
	}
	var out []Result
	for _, r := range a.Results {
		snippet := strings.Join(r.Highlights, "\n")
		if snippet == "" {
			snippet = r.Text
		}
		out = append(out, Result{r.Title, r.URL, snippet, day(r.PublishedDate)})
	}
	return out, nil
}

// searxng is https://docs.searxng.org/dev/search_api.html.
type searxng struct{ *endpoint }

type searxngAnswer struct {
	Results []struct {
		Title, URL, Content string
		PublishedDate       string `json:"publishedDate"`
		ImgSrc              string `json:"img_src"`
		Resolution          string
	}
}

// verdict: an instance that speaks HTML alone answers 403 to a question in another tongue; its limiter answers 429.
func (e searxng) verdict(status int, _ []byte) error {
	if status == http.StatusForbidden {
		return e.wrong(nil, "it does not give JSON", "add json to search.formats in the settings.yml of the instance, or give the url of another one in "+e.setting)
	}
	return nil
}

func (e searxng) search(ctx context.Context, query, category string) (searxngAnswer, error) {
	var a searxngAnswer
	return a, e.get(ctx, "/search", url.Values{"q": {query}, "format": {"json"}, "categories": {category}}, nil, &a, e.verdict)
}

func (e searxng) Search(ctx context.Context, query string, _ int) ([]Result, error) {
	a, err := e.search(ctx, query, "general")
	var out []Result
	for _, r := range a.Results {
		out = append(out, Result{r.Title, r.URL, r.Content, day(r.PublishedDate)})
	}
	return out, err
}

func (e searxng) Images(ctx context.Context, query string, _ int) ([]Image, error) {
	a, err := e.search(ctx, query, "images")
	var out []Image
	for _, r := range a.Results {
		at := r.ImgSrc
		if strings.HasPrefix(at, "//") {
			at = "https:" + at
		}
		width, height, _ := strings.Cut(strings.NewReplacer("×", "x", " ", "").Replace(r.Resolution), "x")
		w, _ := strconv.Atoi(width)
		h, _ := strconv.Atoi(height)
		out = append(out, Image{r.Title, at, r.URL, w, h})
	}
	return out, err
}

// wikipedia is https://www.mediawiki.org/wiki/API:Search; a URL in another language's Wikipedia searches that.
type wikipedia struct{ *endpoint }

func (e wikipedia) Search(ctx context.Context, query string, limit int) ([]Result, error) {
	type page struct {
		Index                   int
		Title, Extract, FullURL string
		Revisions               []struct{ Timestamp string }
	}
	var a struct {
		Error *struct{ Code, Info string }
		Query struct{ Pages []page }
	}
	q := url.Values{
		"action": {"query"}, "format": {"json"}, "formatversion": {"2"}, "generator": {"search"}, "gsrsearch": {query}, "gsrlimit": {strconv.Itoa(min(limit, 20))},
		"prop": {"extracts|info|revisions"}, "exintro": {"1"}, "explaintext": {"1"}, "exlimit": {"max"}, "inprop": {"url"}, "rvprop": {"timestamp"},
	}
	if err := e.get(ctx, "/w/api.php", q, nil, &a, nil); err != nil {
		return nil, err
	}
	if a.Error != nil {
		return nil, e.wrong(nil, "it says "+line(a.Error.Code+": "+a.Error.Info, 200), "")
	}
	slices.SortStableFunc(a.Query.Pages, func(x, y page) int { return cmp.Compare(x.Index, y.Index) })
	var out []Result
	for _, p := range a.Query.Pages {
		r := Result{Title: p.Title, URL: p.FullURL, Snippet: p.Extract}
		if len(p.Revisions) > 0 {
			r.Date = day(p.Revisions[0].Timestamp)
		}
		out = append(out, r)
	}
	return out, nil
}
