package memory

import (
	"strings"

	"github.com/tributary-ai/tributary/internal/pattern"
)

// rule finds one sort of statement. What its group matches is told as is says, with its own words in the place of %.
type rule struct {
	match    *pattern.Pattern
	says     string
	category string
	topic    string // a person has one of these: a new one takes the place of the old
}

// until is how a statement ends.
const until = `([^.!?\n;。！？；]{1,300})`

var rules = []rule{
	{pattern.New(`(?i)^(?:no[,:]? |sorry[,:]? |actually[,:]? )*(?:my name is|call me) ` + until), "The person's name is %.", "knowledge", "name"},
	{pattern.New(`^(?:不[，,]? ?|其实[，,]? ?)*我(?:的名字)?叫` + until), "The person's name is %.", "knowledge", "name"},
	{pattern.New(`(?i)^(?:no[,:]? |actually[,:]? )*i (?:now )?live in ` + until), "The person lives in %.", "context", "home"},
	{pattern.New(`(?i)^(?:no[,:]? |actually[,:]? )*i (?:now )?work (?:as|at|for) ` + until), "The person works as, at or for %.", "context", "work"},
	{pattern.New(`(?i)^(?:please |and )?(?:remember|don't forget|do not forget)(?: that|:|,)? ` + until), "%", "context", ""},
	{pattern.New(`^(?:请|你要)?记住[：:，, ]*` + until), "%", "context", ""},
	{pattern.New(`(?i)^i (?:always )?prefer ` + until), "The person prefers %.", "preference", ""},
	{pattern.New(`(?i)^(?:correction|to correct you|i (?:meant|mean))[:,]? ` + until), "%", Correction, ""},
}

var sentence = pattern.New(`[^.!?\n;。！？；]+[.!?;。！？；]*`)

// corrected begins what sets something right.
var corrected = pattern.New(`(?i)^(?:no|actually|sorry|不|其实)\b`)

// found is a statement in a message.
type found struct {
	rule
	content string
}

// statements are what the rules find in a text. Questions are none.
func statements(text string) []found {
	var out []found
	for _, s := range sentence.FindAllString(text, 64) {
		s = strings.TrimSpace(s)
		if strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") {
			continue
		}
		for _, r := range rules {
			m := r.match.FindStringSubmatch(s)
			if m == nil {
				continue
			}
			what := strings.TrimSpace(m[1])
			if what == "" {
				break
			}
			if corrected.MatchString(s) {
				r.category = Correction
			}
			out = append(out, found{r, strings.ReplaceAll(r.says, "%", what)})
			break
		}
	}
	return out
}

var mayTell = pattern.New(`(?i)remember|forget|name is|call me|live in|work (?:as|at|for)|prefer|correct|i mean|记住|我|\\\\u`)

// MayTell reports whether [Rules] could find anything in messages, as JSON. It is quick, and looks at their beginning only: people say
// such things in short messages.
func MayTell(raw []byte) bool { return mayTell.Match(raw[:min(len(raw), 16<<10)]) }

// Rules are what can be found out without a model: what the person outright wants remembered, their name, home and work, what they
// prefer, and corrections of these. It is modest, and always finds the same.
func Rules(d Document, said []Said) Lesson {
	l := Lesson{Seen: seen(d)}
	for _, s := range said {
		for _, f := range statements(s.Text) {
			learned := Learned{Fact: Fact{Content: f.content, Category: f.category, Confidence: 0.9, Source: s.Run.Thread, Run: s.Run.ID, Message: s.Message}}
			if f.topic != "" {
				learned.Topics = []string{f.topic}
				for _, old := range d.Facts {
					if len(old.Topics) == 1 && old.Topics[0] == f.topic && normal(old.Content) != normal(f.content) {
						learned.Replaces, learned.Category = old.ID, Correction
					}
				}
			}
			l.Facts = append(l.Facts, learned)
		}
	}
	return l
}
