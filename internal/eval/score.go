package eval

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
)

// Score is how good an answer is.
type Score struct {
	ID string `json:"id"`
	// Plan is 1 for a plan that could be used at once and whose steps differ from each other, half of that for one that had to be
	// asked for again, and 0 for none.
	Plan float64 `json:"plan"`
	// Coverage is the part of the expected facts that the report has; of a question without an answer, whether it says so.
	Coverage float64 `json:"coverage"`
	// Truth is the part of the citations that their passages bear out, halved if none is of a document that has the answer.
	Truth     float64 `json:"truth"`
	Citations int     `json:"citations"` // places in the report that cite something
	Tokens    int     `json:"tokens"`
	// Cost is in the currency of the model's prices; 0 where it has none.
	Cost    float64 `json:"cost"`
	Seconds float64 `json:"seconds"`
	Missing string  `json:"missing,omitempty"` // the facts that are not there
	Error   string  `json:"error,omitempty"`
}

// Total is the mean of what can be good or bad.
func (s Score) Total() float64 { return (s.Plan + s.Coverage + s.Truth) / 3 }

// Judge scores what a question led to.
func Judge(q Question, o Outcome) Score {
	s := Score{ID: q.ID, Tokens: o.Usage.Total(), Cost: float64(o.Usage.CostMicros) / 1e6, Seconds: o.Took.Seconds(), Error: o.Error}
	s.Plan = planned(o)
	if o.Error != "" {
		return s
	}
	body := bodyOf(o.Report)
	s.Coverage, s.Missing = covered(q, body)
	s.Citations = len(cited.FindAllString(body, -1))
	s.Truth = truth(q, o, s.Citations)
	return s
}

func planned(o Outcome) float64 {
	if o.Plan == nil {
		return 0
	}
	titles := map[string]bool{}
	for _, step := range o.Plan.Steps {
		titles[strings.ToLower(strings.Join(strings.Fields(step.Title), " "))] = true
	}
	delete(titles, "")
	worth := 1.0
	if n := len(o.Plan.Steps); n > 0 {
		worth = float64(len(titles)) / float64(n)
	}
	if o.Retried > 0 {
		worth /= 2
	}
	return worth
}

var (
	cited    = regexp.MustCompile(`(?:\[\^[0-9]+\][\s,;，、]*)+`)
	notFound = regexp.MustCompile(`(?i)not found in the sources|no sentence of the documents answers|no (?:passage|source|document)[^.]{0,40} (?:mentions?|says?|states?)|(?:was|were|is|could) not (?:be )?found|资料中未找到|没有段落提到`)
	appended = regexp.MustCompile(`\n## (?:Citations that were not confirmed|References|未能核实的引用|参考资料)\n`)
)

// bodyOf is the report without what the program appended.
func bodyOf(report string) string {
	if i := appended.FindStringIndex(report); i != nil {
		return report[:i[0]]
	}
	return report
}

func covered(q Question, body string) (share float64, missing string) {
	if q.Unanswerable {
		if notFound.MatchString(body) {
			return 1, ""
		}
		return 0, "that there is no answer"
	}
	text := squeeze(body)
	var without []string
	for _, fact := range q.Expect {
		any := false
		for _, phrase := range fact {
			any = any || strings.Contains(text, squeeze(phrase))
		}
		if !any {
			without = append(without, strings.Join(fact, " or "))
		}
	}
	return 1 - float64(len(without))/float64(len(q.Expect)), strings.Join(without, "; ")
}

// squeeze makes texts alike that differ in letters' size, spaces and markup.
func squeeze(text string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.NewReplacer("*", "", "`", "", "_", " ").Replace(text)), " "))
}

func truth(q Question, o Outcome, citations int) float64 {
	if citations == 0 {
		if q.Unanswerable {
			return 1
		}
		return 0
	}
	share := max(0, 1-float64(len(o.Doubts))/float64(citations))
	for _, ref := range o.Citations {
		for _, part := range q.Sources {
			if strings.Contains(ref.Address, part) {
				return share
			}
		}
	}
	if len(q.Sources) > 0 {
		share /= 2
	}
	return share
}

// Table is the scores of several questions.
type Table []Score

// Mean is the whole table as one line; tokens, cost and time are sums.
func (t Table) Mean() Score {
	m := Score{ID: fmt.Sprintf("%d questions", len(t))}
	failed := 0
	for _, s := range t {
		m.Plan, m.Coverage, m.Truth = m.Plan+s.Plan, m.Coverage+s.Coverage, m.Truth+s.Truth
		m.Citations, m.Tokens, m.Cost, m.Seconds = m.Citations+s.Citations, m.Tokens+s.Tokens, m.Cost+s.Cost, m.Seconds+s.Seconds
		if s.Error != "" {
			failed++
		}
	}
	if n := float64(len(t)); n > 0 {
		m.Plan, m.Coverage, m.Truth = m.Plan/n, m.Coverage/n, m.Truth/n
	}
	if failed > 0 {
		m.Error = fmt.Sprintf("%d failed", failed)
	}
	return m
}

// Write writes the table for people.
func (t Table) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "QUESTION\tSCORE\tPLAN\tCOVERAGE\tCITATIONS TRUE\tCITATIONS\tTOKENS\tCOST\tTIME\tNOTE")
	for _, s := range append(t[:len(t):len(t)], t.Mean()) {
		note := s.Error
		if note == "" && s.Missing != "" {
			note = "missing: " + s.Missing
		}
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t%.2f\t%d\t%d\t%.4f\t%.1f s\t%s\n", s.ID, s.Total(), s.Plan, s.Coverage, s.Truth, s.Citations, s.Tokens, s.Cost, s.Seconds, clip(note))
	}
	return w.Flush()
}

func clip(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 100 {
		text = string(r[:99]) + "…"
	}
	return text
}

// MarshalJSON is the table for programs, with its mean.
func (t Table) MarshalJSON() ([]byte, error) {
	type line struct {
		Score
		Total float64 `json:"total"`
	}
	all := make([]line, len(t))
	for i, s := range t {
		all[i] = line{s, s.Total()}
	}
	m := t.Mean()
	return json.Marshal(map[string]any{"questions": all, "mean": line{m, m.Total()}})
}
