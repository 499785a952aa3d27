package chat

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// webSearch is the tool whose results DeerFlow's page draws as pages.
const webSearch = "web_search"

// page is an entry of such a result.
type page struct {
	Type        string `json:"type"` // page or image
	Title       string `json:"title,omitempty"`
	URL         string `json:"url,omitempty"`
	Content     string `json:"content,omitempty"`
	Image       string `json:"image_url,omitempty"`
	Description string `json:"image_description,omitempty"`
}

// shown is what people see of a result.
func shown(r item.ToolResult) string {
	blocks := r.View()
	if r.Name != webSearch || r.Error {
		return item.JoinText(blocks)
	}
	var pages []page
	for _, b := range blocks {
		switch {
		case b.URL == "":
		case b.Type == item.ImageBlock:
			pages = append(pages, page{Type: "image", Image: b.URL, Description: b.Name})
		case b.Type != item.TextBlock:
		case len(pages) > 0 && pages[len(pages)-1].URL == b.URL: // another passage of the same page
			pages[len(pages)-1].Content += "\n" + b.Text
		default:
			pages = append(pages, page{Type: "page", Title: b.Name, URL: b.URL, Content: b.Text})
		}
	}
	if len(pages) == 0 {
		return item.JoinText(blocks)
	}
	return string(marshal(pages))
}

// marshal writes a value whose text stays as it is.
func marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return []byte("null") // not for the types of this file
	}
	return bytes.TrimSpace(b.Bytes())
}

// question is what an interrupt asks, as a text.
func question(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var object map[string]json.RawMessage
	_ = json.Unmarshal(value, &object) // what is no object has no member
	for _, name := range []string{"message", "question"} {
		if json.Unmarshal(object[name], &text) == nil && text != "" {
			return text
		}
	}
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return ""
	}
	return b.String()
}

type option struct {
	Text  string `json:"text"`
	Value string `json:"value"`
}

// options are the answers that are offered: DeerFlow's own for a plan, and where a question offers none.
func options(e event.InterruptRaised) []byte {
	list := []option{{"Edit plan", "edit_plan"}, {"Start research", "accepted"}}
	if e.Ask != event.AskPlanReview && len(e.Options) > 0 {
		list = nil
		for _, text := range e.Options {
			list = append(list, option{text, text})
		}
	}
	return marshal(list)
}

// citation is a source of the report.
type citation struct {
	ID       string `json:"id"` // of the address, as DeerFlow makes it
	URL      string `json:"url"`
	Title    string `json:"title"`
	Snippet  string `json:"content_snippet,omitempty"`
	Domain   string `json:"domain,omitempty"`
	Author   string `json:"author,omitempty"`
	Date     string `json:"published_date,omitempty"`
	Accessed string `json:"accessed_at,omitempty"`
	Number   int    `json:"number,omitempty"` // by which the report cites it
}

// citations are the sources that a report's node wrote into the state; nil if there are none.
func citations(written json.RawMessage) []byte {
	var refs []struct {
		Number  int    `json:"id"`
		Title   string `json:"title"`
		URL     string `json:"url"`
		Domain  string `json:"domain"`
		Author  string `json:"author"`
		Date    string `json:"published_date"`
		Snippet string `json:"content_snippet"`
		Read    string `json:"accessed_at"`
	}
	if json.Unmarshal(written, &refs) != nil || len(refs) == 0 {
		return nil
	}
	list := make([]citation, len(refs))
	for i, r := range refs {
		sum := sha256.Sum256([]byte(r.URL))
		list[i] = citation{hex.EncodeToString(sum[:6]), r.URL, r.Title, r.Snippet, r.Domain, r.Author, r.Date, r.Read, r.Number}
	}
	return marshal(list)
}
