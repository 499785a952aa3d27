package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/search"
	"github.com/tributary-ai/tributary/tool/web"
)

// WebConfig is the part of the file about the web.
type WebConfig struct {
	// Off takes all of its tools away.
	Off bool `yaml:"off"`
	// Engines are the search engines, asked in this order. Without any, those that the environment has keys for.
	Engines []EngineConfig `yaml:"engines"`
	// Allow are the ranges, addresses and hosts that web_fetch may read beside public addresses.
	Allow []string `yaml:"allow"`
	// MaxBytes bounds a page; 0 for the default.
	MaxBytes int64 `yaml:"max_bytes"`
	// Timeout bounds the answer of one page or engine; 0 for the defaults.
	Timeout time.Duration `yaml:"timeout"`
}

// EngineConfig is a search engine in the file.
type EngineConfig struct {
	Name string `yaml:"name"`
	// URL is where it is, in place of its usual address.
	URL string `yaml:"url"`
	// Key is the environment variable that has its key, in place of the usual one. Keys are never in the file.
	Key string `yaml:"key"`
	// Allow are the ranges, addresses and hosts that this engine may have beside public addresses.
	Allow []string `yaml:"allow"`
}

// searxngVariable names the instance of SearXNG in the environment.
const searxngVariable = "SEARXNG_URL"

// webKit opens the web. Reading a page needs no consent beyond the call itself. Searching sends the words of a question to
// somebody else, so it is on where a person has named who: with a key in the environment, or in the file.
func webKit(_ *env, config Config, log *slog.Logger) (kit, error) {
	c := config.Web
	if c.Off {
		return kit{group: web.Group, off: "web.off is true in the configuration"}, nil
	}
	if c.Timeout < 0 || c.MaxBytes < 0 {
		return kit{}, fmt.Errorf("configuration: web.timeout and web.max_bytes must not be negative")
	}
	fetcher, err := web.NewFetcher(web.FetchOptions{Allow: c.Allow, Setting: "web.allow", Timeout: c.Timeout, MaxBytes: c.MaxBytes})
	if err != nil {
		return kit{}, fmt.Errorf("configuration: %w", err)
	}
	searcher := &web.Searcher{Timeout: c.Timeout, Log: log}
	var off []string
	engines := c.Engines
	if len(engines) == 0 {
		engines = enginesOfEnvironment(os.Getenv)
	}
	for _, e := range engines {
		opt := e.options(os.Getenv)
		if opt.Key == "" && needsKey(e.Name) {
			off = append(off, fmt.Sprintf("%s has no key; set %s", e.Name, opt.KeySetting))
			continue
		}
		engine, err := web.NewEngine(opt)
		if err != nil {
			return kit{}, fmt.Errorf("configuration: %w", err)
		}
		searcher.Engines = append(searcher.Engines, engine)
	}
	k := kit{group: web.Group, tools: append(searcher.Tools(), search.Keep(fetcher.Tool())), close: func() error {
		searcher.Close()
		fetcher.Close()
		return nil
	}}
	switch {
	case len(engines) == 0:
		off = append(off, "web_search and image_search, since no engine is named; set "+strings.Join(engineVariables(), ", ")+
			" or, for those that need no key, name them in web.engines: duckduckgo, wikipedia, arxiv")
	case !hasTool(k.tools, "image_search"):
		off = append(off, "image_search, since none of the engines finds images; tavily, brave, serper and searxng do")
	}
	k.off = strings.Join(off, "; ")
	return k, nil
}

func hasTool(tools []tool.Tool, name string) bool {
	for _, t := range tools {
		if t.Spec().Name == name {
			return true
		}
	}
	return false
}

func needsKey(engine string) bool {
	for _, e := range web.Engines() {
		if e.Name == engine {
			return e.Key != ""
		}
	}
	return false
}

// engineVariables are the environment variables that switch an engine on.
func engineVariables() []string {
	var all []string
	for _, e := range web.Engines() {
		if e.Key != "" {
			all = append(all, e.Key)
		}
	}
	return append(all, searxngVariable)
}

// enginesOfEnvironment are the engines that the environment has keys for.
func enginesOfEnvironment(getenv func(string) string) []EngineConfig {
	var all []EngineConfig
	for _, e := range web.Engines() {
		if e.Key != "" && strings.TrimSpace(getenv(e.Key)) != "" || e.URL && strings.TrimSpace(getenv(searxngVariable)) != "" {
			all = append(all, EngineConfig{Name: e.Name})
		}
	}
	return all
}

// options are the engine's, with its key.
func (c EngineConfig) options(getenv func(string) string) web.EngineOptions {
	opt := web.EngineOptions{Name: c.Name, URL: c.URL, Allow: c.Allow, KeySetting: c.Key, Setting: "web.engines"}
	for _, e := range web.Engines() {
		if e.Name != c.Name {
			continue
		}
		if opt.KeySetting == "" {
			opt.KeySetting = e.Key
		}
		if e.URL && opt.URL == "" {
			opt.URL = strings.TrimSpace(getenv(searxngVariable))
		}
	}
	if opt.KeySetting != "" {
		opt.Key = strings.TrimSpace(getenv(opt.KeySetting))
	}
	return opt
}
