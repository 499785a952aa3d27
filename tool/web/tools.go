package web

import (
	"context"
	"net/http"
	"time"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// Group is the group of all these tools.
const Group = "web"

// Doer sends requests. *http.Client is one, but does not look where a request leads; leave it out to have one that does.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// agentName is how we introduce ourselves. Wikipedia and arXiv ask for an address at which the program can be looked up.
const agentName = "Mozilla/5.0 (compatible; tributary; +https://github.com/tributary-ai/tributary)"

// described adds to a function what its description has besides.
type described struct {
	tool.Tool
	risk    tool.Risk
	timeout time.Duration
}

func (d described) Spec() tool.Spec {
	spec := d.Tool.Spec()
	spec.Group, spec.Risk, spec.Repeatable, spec.Timeout = Group, d.risk, true, d.timeout
	return spec
}

func describe[In any](name, description string, risk tool.Risk, timeout time.Duration, do func(context.Context, In) (item.ToolResult, error)) tool.Tool {
	return described{tool.Func(name, description, do), risk, timeout}
}

// source is what a block says about where it comes from.
type source struct {
	title, url string
	author     string
	date       time.Time
}

// name is the source as people are shown it in a list.
func (s source) name() string {
	name := s.title
	if host := hostOf(s.url); host != "" && name != "" {
		name += " — " + host
	} else if name == "" {
		name = s.url
	}
	if day := s.day(); day != "" {
		name += ", " + day
	}
	return name
}

func (s source) day() string {
	if s.date.IsZero() {
		return ""
	}
	return s.date.Format(time.DateOnly)
}

// line is the source as a model reads it, above the text: providers are sent the text alone.
func (s source) line() string {
	line := "Source: " + s.title + " (" + s.url
	if s.title == "" {
		line = "Source: (" + s.url
	}
	if s.author != "" {
		line += ", by " + s.author
	}
	if day := s.day(); day != "" {
		line += ", " + day
	}
	return line + ")"
}

// cited adds text to a result, as a block that can be cited under a number of its own.
func cited(res *item.ToolResult, s source, text string) {
	b := item.Block{Type: item.TextBlock, Ref: lastRef(res) + 1, Text: text, Name: s.name(), URL: s.url, Author: s.author, Date: s.day()}
	res.Blocks = append(res.Blocks, b)
	b.Text = s.line() + "\n\n" + text
	res.Content = append(res.Content, b)
}

func lastRef(res *item.ToolResult) int {
	last := 0
	for _, b := range res.Blocks {
		last = max(last, b.Ref)
	}
	return last
}

// noted adds a remark of our own, which is not worth citing.
func noted(res *item.ToolResult, text string) {
	b := item.Block{Type: item.TextBlock, Text: text}
	res.Content, res.Blocks = append(res.Content, b), append(res.Blocks, b)
}
