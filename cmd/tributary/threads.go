package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/item"
)

type threadsCmd struct {
	Words []string `arg:"" optional:"" help:"Only conversations in which all of these words were said, in any case."`
	Most  int      `help:"How many are listed." default:"20"`
	JSON  bool     `help:"Print a line of JSON for each." name:"json"`
}

// threadLine is a conversation as it is listed.
type threadLine struct {
	Thread   string    `json:"thread"`
	Title    string    `json:"title"`
	Status   string    `json:"status"`
	Changed  time.Time `json:"updated_at"`
	Messages int       `json:"messages"`
	// Found is where the first of the words was said.
	Found string `json:"found,omitempty"`
}

// Run lists conversations, the newest first. It only reads, and may look on while a server works on the same folder.
func (c threadsCmd) Run(e *env) error {
	if c.Most < 1 {
		return fmt.Errorf("--most must be 1 or more, not %d", c.Most)
	}
	db, err := sqlite.Open(e.ctx, e.config.Data, sqlite.Options{ReadOnly: true})
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: %w", e.config.Data, errNoThreads)
	}
	if err != nil {
		return err
	}
	defer db.Close()
	words := strings.Fields(strings.ToLower(strings.Join(c.Words, " ")))
	lines, total, err := c.find(e.ctx, db, words)
	switch {
	case err != nil:
		return err
	case total == 0:
		return fmt.Errorf("%s: %w", e.config.Data, errNoThreads)
	case len(lines) == 0:
		return fmt.Errorf("in none of %s was %q said; try fewer words", plural(total, "conversation"), strings.Join(c.Words, " "))
	}
	return c.print(e, lines, total)
}

var errNoThreads = errors.New("there are no conversations yet; begin one with tributary chat, or give another folder with --data")

// find reads threads until there are enough.
func (c threadsCmd) find(ctx context.Context, db *sqlite.DB, words []string) (lines []threadLine, total int, err error) {
	const page = 100
	for offset := 0; ; offset += page {
		threads, all, err := db.SearchThreads(ctx, run.Identity{Owner: tributary.DefaultOwner}, run.ThreadQuery{SortBy: "updated_at", Limit: page, Offset: offset})
		if err != nil {
			return nil, 0, err
		}
		for _, th := range threads {
			line, ok, err := read(ctx, db, th, words)
			if err != nil {
				return nil, 0, err
			}
			if ok {
				lines = append(lines, line)
			}
			if len(lines) == c.Most {
				return lines, all, nil
			}
		}
		if len(threads) < page {
			return lines, all, nil
		}
	}
}

// read tells what a thread is about. It is not ok if not all of the words were said in it.
func read(ctx context.Context, db *sqlite.DB, th run.Thread, words []string) (line threadLine, ok bool, err error) {
	line = threadLine{Thread: th.ID, Status: string(th.Status), Changed: th.UpdatedAt}
	snap, err := db.Load(ctx, th.ID, "", "")
	if errors.Is(err, graph.ErrNoCheckpoint) {
		return line, len(words) == 0, nil
	}
	if err != nil {
		return line, false, fmt.Errorf("thread %s: %w; tributary check looks for damage", th.ID, err)
	}
	_ = json.Unmarshal(snap.Values["title"], &line.Title) // not every graph has one
	var msgs []item.Message
	_ = json.Unmarshal(snap.Values[graph.FieldMessages], &msgs) // nor these
	var said []string
	for _, m := range msgs {
		if m.Role != item.User && m.Role != item.Assistant || m.Text() == "" {
			continue
		}
		line.Messages++
		said = append(said, m.Text())
		if line.Title == "" && m.Role == item.User {
			line.Title = firstLine(m.Text())
		}
	}
	if len(words) == 0 {
		return line, true, nil
	}
	all := strings.ToLower(line.Title + "\n" + strings.Join(said, "\n"))
	for _, w := range words {
		if !strings.Contains(all, w) {
			return line, false, nil
		}
	}
	line.Found = around(said, words[0])
	return line, true, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return oneLine(line)
}

// around is what was said around a word.
func around(said []string, word string) string {
	for _, text := range said {
		text = oneLine(text)
		at := strings.Index(strings.ToLower(text), word)
		if at < 0 || at > len(text) { // lower case may be longer
			continue
		}
		from, to := max(0, at-40), min(len(text), at+len(word)+40)
		for from > 0 && !utf8.RuneStart(text[from]) {
			from--
		}
		for to < len(text) && !utf8.RuneStart(text[to]) {
			to++
		}
		out := text[from:to]
		if from > 0 {
			out = "…" + out
		}
		if to < len(text) {
			out += "…"
		}
		return out
	}
	return ""
}

func (c threadsCmd) print(e *env, lines []threadLine, total int) error {
	if c.JSON {
		out := json.NewEncoder(e.stdout)
		for _, l := range lines {
			if err := out.Encode(l); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "THREAD\tCHANGED\tSTATUS\tMESSAGES\tABOUT")
	for _, l := range lines {
		about := fit(printable(l.Title), 60)
		if l.Found != "" {
			about = printable(l.Found)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", l.Thread, l.Changed.Local().Format("2006-01-02 15:04"), l.Status, l.Messages, strings.TrimSuffix(about, plain))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(c.Words) == 0 && total > len(lines) {
		fmt.Fprintf(e.stderr, "%d of %d; --most lists more, and words search\n", len(lines), total)
	}
	fmt.Fprintf(e.stderr, "Go on with one: %s\n", comeBackWith(e, "chat --thread ID"))
	return nil
}
