package research

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/pattern"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool/files"
)

// The state of the graph. Clients find the values under these names.
var (
	messages   = graph.Messages("messages")
	settings   = graph.LastValue[Settings]("settings")
	topic      = graph.LastValue[string]("research_topic")
	locale     = graph.LastValue[string]("locale")
	rounds     = graph.LastValue[int]("clarification_rounds")
	history    = graph.LastValue[[]string]("clarification_history") // what the person answered
	planID     = graph.LastValue[string]("plan_id")
	plan       = graph.LastValue[Plan]("current_plan")
	iterations = graph.LastValue[int]("plan_iterations")
	feedback   = graph.LastValue[string]("feedback")
	background = graph.LastValue[[]int]("background_investigation_results") // numbers of sources
	results    = graph.Merge[Result]("results")                             // by step
	sources    = graph.Merge[Source]("sources")                             // by number
	known      = graph.LastValue[int]("known_sources")                      // how many there were when the round began
	report     = graph.LastValue[string]("final_report")
	citations  = graph.LastValue[[]Reference]("citations")
	doubts     = graph.LastValue[[]Doubt]("doubts")
	artifacts  = graph.Union[string](files.Artifacts)    // files of the thread that people are to see: charts, and the report
	reportFile = graph.LastValue[string]("report_file")  // the one of them that the report is written into
	clock      = graph.LastValue[Clock]("research_time") // how long there has been work on the plan
)

var fields = []graph.AnyField{
	messages, settings, topic, locale, rounds, history, planID, plan, iterations, feedback, background, results, sources, known,
	report, citations, doubts, artifacts, reportFile, clock,
}

// Result is what came of a step.
type Result struct {
	Text string `json:"text,omitempty"`
	// Error says why there is nothing, or less than there should be.
	Error   string `json:"error,omitempty"`
	Sources []int  `json:"sources,omitempty"` // what it cites
	// Files are those that it left in the outputs of the thread, under the names that models know.
	Files []string `json:"files,omitempty"`
	// Tokens is what its models took, as far as they said.
	Tokens int `json:"tokens,omitempty"`
}

// Source is a passage that was read, under the number by which it is cited.
type Source struct {
	Number  int       `json:"number"`
	Title   string    `json:"title"`
	Address string    `json:"address,omitempty"` // a URL, or a path below the folder of documents
	Site    string    `json:"site,omitempty"`
	Author  string    `json:"author,omitempty"`
	Date    string    `json:"published_date,omitempty"` // as the source tells it: 2024-05-31, 2024-05 or 2024
	Step    string    `json:"step,omitempty"`           // in which it was first read
	Read    time.Time `json:"accessed_at"`
	// Content and Blocks are the two views of the passage, as a tool gave them: the model's, and the person's.
	Content []item.Block `json:"content"`
	Blocks  []item.Block `json:"blocks"`
}

// Passage is the text that was read.
func (s Source) Passage() string { return item.JoinText(s.Blocks) }

// Reference is a source that the report cites.
type Reference struct {
	Number  int       `json:"id"`
	Title   string    `json:"title"`
	Address string    `json:"url,omitempty"`
	Site    string    `json:"domain,omitempty"`
	Author  string    `json:"author,omitempty"`
	Date    string    `json:"published_date,omitempty"`
	Quote   string    `json:"content_snippet,omitempty"`
	Read    time.Time `json:"accessed_at"`
}

func (s Source) reference() Reference {
	return Reference{
		Number: s.Number, Title: s.Title, Address: s.Address, Site: s.Site, Author: s.Author, Date: s.Date,
		Quote: firstWords(comment.ReplaceAllString(s.Passage(), ""), 500), Read: s.Read,
	}
}

var comment = pattern.New(`(?s)<!--.*?-->`)

// sourcesOf finds the numbered passages in the results of tools.
func sourcesOf(msgs []item.Message, step string, at time.Time) map[int]Source {
	found := map[int]Source{}
	from := map[int]int{} // the message that brought a number: another that brings it too brings the same text
	for i, m := range msgs {
		if m.Role != item.Tool || m.Failed {
			continue
		}
		for _, b := range m.Blocks {
			if first, again := from[b.Ref]; b.Ref == 0 || again && first != i {
				continue
			}
			from[b.Ref] = i
			src, ok := found[b.Ref]
			if !ok {
				src = Source{Number: b.Ref, Step: step, Read: at.UTC().Truncate(time.Second), Address: b.URL, Author: b.Author, Date: b.Date}
				if u, err := url.Parse(b.URL); err == nil {
					src.Site = u.Hostname()
				}
				src.Title = cmp.Or(titleOf(b, src.Site), b.URL, "untitled")
			}
			src.Blocks = append(src.Blocks, b)
			found[b.Ref] = src
		}
		for _, b := range m.Content {
			if src, ok := found[b.Ref]; ok && b.Ref > 0 && from[b.Ref] == i {
				src.Content = append(src.Content, b)
				found[b.Ref] = src
			}
		}
	}
	return found
}

// titleOf is the title of a passage without its date, its site and its address, which stand beside it.
func titleOf(b item.Block, site string) string {
	title := strings.TrimSpace(b.Name)
	if b.Date != "" {
		title = strings.TrimSuffix(title, ", "+b.Date)
	}
	for _, at := range []string{b.URL, site, strings.TrimPrefix(site, "www.")} {
		if at != "" {
			title = strings.TrimSuffix(title, " — "+at)
		}
	}
	return title
}

// remembered makes the sources of earlier runs of the thread citable in this one, when the first node asks. Those that this run reads are
// known to it as they come.
var remembered = graph.NewLocal(func(s *graph.Scope) struct{} {
	agent.Remember(s, asMessages(sources.Get(s.Base())))
	return struct{}{}
})

// asMessages are sources as results of tools, in the order of their numbers, so that a pool can be restored from them.
func asMessages(all map[string]Source) []item.Message {
	var msgs []item.Message
	for _, s := range inOrder(all) {
		msgs = append(msgs, item.Message{Role: item.Tool, Content: s.Content, Blocks: s.Blocks})
	}
	return msgs
}

func inOrder(all map[string]Source) []Source {
	return slices.SortedFunc(maps.Values(all), func(a, b Source) int { return cmp.Compare(a.Number, b.Number) })
}

// keyed are sources as the state has them.
func keyed(found map[int]Source) map[string]Source {
	out := make(map[string]Source, len(found))
	for n, s := range found {
		out[strconv.Itoa(n)] = s
	}
	return out
}
