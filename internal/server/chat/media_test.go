package chat_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// slidesOf are the texts of a presentation's slides.
func slidesOf(t *testing.T, data string) (out []string) {
	t.Helper()
	z, err := zip.NewReader(strings.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatalf("%v in %q", err, data[:min(len(data), 200)])
	}
	for n := 1; ; n++ {
		f, err := z.Open(fmt.Sprintf("ppt/slides/slide%d.xml", n))
		if err != nil {
			return out
		}
		var b bytes.Buffer
		if _, err := b.ReadFrom(f); err != nil {
			t.Fatal(err)
		}
		out = append(out, b.String())
	}
}

func TestSlidesAreMadeOfAReport(t *testing.T) {
	const body = `{"content":"# Rivers\n\n## They bend\n\n- water wears the outer bank\n\n## They end\n\nIn the sea.","locale":"en-US"}`
	for name, c := range map[string]struct {
		says string
		want []string
	}{
		"by their headings":            {"I cannot do that.", []string{"Rivers", "outer bank", "In the sea."}},
		"by a model, which cuts short": {"# Rivers\n\n## In short\n\n- they bend and end", []string{"Rivers", "they bend and end"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := writer(t, func(model.Request) scripted.Script { return scripted.Say(c.says) })
			code, got := w.answer("POST", "/api/ppt/generate", body)
			if code != http.StatusOK {
				t.Fatalf("%d %s", code, got)
			}
			all := slidesOf(t, got)
			if len(all) != len(c.want) {
				t.Fatalf("%d slides, want %d", len(all), len(c.want))
			}
			for i, want := range c.want {
				if !strings.Contains(all[i], want) {
					t.Errorf("slide %d lacks %q: %s", i+1, want, all[i])
				}
			}
		})
	}
	w := open(t, tributary.Options{}) // the offline model cannot write, and slides need no model
	if code, got := w.answer("POST", "/api/ppt/generate", body); code != http.StatusOK || len(slidesOf(t, got)) != 3 {
		t.Errorf("without a model: %d", code)
	}
}

// voice says who speaks, and fails when it is told to.
func voice(_ context.Context, text string, second bool, format string) ([]byte, error) {
	if strings.Contains(text, "cough") {
		return nil, errors.New("no voice")
	}
	return fmt.Appendf(nil, "<%v %s %s>", second, format, text), nil
}

func TestTextsAndPodcastsAreReadAloud(t *testing.T) {
	says := `Here it is: {"locale":"fr","lines":[{"speaker":"male","paragraph":"Why do rivers bend?"},{"speaker":"female","paragraph":" "},{"speaker":"female","paragraph":"Water."}]}`
	w := openWith(t, tributary.Options{Models: tributary.OneModel(scripted.New(func(model.Request) scripted.Script { return scripted.Say(says) }))}, httpapi.Options{Speak: voice})
	for _, c := range []struct {
		path, body string
		code       int
		want       string
	}{
		{"/api/tts", `{"text":"hello"}`, 200, "<false mp3 hello>"},
		{"/api/tts", `{"text":"hello","encoding":"wav"}`, 200, "<false wav hello>"},
		{"/api/tts", `{"text":"hello","encoding":"tape"}`, 422, "encoding"},
		{"/api/tts", `{"text":"a cough"}`, 502, "try again"},
		{"/api/podcast/generate", `{"content":"# Rivers"}`, 200, "<false mp3 Why do rivers bend?><true mp3 Water.>"},
	} {
		if code, got := w.answer("POST", c.path, c.body); code != c.code || !strings.Contains(got, c.want) {
			t.Errorf("POST %s %s is answered with %d %s, want %d %s", c.path, c.body, code, got, c.code, c.want)
		}
	}
	says = "I would rather not."
	if code, got := w.answer("POST", "/api/podcast/generate", `{"content":"# Rivers"}`); code != http.StatusBadGateway || !strings.Contains(got, "no script") {
		t.Errorf("without a script: %d %s", code, got)
	}
}
