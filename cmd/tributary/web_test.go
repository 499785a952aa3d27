package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

// noEngines takes the keys of search engines out of the environment.
func noEngines(t *testing.T) {
	t.Helper()
	for _, name := range engineVariables() {
		t.Setenv(name, "")
	}
}

// toolsOf is what tributary tools says of the web.
func toolsOf(t *testing.T, file string) (string, error) {
	t.Helper()
	c, err := configured(t, file)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = toolsCmd{}.Run(&env{ctx: t.Context(), stdout: &out, stderr: &out, config: c})
	var lines []string
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, " web ") {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(lines, "\n"), err
}

func TestSearchingIsOnWhereAnEngineIsNamed(t *testing.T) {
	for name, tt := range map[string]struct {
		file, variable string
		has, not       []string
	}{
		"nobody is named":            {"", "", []string{"web_fetch web reads, leaves ", "off: web_search and image_search", "TAVILY_API_KEY", "SEARXNG_URL", "duckduckgo"}, []string{"web_search web", "spends"}},
		"a key":                      {"", "BRAVE_API_KEY", []string{"web_search web reads, spends, leaves", "image_search web reads, spends, leaves", "web_fetch"}, []string{"off:"}},
		"an instance":                {"", "SEARXNG_URL", []string{"web_search web reads, leaves"}, []string{"off:", "spends"}},
		"an engine without a key":    {"web: {engines: [{name: wikipedia}]}", "", []string{"web_search web reads, leaves", "off: image_search", "brave"}, nil},
		"the file wins":              {"web: {engines: [{name: arxiv}]}", "BRAVE_API_KEY", []string{"off: image_search"}, []string{"spends"}},
		"a key that is not there":    {"web: {engines: [{name: exa, key: MY_EXA}, {name: searxng, url: 'https://s.example'}]}", "", []string{"web_search web", "off: exa has no key; set MY_EXA"}, []string{"spends"}},
		"none of the keys is there":  {"web: {engines: [{name: exa}]}", "", []string{"web_fetch", "set EXA_API_KEY"}, []string{"web_search web"}},
		"a variable of another name": {"web: {engines: [{name: tavily, key: SEARXNG_URL}]}", "SEARXNG_URL", []string{"web_search web reads, spends"}, []string{"off:"}},
		"off":                        {"web: {off: true}", "BRAVE_API_KEY", []string{"web.off is true"}, []string{"web_fetch", "web_search"}},
	} {
		t.Run(name, func(t *testing.T) {
			noEngines(t)
			if tt.variable != "" {
				t.Setenv(tt.variable, "https://a-key-or-an-address.example")
			}
			got, err := toolsOf(t, tt.file)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.has {
				if !strings.Contains(got, want) {
					t.Errorf("%q is missing in:\n%s", want, got)
				}
			}
			for _, no := range append(tt.not, "a-key-or-an-address") {
				if strings.Contains(got, no) {
					t.Errorf("%q is in:\n%s", no, got)
				}
			}
		})
	}
}

func TestMistakesAboutTheWebAreTold(t *testing.T) {
	noEngines(t)
	for file, want := range map[string]string{
		"web: {engines: [{name: altavista}]}":                     `there is no search engine "altavista"`,
		"web: {engines: [{name: searxng}]}":                       "give its url in web.engines",
		"web: {engines: [{name: searxng, url: x}]}":               "https://",
		"web: {engines: [{name: arxiv, allow: ['10.0.0.0/99']}]}": "is no range",
		"web: {engines: [{name: arxiv, secret: x}]}":              `no setting "secret"`,
		"web: {engines: [tavily]}":                                "{name: value}",
		"web: {allow: ['*.internal']}":                            "web.allow",
		"web: {timeout: -1s}":                                     "negative",
		"web: {max_bytes: lots}":                                  "whole number",
	} {
		if got, err := toolsOf(t, file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q, %v, want %q", file, got, err, want)
		}
	}
}

func TestTheDocumentedWebIsRead(t *testing.T) {
	noEngines(t)
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(web:\n.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("docs/configuration.md has no example")
	}
	t.Setenv("TAVILY_API_KEY", "x")
	t.Setenv("BRAVE_KEY_OF_RESEARCH", "x")
	if got, err := toolsOf(t, string(block[1])); err != nil || !strings.Contains(got, "image_search") || strings.Contains(got, "off:") {
		t.Errorf("got %q, %v", got, err)
	}
}
