package main

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// What is said of the configuration file is what the program reads: the examples are taken as they are, and no setting
// goes without saying.
func TestDocumentedConfigurationIsRead(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("docs/configuration.md has no example")
	}
	c, err := configured(t, string(block[1]))
	if err != nil {
		t.Fatal(err)
	}
	defaults, err := loadConfig("", "")
	if err != nil {
		t.Fatal(err)
	}
	if c.Addr != defaults.Addr || c.Durability != defaults.Durability || c.MaxRuns != defaults.MaxRuns || c.MaxAttempts != defaults.MaxAttempts || c.MaxSteps != defaults.MaxSteps || c.RecursionLimit != defaults.RecursionLimit || c.RunTimeout != defaults.RunTimeout || c.Drain != defaults.Drain {
		t.Errorf("the defaults are %+v, the page says %+v", defaults, c)
	}
	for f := range reflect.TypeFor[Config]().Fields() {
		if name := f.Tag.Get("yaml"); !strings.Contains("\n"+string(block[1]), "\n"+name+":") {
			t.Errorf("the page says nothing of %s", name)
		}
	}
}

func TestDocumentedModelsAreRead(t *testing.T) {
	page, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "## In the configuration file\n\n")
	var block strings.Builder
	for line := range strings.Lines(rest) {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "    ") {
			break
		}
		block.WriteString(strings.TrimPrefix(line, "    "))
	}
	c, err := configured(t, strings.ReplaceAll(block.String(), "https://…", "https://models.example.com"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.models(); err != nil || len(c.Models) != 2 || c.Retry.Tries != 3 {
		t.Errorf("%v, %+v", err, c)
	}
}
