package prose_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/prose"
)

func TestContentWordsSayWhatATextIsAbout(t *testing.T) {
	for text, want := range map[string][]string{
		"How does a reader resume a stream after a crash?": {"reader", "resume", "stream", "crash"},
		"What's the agent's name?":                         {"agent", "name"},
		"尼罗河有多长？":                                          {"尼罗河"},
		"请问什么是 Go 的垃圾回收":                                   {"垃圾回收"},
		"is it?":                                           nil,
	} {
		if got := prose.Content(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestFormsOfAWordHaveOneStem(t *testing.T) {
	for _, forms := range [][]string{{"resume", "resumes", "resumed", "resuming"}, {"stop", "stops", "stopped", "stopping"}, {"query", "queries"}} {
		for _, f := range forms {
			if prose.Stem(f) != prose.Stem(forms[0]) {
				t.Errorf("the stem of %s is %s, that of %s is %s", f, prose.Stem(f), forms[0], prose.Stem(forms[0]))
			}
		}
	}
}

func TestSentencesEndWhereAReaderWouldEndThem(t *testing.T) {
	for text, want := range map[string][]string{
		"One, e.g. This. Two!":                         {"One, e.g. This.", "Two!"},
		`He said "no." Then (see Fig. 3) he left.`:     {`He said "no."`, "Then (see Fig. 3) he left."},
		"It has 3.5 m. and no more. (Dr. No.) Why? so": {"It has 3.5 m. and no more.", "(Dr. No.) Why? so"},
		"**Bold.** Next… last ":                        {"**Bold.**", "Next… last"},
		"他说：“好。”然后走了！真的？（是。）":                          {"他说：“好。”", "然后走了！", "真的？", "（是。）"},
		"Ä. Ö.\u00a0Ü. ß":                              {"Ä.", "Ö.\u00a0Ü.", "ß"},
		"... ! ":                                       {"...", "!"},
	} {
		if got := prose.Sentences(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzSentences(f *testing.F) {
	f.Add("One, e.g. this. Two!\n\n- three (3)? yes\n| a | b |\n```\ncode\n```\n四。五！")
	f.Fuzz(func(t *testing.T, text string) {
		if !strings.Contains(text, "\xff") && strings.ToValidUTF8(text, "") == text {
			for _, s := range prose.Sentences(text) {
				if s == "" || !strings.Contains(text, s) {
					t.Errorf("%q is no stretch of %q", s, text)
				}
			}
		}
		prose.Keys(text)
		prose.Content(text)
	})
}
